"""What no codec can write is held in memory as it is, and refused on encoding with the exact place."""

import datetime
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidValue, Unencodable
from quire.items import (
    JSON,
    MAX_DEPTH,
    MSGPACK,
    Address,
    Audio,
    Codec,
    ConfigChange,
    Handoff,
    Hide,
    Item,
    Mask,
    Message,
    Note,
    Opaque,
    Reasoning,
    Span,
    ToolCall,
    ToolResult,
    Unknown,
    Wording,
)

pytestmark = pytest.mark.laws

BOTH = pytest.mark.parametrize("codec", [JSON, MSGPACK], ids=["json", "msgpack"])
HALF = "secret \ud83d half"


class Colour(str):
    """A text of a class of its own, which would come back as plain text."""


MEMORY_ONLY: list[Any] = [
    *((1, 2), (), {1}, frozenset("a"), float("nan"), float("inf"), -float("inf"), object(), HALF, 2**64),
    *(-(2**63) - 1, 10**400, datetime.datetime(2020, 1, 1), datetime.date(2020, 1, 1), 1j, bytearray(b"a")),
    *(memoryview(b"a"), OrderedDict(a=1), Colour("red"), Message("user", "x"), int, len, range(3)),
]


def refusal(write: Callable[[], object]) -> Unencodable:
    with pytest.raises(Unencodable) as caught:
        write()
    assert "secret" not in str(caught.value)
    assert caught.value.path in str(caught.value)
    return caught.value


@BOTH
@pytest.mark.parametrize("value", MEMORY_ONLY, ids=lambda value: type(value).__name__)
def test_it_is_held_as_it_is_and_refused_with_its_place(codec: Codec, value: Any) -> None:
    plain = Message("user", "x")
    note = Note({"a": [0, {"b": value}]}, extras={"fine": 1})
    assert note.content["a"][1]["b"] is value
    assert refusal(lambda: codec.encode([plain, note])).path == "$[1].content.a[1].b"
    assert refusal(lambda: codec.encode_item(note)).path == "$.content.a[1].b"
    tagged = Message("user", "x", extras={"deep": [{"x": value}]})
    assert tagged.extras["deep"][0]["x"] is value
    assert refusal(lambda: codec.encode([plain, plain, tagged])).path == "$[2].extras.deep[0].x"
    assert refusal(lambda: codec.encode_item(Note(value))).path == "$.content"


@BOTH
@pytest.mark.parametrize("value", MEMORY_ONLY, ids=lambda value: type(value).__name__)
def test_an_item_of_an_unknown_kind_is_no_way_around(codec: Codec, value: Any) -> None:
    unknown = Unknown(name="future", fields={"a": [value]})
    assert refusal(lambda: codec.encode([unknown])).path == "$[0].a[0]"


@BOTH
@pytest.mark.parametrize("key", [1, None, 1.5, True, b"a", (1,), Colour("red")], ids=repr)
def test_keys_that_are_no_texts_are_refused(codec: Codec, key: Any) -> None:
    assert refusal(lambda: codec.encode_item(Note({"a": {key: 1}}))).path == "$.content.a"
    message = Message("user", "x", extras={"a": {key: 1}})
    assert refusal(lambda: codec.encode([message])).path == "$[0].extras.a"


@BOTH
def test_a_key_with_half_a_pair_is_refused(codec: Codec) -> None:
    with pytest.raises(Unencodable) as caught:
        codec.encode([Note({"a": {HALF: 1}})])
    assert caught.value.path == "$[0].content.a (a key)"


@BOTH
@given(steps=st.lists(st.integers(0, 3) | st.sampled_from("abc"), max_size=12))
def test_the_place_is_exact_however_deep(codec: Codec, steps: list[int | str]) -> None:
    value: Any = {"not", "portable"}
    for step in reversed(steps):
        value = [*range(step), value] if isinstance(step, int) else {"other": 0, step: value}
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    assert refusal(lambda: codec.encode([Note(value)])).path == f"$[0].content{place}"


def in_list(inner: Any) -> Any:
    return [inner]


def in_dict(inner: Any) -> Any:
    return {"a": inner}


TEXTS: list[tuple[Callable[[str], Item], str]] = [
    (lambda text: Message("user", text), "content"),
    (lambda text: Message("user", "x", agent_id=text), "agent_id"),
    (lambda text: Message("user", "x", id=text), "id"),
    (lambda text: Message("user", ("a", text)), "content[1]"),
    (lambda text: Message("user", (Audio(url="u", transcript=text),)), "content[0].transcript"),
    (lambda text: Message("user", "x", wording=Wording(reading=text)), "wording.reading"),
    (lambda text: Message("user", "x", address=Address(text)), "address.to"),
    (lambda text: Message("user", text, extras={"a": 1}), "content"),
    (lambda text: ToolCall("c", "f", text), "arguments"),
    (lambda text: ToolCall(text, "f"), "call_id"),
    (lambda text: ToolResult("c", text, "x"), "name"),
    (lambda text: Reasoning("x", Opaque("p", "m", text)), "state.data"),
    (lambda text: Handoff("a", reason=text), "reason"),
    (lambda text: ConfigChange(tools=("a", "b", text)), "tools[2]"),
    (lambda text: Note(1, description=text), "description"),
    (lambda text: Mask("t", text), "stub"),
    (lambda text: Hide((Span("a", "b"), Span("c", text))), "spans[1].last"),
    (lambda text: Unknown(name=text, fields={}), "kind"),
]


@BOTH
@pytest.mark.parametrize(("make", "place"), TEXTS, ids=[place for _, place in TEXTS])
def test_half_a_pair_in_a_plain_field_is_refused_too(
    codec: Codec, make: Callable[[str], Item], place: str
) -> None:
    item = make(HALF)
    assert refusal(lambda: codec.encode([Message("user", "x"), item])).path == f"$[1].{place}"
    assert refusal(lambda: codec.encode([item])).path == f"$[0].{place}"
    assert refusal(lambda: codec.encode_item(item)).path == f"$.{place}"
    assert refusal(lambda: codec.encode([Note({}), item])).path == f"$[1].{place}"


def test_what_holds_itself_cannot_be_frozen() -> None:
    endless_list: list[Any] = []
    endless_list.append(endless_list)
    endless_dict: dict[str, Any] = {}
    endless_dict["a"] = endless_dict
    by_way_of_a_tuple: list[Any] = []
    by_way_of_a_tuple.append((by_way_of_a_tuple,))
    for value in (endless_list, endless_dict, by_way_of_a_tuple):
        with pytest.raises(InvalidValue, match=r"Note\.content"):
            Note({"a": value})
        with pytest.raises(InvalidValue, match=r"Message\.extras"):
            Message("user", "x", extras={"a": value})


@BOTH
@pytest.mark.parametrize("wrap", [in_list, in_dict])
def test_at_every_depth_a_value_is_written_or_refused(codec: Codec, wrap: Callable[[Any], Any]) -> None:
    value: Any = 1
    outcomes: set[str] = set()
    for depth in range(1, 600):
        value = wrap(value)
        if depth % 5 and depth > 20:
            continue
        for make in (lambda: Note(value), lambda: Unknown(name="u", fields={"x": value})):  # noqa: B023
            try:
                item = make()
                assert codec.decode_item(codec.encode_item(item)) == item
                outcomes.add("written")
            except InvalidValue:
                outcomes.add("not made")
            except Unencodable:
                outcomes.add("not written")
    assert {"written", "not made"} <= outcomes


@BOTH
def test_the_place_does_not_quote_a_long_key(codec: Codec) -> None:
    fault = refusal(lambda: codec.encode([Note({"k" * 10_000: {1}})]))
    assert fault.path.startswith("$[0].content.kkk") and len(str(fault)) < 300


TIGHT: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "bytes in lists": (b"x", lambda inner: [inner]),
    "bytes in dictionaries": (b"x", lambda inner: {"a": inner}),
    "what looks like wrapped": (1, lambda inner: {"$dict": inner}),
    "what looks like bytes": ({}, lambda inner: {"$bytes": inner}),
}


@pytest.mark.parametrize("codec", [JSON, MSGPACK], ids=["json", "msgpack"])
@pytest.mark.parametrize(("innermost", "wrap"), TIGHT.values(), ids=TIGHT)
def test_what_is_taken_comes_back_up_to_the_deepest(
    codec: Codec, innermost: Any, wrap: Callable[[Any], Any]
) -> None:
    value, taken = innermost, 0
    for _ in range(MAX_DEPTH + 1):
        value = wrap(value)
        try:
            items: list[Item] = [Note(value), Message("user", "x", extras={"e": value})]
        except InvalidValue:
            break
        taken += 1
        assert codec.decode(codec.encode(items)) == items
        assert [codec.decode_item(codec.encode_item(item)) for item in items] == items
    assert taken >= MAX_DEPTH - 2
