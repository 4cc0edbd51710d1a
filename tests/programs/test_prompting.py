"""What a model is told that is to write a program."""

from quire.programs import ProgramFault
from quire.programs.prompting import prompt_for, told_of_fault
from tests.programs.coding import solving


def test_a_model_is_told_the_task_what_there_is_and_what_is_given() -> None:
    rules, asked = prompt_for(solving(), {"problem": "2+2?"})
    assert rules.role == "system" and "output" in rules.text
    assert "exist already" in rules.text and "for annotations alone" in rules.text
    for part in ("Solve a problem.", "async def calculator(", "problem: str", '{"problem": "2+2?"}'):
        assert part in asked.text


def test_for_a_program_that_is_kept_nothing_is_given() -> None:
    _, asked = prompt_for(solving())
    assert "other values each time" in asked.text and "given this time" not in asked.text


def test_much_is_shortened() -> None:
    _, asked = prompt_for(solving(), {"problem": "x" * 100_000})
    assert len(asked.text) < 10_000 and "left out here" in asked.text


def test_a_fault_is_told_with_what_was_printed() -> None:
    told = told_of_fault(ProgramFault("raised", "line 3: no", 3, "y" * 100_000))
    assert "raised" in told and "line 3: no" in told and "yyy" in told and len(told) < 6_000
