"""Messages: their fields, ids and times, and what they are as plain values."""

import json
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest

from quire.bridges.a1 import Context, Message, get_context
from quire.errors import InvalidValue, WrongType
from quire.items import use_clock
from tests.bridges.a1.talks import call


def test_a_message_knows_its_time_and_has_an_id_that_is_a_uuid() -> None:
    before = datetime.today()
    message = get_context().user("hello")
    assert isinstance(message.timestamp, datetime)
    assert timedelta(0) <= message.timestamp - before < timedelta(minutes=1)
    assert str(UUID(message.message_id)) == message.message_id
    assert (message.role, message.content) == ("user", "hello")


def test_ids_are_unique_and_sort_by_time() -> None:
    ids = [Message(role="user", content="x").message_id for _ in range(1000)]
    assert len(set(ids)) == 1000 and ids == sorted(ids)


def test_equal_fields_make_equal_messages() -> None:
    one = Message(role="user", content="x")
    assert one == Message(**one.model_dump()) and hash(one) == hash(Message(**one.model_dump()))
    assert one != Message(role="user", content="x"), "another id"
    other: dict[str, Any] = {**one.model_dump(), "content": "y"}
    assert one != Message(**other)


def test_a_message_cannot_change() -> None:
    with pytest.raises(AttributeError):
        Message(role="user", content="x").content = "y"  # type: ignore[misc]  # pyright: ignore


@pytest.mark.parametrize(
    "fields",
    [
        {"role": "user", "content": "grüße 🌍", "name": "ana"},
        {"role": "assistant", "content": "", "tool_calls": [call("1"), call("2", arguments='{"q": 1}')]},
        {"role": "assistant", "content": "so", "tool_calls": [{**call("1"), "index": 0}]},
        {"role": "assistant", "content": "so", "tool_calls": []},
        {"role": "tool", "content": "4", "name": "add", "tool_call_id": "1"},
        {"role": "tool", "content": "of nothing known"},
        {"role": "developer", "content": "be brief"},
    ],
)
def test_a_dump_is_json_and_gives_the_message_back(fields: dict[str, Any]) -> None:
    message = Message(**fields)
    dump = json.loads(json.dumps(message.model_dump()))
    assert Message(**dump) == message
    assert Message(**json.loads(message.model_dump_json())) == message
    assert Message(**message.model_dump(mode="json", exclude_none=True)) == message
    assert [*Context([message])] == [message], "and so does a context"


def test_a_dump_is_a_copy() -> None:
    message = Message(role="assistant", content="", tool_calls=[call("1")])
    dump = message.model_dump()
    dump["tool_calls"][0]["function"]["name"] = "other"
    dump["tool_calls"].clear()
    given = call("1")
    other = Message(role="assistant", content="", tool_calls=[given])
    given["function"]["name"] = "other"
    assert other.tool_calls == [call("1")]
    assert message.tool_calls == [call("1")]


def test_a_time_may_be_given_as_text_or_with_a_zone() -> None:
    there = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=9)))
    message = Message(role="user", content="x", timestamp=there)
    assert message.timestamp.tzinfo is None and message.timestamp.timestamp() == there.timestamp()
    dump: dict[str, Any] = {**message.model_dump(), "timestamp": there.isoformat()}
    assert Message(**dump) == message
    with use_clock(lambda: 86_400.25):
        assert Message(role="user", content="x").timestamp.timestamp() == 86_400.25


def test_a_uuid_may_be_given_as_an_object_and_any_text_is_kept_as_it_is() -> None:
    given = UUID("0123456789abcdef0123456789abcdef")
    assert Message(role="user", content="x", message_id=given).message_id == str(given)  # type: ignore[arg-type]  # pyright: ignore
    for text in (given.hex, "mine"):
        context = Context([Message(role="user", content="x", message_id=text)])
        assert context[0].message_id == text


def test_a_call_without_an_id_gets_one_that_its_result_can_name() -> None:
    context = Context()
    message = context.assistant("", tool_calls=[{"function": {"name": "add", "arguments": {"a": 1}}}])
    assert message.tool_calls and message.tool_calls[0]["type"] == "function"
    context.tool("2", name="add", tool_call_id=message.tool_calls[0]["id"])
    assert context[0] == message and not context.view.pending()


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"role": "robot"}, InvalidValue),
        ({"content": None}, WrongType),
        ({"content": ["parts"]}, WrongType),
        ({"name": 3}, WrongType),
        ({"timestamp": 12.0}, WrongType),
        ({"timestamp": "yesterday"}, InvalidValue),
        ({"message_id": 7}, WrongType),
        ({"message_id": ""}, InvalidValue),
        ({"tool_calls": "search"}, WrongType),
        ({"tool_calls": ["search"]}, WrongType),
        ({"tool_calls": [{"id": "1"}]}, InvalidValue),
    ],
)
def test_what_is_no_message_is_refused(fields: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Message(**(fields | {"role": fields.get("role", "user"), "content": fields.get("content", "x")}))
