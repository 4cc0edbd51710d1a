"""The scripted model: every sort of reply, what it keeps and refuses; and texts written by a model."""

import asyncio
from typing import Any

import pytest

from quire.compactors import Request
from quire.errors import InvalidValue, ModelFailed, OutOfRange, OverBudget, WrongType
from quire.items import Message, Reasoning, Span, ToolCall
from quire.models import AnyModel, Scripted, asking, summarized
from quire.providers import PROVIDERS, Parsed, Rendered
from quire.state import Transcript
from quire.testing.conversations import TOOLS
from quire.tokens import Usage, counter_for
from tests.models.answerers import QUESTION, each_row, text_of

CALL = ToolCall("c1", "look_up", '{"q": "x"}')
PROMPT = (Message("system", "Summarise in one short sentence."), Message("user", "My order has not come."))
REQUEST = Request(PROMPT, 60, (Span("a", "b"),), ("a", "b"), 2)


def ask(model: AnyModel, **options: Any) -> Parsed:
    return asyncio.run(model.ask(QUESTION, **options))


async def later(sent: Rendered) -> str:
    await asyncio.sleep(0)
    return f"{len(sent.payload['messages'])} messages"


def test_every_sort_of_reply_in_turn_and_then_none() -> None:
    whole = Parsed((Message("assistant", "cut"),), Usage(1, 1), "length", "another")
    model = Scripted(
        ["text", Message("assistant", "item"), [Reasoning("hm"), CALL], whole, later, lambda _: [CALL], ""]
    )
    answers = [ask(model) for _ in range(7)]
    assert [text_of(parsed) for parsed in answers] == ["text", "item", "", "cut", "2 messages", "", ""]
    finishes = ["stop", "stop", "calls", "length", "stop", "calls", "stop"]
    assert [parsed.finish for parsed in answers] == finishes
    assert answers[2].items[1].id == answers[5].items[0].id == CALL.id
    assert answers[3][1:] == whole[1:] and answers[6].items == ()
    with pytest.raises(OutOfRange, match="no reply left: all 7 are used"):
        ask(model)
    assert len(model.requests) == 7


def test_an_exception_is_raised_as_it_is() -> None:
    fault = TimeoutError("too slow")
    model = Scripted([fault, lambda _: fault, "fine"])
    for _ in range(2):
        answering = model.stream(QUESTION)
        with pytest.raises(TimeoutError) as caught:
            asyncio.run(answering.whole())
        assert caught.value is fault and answering.parsed.items == ()
    assert text_of(ask(model)) == "fine"


def test_repeated_replies_say_the_same_things_as_new_items() -> None:
    model, transcript = Scripted([[CALL], Message("assistant", "a"), "b"], repeat=True), Transcript()
    for _ in range(6):
        transcript.extend(ask(model).items)
    assert len(transcript) == 6
    with pytest.raises(OutOfRange):
        ask(Scripted([], repeat=True))
    slow = Scripted(later, wire="anthropic")
    assert [text_of(ask(slow)) for _ in range(2)] == ["1 messages"] * 2


def test_what_was_asked_is_kept() -> None:
    model, view = Scripted(["a", "b", "c"], wire="gemini"), Transcript(QUESTION).view
    asyncio.run(model.ask(view, tools=TOOLS[:1], max_tokens=7))
    rendered = PROVIDERS["gemini"].render(QUESTION, model="scripted")
    asyncio.run(model.send(rendered, stream=False).whole())
    asyncio.run(model.send(rendered, output={"type": "object"}).whole())
    assert "look_up" in str(model.requests[0].payload["config"]["tools"])
    assert model.requests[1:] == [rendered, rendered]
    assert model.terms == [{"max_tokens": 7}, {}, {"output": {"type": "object"}}]


async def test_chat() -> None:
    model = Scripted(["Good day."])
    content = [{"type": "text", "text": "Say "}, {"type": "text", "text": "hello."}]
    reply = await model.complete_chat([{"role": "user", "content": content}], max_tokens=9, top_p=0.5)
    assert str(reply) == "Good day." and reply.parsed.usage is not None
    assert model.terms == [{"max_tokens": 9, "options": {"top_p": 0.5}}]
    wrong: list[Any] = ["Hello", ["Hello"]]
    for messages in wrong:
        with pytest.raises(WrongType):
            await model.complete_chat(messages)


def test_usage_is_counted_as_the_model_of_that_name_counts() -> None:
    model, counter = Scripted(["Hello there."] * 3, name="gpt-4o"), counter_for("gpt-4o")
    parsed = ask(model)
    given = counter.total(sum(map(counter.count, QUESTION)))
    assert parsed.usage == Usage(given, counter.count(parsed.items[0]))
    with_tools = ask(model, tools=TOOLS[:1]).usage
    assert with_tools and parsed.usage and with_tools.input > parsed.usage.input


def test_a_payload_that_the_provider_would_refuse_is_refused() -> None:
    model = Scripted(["one"])
    orphan = [{"role": "tool", "tool_call_id": "c1", "content": "x"}]
    rendered = PROVIDERS["openai"].render(QUESTION, model="scripted")
    with pytest.raises(InvalidValue, match=r"would refuse .*\n  messages\[0\]"):
        model.send(Rendered({**rendered.payload, "messages": orphan}, (), {}, str))
    assert model.requests == []


async def test_a_summary_and_an_answer_are_the_text_of_the_model() -> None:
    model = Scripted([" Order swordfish is sent again. \n", "k1, k2"])
    assert await summarized(model, REQUEST) == "Order swordfish is sent again."
    assert await asking(model, max_tokens=9)("Which of k1, k2, k3?") == "k1, k2"
    assert model.terms == [{"max_tokens": 60}, {"max_tokens": 9}]
    assert model.requests[0].payload["messages"][0]["role"] == "system"
    with pytest.raises(OutOfRange, match="no reply left"):  # a mistake of the caller
        await summarized(model, REQUEST)


@each_row(
    "reply reason",
    (TimeoutError("the secret words"), "scripted failed: TimeoutError"),
    (ModelFailed("it is closed"), "it is closed"),
    (OverBudget("the prompt has 9 tokens", 2), "the prompt has 9 tokens"),
    (" \n", "gave no text"),
    ([ToolCall("c", "look_up")], "gave no text"),
    (Parsed((Message("assistant", "No."),), finish="refused"), "refused"),
    (Parsed((Message("assistant", "Order", interrupted=True),)), "interrupted"),
)
def test_a_text_that_cannot_be_used_is_a_failure_of_the_model(reply: Any, reason: str) -> None:
    for answer in (summarized(Scripted([reply]), REQUEST), asking(Scripted([reply]))("Which?")):
        with pytest.raises(ModelFailed, match=reason) as caught:
            asyncio.run(answer)
        assert "secret" not in str(caught.value)
        assert not isinstance(reply, TimeoutError) or caught.value.__cause__ is reply


async def test_a_summary_that_was_cut_off_is_a_failure_and_another_text_is_not() -> None:
    cut = Parsed((Message("assistant", "Order swordfish is"),), finish="length")
    with pytest.raises(ModelFailed, match="cut off at 60 tokens"):
        await summarized(Scripted([cut]), REQUEST)
    assert await asking(Scripted([cut]))("Which?") == "Order swordfish is"
