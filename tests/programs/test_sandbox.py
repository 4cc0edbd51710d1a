"""The sandbox: answers, calls, faults and limits of programs, and how they are stopped.

What hostile programs come to is a golden corpus, `hostile`.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import pytest

from quire.errors import InvalidLimit, WrongType
from quire.programs import Bounds, ProgramFault, Ran, Sandbox

RUNNER = asyncio.Runner()
"""One loop for most tests: each loop starts processes of its own."""

SANDBOX = Sandbox()


@pytest.fixture(scope="module", autouse=True)
def runner() -> Iterator[None]:
    with RUNNER:
        yield


class NoSuchThing(LookupError):
    """An error of the user's own."""


class Mute(Exception):
    """An error that cannot describe itself."""

    def __str__(self) -> str:
        raise RuntimeError("it cannot be described")


ERRORS = {
    "limit": TimeoutError("time limit of the service"),
    "value": ValueError("bad value"),
    "key": KeyError("k"),
    "own": NoSuchThing("mine"),
    "mute": Mute(),
}
NAME = os.fsdecode(b"caf\xe9.txt")
"""A file name that UTF-8 cannot encode."""


async def add(a: int, b: int = 1) -> dict[str, int]:
    await asyncio.sleep(0)
    return {"sum": a + b}


async def fail(kind: str) -> None:
    raise ERRORS[kind]


async def give(value: Any = None) -> Any:
    return [value, (1, 2), NAME, 2**80]


async def slow(seconds: float = 0.2) -> float:
    await asyncio.sleep(seconds)
    return seconds


FUNCTIONS: dict[str, Any] = {"add": add, "fail": fail, "give": give, "slow": slow}


def ran(code: str, bounds: Bounds = Bounds(), **inputs: Any) -> Ran:  # noqa: B008
    return RUNNER.run(SANDBOX.run(code, inputs=inputs, functions=FUNCTIONS, bounds=bounds))


def fault(code: str, bounds: Bounds = Bounds()) -> ProgramFault:  # noqa: B008
    with pytest.raises(ProgramFault) as raised:
        ran(code, bounds)
    return raised.value


ANSWERS = {
    "its last expression": ("x = 2\nx + 1", 3),
    "output": ("output = 2\n5", 2),
    "output of a function": ("def f():\n    global output\n    output = 4\nf()", 4),
    "not the output within a function": ("def f():\n    output = 4\nf()\n7", 7),
    "after a semicolon, with a comment": ("x = 1; x  # it", 1),
    "over several lines": ("[\n  1,\n  2,\n]", [1, 2]),
    "without brackets": ("1, 2", [1, 2]),
    "after ä": ("'ä'; 'ö'", "ö"),
    "a set": ("{3}", [3]),
    "a tuple in a dict": ("{'a': (1, 2.5)}", {"a": [1, 2.5]}),
    "keys that are no text": ("{1: True, None: 2}", {"1": True, "null": 2}),
    "a date": ("from datetime import date\n[date(2026, 1, 2)]", ["2026-01-02"]),
    "a decimal": ("from decimal import Decimal\nDecimal('1.50')", "1.50"),
    "a dataclass": ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nP(1)", {"x": 1}),
    "a large number": ("2 ** 200", 2**200),
    "a call": ("await add(1, b=2)", {"sum": 3}),
    "calls side by side": ("import asyncio\nawait asyncio.gather(add(1), add(2))", [{"sum": 2}, {"sum": 3}]),
    "calls by map": ("import asyncio\nawait asyncio.gather(*map(add, [1]))", [{"sum": 2}]),
    "a call by another name": ("f = add\nawait f(1)", {"sum": 2}),
    "calls of its own": (
        "import asyncio\nasync def f(n): return (await add(n))['sum']\nawait asyncio.gather(f(1), f(2))",
        [2, 3],
    ),
    "an async function as a value": (
        "async def f(n): return n\nasync def twice(g): return [await g(1), await g(2)]\nawait twice(f)",
        [1, 2],
    ),
    "an async function in a text": ("async def f(): return 1\nf'{await f()}'", "1"),
    "a main function": (
        "import asyncio\nasync def main():\n    return await add(1)\nasyncio.run(main())",
        {"sum": 2},
    ),
    "a sleep": ("import asyncio\nawait asyncio.sleep(0, 'slept')", "slept"),
    "the next of a generator": ("it = (n for n in [1, 2, 3])\n[next(it), next(it), *it]", [1, 2, 3]),
    "the next of nothing": ("next(iter([]), 5), next((n for n in []), 6)", [5, 6]),
    "with names of Python bound anew": ("list = dict = str = isinstance = 1\n{2}", [2]),
    "an error that it caught": (
        "try:\n    await fail('value')\nexcept ValueError as e:\n    x = str(e)\nx",
        "bad value",
    ),
    "the nearest error that there is": (
        "try:\n    await fail('own')\nexcept LookupError as e:\n    x = str(e)\nx",
        "mine",
    ),
    "the key of an error": ("try:\n    await fail('key')\nexcept KeyError as e:\n    x = e.args\nx", ["k"]),
    "an error without words": (
        "try:\n    await fail('mute')\nexcept Exception as e:\n    x = str(e)\nx",
        "Mute",
    ),
    "what a function gave": ("await give({'a': [1]})", [{"a": [1]}, [1, 2], "caf\ufffd.txt", 2**80]),
}


@pytest.mark.parametrize("case", ANSWERS.values(), ids=ANSWERS)
def test_the_answer_is(case: tuple[str, Any]) -> None:
    code, value = case
    assert ran(code).value == value


FAULTS = {
    "no answer": ("x = 1", "answer", None, "has no answer"),
    "no answer in the end": ("if False: output = 1", "answer", None, "before `output` was set"),
    "a function": ("add", "answer", None, "function"),
    "a call that was not awaited": ("add(1)", "answer", None, "coroutine"),
    "a circle": ("x = []\nx.append(x)\nx", "answer", None, "Circular"),
    "not a number": ("float('nan')", "answer", None, "nan"),
    "keys that are no JSON": ("{(1, 2): 3}", "answer", None, "tuple"),
    "bytes": ("b'x'", "answer", None, "bytes"),
    "syntax": ("1\nx = (", "syntax", 2, "never closed"),
    "a name": ("1\nnone_such", "names", 2, "none_such"),
    "a builtin that is not there": ("vars()", "missing", 1, "only a part of Python"),
    "a method that is not there": ("x = 1\n'a'.maketrans('b')", "missing", 2, "maketrans"),
    "a module that is not there": ("import numpy\n1", "missing", 1, "numpy"),
    "an error of its own": ("def f():\n    raise ValueError('it')\nf()", "raised", 2, "ValueError: it"),
    "an error of a function": ("1\nawait fail('value')", "raised", 2, "ValueError: bad value"),
    "an error that reads like a limit": ("await fail('limit')", "raised", 1, "time limit"),
    "the next of nothing": ("next(n for n in [])", "raised", 1, "StopIteration"),
    "a wrong call": ("await add()", "raised", 1, "TypeError"),
    "a coroutine as an argument": ("x = add(1)\nawait give(x)", "raised", 2, "coroutine"),
    "a function as an argument": ("1\nawait give([len])", "raised", 2, "function"),
    "calls that nobody awaits": ("calls = [add(n) for n in [1, 2]]\n1", "types", 1, "never awaited, 2 times"),
    "its own calls": (
        "async def f(): return 1\nx = [f()]\n1",
        "types",
        2,
        "`f` was called and never awaited",
    ),
    "calls that a function returns": (
        "async def f():\n    return add(1)\nawait f()\n1",
        "types",
        2,
        "`add` was called and never awaited, once",
    ),
}


@pytest.mark.parametrize("case", FAULTS.values(), ids=FAULTS)
def test_a_fault_says_what_and_where(case: tuple[str, str, int | None, str]) -> None:
    code, kind, line, words = case
    found = fault(code)
    assert (found.kind, found.line) == (kind, line)
    assert words in str(found)


LIMITS = {
    "time": ("while True: pass\n1", Bounds(seconds=0.1), "time limit"),
    "wall": ("import time\ntime.sleep(60)\n1", Bounds(wall=0.1), "longer than 0.1 s"),
    "wall of a call": ("await slow(60)", Bounds(wall=0.1), "longer than 0.1 s"),
    "memory": ("x = [0] * 10**9\n1", Bounds(), "memory limit"),
    "depth": ("def f(n): return n and f(n - 1)\nf(50)", Bounds(depth=20), "recursion"),
    "calls": ("for n in range(4): await add(n)\n1", Bounds(calls=3), "more than 3"),
    "printed": ("print('x' * 11)\n1", Bounds(printed=10), "printed more"),
    "answer": ("'x' * 9", Bounds(answer=10), "larger than 10"),
    "an argument": ("await give('x' * 20)", Bounds(answer=10), "is given is too large"),
    "what is shared": (
        "x = ['a']\nfor _ in range(60): x = [x, x]\nx",
        Bounds(memory=2 << 20),
        "memory limit",
    ),
}


@pytest.mark.parametrize("case", LIMITS.values(), ids=LIMITS)
def test_a_limit_holds(case: tuple[str, Bounds, str]) -> None:
    code, bounds, words = case
    begun = perf_counter()
    found = fault(f"print('on')\n{code}" if bounds.printed > 10 else code, bounds)
    assert found.kind == ("answer" if "larger than 10" in words else "limit")
    assert words in str(found)
    assert bounds.printed == 10 or found.printed == "on\n"
    assert perf_counter() - begun < 30


def test_within_its_limits_a_program_is_not_stopped() -> None:
    assert ran("for n in range(3): await add(n)\n'x' * 8", Bounds(calls=3, answer=10)).value == "x" * 8
    assert ran("print('x' * 9)\n1", Bounds(printed=10, wall=None)).printed == "x" * 9 + "\n"


BAD_BOUNDS: list[tuple[dict[str, Any], type[Exception]]] = [
    *(({name: 0}, InvalidLimit) for name in ("seconds", "wall", "memory", "depth")),
    *(({name: -1}, InvalidLimit) for name in ("calls", "printed", "answer")),
    ({"seconds": float("inf")}, InvalidLimit),
    *(({name: True}, WrongType) for name in ("seconds", "wall", "calls")),
    *(({name: "1"}, WrongType) for name in ("seconds", "memory")),
]


def test_a_bound_of_no_sense_is_refused() -> None:
    for wrong, error in BAD_BOUNDS:
        with pytest.raises(error, match=next(iter(wrong))):
            Bounds(**wrong)


def test_inputs_are_variables() -> None:
    assert ran("a['x'] + b", a={"x": 1}, b=2).value == 3
    assert ran("a = a + 1\na", a=1).value == 2
    assert ran("name", name=NAME).value == "caf\ufffd.txt"
    with pytest.raises(WrongType, match="no plain value"):
        ran("a", a=object())


def test_what_is_printed_is_told_as_it_comes() -> None:
    told: list[str] = []
    code = "print('one')\nawait add(1)\nprint('two')\n3"
    found = RUNNER.run(SANDBOX.run(code, functions=FUNCTIONS, tell=told.append))
    assert (found.printed, told) == ("one\ntwo\n", ["one\n", "two\n"])
    assert fault("print('seen')\n1 / 0").printed == "seen\n"


def test_calls_run_side_by_side_and_so_do_programs() -> None:
    """Each call waits until all 25 have begun."""
    code = "import asyncio\nawait asyncio.gather(*[meet() for _ in range(5)])"

    async def several() -> list[Ran]:
        begun, all_begun = 0, asyncio.Event()

        async def meet() -> int:
            nonlocal begun
            begun += 1
            if begun == 25:
                all_begun.set()
            await all_begun.wait()
            return begun

        return await asyncio.gather(*(SANDBOX.run(code, functions={"meet": meet}) for _ in range(5)))

    assert [one.value for one in RUNNER.run(several())] == [[25] * 5] * 5


@pytest.mark.parametrize(
    "code",
    ["await slow(60)", "while True: pass\n1", "import asyncio\nawait asyncio.gather(slow(60), slow(60))"],
)
def test_cancelling_stops_the_program_and_its_calls(code: str) -> None:
    async def cancelled() -> tuple[int, int, Any]:
        begun = ended = 0
        started = asyncio.Event()

        async def slow(_: float) -> None:
            nonlocal begun, ended
            begun += 1
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0.01)  # to end takes a while
                ended += 1

        text = f"print('on')\n{code}"
        bounds, functions = Bounds(seconds=300, wall=300), {"slow": slow}
        work = SANDBOX.run(text, functions=functions, bounds=bounds, tell=lambda _: started.set())
        run = asyncio.create_task(work)
        await started.wait()
        await asyncio.sleep(0.05)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        return begun, ended, (await SANDBOX.run("1")).value

    first = perf_counter()
    begun, ended, after = RUNNER.run(cancelled())
    assert (begun, after) == (ended, 1)
    assert perf_counter() - first < 100


def test_no_call_outlives_the_program() -> None:
    async def left_behind() -> list[str]:
        ended: list[str] = []

        async def slow() -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

        both = (
            "import asyncio\ntry:\n    await asyncio.gather(slow(), fail('value'))\nexcept ValueError: pass\n"
        )
        functions: dict[str, Any] = {"slow": slow, "fail": fail}
        await SANDBOX.run(f"{both}1", functions=functions)
        with pytest.raises(ProgramFault):
            await SANDBOX.run(f"{both}1 / 0", functions=functions)
        return ended

    assert RUNNER.run(left_behind()) == ["cancelled", "cancelled"]


def test_a_program_that_another_one_calls_needs_no_further_place() -> None:
    sandbox = Sandbox(programs=1)

    async def inner(depth: int) -> Any:
        code = "await inner(depth - 1) + 1 if depth else 0"
        return (await sandbox.run(code, inputs={"depth": depth}, functions={"inner": inner})).value

    async def nested() -> Any:
        with pytest.raises(ProgramFault, match="more than 8 deep"):
            await inner(8)
        return await inner(5)

    assert asyncio.run(nested()) == 5


def test_waiting_for_a_place_counts_as_time() -> None:
    async def crowded() -> None:
        sandbox = Sandbox(programs=1)
        first = asyncio.create_task(sandbox.run("await slow(5)", functions=FUNCTIONS))
        await asyncio.sleep(0.1)
        with pytest.raises(ProgramFault, match=r"longer than 0\.1 s for one of 1 places"):
            await sandbox.run("1", bounds=Bounds(wall=0.1))
        first.cancel()

    asyncio.run(crowded())


def test_one_sandbox_serves_several_loops_and_starts_again() -> None:
    sandbox = Sandbox()
    assert [asyncio.run(sandbox.run("1")).value for _ in range(2)] == [1, 1]

    async def closed() -> Any:
        await sandbox.run("1")
        await sandbox.close()
        return (await sandbox.run("2")).value

    assert asyncio.run(closed()) == 2
    with pytest.raises(InvalidLimit):
        Sandbox(programs=0)


def test_a_forger_only_deceives_itself() -> None:
    """Unchecked, a program may rebind what the prelude defines; the host takes none of it for granted."""
    for code in ("_quire_left = 5\n1", "_quire_text = lambda _: 5\n1", "_quire_text = lambda _: 'x'\n1"):
        assert fault(code).kind == "answer"
    assert fault("await _quire_host(5)").kind == "names"
    assert fault("await _quire_host('none', '[[], {}]')").kind == "names"


def process(code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_a_process_may_end_right_after_a_program() -> None:
    code = "import asyncio\nfrom quire.programs import Sandbox\nprint(asyncio.run(Sandbox().run('1'))[0])"
    for _ in range(3):
        done = process(code)
        assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


FORKED = """
import asyncio, os
from quire.programs import Sandbox

def tried(sandbox):
    try:
        return str(asyncio.run(sandbox.run("1 + 1")).value)
    except Exception as fault:
        return f"{type(fault).__name__}: {fault}"

def child(sandbox):
    if not (number := os.fork()):
        print(tried(sandbox), flush=True)
        os._exit(0)
    os.waitpid(number, 0)

shared = Sandbox()
child(shared)
print(tried(shared), flush=True)
child(Sandbox())
print(tried(shared), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_process_that_was_forked_after_programs_is_told_so() -> None:
    before, own, forked, after = process(FORKED).stdout.splitlines()
    assert (before, own, after) == ("2", "2", "2")
    assert forked.startswith("InvalidValue: this process was forked")


BUSY = """
import asyncio
from quire.programs import Bounds, Sandbox
tell = lambda text: print("busy", flush=True)
asyncio.run(Sandbox().run("print(1)\\nwhile True: pass\\n1", bounds=Bounds(seconds=2.0), tell=tell))
"""


def test_workers_end_with_a_process_that_is_killed() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=pipe, stderr=pipe, text=True) as child:
        assert child.stdout is not None and child.stderr is not None
        assert child.stdout.readline() == "busy\n"
        child.kill()
        # Workers write errors where the process did: this ends when the last of them has ended.
        assert child.stderr.read() == ""
