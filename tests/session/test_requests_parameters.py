"""Parameters that a wire knows by other names: an answer gives them their own, whichever request it is to."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from quire import Budget, Template
from quire.items import ToolCall
from quire.sections import History, Instructions
from quire.session import Session
from quire.stores import MemoryStore
from tests.session.opened import Twin, session

MODEL = "claude-sonnet-5"
FIELDS = {"type": "object", "properties": {"$top": {"type": "integer"}, "limit": {"type": "integer"}}}


def template(told: str) -> Template:
    return Template(Instructions(told), History(), budget=Budget(window=100_000))


def rendered(one: Session, told: str = "Be brief.", *names: str) -> Any:
    tools = [{"name": name, "parameters": FIELDS} for name in names]
    return asyncio.run(one.build(template(told), model=MODEL, tools=tools)).render("anthropic")


def asked(name: str, store: MemoryStore | None = None) -> tuple[Session, dict[str, Any]]:
    """A session that has asked, and the call that the model answers with."""
    one = session(store)
    one.user("List them.")
    (written,) = rendered(one, "Be brief.", name)["tools"]
    changed = next(key for key in written["input_schema"]["properties"] if key != "limit")
    call = {"type": "tool_use", "id": "t1", "name": written["name"], "input": {changed: 3, "limit": 2}}
    return one, call


def answer(*calls: dict[str, Any]) -> dict[str, Any]:
    said = {"type": "message", "role": "assistant", "model": MODEL, "stop_reason": "tool_use"}
    return {**said, "content": [*calls], "usage": {"input_tokens": 9, "output_tokens": 5}}


def events(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    (call,) = calls
    piece = {"type": "input_json_delta", "partial_json": json.dumps(call["input"])}
    return [
        {"type": "message_start", "message": {**answer(), "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {**call, "input": {}}},
        {"type": "content_block_delta", "index": 0, "delta": piece},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]


def called(one: Session) -> list[tuple[str, Any]]:
    calls = [item for item in one.view() if isinstance(item, ToolCall)]
    return [(call.name, json.loads(call.arguments)) for call in calls]


OWN = {"$top": 3, "limit": 2}
BETWEEN: dict[str, Callable[[Session], Any]] = {
    "nothing": lambda one: None,
    "a title": lambda one: rendered(one, "Give a title."),
    "others": lambda one: [rendered(one, f"Part {n}.", f"other{n}") for n in range(6)],
}


@pytest.mark.parametrize("name", ["graph.list", "list_items"])
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("said", [answer, events])
def test_they_are_known_again_after_a_restart(name: str, between: str, said: Callable[..., Any]) -> None:
    store = MemoryStore()
    _, call = asked(name, store)
    other = session(Twin(store))
    BETWEEN[between](other)
    other.record(said(call))
    assert called(other) == [(name, OWN)]


@pytest.mark.parametrize("name", ["graph.list", "list_items"])
@pytest.mark.parametrize("between", BETWEEN)
def test_they_are_known_after_many_other_requests(name: str, between: str) -> None:
    one, call = asked(name)
    BETWEEN[between](one)
    one.record(answer(call))
    assert called(one) == [(name, OWN)]


def test_two_tools_have_each_their_own() -> None:
    store = MemoryStore()
    one = session(store)
    one.user("List them.")
    sent = rendered(one, "Be brief.", "a.list", "b.list")
    calls = [
        {"type": "tool_use", "id": tool["name"], "name": tool["name"], "input": {key: 1}}
        for tool in sent["tools"]
        for key in [*tool["input_schema"]["properties"]][:1]
    ]
    other = session(Twin(store))
    other.record(answer(*calls))
    assert called(other) == [("a.list", {"$top": 1}), ("b.list", {"$top": 1})]


def test_one_that_only_looks_changed_stays_as_it_is() -> None:
    store = MemoryStore()
    _, call = asked("list_items", store)
    for given in ({"commit_0123456789": 1}, [*call["input"]], {}):
        other = session(Twin(store))
        other.record(answer({**call, "input": given}))
        assert called(other) == [("list_items", given)]
    other = session(Twin(store))
    other.record(answer({**call, "name": "another"}))
    assert called(other) == [("another", call["input"])]
