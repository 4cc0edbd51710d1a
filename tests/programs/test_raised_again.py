"""Errors that a program caught and raises later: until then there may be none."""

import pytest

from quire.programs import ProgramFailed, Task
from tests.programs.coding import coder_of, run

RETRYING = """
async def again(make):
    last{declared} = None
    for n in range(2):
        try:
            return make(n)
        except {kinds} as error:
            last = error
    raise last{cause}
try:
    output = await again(lambda n: 1 // (n - n))
except ArithmeticError as error:
    output = -1
"""
CAUGHT = {
    "any": ("", "Exception", ""),
    "one": ("", "ZeroDivisionError", ""),
    "two": ("", "(ZeroDivisionError, KeyError)", ""),
    "declared": (": Exception | None", "ArithmeticError", ""),
    "without its cause": ("", "Exception", " from None"),
}
NEVER = {
    "nothing": "last = None\nraise last\noutput = 1",
    "a number": "last = 1 if n else None\nraise last\noutput = 1",
}


def counting() -> Task:
    return Task("count", input={"n": int}, output=int)


@pytest.mark.parametrize("case", CAUGHT.values(), ids=CAUGHT)
def test_what_was_caught_may_be_raised_when_all_is_tried(case: tuple[str, str, str]) -> None:
    async def work() -> None:
        declared, kinds, cause = case
        coder = coder_of(RETRYING.format(declared=declared, kinds=kinds, cause=cause))
        assert (await coder.answer(counting(), n=1)).value == -1

    run(work)


@pytest.mark.parametrize("code", NEVER.values(), ids=NEVER)
def test_what_can_be_no_error_is_refused(code: str) -> None:
    async def work() -> None:
        with pytest.raises(ProgramFailed, match="Cannot raise"):
            await coder_of(code, rounds=1).answer(counting(), n=1)

    run(work)
