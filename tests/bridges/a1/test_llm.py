"""A1's models: what they are asked with, where it is recorded, and what comes back."""

import asyncio
import json
from typing import Any

import pytest

from quire.agent.calls import has_acted
from quire.bridges.a1 import LLM, Context, Runtime, get_context, no_context, tool
from quire.bridges.a1.llm import LLM as SAME
from quire.errors import CapReached, InvalidValue, ModelFailed, WrongType
from quire.items import Message as Words, ToolCall
from quire.models import Scripted
from quire.session import Caps, Session
from tests.bridges.a1.coded import Quote, llm, multiply, run, shown

assert SAME is LLM


def test_a_text_is_answered_in_a_context_of_its_own(runtime: Runtime) -> None:
    model = llm("one", "two")
    assert run(model("First?")) == "one" and run(model(content="Second?")) == "two"
    assert shown(runtime.CTX["intermediate_a"]) == [("user", "First?"), ("assistant", "one")]
    assert shown(runtime.CTX["intermediate_b"]) == [("user", "Second?"), ("assistant", "two")]
    assert runtime.session.spending.requests == 2 and runtime.session.spending.tokens > 0


def test_a_context_that_is_given_is_read_and_added_to(runtime: Runtime) -> None:
    context = get_context("desk")
    context.system("You sell lamps.")
    context.user("Hello.")
    context.assistant("Good morning.")
    model = Scripted(["Three."])
    assert run(LLM(model)("How many?", context=context)) == "Three."
    said = [message["content"] for message in model.requests[0].payload["messages"]]
    assert said == ["You sell lamps.", "Hello.", "Good morning.", "How many?"]
    assert shown(context)[-2:] == [("user", "How many?"), ("assistant", "Three.")]
    assert list(runtime.CTX) == ["desk"]
    alone = no_context()
    run(llm("Yes.")("Really?", context=alone))
    assert len(alone) == 2 and list(runtime.CTX) == ["desk"]


def test_a_context_is_as_it_was_where_no_answer_came() -> None:
    context = Context()
    context.user("before")
    with pytest.raises(ModelFailed):
        run(llm(ModelFailed("tired"))("What?", context=context))
    assert len(context) == 1


def test_an_answer_is_a_value_of_the_schema() -> None:
    model = llm("no JSON", '{"price": 5, "reason": "brass"}')
    assert run(model("What is one lamp?", output_schema=Quote)) == Quote(price=5, reason="brass")


def calling(name: str, arguments: str, words: str = "") -> list[Any]:
    call = ToolCall("toolu_1", name, arguments)
    return [Words("assistant", words), call] if words else [call]


def test_tools_are_called_and_what_they_gave_is_recorded(runtime: Runtime) -> None:
    model = llm(calling("multiply", '{"a": 3, "b": 5}', "Let me see."), "Fifteen.")
    assert run(model("What is 3 times 5?", tools=[multiply])) == "Fifteen."
    context = runtime.CTX["intermediate_a"]
    assert [message.role for message in context] == ["user", "assistant", "tool", "assistant"]
    assert context[1].content == "Let me see." and len(context[1].tool_calls or ()) == 1


def test_what_a_terminal_tool_gives_is_the_answer(runtime: Runtime) -> None:
    @tool(is_terminal=True)
    async def done(price: int, reason: str) -> dict[str, Any]:
        """Give the answer."""
        return {"price": price, "reason": reason}

    def model() -> LLM:
        return llm(calling("done", '{"price": 5, "reason": "brass"}'))

    assert run(model()("What?", tools=[done], output_schema=Quote)) == Quote(price=5, reason="brass")
    assert json.loads(run(model()("What?", tools=done))) == {"price": 5, "reason": "brass"}
    assert [message.role for message in runtime.CTX["intermediate_a"]] == ["user", "assistant", "tool"]


def test_a_model_goes_round_so_often_and_no_more() -> None:
    model = llm(*[calling("multiply", '{"a": 1, "b": 1}') for _ in range(20)])
    with pytest.raises(ModelFailed, match="requests"):
        run(model("What?", tools=[multiply]))


def test_each_request_is_counted(runtime: Runtime) -> None:
    run(llm(calling("multiply", '{"a": 3, "b": 5}'), "Fifteen.")("3 times 5?", tools=[multiply]))
    assert runtime.session.spending.requests == 2
    with pytest.raises(ModelFailed, match="no Quote"):
        run(llm(*["no JSON"] * 5)("What?", output_schema=Quote))
    assert runtime.session.spending.requests == 5


@pytest.mark.parametrize("given", [True, False], ids=["in a context", "in one of its own"])
def test_what_was_called_before_it_failed_is_on_the_record_and_paid(runtime: Runtime, given: bool) -> None:
    model = llm(calling("multiply", '{"a": 3, "b": 5}', "Let me see."), ModelFailed("tired"))
    with pytest.raises(ModelFailed, match="tired") as failed:
        run(model("3 times 5?", tools=[multiply], context=get_context("desk") if given else None))
    assert has_acted(failed.value) and "It had called multiply (1 done)" in str(failed.value)
    context = runtime.CTX["desk" if given else "intermediate_a"]
    assert [message.role for message in context] == ["user", "assistant", "tool"]
    assert context[1].tool_calls and json.loads(context[2].content) == {"product": 15}
    assert runtime.session.spending.requests == 1 and context.view.pending() == []


def test_a_call_that_was_broken_off_is_uncertain(runtime: Runtime) -> None:
    sent: list[str] = []

    @tool
    async def send(to: str) -> str:
        """Send a letter."""
        sent.append(to)
        await asyncio.sleep(60)
        return "sent"

    async def cancelled() -> None:
        model = llm(calling("send", '{"to": "ana"}'))
        asking = asyncio.ensure_future(model("Write to ana.", tools=[send], context=get_context("desk")))
        while not (sent or asking.done()):
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    run(cancelled())
    context = runtime.CTX["desk"]
    assert [message.role for message in context] == ["user", "assistant", "tool"]
    assert context.view.pending() == [] and "uncertain" in context[2].content


def test_caps_hold_from_one_request_to_the_next() -> None:
    session = Session.open(store="memory:", caps=Caps(tokens=1))
    model = Scripted([calling("multiply", '{"a": 1, "b": 1}')] * 5)
    context = Context.over(session, "desk")
    with pytest.raises(CapReached):
        run(LLM(model)("What?", tools=[multiply], context=context))
    assert len(model.requests) == 1 and len(context) == 3
    with pytest.raises(CapReached):
        run(LLM(model)("What?", context=context))
    assert len(model.requests) == 1 and len(context) == 3


def test_a_context_that_was_cleared_meanwhile_shows_what_came_after(runtime: Runtime) -> None:
    @tool
    async def clear() -> str:
        """Begin anew."""
        get_context("desk").clear()
        return "cleared"

    get_context("desk").user("away with this")
    run(llm(calling("clear", "{}"), "Done.")("Begin anew.", tools=[clear], context=get_context("desk")))
    assert [m.role for m in get_context("desk")] == ["user", "assistant", "tool", "assistant"]


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(WrongType, match="model or its name"):
        LLM(3)  # type: ignore[arg-type]
    with pytest.raises(WrongType, match="LLM: the input"):
        run(llm("x")(3))  # type: ignore[arg-type]
    with pytest.raises(InvalidValue):
        run(llm("x")(""))
