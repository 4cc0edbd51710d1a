"""The sandbox: what a program answers, what it may call, and how it is stopped."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import date
from typing import Any

import pytest

from quire.errors import InvalidLimit, InvalidValue, WrongType
from quire.programs.bounds import Bounds
from quire.programs.faults import ProgramFault
from quire.programs.sandbox import Ran, Sandbox, shared_sandbox


async def add(a: int, b: int = 1) -> dict[str, int]:
    await asyncio.sleep(0)
    return {"sum": a + b}


async def fail(kind: str) -> None:
    raise {"value": ValueError("bad value"), "key": KeyError("k"), "own": NoSuchThing("mine")}[kind]


class NoSuchThing(LookupError):
    """An error of somebody's own."""


def ran(code: str, bounds: Bounds = Bounds(), **inputs: Any) -> Ran:  # noqa: B008
    run = Sandbox(workers=1).run(code, inputs=inputs, functions={"add": add, "fail": fail}, bounds=bounds)
    return asyncio.run(run)


def fault(code: str, bounds: Bounds = Bounds()) -> ProgramFault:  # noqa: B008
    with pytest.raises(ProgramFault) as raised:
        ran(code, bounds)
    return raised.value


ANSWERS = {
    "its last expression": ("x = 2\nx + 1", 3),
    "output": ("output = 2\n5", 2),
    "output under a condition": ("if True: output = 2\n5", 2),
    "the last expression where output was not set": ("if False: output = 2\n5", 5),
    "output of a function": ("def f():\n    global output\n    output = 4\nf()", 4),
    "not the output within a function": ("def f():\n    output = 4\nf()\n7", 7),
    "after a semicolon, with a comment": ("x = 1; x  # it", 1),
    "over several lines": ("[\n  1,\n  2,\n]", [1, 2]),
    "without brackets": ("1, 2", [1, 2]),
    "after ä": ("'ä'; 'ö'", "ö"),
    "None": ("None", None),
    "a set": ("{3}", [3]),
    "a tuple in a dict": ("{'a': (1, 2.5)}", {"a": [1, 2.5]}),
    "keys of numbers": ("{1: True}", {"1": True}),
    "a date": ("from datetime import date\n[date(2026, 1, 2)]", ["2026-01-02"]),
    "a decimal": ("from decimal import Decimal\nDecimal('1.50')", "1.50"),
    "a dataclass": ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nP(1)", {"x": 1}),
    "a large number": ("2 ** 200", 2**200),
    "a call": ("await add(1, b=2)", {"sum": 3}),
    "calls side by side": ("import asyncio\nawait asyncio.gather(add(1), add(2))", [{"sum": 2}, {"sum": 3}]),
    "a call by another name": ("f = add\nawait f(1)", {"sum": 2}),
    "a main function": (
        "import asyncio\nasync def main():\n    return await add(1)\nasyncio.run(main())",
        {"sum": 2},
    ),
    "a sleep": ("import asyncio\nawait asyncio.sleep(0, 'slept')", "slept"),
}


@pytest.mark.parametrize("case", ANSWERS.values(), ids=ANSWERS)
def test_the_answer_is(case: tuple[str, Any]) -> None:
    code, value = case
    assert ran(code).value == value


FAULTS = {
    "no answer": ("x = 1", "answer", None, "has no answer"),
    "no answer in the end": ("if False: output = 1", "answer", None, "before `output` was set"),
    "a function": ("add", "answer", None, "function"),
    "a call that was not awaited": ("add(1)", "answer", None, "await"),
    "a function in a set": ("{1, lambda: 1}", "answer", None, "function"),
    "a circle": ("x = []\nx.append(x)\nx", "answer", None, "Circular"),
    "not a number": ("float('nan')", "answer", None, "nan"),
    "keys that are no text": ("{(1, 2): 3}", "answer", None, "tuple"),
    "bytes": ("b'x'", "answer", None, "bytes"),
    "syntax": ("1\nx = (", "syntax", 2, "never closed"),
    "too deep": ("x = 1" + " + 1" * 900, "syntax", None, "nested deeper than"),
    "far too deep": ("-" * 40_000 + "1", "syntax", None, "no program"),
    "too many brackets": ("(" * 900 + ")" * 900, "syntax", 1, "nested parentheses"),
    "too long": ("#" * 50_001, "syntax", None, "beyond the 50000"),
    "too large a number": ("9" * 5_000, "syntax", 1, "digits"),
    "a null": ("'\0'", "syntax", None, "null"),
    "a name": ("1\nnone_such", "names", 2, "none_such"),
    "a builtin that is not there": ("vars()", "missing", 1, "vars"),
    "a statement that is not there": ("x = 1\ndel x\n2", "missing", 2, "'del' statement"),
    "generators": ("def f():\n    yield 1\nlist(f())", "missing", 2, "yield"),
    "a module that is not there": ("import numpy\n1", "missing", 1, "numpy"),
    "an error of its own": ("def f():\n    raise ValueError('it')\nf()", "raised", 2, "ValueError: it"),
    "an error of a function": ("1\nawait fail('value')", "raised", 2, "ValueError: bad value"),
    "a wrong call": ("await add()", "raised", 1, "TypeError"),
}


@pytest.mark.parametrize("case", FAULTS.values(), ids=FAULTS)
def test_a_fault_says_what_and_where(case: tuple[str, str, int | None, str]) -> None:
    code, kind, line, words = case
    found = fault(code)
    assert (found.kind, found.line) == (kind, line)
    assert words in str(found)


def test_a_program_catches_what_a_function_raises() -> None:
    code = "try:\n    await fail({!r})\nexcept {} as error:\n    x = str(error)\nx"
    assert ran(code.format("value", "ValueError")).value == "bad value"
    assert ran(code.format("key", "KeyError")).value == "'k'"
    assert ran(code.format("own", "LookupError")).value == "mine"


def test_what_a_function_gives_is_made_plain() -> None:
    async def odd(which: str) -> Any:
        return {"date": date(2026, 1, 2), "object": object(), "rows": ({"a": {1}},)}[which]

    async def both() -> tuple[Any, Any, str]:
        sandbox = Sandbox(workers=1)
        first = await sandbox.run("await odd('date')", functions={"odd": odd})
        second = await sandbox.run("await odd('rows')", functions={"odd": odd})
        with pytest.raises(ProgramFault, match="TypeError") as raised:
            await sandbox.run("await odd('object')", functions={"odd": odd})
        return first.value, second.value, raised.value.kind

    assert asyncio.run(both()) == ("2026-01-02", [{"a": [1]}], "raised")


def test_inputs_are_variables() -> None:
    assert ran("[a['b'], n + 1]", a={"b": "x"}, n=1).value == ["x", 2]
    with pytest.raises(WrongType, match="no plain value"):
        ran("1", a=object())
    for name in ("output", "class", "no name"):
        with pytest.raises(InvalidValue, match="no input of the name"):
            asyncio.run(Sandbox().run("1", inputs={name: 1}))


def test_what_is_printed_is_told_and_kept() -> None:
    told: list[str] = []
    run = Sandbox(workers=1).run(
        "print('one')\nawait add(1)\nprint('two')\n3", functions={"add": add}, tell=told.append
    )
    found = asyncio.run(run)
    assert (found.printed, "".join(told), found.calls) == ("one\ntwo\n", "one\ntwo\n", 1)
    assert len(told) == 2
    assert fault("print('seen')\n1 / 0").printed == "seen\n"


LIMITS = {
    "time": ("while True: pass\n1", Bounds(seconds=0.1), "time limit"),
    "wall": ("import time\ntime.sleep(60)\n1", Bounds(wall=0.1), "longer than 0.1 s"),
    "memory": ("x = [0] * 10**9\n1", Bounds(), "memory limit"),
    "depth": ("def f(n): return n and f(n - 1)\nf(50)", Bounds(depth=20), "recursion"),
    "calls": ("for n in range(4): await add(n)\n1", Bounds(calls=3), "more than 3"),
    "printed": ("print('x' * 11)\n1", Bounds(printed=10), "more than 10"),
    "answer": ("'x' * 9", Bounds(answer=10), "larger than 10"),
}


@pytest.mark.parametrize("case", LIMITS.values(), ids=LIMITS)
def test_a_limit_holds(case: tuple[str, Bounds, str]) -> None:
    code, bounds, words = case
    found = fault(code, bounds)
    assert found.kind == ("answer" if "answer" in words or "larger" in words else "limit")
    assert words in str(found)


def test_within_its_limits_a_program_is_not_stopped() -> None:
    assert ran("for n in range(3): await add(n)\n'x' * 8", Bounds(calls=3, answer=10)).value == "x" * 8
    assert ran("print('x' * 9)\n1", Bounds(printed=10)).printed == "x" * 9 + "\n"


@pytest.mark.parametrize(
    "code", ["await slow()", "while True: pass\n1", "import asyncio\nawait asyncio.gather(slow(), slow())"]
)
def test_cancelling_stops_the_program_and_its_calls(code: str) -> None:
    async def cancelled() -> tuple[int, int, Any]:
        begun = ended = 0
        started = asyncio.Event()

        async def slow() -> None:
            nonlocal begun, ended
            begun += 1
            started.set()
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0.01)  # to end takes a while
                ended += 1

        sandbox = Sandbox(workers=1)
        text = f"print('on')\n{code}"
        run = asyncio.create_task(sandbox.run(text, functions={"slow": slow}, tell=lambda _: started.set()))
        await started.wait()
        await asyncio.sleep(0.05)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        return begun, ended, (await sandbox.run("1")).value

    begun, ended, after = asyncio.run(cancelled())
    assert (begun, after) == (ended, 1)


def test_no_call_outlives_the_program() -> None:
    async def left_behind() -> list[str]:
        heard: list[str] = []

        async def slow() -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                heard.append("cancelled")
                raise

        sandbox = Sandbox(workers=1)
        functions: dict[str, Callable[..., Awaitable[Any]]] = {"slow": slow, "fail": fail}
        both = (
            "import asyncio\ntry:\n    await asyncio.gather(slow(), fail('value'))\nexcept ValueError: pass\n"
        )
        await sandbox.run(f"{both}1", functions=functions)
        with pytest.raises(ProgramFault):
            await sandbox.run(f"{both}1 / 0", functions=functions)
        return heard

    assert asyncio.run(left_behind()) == ["cancelled", "cancelled"]


def test_one_sandbox_serves_several_loops_and_starts_again() -> None:
    sandbox = Sandbox(workers=1)
    assert [asyncio.run(sandbox.run("1")).value for _ in range(2)] == [1, 1]

    async def closed() -> Any:
        await sandbox.run("1")
        await sandbox.close()
        return (await sandbox.run("2")).value

    assert asyncio.run(closed()) == 2
    assert shared_sandbox() is shared_sandbox()
    for wrong in ({"workers": 0}, {"programs": 0}):
        with pytest.raises(InvalidLimit):
            Sandbox(**wrong)


def test_a_process_may_end_right_after_a_program() -> None:
    code = "import asyncio\nfrom quire.programs.sandbox import Sandbox\n"
    code += "print(asyncio.run(Sandbox().run('1'))[0])"
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
