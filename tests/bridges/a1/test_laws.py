"""Laws: whatever is said comes back as it was, in its order, and ids are the same in both spellings."""

from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from quire.bridges.a1 import Context, Message, Runtime, TruncateOldest, get_context, new_context
from quire.bridges.a1.messages import ROLES
from quire.bridges.a1.naming import item_id_of, message_id_of
from quire.items import new_id
from tests.bridges.a1.talks import is_paired

pytestmark = pytest.mark.laws

words = st.text(st.characters(codec="utf-8"), max_size=20)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def calls(draw: st.DrawFn) -> dict[str, Any]:
    """A tool call as it may be given: with an id or without, with more than the form asks for."""
    function: dict[str, Any] = {"name": draw(names)}
    if draw(st.booleans()):
        function["arguments"] = draw(words | values)
    more: dict[str, Any] = {"id": draw(names), "index": 0} if draw(st.booleans()) else {}
    return {"function": function, **more}


messages = st.builds(
    Message,
    role=st.sampled_from(ROLES),
    content=words,
    name=st.none() | names,
    tool_call_id=st.none() | names,
    tool_calls=st.none() | st.lists(calls(), max_size=3),
    timestamp=st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)),
)


@settings(max_examples=40)
@given(st.lists(messages, max_size=8))
def test_messages_come_back_as_they_were_given(given: list[Message]) -> None:
    context = Context()
    for message in given:
        context.append(message)
    assert context.messages == given == [Message(**m.model_dump()) for m in context]
    assert Context(given).messages == given and len(context) == len(given)


@settings(max_examples=25)
@given(st.lists(messages, max_size=6), st.sampled_from(["json", "jsonl", "db"]))
def test_also_from_a_file(given: list[Message], ending: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"talk.{ending}"
        Context.from_file(path, keep_updated=True).extend(given)
        assert Context.from_file(path).messages == given


@settings(max_examples=40)
@given(st.lists(messages, max_size=8), st.data())
def test_messages_that_are_set_are_those_that_are_shown(given: list[Message], data: st.DataObject) -> None:
    context = Context(given)
    wanted = data.draw(st.lists(st.sampled_from(given), unique_by=id)) if given else []
    context.messages = wanted
    assert context.messages == wanted
    left_out = [message for message in given if message not in wanted]
    context.extend(left_out)
    assert context.messages == [*wanted, *left_out], "what was left out may come again"
    context.clear()
    context.extend(given)
    assert context.messages == given


@settings(max_examples=40)
@given(st.lists(messages, max_size=5), st.lists(messages, max_size=5))
def test_a_timeline_has_every_message_once_and_by_time(one: list[Message], two: list[Message]) -> None:
    with Runtime() as runtime:
        get_context().extend(one)
        new_context("attempt", branch_from=get_context()).extend(two)
        found = runtime.get_full_context()
    times = [message.timestamp.timestamp() for message in found]
    assert times == sorted(times) and set(found) == {*one, *two} and len(found) == len(one) + len(two)


@given(st.lists(st.sampled_from(["user", "say", "call", "result", "system"]), max_size=30), st.integers(1, 8))
def test_truncation_never_parts_a_call_from_its_result(script: list[str], limit: int) -> None:
    context, waiting = Context(), list[str]()
    for count, step in enumerate(script):
        if step == "call":
            waiting.append(f"c{count}")
            function = {"name": "search", "arguments": "{}"}
            context.assistant("", tool_calls=[{"id": waiting[-1], "function": function}])
        elif step == "result" and waiting:
            context.tool("found", name="search", tool_call_id=waiting.pop())
        elif step != "result":
            {"user": context.user, "say": context.assistant, "system": context.system}[step](f"{count}")
    for call_id in waiting:
        context.tool("late", name="search", tool_call_id=call_id)
    asked = [message for message in context if message.role == "user"][-1:]
    TruncateOldest(max_messages=limit).compact({"main": context})
    assert is_paired(context) and [m for m in context if m.role == "user"][-1:] == asked


@given(st.integers(0, 16**28 - 1))
def test_an_id_is_the_same_in_both_spellings(number: int) -> None:
    item_id = f"{number:028x}"
    assert item_id_of(message_id_of(item_id)) == item_id


@given(st.uuids() | st.text(min_size=1, max_size=40))
def test_an_id_from_elsewhere_stays_as_it_is(given: object) -> None:
    assert message_id_of(item_id_of(str(given))) == str(given)


def test_ids_sort_alike_in_both_spellings() -> None:
    ids = [new_id() for _ in range(100)]
    assert [message_id_of(one) for one in ids] == sorted(message_id_of(one) for one in ids)
