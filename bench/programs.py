"""What the sandbox for programs costs, beside plain `exec` of the same program as the floor.

Usage: python bench/programs.py [--rounds N] [--json] [--page FILE]

A small program, one call of a function, a check, two functions of 300 ms under `gather`, and 32 programs at
once that wait 300 ms each; the best of all rounds is told, and the median.
"""

import ast
import asyncio
import json
from collections.abc import Awaitable, Callable
from statistics import median
from time import perf_counter
from typing import Any

import page
from quire.programs.sandbox import Sandbox
from quire.programs.stubs import Declared, stubs_of

SMALL = "total = 0\nfor n in range(10):\n    total += n * given\noutput = {'total': total}"
CALLS = "for n in range(100):\n    await near(n)\noutput = 1"
FAR = "output = await far()"
GATHER = "import asyncio\noutput = await asyncio.gather(far(), far())"
STUBS = stubs_of([Declared("near", "Gives it back.", {"properties": {"n": {"type": "integer"}}})], None, None)
HOST = {"near": lambda n: _near(n), "far": lambda: _far()}


async def _near(n: int) -> int:
    return n


async def _far() -> int:
    await asyncio.sleep(0.3)
    return 1


async def _exec(code: str) -> None:
    """The floor: the same program in this interpreter, with nothing between it and the machine."""
    names: dict[str, Any] = {**HOST, "given": 3}
    found = eval(compile(code, "program", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if found is not None:
        await found


async def _taken(work: Callable[[], Awaitable[Any]], rounds: int) -> list[float]:
    await work()
    found: list[float] = []
    for _ in range(rounds):
        begun = perf_counter()
        await work()
        found.append(perf_counter() - begun)
    return found


async def measured(rounds: int) -> dict[str, dict[str, list[float]]]:
    """Seconds of each kind of work, in the sandbox and without one."""
    sandbox, found = Sandbox(), {}
    for name, code, several in (
        ("small program", SMALL, rounds),
        ("100 calls", CALLS, rounds),
        ("gather of two 300 ms", GATHER, 3),
    ):
        ours = await _taken(lambda code=code: sandbox.run(code, inputs={"given": 3}, functions=HOST), several)
        found[name] = {"sandbox": ours, "exec": await _taken(lambda code=code: _exec(code), several)}
    crowd = await _taken(lambda: asyncio.gather(*(sandbox.run(FAR, functions=HOST) for _ in range(32))), 3)
    found["32 that wait 300 ms"] = {"sandbox": crowd, "exec": []}
    found["check"] = {"sandbox": await _taken(lambda: sandbox.diagnose(CALLS, STUBS), rounds), "exec": []}
    return found


def table(found: dict[str, dict[str, list[float]]]) -> str:
    """The figures as a table."""
    lines = ["| what | best ms | median | plain exec, best | times |", "|---|---:|---:|---:|---:|"]
    for name, taken in found.items():
        best, floor = min(taken["sandbox"]), min(taken["exec"], default=None)
        beside = f"{floor * 1e3:.3f} | {best / floor:.1f}" if floor else "- | -"
        lines.append(f"| {name} | {best * 1e3:.2f} | {median(taken['sandbox']) * 1e3:.2f} | {beside} |")
    return "Programs in the sandbox:\n\n" + "\n".join(lines)


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    given = parser.parse_args()
    found = asyncio.run(measured(given.rounds))
    print(json.dumps(found) if given.json else table(found))
    page.write(given.page, "programs", table(found))


if __name__ == "__main__":
    main()
