"""Whose answer it is: the request that was sent, whatever else was rendered between asking and recording."""

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import pytest

from quire import Budget, Template
from quire.errors import WrongType
from quire.items import ToolCall
from quire.sections import History, Instructions
from quire.session import Session
from quire.stores import MemoryStore
from tests.session.opened import Twin, session

TOOLS: list[dict[str, Any]] = [{"name": "weather.get", "parameters": {"type": "object", "properties": {}}}]
OTHERS: list[dict[str, Any]] = [{"name": "stocks.get"}]
MODEL = "claude-opus-4-8"
TEMPLATE = Template(Instructions("Be brief."), History(), budget=Budget(window=100_000))
TITLE = Template(Instructions("Give a title."), History(), budget=Budget(window=100_000))


def rendered(one: Session, template: Template = TEMPLATE, wire: str = "anthropic", **options: Any) -> Any:
    told: dict[str, Any] = {"model": MODEL, "tools": TOOLS, **options}
    built = asyncio.run(one.build(template, **told))
    return built.render(wire)


def asked(store: MemoryStore | None = None) -> tuple[Session, Any]:
    one = session(store)
    one.user("Is it raining?")
    return one, rendered(one)


def answer(name: str, model: str = MODEL) -> dict[str, Any]:
    return {
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [
            {"type": "thinking", "thinking": "t", "signature": "SIG"},
            {"type": "tool_use", "id": "t1", "name": name, "input": {}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 500, "output_tokens": 5},
    }


def events(name: str) -> list[dict[str, Any]]:
    whole = answer(name)
    thought, call = whole["content"]
    begun: dict[str, Any] = {**whole, "content": []}
    return [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {**thought, "signature": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "SIG"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": call},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]


async def _each(given: list[Any]) -> AsyncIterator[Any]:
    for event in given:
        yield event


class Recording(NamedTuple):
    """What was answered, and how it is recorded."""

    take: Callable[..., Any]
    said: Callable[[str], Any]

    def __call__(self, one: Session, name: str, **sent: Any) -> None:
        self.take(one, self.said(name), **sent)


def _added(one: Session, said: Any, **sent: Any) -> None:
    asyncio.run(one.add_response(_each(said) if isinstance(said, list) else said, **sent))  # pyright: ignore


def _listened(one: Session, said: Any, **sent: Any) -> None:
    assert list(one.listen(said, **sent)) == said


async def _listened_async(one: Session, said: Any, **sent: Any) -> None:
    assert [event async for event in one.listen_async(_each(said), **sent)] == said


RECORDING = {
    "record": Recording(Session.record, answer),
    "record a stream": Recording(Session.record, events),
    "add_response": Recording(_added, answer),
    "add a stream": Recording(_added, events),
    "listen": Recording(_listened, events),
    "listen_async": Recording(lambda *said, **sent: asyncio.run(_listened_async(*said, **sent)), events),  # pyright: ignore
}


def called(one: Session) -> list[str]:
    return [item.name for item in one.view() if isinstance(item, ToolCall)]


def goes_back(one: Session, template: Template = TEMPLATE) -> bool:
    """Whether the thinking of the answer is sent with the result of its call."""
    for call in one.view().pending():
        one.tool("rain", call_id=call.call_id)
    return "SIG" in json.dumps(dict(rendered(one, template)))


BETWEEN: dict[str, Callable[[Session], Any]] = {
    "nothing": lambda one: None,
    "a title": lambda one: rendered(one, TITLE, tools=()),
    "other tools": lambda one: rendered(one, TITLE, tools=OTHERS),
    "another wire": lambda one: rendered(one, wire="openai", model="gpt-5.6"),
    "many others": lambda one: [rendered(one, TITLE, tools=(), model=f"claude-{n}") for n in range(9)],
    "a preview": lambda one: rendered(one),
}


@pytest.mark.parametrize("between", [name for name in BETWEEN if name != "many others"])
@pytest.mark.parametrize("way", RECORDING)
def test_an_answer_is_that_to_a_request_that_offered_what_it_calls(way: str, between: str) -> None:
    one, sent = asked()
    BETWEEN[between](one)
    RECORDING[way](one, sent["tools"][0]["name"])
    assert called(one) == ["weather.get"]
    assert goes_back(one)


SENT: dict[str, Callable[[Any], Any]] = {
    "what was rendered": lambda sent: sent,
    "its payload": lambda sent: sent.payload,
    "the arguments": dict,
    "more arguments": lambda sent: {"model": MODEL, "max_tokens": 100, **sent},
    "the messages": lambda sent: sent["messages"],
}


@pytest.mark.parametrize("given", SENT)
@pytest.mark.parametrize("way", RECORDING)
def test_who_says_what_was_sent_is_believed(way: str, given: str) -> None:
    one, sent = asked()
    named = sent["tools"][0]["name"]
    one.user("Or snowing?")
    rendered(one)  # of the same kind, and later
    BETWEEN["many others"](one)
    RECORDING[way](one, named, sent=SENT[given](sent))
    assert called(one) == ["weather.get"]
    (thought,) = (item for item in one.view() if type(item).__name__ == "Reasoning")
    assert thought.state is not None and thought.state.prefix == sent.prefix  # type: ignore[union-attr]


def test_what_was_sent_may_have_been_edited() -> None:
    one, sent = asked()
    arguments = dict(sent)
    arguments["messages"].append({"role": "user", "content": "Quick!"})
    BETWEEN["a title"](one)
    one.record(answer(sent["tools"][0]["name"]), sent=arguments)
    assert called(one) == ["weather.get"] and goes_back(one)


def test_a_payload_that_nobody_rendered_here_is_as_good_as_none() -> None:
    one, sent = asked()
    one.record(answer(sent["tools"][0]["name"]), sent=copy.deepcopy(dict(sent)))
    assert called(one) == ["weather.get"] and goes_back(one)


@pytest.mark.parametrize("way", RECORDING)
def test_what_cannot_have_been_sent_is_refused(way: str) -> None:
    one, sent = asked()
    with pytest.raises(WrongType, match="render"):
        RECORDING[way](one, sent["tools"][0]["name"], sent="anthropic")
    assert len(one.view()) == 1


@pytest.mark.parametrize("between", ["nothing", "a title"])
@pytest.mark.parametrize("way", RECORDING)
def test_names_are_known_again_after_a_restart(way: str, between: str) -> None:
    store = MemoryStore()
    _, sent = asked(store)
    other = session(Twin(store))
    BETWEEN[between](other)
    RECORDING[way](other, sent["tools"][0]["name"])
    assert called(other) == ["weather.get"]


def test_thinking_goes_back_after_a_restart() -> None:
    store = MemoryStore()
    _, sent = asked(store)
    other = session(Twin(store))
    other.record(answer(sent["tools"][0]["name"]))
    assert goes_back(other)


def test_a_name_that_only_looks_changed_stays_as_it_is() -> None:
    store = MemoryStore()
    asked(store)
    other = session(Twin(store))
    other.record(answer("commit_0123456789"))
    assert called(other) == ["commit_0123456789"]


def test_two_requests_on_their_way_have_each_their_answer() -> None:
    one, sent = asked()
    beside = rendered(one, TITLE, tools=OTHERS)
    one.record(answer(beside["tools"][0]["name"]), to="side")
    one.record(answer(sent["tools"][0]["name"]))
    assert [item.name for item in one.view("side") if isinstance(item, ToolCall)] == ["stocks.get"]
    assert called(one) == ["weather.get"] and goes_back(one)


def test_the_request_that_was_sent_is_the_one_that_teaches() -> None:
    alone, sent_alone = asked()
    alone.record(answer(sent_alone["tools"][0]["name"]))
    beside, sent = asked()
    BETWEEN["a title"](beside)
    beside.record(answer(sent["tools"][0]["name"]))
    counted = [
        asyncio.run(one.build(TEMPLATE, model=MODEL, tools=TOOLS)).receipt.tokens for one in (alone, beside)
    ]
    assert counted[0] == counted[1]
