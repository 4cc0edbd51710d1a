"""Answers of the user's own client: JSON, objects of the SDKs, streams, streams that were left or broke."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from quire import Budget, Session, Template
from quire.context import Context
from quire.errors import InvalidValue, WrongType
from quire.items import Item, Message, Reasoning, ToolCall
from quire.providers import Parsed, Rendered, provider_for
from quire.sections import History, Instructions
from quire.session import Adding, hook
from quire.stores import MemoryStore
from tests.session.opened import TEMPLATE, run, session, texts, twin

WHOLE: dict[str, Any] = json.loads(Path(__file__).with_name("responses.json").read_text())
"""By wire, the same answer: some words, and a call."""


def from_sdk(wire: str) -> Any:
    """An answer as the official client gives it."""
    from anthropic.types import Message as AnthropicMessage
    from google.genai.types import GenerateContentResponse
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    clients: tuple[Any, ...] = (ChatCompletion, Response, AnthropicMessage, GenerateContentResponse)
    return dict(zip(WHOLE, clients, strict=True))[wire].model_validate(WHOLE[wire])


@pytest.mark.parametrize("wire", WHOLE)
@pytest.mark.parametrize("how", ["mapping", "object", "JSON", "named"])
def test_a_whole_answer_is_read_as_of_the_last_rendering_or_of_the_provider_named(
    wire: str, how: str
) -> None:
    one, response = session(), WHOLE[wire]
    one.user("Look.")
    forms = {"object": from_sdk(wire), "JSON": json.dumps(response)}
    if how == "named":
        parsed = one.record(response, provider=wire)
    else:
        one.build(TEMPLATE).render(wire)
        parsed = one.record(forms.get(how, response))
    words, call = one.view()[1:]
    assert isinstance(words, Message) and words.text == "Let me see."
    assert isinstance(call, ToolCall) and call.name == "look" and one.view().pending() == [call]
    assert parsed.usage is not None and one.spending.tokens == 12 and parsed.items[-1] is call


def chunks(*words: str) -> Iterator[dict[str, Any]]:
    for word in words:
        delta = {"role": "assistant", "content": word}
        yield {"object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta}]}
    last: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    yield {"object": "chat.completion.chunk", "model": "m", "choices": [last]}
    yield {"object": "chat.completion.chunk", "model": "m", "choices": [], "usage": usage}


async def awaited(events: Iterator[Any]) -> AsyncIterator[Any]:
    for event in events:
        yield event


def broken(*words: str) -> Iterator[Any]:
    yield from list(chunks(*words))[: len(words)]
    raise ConnectionError("peer reset")


async def _heard(one: Session, events: Iterator[Any]) -> list[Any]:
    return [event async for event in one.aio.listen(awaited(events), provider="openai")]


TAKE: dict[str, Callable[[Session, Iterator[Any]], Any]] = {
    "record": lambda one, events: one.record(events, provider="openai"),
    "listen": lambda one, events: list(one.listen(events, provider="openai")),
    "awaited record": lambda one, events: run(one.aio.record(events, provider="openai")),
    "awaited stream": lambda one, events: run(one.aio.record(awaited(events), provider="openai")),
    "awaited listen": lambda one, events: run(_heard(one, events)),
}
EVERY_WAY = pytest.mark.parametrize("take", TAKE.values(), ids=TAKE)


@EVERY_WAY
def test_a_stream_is_recorded_once_when_it_has_ended(take: Any) -> None:
    one = session()
    one.user("Hi.")
    take(one, chunks("Hel", "lo", "!"))
    assert texts(one.view()) == ["Hi.", "Hello!"] and one.spending.tokens == 7
    assert one.spending.requests == 1


@EVERY_WAY
def test_what_came_before_a_stream_broke_is_recorded_as_interrupted(take: Any) -> None:
    one = session()
    with pytest.raises(ConnectionError):
        take(one, broken("Take an ", "umbrella"))
    (said,) = one.view()
    assert isinstance(said, Message) and said.interrupted and said.text == "Take an umbrella"
    with pytest.raises(ConnectionError):
        take(one, broken())
    assert len(one.view()) == 1


def test_an_event_that_cannot_be_read_loses_nothing_of_those_before_it() -> None:
    one = session()
    with pytest.raises(WrongType):
        one.record(iter([next(chunks("Take an ")), object()]), provider="openai")
    failing = [next(chunks("Hel")), {"error": {"code": "server_error", "message": "gone"}}]
    parsed = one.record(failing, provider="openai")
    assert parsed.error is not None and texts(one.view()) == ["Take an ", "Hel"]


async def _leaves_awaited(one: Session) -> None:
    async for _ in one.aio.listen(awaited(chunks("one ", "two")), provider="openai"):
        break


async def _leaves_an_awaited_block(one: Session) -> None:
    async with aclosing(one.aio.listen(awaited(chunks("one ", "two")), provider="openai")) as events:
        async for _ in events:
            break


async def _leaves_in_a_loop(one: Session) -> None:
    _leaves(one)
    one.user("next")


def _leaves(one: Session) -> None:
    for _ in one.listen(chunks("one ", "two"), provider="openai"):
        break


def _leaves_a_block(one: Session) -> None:
    with one.listen(chunks("one ", "two"), provider="openai") as events:
        next(events)
    assert list(events) == []
    events.close()


LEAVE: dict[str, Callable[[Session], Any]] = {
    "loop": _leaves,
    "block": _leaves_a_block,
    "inside a running loop": lambda one: run(_leaves_in_a_loop(one)),
    "awaited loop": lambda one: run(_leaves_awaited(one)),
    "awaited block": lambda one: run(_leaves_an_awaited_block(one)),
}


@pytest.mark.parametrize("leave", LEAVE.values(), ids=LEAVE)
def test_who_stops_listening_has_what_came_before_anything_that_is_said_next(leave: Any) -> None:
    one = session()
    leave(one)
    one.user("next")
    said = one.view()[0]
    assert texts(one.view())[:2] == ["one ", "next"] and isinstance(said, Message) and said.interrupted


def test_who_never_listened_has_no_answer() -> None:
    one = session()
    with one.listen(chunks("one "), provider="openai"):
        pass
    assert one.version == 0


@hook(Adding)
def refuse_halves(event: Adding) -> None:
    if any(isinstance(item, Message) and item.interrupted for item in event.items):
        raise PermissionError("no halves")


async def stalled(came: asyncio.Event) -> AsyncIterator[Any]:
    yield next(chunks("one "))
    came.set()
    await asyncio.Event().wait()


@pytest.mark.parametrize("hooks", [[], [refuse_halves]], ids=["plain", "refused"])
def test_who_is_cancelled_while_it_comes_has_what_came(hooks: list[Any]) -> None:
    async def cancelled(one: Session) -> None:
        came = asyncio.Event()
        recording = asyncio.create_task(one.aio.record(stalled(came), provider="openai"))
        await came.wait()
        recording.cancel()
        await recording

    one = session(hooks=hooks)
    with pytest.raises(asyncio.CancelledError):
        run(cancelled(one))
    assert texts(one.view()) == ([] if hooks else ["one "])


def test_a_refusal_is_raised_or_logged_where_nobody_would_hear_it(caplog: pytest.LogCaptureFixture) -> None:
    one = session(hooks=[refuse_halves])
    with pytest.raises(PermissionError):
        _leaves_a_block(one)
    _leaves(one)
    assert "PermissionError" in caplog.text and texts(one.view()) == []


FIELDS = {"type": "object", "properties": {"$top": {"type": "integer"}}}
TOOLS: list[dict[str, Any]] = [{"name": "weather.get", "parameters": FIELDS}]
MODEL = "claude-opus-4-8"
ASKING = Template(Instructions("Be brief."), History(), budget=Budget(window=100_000), model=MODEL)
TITLE = Template(Instructions("Give a title."), History(), budget=Budget(window=100_000), model=MODEL)


def asked(store: MemoryStore | None = None) -> tuple[Session, Any]:
    """A session that has asked with a tool whose names the wire cannot carry."""
    one = session(store)
    one.user("Is it raining?")
    return one, one.build(ASKING, tools=TOOLS)


def reply(rendered: Any) -> dict[str, Any]:
    (written,) = rendered["tools"]
    (parameter,) = written["input_schema"]["properties"]
    thought = {"type": "thinking", "thinking": "t", "signature": "SIG"}
    call = {"type": "tool_use", "id": "t1", "name": written["name"], "input": {parameter: 3}}
    return {**WHOLE["anthropic"], "model": MODEL, "content": [thought, call]}


def goes_back(one: Session) -> bool:
    """Whether the thinking of the answer is sent with the result of its call."""
    one.tool("rain", call_id=one.view().pending()[0].call_id)
    return "SIG" in json.dumps(dict(one.build(ASKING, tools=TOOLS).render("anthropic")))


def called(one: Session) -> list[tuple[str, Any]]:
    return [(item.name, json.loads(item.arguments)) for item in one.view() if isinstance(item, ToolCall)]


OWN = [("weather.get", {"$top": 3})]


def test_an_answer_is_to_the_last_rendering_or_to_the_last_one_for_the_provider_named() -> None:
    for is_named in (False, True):
        one, context = asked()
        sent = context.render("anthropic")
        assert sent["tools"][0]["name"] != "weather.get"
        if is_named:
            one.build(ASKING, model="gpt-5.6").render("openai")
        one.record(reply(sent), provider="anthropic" if is_named else None)
        assert called(one) == OWN and goes_back(one)


@pytest.mark.parametrize("is_awaited", [False, True])
@pytest.mark.parametrize("is_rendered", [False, True])
def test_what_was_sent_says_which_request_is_answered(is_awaited: bool, is_rendered: bool) -> None:
    one, context = asked()
    sent = context.render("anthropic")
    said, given = reply(sent), sent if is_rendered else context
    for _ in range(5):
        one.build(TITLE).render("anthropic")
    if is_awaited:
        run(one.aio.record(said, sent=given))
    else:
        one.record(said, sent=given)
    assert called(one) == OWN and goes_back(one)


@pytest.mark.parametrize("rendered", ["before another", "twice", "in a task that has ended"])
async def test_a_rendering_that_is_named_has_its_receipt(rendered: str) -> None:
    async def first(context: Context) -> Rendered:
        return context.render("anthropic")

    one, context = asked()
    named = await asyncio.create_task(first(context))
    if rendered != "in a task that has ended":
        (one.build(TITLE) if rendered == "before another" else context).render("anthropic")
    with pytest.raises(InvalidValue, match="sent="):
        await asyncio.create_task(one.aio.record(reply(named)))
    await one.aio.record(reply(named), sent=named)
    assert one.receipts[-1].payload().payload == named.payload and called(one) == OWN
    context.render("anthropic")
    await asyncio.create_task(one.aio.record(WHOLE["openai"], provider="openai"))  # rendered by no session
    assert len(one.receipts) == 1


def test_what_was_not_sent_is_refused() -> None:
    one, context = asked()
    said = reply(context.render("anthropic"))
    refused: list[Any] = [5, {"messages": []}, session().build(TEMPLATE)]
    for wrong in refused:
        with pytest.raises((WrongType, InvalidValue)):
            one.record(said, sent=wrong)
    assert not called(one)


def test_after_a_restart_a_receipt_says_what_was_sent() -> None:
    store = MemoryStore()
    _, context = asked(store)
    said = reply(context.render("anthropic"))
    context.sent()
    again = session(twin(store))
    again.record(said, sent=again.receipts[-1].payload())
    assert called(again) == OWN and goes_back(again)


def test_a_call_id_that_comes_again_means_the_newest_open_call() -> None:
    def reply(*names: str) -> Parsed:
        return Parsed(tuple(ToolCall("c", name) for name in names))

    one = session()
    assert [call.call_id for call in one.record(reply("a", "b")).items if isinstance(call, ToolCall)] == [
        "c",
        "c_2",
    ]
    assert [one.tool("done", call_id="c").name for _ in range(2)] == ["a", "b"]
    one.record(reply("left"))
    one.user("never mind")
    one.record(reply("d"))
    assert [call.call_id for call in one.view().pending()] == ["c", "c_2"]
    assert one.tool("done", call_id="c").name == "d" and one.tool("late", call_id="c").name == "left"
    assert one.view().pending() == []


THINKING_TWICE: dict[str, Any] = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "Where is it?", "signature": "c2ln"},
        {"type": "text", "text": "Let me look."},
        {"type": "thinking", "thinking": "In the store.", "signature": "bmF0"},
        {"type": "tool_use", "id": "t1", "name": "look", "input": {}},
    ],
}


def reply_lengths(session: Session) -> list[int]:
    """How many outputs each group has that has any."""
    counts = [
        sum(
            isinstance(item, ToolCall | Reasoning) or getattr(item, "role", "") == "assistant"
            for item in group
        )
        for group in (group.items for group in session.view().groups())
    ]
    return [count for count in counts if count]


def respond_twice(session: Session, take: Callable[[Session, Any], object]) -> Session:
    session.user("Where?")
    take(session, THINKING_TWICE)
    session.tool("here", call_id="t1")
    return session


def record_response(session: Session, reply: Any) -> None:
    session.record(
        {**reply, "type": "message", "stop_reason": "tool_use", "model": "m"}, provider="anthropic"
    )


def append_history(session: Session, reply: Any) -> None:
    session.append(*provider_for("anthropic").read_history([reply]))


@pytest.mark.parametrize("take", [record_response, append_history])
def test_a_reply_is_one_group_whatever_the_order_of_its_blocks(
    take: Callable[[Session, Any], object],
) -> None:
    session = respond_twice(Session.open("a/b", store=MemoryStore()), take)
    session.user("And now?")
    assert reply_lengths(session) == [4] == reply_lengths(session.fork("child"))
    first = next(item for item in session.view() if isinstance(item, Reasoning))
    session.hide(first.id)
    assert not any(isinstance(item, Reasoning | ToolCall) for item in session.view())
    session.undo()
    assert reply_lengths(session) == [4]


def test_a_merge_keeps_replies_and_forgetting_moves_no_boundary() -> None:
    session = Session.open("a/b", store=MemoryStore())
    session.user("Look twice.")
    child = respond_twice(session.fork("child"), record_response)
    session.merge(child, keep="all")
    assert reply_lengths(session) == [4]
    asked = session.user("Again?")
    session.assistant("Yes.")
    between = session.user("Sure?")
    session.assistant(calls=[ToolCall("t2", "look")])
    session.forget(between.id, asked.id)
    assert reply_lengths(session) == [4, 1, 1]


def test_an_answer_of_a_provider_of_ones_own_is_one_reply() -> None:
    session = Session.open("a/b", store=MemoryStore())
    session.user("Where?")
    items: list[Item] = [
        Message("assistant", "Let me look."),
        Reasoning("In the store."),
        ToolCall("t1", "look"),
    ]
    session.record(Parsed(tuple(items)))
    assert reply_lengths(session) == [3]
