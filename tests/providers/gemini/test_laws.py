"""Whatever the history: the same bytes, going on as from scratch, nothing handed out changes, no fault."""

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire.errors import QuireError
from quire.items import Image, Item, Message, Opaque, Reasoning, ToolCall, ToolResult, text_of
from quire.providers import CachePlan, Rendered
from quire.providers.gemini.writing import ContentWriter
from quire.state import Transcript
from tests.histories import OPS, Author, Op
from tests.items.strategies import items as any_items
from tests.providers.gemini.wire import GEMINI, NEW, OLD, PNG
from tests.providers.test_speaking_laws import forgotten

pytestmark = pytest.mark.laws

NAMES = st.sampled_from([OLD, NEW, "gemini-2.0-flash", None])
PLANS = st.sampled_from([None, CachePlan(slow=2), CachePlan(slow=0), CachePlan(static=1, slow=5)])
ITEMS = st.lists(any_items(), max_size=12)
TOOLS = [{"name": "tool1", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}]
encoder = msgspec.json.Encoder()


def same(one: Rendered, other: Rendered) -> bool:
    return (encoder.encode(one.payload), one.downgrades, one.prefix) == (
        encoder.encode(other.payload),
        other.downgrades,
        other.prefix,
    )


def declined(_writer: ContentWriter, _items: Sequence[Item], start: int, _stop: int) -> int:
    return start


def played(transcript: Transcript, author: Author, op: Op, signed: bool) -> None:
    try:
        item = author.item(transcript, op)
        if item is None:
            return
        if signed and isinstance(item, ToolCall | Reasoning | Message) and op[1] % 2:
            sent = GEMINI.render(transcript.view, model=NEW)
            state = Opaque("gemini", NEW, '{"signature":"YQ=="}', sent.prefix)
            item = msgspec.structs.replace(item, state=state)
        transcript.append(item)
    except QuireError:
        pass


@given(ITEMS, NAMES, PLANS)
def test_any_items_are_rendered_alike_twice_and_without_fault(
    items: list[Item], name: str | None, plan: CachePlan | None
) -> None:
    one = GEMINI.render(items, model=name, tools=TOOLS, plan=plan)
    other = GEMINI.render(list(items), model=name, tools=TOOLS, plan=plan)
    assert same(one, other)
    assert GEMINI.check(one.payload, name) == []
    json.dumps(one.payload, allow_nan=False)


@given(OPS, NAMES, st.booleans())
def test_going_on_is_rendering_anew_and_what_was_handed_out_stays(
    ops: list[Op], name: str | None, signed: bool
) -> None:
    transcript, author = Transcript(), Author()
    handed: list[tuple[Any, Any]] = []
    for op in ops:
        played(transcript, author, op, signed)
        going_on = GEMINI.render(transcript.view, model=name, tools=TOOLS)
        with forgotten(transcript.view):
            assert same(going_on, GEMINI.render(transcript.view, model=name, tools=TOOLS))
        assert GEMINI.check(going_on.payload, name) == []
        handed.append((going_on.payload, deepcopy(going_on.payload)))
    assert all(payload == copy for payload, copy in handed)


@given(OPS, NAMES, PLANS, st.booleans())
def test_the_short_way_writes_what_the_long_way_does(
    ops: list[Op], name: str | None, plan: CachePlan | None, signed: bool
) -> None:
    transcript, author = Transcript(), Author()
    for op in ops:
        played(transcript, author, op, signed)
    items = [*transcript.view, Message("user", "and now?")]
    short = GEMINI.render(items, model=name, plan=plan)
    with patch.object(ContentWriter, "plain", declined):
        assert same(short, GEMINI.render(items, model=name, plan=plan))


@given(OPS, NAMES)
def test_a_context_that_only_grew_extends_the_one_before(ops: list[Op], name: str | None) -> None:
    """Law 12: all but the last two contents, which may still grow, stand as they stood."""
    transcript, author = Transcript(), Author()
    before: list[Any] = []
    for op in ops:
        if op[0] >= 11 or op[0] in (7, 8) or op[3] > 34:
            continue  # edits, late results and late items are what may change a prefix
        played(transcript, author, op, False)
        now = GEMINI.render(transcript.view, model=name).payload["contents"]
        settled = len(before) - 2
        assert now[: max(settled, 0)] == before[: max(settled, 0)]
        before = now


TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=9)
CONTENT = TEXT | st.tuples(TEXT, st.just(Image(data=PNG, media_type="image/png")))


@st.composite
def carried(draw: st.DrawFn) -> list[Item]:
    """A conversation that this wire carries whole."""
    items: list[Item] = [Message("system", text) for text in draw(st.lists(TEXT, max_size=2))]
    count = 0
    for _ in range(draw(st.integers(1, 4))):
        items.append(Message("user", draw(CONTENT)))
        for _ in range(draw(st.integers(0, 2))):
            calls = [f"c{count + at}" for at in range(draw(st.integers(1, 3)))]
            count += len(calls)
            if draw(st.booleans()):
                items.append(Message("assistant", draw(TEXT)))
            sign = Opaque("gemini", NEW, '{"signature":"YQ=="}')
            items += [ToolCall(c, "f", '{"a":1}', None if at else sign) for at, c in enumerate(calls)]
            items += [ToolResult(call_id, "f", draw(CONTENT), draw(st.booleans())) for call_id in calls]
        items.append(Message("assistant", draw(CONTENT)))
    return [*items, Message("user", draw(CONTENT))]


def told(items: list[Item]) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for item in items:
        if isinstance(item, ToolCall):
            found.append(("call", item.call_id, item.name, json.loads(item.arguments)))
        elif isinstance(item, ToolResult):
            found.append(("result", item.call_id, item.name, item.content, item.is_error))
        elif isinstance(item, Message):
            found.append((item.role, item.content, text_of(item.content)))
    return found


@given(carried())
def test_what_is_carried_whole_comes_back_whole(items: list[Item]) -> None:
    made = GEMINI.render(items, model=NEW, strict=True)
    assert made.downgrades == ()
    read = GEMINI.read_history({**made.payload, "model": NEW})
    assert told(read) == told(items)
    assert same(made, GEMINI.render(read, model=NEW, strict=True))


@given(ITEMS, NAMES)
def test_any_payload_is_read_and_stays_readable(items: list[Item], name: str | None) -> None:
    made = GEMINI.render(items, model=name)
    read = GEMINI.read_history(made.payload)
    again = GEMINI.render(read, model=name)
    assert GEMINI.check(again.payload, name) == []
    if not made.downgrades:
        assert encoder.encode(again.payload) == encoder.encode(made.payload)
