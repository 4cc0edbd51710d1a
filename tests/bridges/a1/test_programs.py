"""Tools, models, agents and their programs, beyond what the page on context shows."""

import json
from collections.abc import AsyncIterator
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel

from quire.bridges.a1 import LLM, Agent, Context, Runtime, Strategy, Tool, get_context, get_runtime, tool
from quire.errors import InvalidValue, ModelFailed, WrongType
from quire.items import ToolCall
from quire.models import Scripted
from quire.programs import ProgramFailed


class Order(BaseModel):
    """Pots to fire."""

    pots: int


class Bill(BaseModel):
    """The price of an order."""

    total: int


@tool(name="fire", description="Fire some pots")
async def fire(pots: int) -> dict[str, int]:
    if pots < 0:
        raise ValueError("fewer than no pots")
    return {"hours": pots * 2}


FIRING = "fired = await fire(pots=pots)\noutput = {'total': fired['hours']}"


def writing(*programs: str, **options: Any) -> Runtime:
    """A runtime whose model writes these programs in turn, and then the last one again."""
    replies = iter(programs)
    model = Scripted(lambda _: f"```python\n{next(replies, programs[-1])}\n```")
    return Runtime(generate=model, **{"strategy": Strategy(num_candidates=1), **options})  # pyright: ignore


def potter(*tools: Any, description: str = "") -> Agent:
    return Agent("potter", description, Order, Bill, tools)


def roles(context: Context) -> list[str]:
    return [message.role for message in context]


def calling(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(f"call_{name}", name, json.dumps(arguments))


# Tools


async def test_a_tool_is_called_with_values_that_fit_its_schema() -> None:
    def triple(pots: int) -> dict[str, int]:
        return {"total": pots * 3}

    priced = Tool(name="price", execute=triple, input_schema=Order, output_schema=Bill)
    assert await priced(pots=2) == await get_runtime().execute(priced, pots=2) == Bill(total=6)
    assert await tool(triple)(2) == {"total": 6}
    assert priced.input_schema is Order and priced.definition["parameters"]["required"] == ["pots"]
    for wrong in ({"pots": "many"}, {"pots": 2, "colour": "red"}):
        with pytest.raises(InvalidValue, match="pots"):
            await priced(**wrong)


# Executing tools


async def test_execute_returns_what_the_tool_returns_whatever_its_kind() -> None:
    def next_day(day: date) -> date:
        return date.fromordinal(day.toordinal() + 1)

    async def count(until: int) -> AsyncIterator[str]:
        for n in range(until):
            yield str(n)

    assert await get_runtime().execute(next_day, day=date(2026, 2, 28)) == date(2026, 3, 1)
    assert await get_runtime().execute(tool(count), until=2) == get_context()[-1].content
    assert roles(get_context()) == ["assistant", "tool"] * 2
    get_context().clear()
    get_context().assistant("The kiln is hot.")
    with pytest.raises(ValueError, match="fewer than no pots"):
        await get_runtime().execute(fire, pots=-1)
    assert roles(get_context()) == ["assistant", "assistant", "tool"]
    assert get_context()[0].tool_calls is None


# Models


async def test_an_llm_answers_in_a_new_intermediate_context_with_a_value_of_a_schema(
    runtime: Runtime,
) -> None:
    assert await LLM(Scripted(['{"total": 5}']))("Price?", output_schema=Bill) == Bill(total=5)
    assert list(runtime.CTX) == ["intermediate_a"] and roles(runtime.CTX["intermediate_a"])[0] == "user"


async def test_a_failed_question_leaves_its_context_as_it_was_unless_it_had_called_something() -> None:
    desk = get_context("desk")
    with pytest.raises(ModelFailed):
        await LLM(Scripted([ModelFailed("out of order")]))("How long?", context=desk)
    assert len(desk) == 0
    with pytest.raises(ModelFailed):
        await LLM(Scripted([calling("fire", pots=2), ModelFailed("out")]))(
            "How long?", tools=[fire], context=desk
        )
    assert roles(desk) == ["user", "assistant", "tool"]
    with pytest.raises(ModelFailed, match="requests"):
        await LLM(Scripted(lambda _: calling("fire", pots=2)))("How long?", tools=[fire])


async def test_a_terminal_tool_ends_the_answer_with_its_result_once_it_succeeds() -> None:
    done = Tool(name="done", execute=fire.execute, is_terminal=True)
    desk = get_context("desk")
    model = Scripted([calling("fire", pots=1), calling("done", pots=-1), calling("done", pots=3), "Unasked."])
    assert await LLM(model)("How long?", tools=[fire, done], context=desk) == {"hours": 6}
    assert roles(desk) == ["user", *["assistant", "tool"] * 3] and "fewer than no pots" in desk[4].content
    assert done.is_terminal and tool(is_terminal=True)(fire.execute).is_terminal and not fire.is_terminal


# Agents and programs


async def test_an_agent_without_schemas_takes_and_returns_a_text() -> None:
    agent = Agent("echo", "Repeat the input.")
    with writing("output = input * 2"):
        assert await get_runtime().jit(agent, input="ho") == "hoho"


async def test_a_strategy_may_be_given_for_one_program_and_unknown_inputs_are_refused() -> None:
    model = Scripted(lambda _: "no program")
    runtime, one = Runtime(generate=model), Strategy(num_candidates=1, max_iterations=2)
    for attempt in (runtime.jit(potter(), strategy=one, pots=1), runtime.aot(potter(), strategy=one)):
        with pytest.raises(ProgramFailed):
            await attempt
    assert len(model.requests) == 4
    with pytest.raises(InvalidValue, match="colour"):
        await runtime.jit(potter(), pots=1, colour="red")
    with pytest.raises(WrongType, match="strategy"):
        await runtime.jit(potter(), pots=1, strategy="careful")  # type: ignore[arg-type]  # pyright: ignore


# Compiled programs


async def test_a_compiled_program_acts_in_the_runtime_that_is_current() -> None:
    compiler = writing(FIRING)
    compiled = await compiler.aot(potter(fire))
    with Runtime() as other:
        assert await compiled(pots=2) == Bill(total=4)
        assert await compiled.execute(pots=1) == Bill(total=2)
    assert roles(other.CTX["main"]) == ["assistant", "tool", "user", "assistant", "tool", "assistant"]
    assert len(compiler.get_context()) == 0
    for run in (compiled, compiled.execute):
        with pytest.raises(InvalidValue, match="pots"):
            await run(pots=2, colour="red")
