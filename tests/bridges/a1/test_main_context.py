"""What goes into `main`, and what does not: each operation, where it succeeds and where it fails."""

from typing import Any

import pytest

from quire.bridges.a1 import Runtime, get_context
from quire.errors import InvalidValue, ModelFailed
from quire.programs import ProgramFailed, ProgramFault
from tests.bridges.a1.coded import (
    ASKING,
    BROKEN,
    CALLING,
    CATCHING,
    PLAIN,
    Bill,
    llm,
    multiply,
    run,
    seller,
    shown,
    writing,
)

GIVEN = ("user", {"lamps": 3})
GAVE = ("assistant", {"total": "15"})
CALLED = [("assistant", 'multiply {"a": 3, "b": 5}'), ("tool", {"product": 15})]


def main_of(runtime: Runtime) -> list[tuple[str, Any]]:
    return shown(runtime.get_context("main"))


def test_jit_puts_input_and_output_there_as_json() -> None:
    runtime = writing(PLAIN)
    assert run(runtime.jit(seller(), lamps=3)) == Bill(total="15")
    assert main_of(runtime) == [GIVEN, GAVE]
    assert [message.content for message in runtime.get_context()] == ['{"lamps": 3}', '{"total": "15"}']


def test_jit_that_fails_leaves_it_as_it_was_and_says_what_each_attempt_died_of() -> None:
    runtime = writing(BROKEN)
    runtime.get_context().user("before")
    with pytest.raises(ProgramFailed) as failed:
        run(runtime.jit(seller(), lamps=3))
    assert main_of(runtime) == [("user", "before")]
    assert [tried.attempt for tried in failed.value.attempts] == ["attempt_a", "attempt_b", "attempt_c"]
    assert str(failed.value).count("ZeroDivisionError") == 9


def test_input_that_does_not_fit_is_refused_before_anything_is_written() -> None:
    runtime = writing(PLAIN)
    with pytest.raises(InvalidValue, match="lamps"):
        run(runtime.jit(seller(), lamps="many"))
    assert dict(runtime.CTX) == {"main": runtime.get_context()} and main_of(runtime) == []


def test_aot_puts_nothing_there() -> None:
    runtime = writing(PLAIN)
    run(runtime.aot(seller(), cache=False))
    assert main_of(runtime) == [] and "attempt_a" in runtime.CTX


def test_aot_that_fails_puts_nothing_there() -> None:
    runtime = writing("output = nothing_of_that_name")
    with pytest.raises(ProgramFailed, match="nothing_of_that_name"):
        run(runtime.aot(seller(), cache=False))
    assert main_of(runtime) == []


def test_a_compiled_tool_that_is_called_puts_nothing_there() -> None:
    async def called() -> None:
        runtime = writing(PLAIN)
        compiled = await runtime.aot(seller(), cache=False)
        assert await compiled(lamps=3) == Bill(total="15")
        assert main_of(runtime) == []

    run(called())


def test_a_compiled_tool_that_fails_puts_nothing_there() -> None:
    async def called() -> None:
        runtime = writing(f"await multiply(a=1, b=1)\n{BROKEN}")
        compiled = await runtime.aot(seller(multiply), cache=False)
        for call in (compiled, compiled.execute):
            with pytest.raises(ProgramFault, match="ZeroDivisionError"):
                await call(lamps=3)
            assert main_of(runtime) == []

    run(called())


def test_a_compiled_tool_that_is_executed_puts_input_and_output_there() -> None:
    async def executed() -> None:
        runtime = writing(CALLING)
        compiled = await runtime.aot(seller(multiply), cache=False)
        assert await compiled.execute(lamps=3) == Bill(total="15")
        assert main_of(runtime) == [GIVEN, *CALLED, GAVE]

    run(executed())


def test_calls_within_a_compiled_tool_are_there_however_it_was_called() -> None:
    async def called() -> None:
        runtime = writing(CALLING)
        compiled = await runtime.aot(seller(multiply), cache=False)
        await compiled(lamps=3)
        assert main_of(runtime) == CALLED

    run(called())


def test_execute_puts_the_call_and_the_result_there() -> None:
    runtime = Runtime()
    assert run(runtime.execute(multiply, a=3, b=5)) == {"product": 15}
    assert main_of(runtime) == CALLED
    call, result = runtime.get_context()
    assert call.content == "" and call.tool_calls and result.tool_call_id == call.tool_calls[0]["id"]


def test_execute_that_fails_puts_the_call_and_the_error_there_and_raises() -> None:
    runtime = Runtime()
    with pytest.raises(ValueError, match="less than no lamps"):
        run(runtime.execute(multiply, a=-1, b=5))
    assert [role for role, _ in main_of(runtime)] == ["assistant", "tool"]
    assert "less than no lamps" in runtime.get_context()[-1].content


def test_a_model_that_a_program_asks_is_there_with_question_and_answer() -> None:
    runtime = writing(ASKING)
    run(runtime.jit(seller(llm("twenty-five")), lamps=3))
    said = [("user", "What is five lamps?"), ("assistant", "twenty-five")]
    assert main_of(runtime) == [GIVEN, *said, ("assistant", {"total": "twenty-five"})]
    assert shown(runtime.CTX["intermediate_a"]) == said


def test_a_model_that_fails_in_a_program_puts_nothing_there() -> None:
    runtime = writing(f"try:\n    await llm_a('What?')\nexcept Exception:\n    {PLAIN}")
    run(runtime.jit(seller(llm(ModelFailed("it is tired"))), lamps=3))
    assert main_of(runtime) == [GIVEN, GAVE], "the program went on without it"
    runtime = writing(ASKING)
    with pytest.raises(ProgramFailed, match="tired"):
        run(runtime.jit(seller(llm(*[ModelFailed("it is tired")] * 9)), lamps=3))
    assert main_of(runtime) == []


def test_a_tool_that_a_program_calls_is_there_with_call_and_result() -> None:
    runtime = writing(CALLING)
    run(runtime.jit(seller(multiply), lamps=3))
    assert main_of(runtime) == [GIVEN, *CALLED, GAVE]


def test_a_tool_that_fails_in_a_program_is_there_with_its_error() -> None:
    runtime = writing(CATCHING)
    run(runtime.jit(seller(multiply), lamps=3))
    failed = ("tool", "ValueError: less than no lamps")
    assert main_of(runtime)[1:3] == [("assistant", 'multiply {"a": -1, "b": 5}'), failed]


def test_a_model_that_is_executed_puts_nothing_there() -> None:
    runtime = Runtime()
    assert run(runtime.execute(llm("hello"), content="Say hello.")) == "hello"
    assert main_of(runtime) == []
    assert shown(runtime.CTX["intermediate_a"]) == [("user", "Say hello."), ("assistant", "hello")]
    with pytest.raises(ModelFailed):
        run(runtime.execute(llm(ModelFailed("it is tired")), content="Say hello."))
    assert main_of(runtime) == []


def test_programs_that_are_written_again_put_nothing_there() -> None:
    runtime = writing("output = 1 +", BROKEN, PLAIN, strategy=one_candidate())
    run(runtime.jit(seller(), lamps=3))
    assert main_of(runtime) == [GIVEN, GAVE]
    attempt = runtime.CTX["attempt_a"]
    assert sum("```python" in message.content for message in attempt if message.role == "assistant") == 3
    assert "ZeroDivisionError" in "".join(message.content for message in attempt)


def test_of_several_candidates_only_the_one_that_wins_is_there() -> None:
    twice = CALLING.replace("found", "await multiply(a=1, b=1)\nfound", 1)
    runtime = writing(twice, CALLING, twice)
    run(runtime.jit(seller(multiply), lamps=3))
    assert main_of(runtime) == [GIVEN, *CALLED, GAVE], "the cheapest"
    assert {"attempt_a", "attempt_b", "attempt_c"} <= set(runtime.CTX)


def test_the_runtime_that_runs_a_program_is_the_one_at_work_in_it(runtime: Runtime) -> None:
    own = writing("await note()\n" + PLAIN)

    async def note() -> str:
        """Write something down."""
        get_context("notes").user("seen")
        return "ok"

    with runtime:
        run(own.jit(seller(note), lamps=3))
    assert len(own.CTX["notes"]) == 1 and dict(runtime.CTX) == {}


def one_candidate() -> Any:
    from quire.bridges.a1 import Strategy

    return Strategy(num_candidates=1)
