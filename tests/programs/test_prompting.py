"""What a model is told that is to write a program."""

from quire.agent import tool
from quire.agent.calls import having_acted, uncertain
from quire.items import ToolCall, ToolResult
from quire.programs import ProgramFault
from quire.programs.prompting import prompt_for, told_of_calls, told_of_fault
from quire.programs.replaying import Made, MadeCalls
from tests.programs.coding import calculator, solving


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


def test_of_each_call_it_is_said_whether_it_would_be_made_again() -> None:
    @tool(idempotent=True)
    async def look() -> int:
        """Look."""
        return 1

    made = MadeCalls()
    calls = [ToolCall(f"c{n}", "calculator", f'{{"a": {n}, "b": 1}}') for n in range(5)]
    gave, failed = (ToolResult(calls[n].call_id, "calculator", str(n), is_error=n > 0) for n in range(2))
    acted = ToolResult(calls[4].call_id, "calculator", "no", is_error=True)
    stopped, looked = (uncertain(calls[n], "the program was stopped") for n in (2, 3))
    for result, call, of, may_be_repeated in (
        (gave, calls[0], calculator, False),
        (failed, calls[1], calculator, True),
        (stopped, calls[2], calculator, False),
        (looked, calls[3], look, False),
    ):
        made.add(of, Made("attempt_a", call, result, call.arguments), may_be_repeated=may_be_repeated)
    fault = having_acted(RuntimeError("no"))
    made.add(calculator, Made("attempt_a", calls[4], acted, "", fault=fault), may_be_repeated=False)
    lines = [line for line in told_of_calls(made.since(0)).splitlines() if line.startswith("- ")]
    endings = [line.partition("} ")[2].partition(":")[0] for line in lines]
    assert endings == ["gave", "failed", "was stopped", "failed", "failed after it had acted"]
    told = " ".join(told_of_calls(made.since(0)).split())
    assert "One that was stopped may have been done all the same" in told
    assert "one that failed after it had acted has done something" in told
