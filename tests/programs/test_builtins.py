"""Names of Python itself: the checker takes those that the sandbox has, and says of others that they lack."""

import asyncio
import builtins
from typing import Any

import pytest

from quire.programs.faults import ProgramFault
from quire.programs.sandbox import Sandbox
from quire.programs.sandbox.lacking import BUILTINS, NO_FILES
from quire.programs.stubs import stubs_of
from tests.programs.coding import coder_of, solving

NAMES = sorted(name for name in dir(builtins) if name != "_")


async def _fault(work: Any) -> ProgramFault | None:
    try:
        await work
    except ProgramFault as fault:
        return fault
    return None


def test_the_list_is_what_the_sandbox_says() -> None:
    async def asked() -> set[str]:
        sandbox = Sandbox()
        faults = await asyncio.gather(*(_fault(sandbox.run(f"x = {name}\n1")) for name in NAMES))
        return {name for name, fault in zip(NAMES, faults, strict=True) if fault is None}

    has = asyncio.run(asked())
    assert has == {name for name in BUILTINS | NO_FILES if hasattr(builtins, name)}
    assert "map" in has and "callable" not in has


def test_the_checker_takes_what_there_is_and_says_what_lacks() -> None:
    async def checked() -> dict[str, ProgramFault | None]:
        sandbox, stubs = Sandbox(), stubs_of([], None, {})
        faults = await asyncio.gather(
            *(_fault(sandbox.check(f"\nx = {name}\noutput = 1", stubs)) for name in NAMES)
        )
        return dict(zip(NAMES, faults, strict=True))

    for name, fault in asyncio.run(checked()).items():
        if name in BUILTINS:
            assert fault is None, name
        else:
            assert fault is not None, name
            assert (fault.kind, fault.line) == ("missing", 2), name
            assert f"`{name}`" in str(fault), name


PASSING = {
    "map": "output = {'result': str(list(map(str, [1])))}",
    "filter": "output = {'result': str(list(filter(None, [1])))}",
    "getattr": "output = {'result': str(getattr(problem, 'nothing', 1))}",
    "hasattr": "output = {'result': str(hasattr(problem, 'nothing'))}",
    "format": "output = {'result': format(3, 'd')}",
    "an error": "try:\n    output = {'result': problem}\nexcept (ImportError, PermissionError):\n    pass",
    "its own": "def callable(x):\n    return True\noutput = {'result': str(callable(1))}",
    "a variable of its own": "vars = {'a': 1}\noutput = {'result': str(vars['a'])}",
    "a parameter": "def f(dir):\n    return dir\noutput = {'result': f('a')}",
    "an annotation": "def f(x: callable) -> None:\n    pass\noutput = {'result': problem}",
}


@pytest.mark.parametrize("code", PASSING.values(), ids=PASSING)
def test_a_program_may_use(code: str) -> None:
    answer = asyncio.run(coder_of().run(solving(), code, problem="x"))
    assert set(answer.value) == {"result"}


def test_an_input_may_have_the_name_of_what_lacks() -> None:
    task = solving(input={"dir": str, "input": str})
    code = "output = {'result': dir + input}"
    assert asyncio.run(coder_of().run(task, code, dir="a", input="b")).value == {"result": "ab"}


LACKING = {
    "callable": ("callable(len)", "`callable`"),
    "a file": ("open('a')", "`open`: there are no files"),
    "all of a module": ("from typing import *\n1", "Wildcard imports"),
    "in a function": ("def f():\n    return vars()\n1", "`vars`"),
    "an error": ("try:\n    1\nexcept IOError:\n    2\n3", "`IOError`"),
}


@pytest.mark.parametrize("case", LACKING.values(), ids=LACKING)
def test_what_lacks_is_missing(case: tuple[str, str]) -> None:
    code, words = case
    fault = asyncio.run(_fault(Sandbox(workers=1).check(code, stubs_of([], None, None))))
    assert fault is not None and fault.kind == "missing"
    assert words in str(fault)
