"""Promises of A1's page on context: messages, named contexts, what lands in `main`, files and compaction."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from quire.bridges.a1 import (
    LLM,
    Agent,
    Context,
    Message,
    Runtime,
    Strategy,
    TruncateOldest,
    get_context,
    get_runtime,
    new_context,
    no_context,
    tool,
)
from quire.errors import ModelFailed
from quire.models import Scripted
from quire.programs import ProgramFailed, ProgramFault
from tests.bridges.a1.conftest import runtime as runtime
from tests.bridges.a1.test_contexts import texts
from tests.bridges.a1.test_programs import writing


class Trip(BaseModel):
    """A trip to price."""

    nights: int


class Price(BaseModel):
    """The price of a trip."""

    total: str


@tool(name="rate", description="Look up the rate of some nights")
async def rate(nights: int) -> dict[str, int]:
    if nights < 1:
        raise ValueError("at least one night")
    return {"euros": nights * 80}


PLAIN = "output = {'total': str(nights * 80)}"
CALLING = "found = await rate(nights=nights)\noutput = {'total': str(found['euros'])}"
CATCHING = "try:\n    await rate(nights=0)\nexcept ValueError as error:\n    output = {'total': str(error)}"
ASKING = "text = await llm_a('Name a price.')\noutput = {'total': text}"
BROKEN = "output = {'total': str(nights // (nights - nights))}"

INPUT, OUTPUT = ("user", {"nights": 2}), ("assistant", {"total": "160"})
CALL, RESULT = ("assistant", 'rate {"nights": 2}'), ("tool", {"euros": 160})


def planner(*tools: Any) -> Agent:
    return Agent(name="planner", input_schema=Trip, output_schema=Price, tools=list(tools))


def llm(*replies: Any) -> LLM:
    return LLM(Scripted(list(replies)))


def shown(context: Context) -> list[tuple[str, Any]]:
    """Roles with calls, JSON values or texts."""
    return [(message.role, _short(message)) for message in context]


def _short(message: Message) -> Any:
    if message.tool_calls:
        called = message.tool_calls[0]["function"]
        return f"{called['name']} {called['arguments']}"
    return json.loads(message.content) if message.content.startswith("{") else message.content


def snow_call(call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "snow", "arguments": '{"peak": "Eiger"}'}}


# Contexts and messages


def test_get_context_creates_a_context_and_finds_it_again() -> None:
    context = get_context("main")
    context.user("Is there snow?")
    assert get_context("main") is context is get_context() and len(context) == 1


def test_a_context_has_messages_of_four_roles() -> None:
    context = get_context("main")
    context.system("You guide hikers.")
    context.user("Is there snow?")
    context.assistant("One moment.", tool_calls=[snow_call("call_9")])
    context.tool(content='{"depth": 40}', name="snow", tool_call_id="call_9")
    assert [message.role for message in context] == ["system", "user", "assistant", "tool"]
    assert context[2].content == "One moment." and context[2].tool_calls == [snow_call("call_9")]
    assert (context[3].name, context[3].tool_call_id) == ("snow", "call_9")


def test_named_contexts_are_independent_and_can_be_cleared() -> None:
    get_context("route").user("Go north.")
    get_context("gear").user("Bring a rope.")
    assert texts(get_context("route")) == ["Go north."] and len(get_context("main")) == 0
    get_context("route").clear()
    assert get_context("route").messages == [] and texts(get_context("gear")) == ["Bring a rope."]


def test_each_runtime_has_its_own_contexts(runtime: Runtime) -> None:
    other = Runtime()
    get_context("main").user("inside the first")
    with other:
        assert get_runtime() is other and len(get_context("main")) == 0
        get_context("main").user("inside the second")
    assert get_runtime() is runtime and texts(get_context("main")) == ["inside the first"]
    assert other.CTX["main"] is not runtime.CTX["main"]


def test_get_runtime_gives_a_runtime_even_where_none_was_entered(runtime: Runtime) -> None:
    runtime.__exit__()
    try:
        assert get_runtime() is get_runtime() is not runtime
    finally:
        runtime.__enter__()


# Labels and the full timeline


def test_the_full_context_can_be_limited_to_labels(runtime: Runtime) -> None:
    get_context("main").user("main")
    for label in ("attempt", "attempt", "intermediate"):
        new_context(label).user(label)
    assert texts(runtime.get_full_context("main")) == ["main"]
    assert texts(runtime.get_full_context("attempt")) == ["attempt", "attempt"]
    assert texts(runtime.get_full_context(["main", "intermediate"])) == ["main", "intermediate"]


# What lands in main


ASKED = [("user", "Name a price."), ("assistant", "ninety")]
WITH_SCHEMA = "text = await llm_a('Name a price.', output_schema=Price)\noutput = {'total': text['total']}"
ASKING_IN_VAIN = f"try:\n    await llm_a('Name a price.')\nexcept Exception:\n    {PLAIN}"
FAILED_TOOL = [("assistant", 'rate {"nights": 0}'), ("tool", "ValueError: at least one night")]


@pytest.mark.parametrize(
    ("programs", "reply", "main"),
    [
        ([PLAIN], None, [INPUT, OUTPUT]),
        ([CALLING], None, [INPUT, CALL, RESULT, OUTPUT]),
        ([CATCHING], None, [INPUT, *FAILED_TOOL, ("assistant", {"total": "at least one night"})]),
        ([ASKING], "ninety", [INPUT, *ASKED, ("assistant", {"total": "ninety"})]),
        ([WITH_SCHEMA], '{"total": "160"}', [INPUT, ASKED[0], OUTPUT, OUTPUT]),
        ([ASKING_IN_VAIN], ModelFailed("out of order"), [INPUT, OUTPUT]),
        (["output = 1 +", BROKEN, PLAIN], None, [INPUT, OUTPUT]),
    ],
    ids=["plain", "tool", "failed tool", "model", "schema", "failed model", "retries"],
)
async def test_jit_appends_input_calls_questions_and_output_to_main(
    programs: list[str], reply: Any, main: list[Any]
) -> None:
    runtime = writing(*programs)
    models = [] if reply is None else [llm(reply)]
    await runtime.jit(planner(rate, *models), nights=2)
    assert shown(runtime.CTX["main"]) == main
    assert any("```python" in message.content for message in runtime.get_full_context("attempt"))


async def test_of_several_candidates_only_the_winner_reaches_main() -> None:
    runtime = writing(CALLING, PLAIN, CALLING, strategy=Strategy(num_candidates=3))
    assert await runtime.jit(planner(rate), nights=2) == Price(total="160")
    assert shown(runtime.CTX["main"]) == [INPUT, OUTPUT]
    assert {"attempt_a", "attempt_b", "attempt_c"} <= set(runtime.CTX)


async def test_a_question_of_a_program_is_in_main_and_in_an_intermediate_context_once() -> None:
    runtime = writing(ASKING)
    await runtime.jit(planner(llm("ninety")), nights=2)
    assert shown(runtime.CTX["intermediate_a"]) == ASKED
    assert len(runtime.get_full_context(["main", "intermediate"])) == 4


async def test_a_failed_jit_or_aot_raises_and_leaves_main_as_it_was() -> None:
    runtime = writing("output = missing_name")
    runtime.get_context("main").user("before")
    for attempt in (runtime.jit(planner(), nights=2), runtime.aot(planner())):
        with pytest.raises(ProgramFailed):
            await attempt
    assert texts(runtime.CTX["main"]) == ["before"]


async def test_a_compiled_tool_appends_input_and_output_when_executed_but_not_when_called() -> None:
    with writing(PLAIN) as runtime:
        compiled = await runtime.aot(planner())
        assert await compiled(nights=2) == Price(total="160")
        assert len(get_context("main")) == 0
        assert await compiled.execute(nights=2) == Price(total="160")
    assert shown(runtime.CTX["main"]) == [INPUT, OUTPUT]


async def test_a_compiled_tool_that_fails_raises_and_appends_nothing() -> None:
    with writing(BROKEN) as runtime:
        compiled = await runtime.aot(planner())
        for run in (compiled, compiled.execute):
            with pytest.raises(ProgramFault):
                await run(nights=2)
    assert len(runtime.get_context("main")) == 0


async def test_execute_appends_the_call_and_its_result_or_its_error(runtime: Runtime) -> None:
    assert await runtime.execute(rate, nights=2) == {"euros": 160}
    call, result = runtime.CTX["main"]
    assert call.content == "" and call.tool_calls and result.tool_call_id == call.tool_calls[0]["id"]
    with pytest.raises(ValueError, match="at least one night"):
        await runtime.execute(rate, nights=0)
    assert shown(runtime.CTX["main"]) == [CALL, RESULT, *FAILED_TOOL]


async def test_executing_an_llm_tool_appends_nothing_to_main(runtime: Runtime) -> None:
    assert await runtime.execute(llm("Cold."), content="How is the lake?") == "Cold."
    with pytest.raises(ModelFailed):
        await runtime.execute(llm(ModelFailed("out of order")), content="How is the lake?")
    assert len(runtime.get_context("main")) == 0


# Files


def test_no_context_is_saved_nowhere_and_belongs_to_no_runtime() -> None:
    with Runtime.from_file("all.json", keep_updated=True) as runtime:
        get_context("main").user("kept")
        no_context().user("thrown away")
        assert texts(runtime.get_full_context()) == ["kept"]
        assert "thrown away" not in Path("all.json").read_text()


# Compaction


def test_truncate_oldest_keeps_the_newest_messages() -> None:
    main, gear = get_context("main"), get_context("gear")
    for number in range(6):
        main.user(f"step {number}")
    gear.user("rope")
    contexts = TruncateOldest(max_messages=2).compact({"main": main, "gear": gear})
    assert texts(contexts["main"]) == ["step 4", "step 5"] and texts(contexts["gear"]) == ["rope"]


def test_the_default_strategy_leaves_contexts_as_they_are(runtime: Runtime) -> None:
    get_context("main").user("left")
    assert runtime.compact.compact({"main": get_context("main")}) == {"main": get_context("main")}
    assert texts(get_context("main")) == ["left"]
