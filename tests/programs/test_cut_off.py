"""Answers of models that are not whole: no part of them is run, kept, or given to a program."""

from typing import Any

import pytest

from quire import Message
from quire.agent import tool
from quire.models import Scripted
from quire.programs import ProgramFailed, Task
from quire.programs.blocks import code_in
from quire.programs.faults import ProgramFault
from quire.providers import Finish, Parsed
from tests.programs.coding import coder_of, fenced, run, said

WHOLE = "```python\nfor n in [1, 2000]:\n    output = await pay(n) if n < 1000 else 'not paid'\n```\n"
CUT = WHOLE[: WHOLE.index(" if n")]
paid: list[int] = []


@tool
async def pay(n: int) -> str:
    """Pay."""
    paid.append(n)
    return "paid"


def paying(**options: Any) -> Task:
    return Task("pay", "Pay what is small.", input={"month": str}, output=str, tools=[pay], **options)


def ended(words: str, finish: Finish) -> Parsed:
    return Parsed((Message("assistant", words),), None, finish, "m")


NOT_WHOLE: dict[str, tuple[str, Finish, str]] = {
    "cut off": (CUT, "length", "cut off at the most tokens"),
    "cut off after the program": (WHOLE, "length", "write a shorter one"),
    "refused": (WHOLE, "refused", "was not to say more"),
    "broken off": (WHOLE, "paused", "was broken off"),
    "of no known end": (CUT, "other", "has no end"),
    "without a fence, and of no known end": ("output = await pay(2000)", "other", "has no end"),
}


@pytest.mark.parametrize("case", NOT_WHOLE.values(), ids=NOT_WHOLE)
def test_it_is_not_run_and_the_model_is_told_why(case: tuple[str, Finish, str]) -> None:
    words, finish, told = case

    async def work() -> None:
        paid.clear()
        coder = coder_of(ended(words, finish), "output = 'second'", rounds=2)
        answer = await coder.answer(paying(), month="June")
        assert (answer.value, paid) == ("second", [])
        (fault,) = answer.attempts[0].faults
        assert isinstance(fault, ProgramFault) and fault.kind == "syntax" and told in str(fault)
        assert any(told in text for kind, text in said(coder.session, "attempt_a") if kind == "user")

    run(work)


@pytest.mark.parametrize("case", NOT_WHOLE.values(), ids=NOT_WHOLE)
def test_it_is_not_kept(case: tuple[str, Finish, str]) -> None:
    async def work() -> None:
        with pytest.raises(ProgramFailed):
            await coder_of(ended(*case[:2]), rounds=1).keep(paying())

    run(work)


@pytest.mark.parametrize(
    ("words", "finish"), [(CUT, "stop"), (WHOLE, "stop"), (WHOLE, "other"), (WHOLE, "calls")]
)
def test_what_the_model_ended_itself_is_run(words: str, finish: Finish) -> None:
    async def work() -> None:
        paid.clear()
        await coder_of(ended(words, finish), rounds=1).answer(paying(), month="June")
        assert 1 in paid

    run(work)


CATCHING = (
    "try:\n    output = await llm('sum')\nexcept RuntimeError as fault:\n    output = f'caught {fault}'"
)


@pytest.mark.parametrize(
    ("finish", "told"),
    [
        ("stop", "The total is 1"),
        ("other", "The total is 1"),
        ("length", "caught the answer of m is not whole: it was cut off at the most tokens"),
        ("refused", "caught the answer of m is not whole: the model was not to say more"),
        ("paused", "caught the answer of m is not whole: it was broken off"),
    ],
)
def test_a_program_that_asks_a_model_hears_that_its_answer_is_not_whole(finish: Finish, told: str) -> None:
    async def work() -> None:
        model = Scripted([ended("The total is 1", finish)], name="m")
        coder = coder_of(CATCHING, rounds=1)
        assert (await coder.answer(paying(models=[model]), month="June")).value.startswith(told)
        assert ("assistant", "The total is 1") in said(coder.session, "intermediate_a")

    run(work)


REPORT = 'text = """# Report\n```\nrows\n```\n"""\noutput = text'


@pytest.mark.parametrize("language", ["python", ""])
def test_fences_within_a_text_of_a_program_are_part_of_it(language: str) -> None:
    assert code_in(f"So:\n```{language}\n{REPORT}\n```\nThat is it.") == REPORT
    assert code_in(f"So:\n````{language}\n{REPORT}\n````") == REPORT
    assert code_in(f"- so:\n  ```{language}\n  x = 1\n  ```\n") == "x = 1"


def test_a_program_that_ends_within_a_text_is_told_of_fences() -> None:
    with pytest.raises(ProgramFault, match="ends the block, within a text too"):
        code_in(fenced('text = """# Report\n```\nrows'))


def test_a_draft_that_cannot_be_read_is_still_another_block() -> None:
    with pytest.raises(ProgramFault, match="2 blocks"):
        code_in("```python\nx = (\n```\nNo:\n```python\nx = 1\n```")
