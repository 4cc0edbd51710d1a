"""A1's tools: how they are made, what they are called with, and what they give."""

import asyncio
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from pydantic import BaseModel

from quire.agent import tool as engine_tool
from quire.bridges.a1 import LLM, Agent, Runtime, Tool, ToolSet, execute, tool
from quire.errors import InvalidValue, WrongType
from quire.models import Scripted
from tests.bridges.a1.coded import Order, Quote, llm, run


@tool
def double(number: int = 2) -> int:
    """Double a number."""
    return number * 2


@tool(name="shout", description="Say it loudly")
async def loud(content: str) -> str:
    await asyncio.sleep(0)
    return content.upper()


@tool
async def quote(order: Order) -> Quote:
    """Say what it costs."""
    return {"price": order.lamps * 5, "reason": "brass"}  # type: ignore[return-value]


nameless: Callable[[int], int] = lambda x: x  # noqa: E731


def test_a_function_is_a_tool_with_or_without_a_name() -> None:
    assert (double.name, double.description) == ("double", "Double a number.")
    assert (loud.name, loud.description, loud.is_terminal) == ("shout", "Say it loudly", False)
    assert tool(is_terminal=True)(lambda_free).is_terminal
    with pytest.raises(InvalidValue, match="a tool already"):
        tool(double)
    with pytest.raises(InvalidValue, match="name"):
        tool(nameless)
    with pytest.raises(WrongType, match="function"):
        Tool(name="x", execute="nothing")  # type: ignore[arg-type]


def lambda_free() -> None:
    """Do nothing."""


def test_it_is_called_by_name_with_a_text_or_with_a_model() -> None:
    class Number(BaseModel):
        number: int

    assert run(double()) == 4 and run(double(number=4)) == 8 and run(double(Number(number=5))) == 10
    assert run(loud("hi")) == run(loud(content="hi")) == "HI"
    for wrong in ((3,), ("x", "y")):
        with pytest.raises(WrongType, match="by name"):
            run(double(*wrong))


def test_input_is_validated() -> None:
    for wrong in ({"number": "many"}, {"amount": 3}):
        with pytest.raises(InvalidValue, match="'double'"):
            run(double(**wrong))


def test_a_dictionary_becomes_what_the_output_schema_says() -> None:
    assert run(quote(order=Order(lamps=2))) == Quote(price=10, reason="brass")
    assert quote.output_schema is Quote and double.output_schema is None
    broken = Tool(name="broken", execute=lambda: {"price": "none"}, output_schema=Quote)
    with pytest.raises(InvalidValue, match="what 'broken' gave"):
        run(broken())


@pytest.mark.parametrize("is_async", [True, False])
def test_a_tool_with_schemas_of_its_own(is_async: bool) -> None:
    def counted(lamps: int) -> dict[str, Any]:
        return {"price": lamps, "reason": "as many"}

    async def awaited(lamps: int) -> dict[str, Any]:
        return counted(lamps)

    made = Tool(
        name="count",
        description="Count lamps",
        input_schema=Order,
        output_schema=Quote,
        execute=awaited if is_async else counted,
    )
    assert run(made(Order(lamps=2))) == run(made(lamps=2)) == Quote(price=2, reason="as many")
    assert set(made.definition["parameters"]["properties"]) == {"lamps"} and made.input_schema is Order
    with pytest.raises(InvalidValue, match="lamps"):
        run(made(lamps="many"))
    runtime = Runtime()
    assert run(runtime.execute(made, lamps=2)) == Quote(price=2, reason="as many")


def test_what_a_function_takes_is_a_schema_too() -> None:
    assert double.input_schema(number=3).number == 3 and double.input_schema().number == 2
    assert set(quote.input_schema.model_fields) == {"order"}


def test_execute_gives_what_the_tool_gave_and_not_its_text() -> None:
    opened = date(2026, 11, 15)

    def when() -> date:
        """Say when the shop was opened."""
        return opened

    assert run(Runtime().execute(when)) is opened
    assert run(execute(engine_tool(when))) is opened


def test_lists_and_sets_of_tools_are_one_row() -> None:
    model = llm()

    def plain(x: int) -> int:
        """Do nothing."""
        return x

    tools = ToolSet("all", "Everything", [double, [loud, ToolSet("inner", tools=[quote])]])
    agent = Agent(tools=[tools, plain, model])
    assert [one.name for one in agent.tools] == ["double", "shout", "quote", "plain", "llm_clerk"]
    assert agent.get_tool("shout") is loud and agent.get_tool("nothing") is None
    with pytest.raises(WrongType, match="function"):
        Agent(tools=[3])


def test_what_makes_a_model_of_a_tool_is_not_its_name() -> None:
    @tool
    def fulfillment(content: str) -> str:
        """Say that it was sent."""
        return content

    async def both() -> None:
        runtime = Runtime()
        await runtime.execute(fulfillment, content="sent")
        await runtime.execute(LLM(Scripted(["yes"], name="gpt:4.1/mini")), content="Is it?")
        assert len(runtime.get_context()) == 2
        assert len(runtime.CTX["intermediate_a"]) == 2

    run(both())
    assert LLM(Scripted([], name="gpt:4.1/mini")).name == "llm_gpt_4_1_mini"


class Connection:
    """What no JSON tells of."""


@pytest.mark.parametrize(
    "given",
    [Connection(), [Connection()], date(2024, 1, 1), {"at": b"ab"}],
    ids=["object", "row of objects", "date", "bytes within"],
)
def test_what_is_no_data_is_refused_before_the_tool_runs(given: Any) -> None:
    ran: list[Any] = []

    @tool
    def takes(x: Any) -> str:
        ran.append(x)
        return "taken"

    runtime = Runtime()
    with pytest.raises(WrongType, match="'x'"):
        asyncio.run(runtime.execute(takes, x=given))
    assert ran == [] and len(runtime.get_context()) == 0


def test_what_a_tool_asks_for_is_given_to_it_as_it_is() -> None:
    @tool
    def takes(when: date, raw: bytes, path: Path, days: set[date], any: Any) -> str:
        return repr((when, raw, path, days, any))

    given = (date(2024, 1, 1), b"ab", Path("a/b"), {date(2024, 1, 2)}, {"rows": [1, None, "x"]})
    when, raw, path, days, anything = given
    work = Runtime().execute(takes, when=when, raw=raw, path=path, days=days, any=anything)
    assert asyncio.run(work) == repr(given)


def test_a_text_is_not_made_of_what_is_none() -> None:
    @tool
    def takes(x: str) -> str:
        return x

    with pytest.raises(WrongType, match="'x'"):
        asyncio.run(Runtime().execute(takes, x=Connection()))


class Place(Struct):
    """A struct, of which pydantic makes no schema."""

    town: str


def test_one_that_takes_a_record_or_something_else_is_executed_with_either() -> None:
    given = list[Any]()

    @tool
    async def sales(period: str | Order | None = None) -> int:
        """Sales of a period."""
        given.append(period)
        return len(given)

    @tool
    async def near(place: Place) -> str:
        """What is near."""
        return place.town

    async def executed() -> None:
        for named in ({}, {"period": "May"}, {"period": {"lamps": 1}}):
            await Runtime().execute(sales, **named)
        assert given == [None, "May", Order(lamps=1)]
        assert await Runtime().execute(near, place={"town": "Ulm"}) == "Ulm"

    run(executed())
