"""What has acted is not done again, however it failed, and whoever writes next is told of it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from quire import Agent, Session, ToolCall
from quire.agent import Tool, tool
from quire.agent.builtin import Role, delegating_tools
from quire.agent.calls import has_acted, having_acted
from quire.errors import ModelFailed
from quire.models import Scripted
from quire.programs import ProgramFailed, Task
from tests.programs.coding import coder_of, run, said

did: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    did.clear()


class Broken:
    """Says nothing of itself."""

    def __repr__(self) -> str:
        raise ZeroDivisionError("no words")


@tool
async def awaited() -> object:
    """Act, and give what cannot be written."""
    did.append(1)
    return Broken()


@tool
def plain() -> object:
    """Act, and give what cannot be written."""
    did.append(1)
    return {"a": [Broken()]}


@tool
async def streamed() -> AsyncIterator[Any]:
    """Act, and give what cannot be written."""
    did.append(1)
    yield "one"
    yield Broken()


@tool
def iterated() -> Iterator[Any]:
    """Act, and give what cannot be written."""
    did.append(1)
    yield Broken()


@tool
async def pay(amount: int) -> str:
    """Pay."""
    did.append(amount)
    return "paid"


async def twice(of: Tool, call: str) -> tuple[str, str]:
    """A call by two programs: what the second was given, and what its model was told."""
    caught = f"try:\n    output = str(await {call})\nexcept Exception as fault:\n    output = str(fault)"
    coder = coder_of(f"{caught}\nassert output == ''", caught, rounds=2)
    answer = await coder.answer(Task("act", input={"q": str}, output=str, tools=[of]), q="x")
    told = [text for kind, text in said(coder.session, "attempt_a") if kind == "user"]
    return answer.value, next(text for text in told if text.startswith("Programs that failed"))


@pytest.mark.parametrize("of", [awaited, plain, streamed, iterated], ids=lambda of: of.name)
def test_what_returned_has_acted_though_its_result_cannot_be_told(of: Tool) -> None:
    async def work() -> None:
        value, told = await twice(of, f"{of.name}()")
        assert len(did) == 1 and "It ran, but what it returned has no text: ZeroDivisionError" in value
        assert f"- {of.name} {{}} failed after it had acted: " in told

    run(work)


def test_what_yields_and_raises_is_made_again_and_so_is_what_was_not_given_right() -> None:
    @tool
    async def raising(n: int) -> AsyncIterator[str]:
        """Yield, and raise."""
        did.append(n)
        yield "one"
        raise LookupError("there is no two")

    async def work() -> None:
        value, told = await twice(raising, "raising(1)")
        assert did == [1, 1] and value == "there is no two" and "} failed: " in told
        did.clear()
        coder = coder_of("import json\nawait raising(json.loads('[]'))", "output = ''", rounds=2)
        await coder.answer(Task("act", input={"q": str}, output=str, tools=[raising]), q="x")
        assert did == [] and "Programs that failed" not in str(said(coder.session, "attempt_a"))

    run(work)


def test_what_is_yielded_is_closed_when_it_is_left() -> None:
    @tool(timeout=0.1)
    async def endless() -> AsyncIterator[str]:
        """Yield, and wait."""
        try:
            yield "one"
            await asyncio.sleep(60)
        finally:
            did.append("closed")

    async def work() -> None:
        value, told = await twice(endless, "endless()")
        assert did == ["closed"] and "did not finish" in value and "was stopped" in told

    run(work)


def failing_agent(*made: Any) -> Role:
    """Who does what it is told to do, and whose model fails then."""

    def fail(_: Any) -> Any:
        raise ModelFailed("too much to do")

    model = Scripted([*made, fail] * 2)
    return Role(name="payer", description="Pays.", make=lambda s: Agent(s, model=model, tools=[pay]))


def test_an_agent_that_paid_before_its_model_failed_is_not_given_the_task_again() -> None:
    async def work() -> None:
        role = failing_agent(ToolCall("c1", "pay", '{"amount": 5}'))
        delegate = delegating_tools(role)[1]
        value, told = await twice(delegate, "delegate(to='payer', task='Pay 5.')")
        assert did == [5] and "too much to do" in value and "It had called pay (1 done)" in value
        assert "failed after it had acted: ModelFailed" in told and "pay (1 done)" in told

    run(work)


def test_an_agent_whose_model_failed_at_once_is_given_the_task_again() -> None:
    async def work() -> None:
        delegate = delegating_tools(failing_agent())[1]
        value, told = await twice(delegate, "delegate(to='payer', task='Pay 5.')")
        assert value == "too much to do" and "} failed: " in told

    run(work)


def test_a_tool_that_asks_an_agent_by_itself_is_not_called_again_once_that_has_paid() -> None:
    def failing(sent: Any) -> Any:
        if sent.payload["messages"][-1]["role"] == "tool":
            raise ModelFailed("too much to do")
        return ToolCall("c1", "pay", '{"amount": 5}')

    @tool
    async def settle() -> str:
        """Have it settled by another."""
        return str(await Agent("Pay.", model=Scripted(failing), tools=[pay]).ask("Pay 5."))

    async def work() -> None:
        value, told = await twice(settle, "settle()")
        assert did == [5] and value == "too much to do" and "failed after it had acted" in told

    run(work)


def test_whoever_delegates_is_told_what_was_called_before_it_failed() -> None:
    async def work() -> None:
        role = failing_agent(ToolCall("c1", "pay", '{"amount": 5}'))
        call = ToolCall("c0", "delegate", '{"to": "payer", "task": "Pay 5."}')
        session = Session.open("ana/one", store="memory:")
        agent = Agent(session, model=Scripted([call, "Well."]), tools=delegating_tools(role))
        await agent.ask("Have 5 paid.")
        (result,) = [text for kind, text in said(session) if kind == "error"]
        assert result.startswith("ModelFailed: too much to do") and "It had called pay (1 done)" in result

    run(work)


def test_programs_that_paid_before_they_failed_within_a_tool_are_not_written_again() -> None:
    paying = "await pay(amount=5)\noutput = 1 // len(q[9:])"
    inner = Task("pay_all", input={"q": str}, output=int, tools=[pay])

    @tool
    async def settle() -> int:
        """Settle it."""
        answer = await coder_of(paying, paying, rounds=2).answer(inner, q="x")
        return int(answer.value)

    @tool
    async def settle_quietly() -> int:
        """Settle it, and raise an error of its own."""
        try:
            return int(await settle())
        except ProgramFailed:
            raise ValueError("not settled") from None

    async def work() -> None:
        for of in (settle, settle_quietly):
            did.clear()
            _, told = await twice(of, f"{of.name}()")
            assert did == [5] and "failed after it had acted: " in told

    run(work)


def test_programs_that_called_nothing_before_they_failed_are_written_again() -> None:
    inner = Task("nothing", input={"q": str}, output=int)

    @tool
    async def settle() -> int:
        """Settle it."""
        did.append(1)
        answer = await coder_of("output = 1 // len(q[9:])", rounds=1).answer(inner, q="x")
        return int(answer.value)

    async def work() -> None:
        _, told = await twice(settle, "settle()")
        assert len(did) == 2 and "} failed: " in told

    run(work)


def test_any_error_may_say_that_something_was_done() -> None:
    class HalfDone(Exception):
        """The first half is done."""

        has_acted = True

    @tool
    async def two_halves() -> None:
        """Do one half."""
        did.append(1)
        raise HalfDone("the first half is done")

    async def work() -> None:
        value, told = await twice(two_halves, "two_halves()")
        assert did == [1] and value == "the first half is done" and "failed after it had acted" in told

    run(work)


def test_an_error_is_asked_and_those_that_it_comes_from() -> None:
    acted, other = having_acted(ValueError("a")), ValueError("b")
    assert has_acted(acted) and not has_acted(other) and not has_acted(None)
    other.__cause__ = acted
    assert has_acted(other) and has_acted(ExceptionGroup("c", [KeyError("d"), other]))
    round_about, back = ValueError("e"), ValueError("f")
    round_about.__context__, back.__context__ = back, round_about
    assert not has_acted(round_about)
