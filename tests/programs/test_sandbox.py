"""The sandbox: answers, calls, faults and limits of programs, and how they are stopped."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from quire.programs import Bounds, ProgramFault, Sandbox, SandboxResult

RUNNER = asyncio.Runner()
"""One loop for most tests: each loop starts processes of its own."""

SANDBOX = Sandbox()


@pytest.fixture(scope="module", autouse=True)
def runner() -> Iterator[None]:
    with RUNNER:
        yield


class NoSuchThing(LookupError):
    """An error of the user's own."""


ERRORS = {
    "limit": TimeoutError("time limit of the service"),
    "value": ValueError("bad value"),
    "key": KeyError("k"),
    "own": NoSuchThing("mine"),
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


FUNCTIONS: dict[str, Any] = {"add": add, "fail": fail, "give": give}


def ran(code: str) -> SandboxResult:
    return RUNNER.run(SANDBOX.run(code, functions=FUNCTIONS))


def fault(code: str, **bounds: Any) -> ProgramFault:
    with pytest.raises(ProgramFault) as raised:
        RUNNER.run(SANDBOX.run(code, functions=FUNCTIONS, bounds=Bounds(**bounds)))
    return raised.value


ANSWERS = {
    "its last expression": ("x = 2\nx + 1", 3),
    "output": ("output = 2\n5", 2),
    "after ä": ("'ä'; 'ö'", "ö"),
    "a dataclass": ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nP(1)", {"x": 1}),
    "an async function as a value": (
        "async def f(n): return n\nasync def twice(g): return [await g(1), await g(2)]\nawait twice(f)",
        [1, 2],
    ),
    "the next of a generator": ("it = (n for n in [1, 2, 3])\n[next(it), next(it), *it]", [1, 2, 3]),
    "with names of Python bound anew": ("list = dict = str = isinstance = 1\n{2}", [2]),
    "what a function gave": ("await give({'a': [1]})", [{"a": [1]}, [1, 2], "caf\ufffd.txt", 2**80]),
}


@pytest.mark.parametrize("case", ANSWERS.values(), ids=ANSWERS)
def test_the_answer_is(case: tuple[str, Any]) -> None:
    code, value = case
    assert ran(code).value == value


FAULTS = {
    "no answer in the end": ("if False: output = 1", "answer", None, "before `output` was set"),
    "a call that was not awaited": ("add(1)", "answer", None, "coroutine"),
    "not a number": ("float('nan')", "answer", None, "nan"),
    "an error that reads like a limit": ("await fail('limit')", "raised", 1, "time limit"),
    "a coroutine as an argument": ("x = add(1)\nawait give(x)", "raised", 2, "coroutine"),
    "calls that nobody awaits": ("calls = [add(n) for n in [1, 2]]\n1", "types", 1, "never awaited, 2 times"),
}


@pytest.mark.parametrize("case", FAULTS.values(), ids=FAULTS)
def test_a_fault_says_what_and_where(case: tuple[str, str, int | None, str]) -> None:
    code, kind, line, words = case
    found = fault(code)
    assert (found.kind, found.line) == (kind, line)
    assert words in str(found)


def test_a_limit_is_that_of_the_bounds() -> None:
    assert "recursion" in str(fault("def f(n): return n and f(n - 1)\nf(50)", depth=20))
    assert "printed more" in str(fault("print('x' * 11)\n1", printed=10))
    assert "more than 3" in str(fault("for n in range(4): await add(n)\n1", calls=3))
    assert "time limit" in str(fault("while True: pass\n1", seconds=0.1))


def test_the_whole_time_is_limited(later: Callable[[float], None]) -> None:
    async def begin() -> None:
        later(60)

    code, bounds = "print('on')\nawait begin()\nimport time\ntime.sleep(600)\n1", Bounds(wall=60)
    with pytest.raises(ProgramFault, match="longer than 60 s") as found:
        RUNNER.run(SANDBOX.run(code, functions={"begin": begin}, bounds=bounds))
    assert (found.value.kind, found.value.printed) == ("limit", "on\n")


def test_what_is_printed_is_kept() -> None:
    assert ran("print('one')\nawait add(1)\nprint('two')\n3").printed == "one\ntwo\n"
    assert fault("print('seen')\n1 / 0").printed == "seen\n"


def test_cancelling_stops_a_program_that_computes() -> None:
    async def cancelled() -> Any:
        started, code = asyncio.Event(), "await begin()\nwhile True: pass\n1"

        async def begin() -> None:
            started.set()

        endless = SANDBOX.run(code, functions={"begin": begin}, bounds=Bounds(seconds=300, wall=300))
        run = asyncio.create_task(endless)
        await started.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert len(asyncio.all_tasks()) == 1
        return (await SANDBOX.run("1")).value

    assert RUNNER.run(cancelled()) == 1


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


async def test_waiting_for_a_place_counts_as_time() -> None:
    sandbox = Sandbox(programs=1)
    begun = asyncio.Event()

    async def stay() -> None:
        begun.set()
        await asyncio.Event().wait()

    first = asyncio.create_task(sandbox.run("await stay()", functions={"stay": stay}))
    await begun.wait()
    with pytest.raises(ProgramFault, match=r"longer than 0\.1 s"):
        await sandbox.run("1", bounds=Bounds(wall=0.1))
    first.cancel()


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
    done = process(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


FORKED = """
import asyncio, os
from quire.programs import Sandbox

sandbox = Sandbox()
asyncio.run(sandbox.run("1"))
if not (child := os.fork()):
    try:
        asyncio.run(sandbox.run("1"))
    except Exception as fault:
        print(f"{type(fault).__name__}: {fault}", flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(asyncio.run(sandbox.run("2")).value)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_process_that_was_forked_after_programs_is_told_so() -> None:
    forked, after = process(FORKED).stdout.splitlines()
    assert forked.startswith("InvalidValue: this process was forked") and after == "2"


BUSY = """
import asyncio, contextlib, time
from quire.programs import Bounds, ProgramFault, Sandbox
async def begin():
    print("busy", flush=True)
code = "await begin()\\nwhile True: pass\\n1"
with contextlib.suppress(ProgramFault):
    asyncio.run(Sandbox().run(code, functions={"begin": begin}, bounds=Bounds(seconds=1)))
time.sleep(60)
"""


def test_workers_end_with_a_process_that_is_killed() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=pipe, stderr=pipe, text=True) as child:
        assert child.stdout is not None and child.stderr is not None
        assert child.stdout.readline() == "busy\n"
        child.kill()
        # Workers write errors where the process did: this ends when the last of them has ended.
        assert child.stderr.read() == ""
