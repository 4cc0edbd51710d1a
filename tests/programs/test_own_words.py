"""Errors that a program raises itself: whatever they read like, they are not the sandbox's."""

import asyncio
from pathlib import Path

import pytest

from quire.agent import tool
from quire.programs import ProgramFault, Task
from quire.programs.sandbox import Sandbox
from tests.programs.coding import coder_of, run

CAUGHT = "try:\n    int('x')\nexcept ValueError as error:\n"
CAUGHT_ALL = CAUGHT.replace("ValueError", "Exception")
RAISED = {
    "like a module": "raise RuntimeError('cannot import rows: none')",
    "like a bound": "raise RuntimeError('duration must be positive')",
    "like a feature": "raise NotImplementedError('it does not yet support ids')",
    "like a name": "raise NameError(\"name 'open' is not defined\")",
    "like depth": "raise RecursionError('too deep')",
    "like a keyword": "raise TypeError(\"sorted() got an unexpected keyword argument 'x'\")",
    "on several lines": "raise RuntimeError(\n    'cannot import '\n    + 'rows'\n)",
    "in a function": "def fail():\n    raise ImportError('cannot import rows')\nfail()",
    "of what was caught": f"{CAUGHT}    raise RuntimeError(f'cannot import: {{error}}')",
    "of what was caught, before more": f"{CAUGHT}    if error:\n"
    "        raise RuntimeError(f'cannot import: {error}')\n    x = 1",
    "past what is caught": "def fail():\n    raise RuntimeError('cannot import rows')\n"
    "try:\n    fail()\nexcept ValueError:\n    0",
    "past what is done at last": "def fail():\n    raise RuntimeError('cannot import rows')\n"
    "try:\n    fail()\nfinally:\n    x = 1",
    "made before": "error = RuntimeError('cannot import rows')\nraise error",
    "of the type of another": f"{CAUGHT}    raise type(error)('cannot import rows')",
    "again": "try:\n    raise RuntimeError('cannot import rows')\nexcept RuntimeError:\n    raise",
}
OF_THE_SANDBOX = {
    "a module": "import numpy",
    "again": "try:\n    import numpy\nexcept ImportError:\n    x = 1\n    raise",
    "again by its name": "try:\n    import numpy\nexcept ImportError as error:\n    raise error",
    "in what is raised": "raise ValueError((1).bit_count())",
    "beside what is raised": "if 1 > 2:\n    raise ImportError('no rows')\nimport numpy",
}


def fault_of(code: str) -> ProgramFault:
    with pytest.raises(ProgramFault) as failed:
        asyncio.run(Sandbox(workers=1).run(f"{code}\noutput = 1"))
    return failed.value


@pytest.mark.parametrize("code", RAISED.values(), ids=RAISED)
def test_what_a_program_raises_is_raised(code: str) -> None:
    fault = fault_of(code)
    assert fault.kind == "raised" and "only a part of Python" not in str(fault)


@pytest.mark.parametrize("code", OF_THE_SANDBOX.values(), ids=OF_THE_SANDBOX)
def test_what_the_sandbox_lacks_is_missing(code: str) -> None:
    assert fault_of(code).kind == "missing"


def test_a_kept_program_that_says_what_failed_goes_on(tmp_path: Path) -> None:
    down = False

    @tool(idempotent=True)
    async def rows(source: str) -> list[str]:
        """Rows of a source."""
        if down:
            raise ConnectionError("503")
        return [source]

    code = (
        "try:\n    found = await rows(source)\nexcept Exception as error:\n"
        "    raise RuntimeError(f'cannot import rows from {source}: {error}')\noutput = len(found)"
    )

    async def work() -> None:
        nonlocal down
        task = Task("rows", input={"source": str}, output=int, tools=[rows])
        kept = await coder_of(code, kept=tmp_path).keep(task)
        down = True
        with pytest.raises(ProgramFault, match="cannot import rows from crm: 503") as failed:
            await kept(source="crm")
        assert failed.value.kind == "raised"
        down = False
        assert await kept(source="crm") == 1

    run(work)


LINES = {
    "the only one of a handler": (f"{CAUGHT_ALL}    1 // 0", 4, "line 4, `1 // 0`: ZeroDivisionError"),
    "of a handler": (f"{CAUGHT_ALL}    1 // 0\n    x = 1", None, "lines 4 to 5: ZeroDivisionError"),
    "of a handler that does not take all": (f"{CAUGHT}    1 // 0", None, "lines 1 to 4: ZeroDivisionError"),
    "what is raised there": (f"{CAUGHT}    raise KeyError('a')", 4, "line 4, `raise KeyError('a')`: Key"),
    "that no handler took": (
        "def fail():\n    return 1 // 0\ntry:\n    fail()\nexcept ValueError:\n    x = 1",
        None,
        "lines 3 to 6: ZeroDivisionError",
    ),
    "past what is done at last": ("try:\n    1 // 0\nfinally:\n    x = 1", None, "lines 1 to 4: Zero"),
    "after a handler": (f"{CAUGHT}    x = 1\n1 // 0", 5, "line 5, `1 // 0`: ZeroDivisionError"),
}


@pytest.mark.parametrize("case", LINES.values(), ids=LINES)
def test_where_handlers_hide_the_line_all_that_it_may_be_are_told(case: tuple[str, int | None, str]) -> None:
    code, line, told = case
    fault = fault_of(code)
    assert fault.line == line and str(fault).startswith(told)
