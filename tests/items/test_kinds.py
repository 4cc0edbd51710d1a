"""Each kind checks its fields, names the one at fault, and never quotes a value."""

import pickle
from copy import copy, deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidValue, QuireError, TooLarge, WrongType
from quire.items import (
    EDITS,
    JSON,
    KINDS,
    MAX_DATA,
    MAX_TEXT,
    MSGPACK,
    Address,
    Audio,
    ConfigChange,
    File,
    Handoff,
    Hide,
    Image,
    Item,
    Mask,
    Message,
    Note,
    Opaque,
    Pin,
    Reasoning,
    Span,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
    Unknown,
    Wording,
    kind_of,
    parts_of,
    text_of,
)
from tests.items.strategies import contents, items

SECRET = "s3cr3t"
VALID: dict[type[msgspec.Struct], dict[str, Any]] = {
    Message: {"role": "user", "content": "x"},
    ToolCall: {"call_id": "c", "name": "f"},
    ToolResult: {"call_id": "c", "name": "f", "content": "x"},
    Reasoning: {},
    Handoff: {"to_agent": "a"},
    ConfigChange: {},
    Note: {"content": 1},
    Summary: {"text": "t"},
    Mask: {"target": "t", "stub": "s"},
    Hide: {"spans": (Span("a", "b"),)},
    Pin: {"target": "t"},
    Undo: {"target": "t"},
    Unknown: {"name": "future", "fields": {}},
    Image: {"url": "u"},
    Audio: {"url": "u"},
    File: {"url": "u"},
    Opaque: {"provider": "p", "model": "m"},
    Wording: {},
    Address: {"to": "a"},
    Span: {"first": "a", "last": "b"},
}


def refused(kind: type[msgspec.Struct], change: dict[str, Any]) -> QuireError:
    with pytest.raises(QuireError) as caught:
        kind(**{**VALID[kind], **change})
    assert SECRET not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("kind", VALID, ids=lambda kind: kind.__name__)
def test_a_wrong_type_names_its_field(kind: type[msgspec.Struct]) -> None:
    for field in kind.__struct_fields__:
        for value in (object(), {SECRET}, [object(), SECRET], 1j, {SECRET: 1}):
            free = field in ("extras", "fields") and isinstance(value, dict)
            if not free and (kind, field) != (Note, "content"):
                fault = refused(kind, {field: value})
                assert isinstance(fault, WrongType), (field, value, fault)
                assert f"{kind.__name__}.{field}" in str(fault)


NAN, INF = float("nan"), float("inf")
BAD: list[tuple[type[msgspec.Struct], str, list[Any]]] = [
    *((kind, "id", [""]) for kind in VALID if kind in KINDS),
    *((kind, "created_at", [NAN, INF, -INF, 1e12]) for kind in (Message, ToolCall, ToolResult, Pin)),
    *((kind, "call_id", [""]) for kind in (ToolCall, ToolResult)),
    *((kind, "name", [""]) for kind in (ToolCall, ToolResult)),
    *((kind, "target", [""]) for kind in (Mask, Pin, Undo)),
    *((Message, "role", [SECRET, "", "user\ud800"]), (Note, "key", [""]), (Handoff, "to_agent", [""])),
    (Message, "content", [(), [], [{"part": "image", "url": SECRET, "width": 0}], [{"part": SECRET}]]),
    *(
        (Summary, "text", [" \n", ""]),
        (Mask, "stub", ["", "\t"]),
        (Hide, "spans", [()]),
        (Span, "last", [""]),
    ),
    *((Image, "width", [0, -1, 10**9]), (Image, "detail", [SECRET]), (File, "pages", [0])),
    *((Audio, "seconds", [0, NAN, INF]), (Address, "to", [""]), (Address, "priority", [1.5, -0.1, NAN])),
    (Address, "expires_at", [NAN, -1e12]),
]


def test_a_bad_value_names_its_field() -> None:
    for kind, field, values in BAD:
        for value in values:
            fault = refused(kind, {field: value})
            assert isinstance(fault, InvalidValue) and f"{kind.__name__}.{field}" in str(fault)


def test_a_text_beyond_the_limit_is_too_large() -> None:
    limit = "x" * MAX_TEXT
    over = limit + SECRET
    assert Message("user", limit).text == limit
    fields: list[tuple[type[msgspec.Struct], str, Any]] = [
        *((Message, "content", over), (ToolCall, "arguments", over), (ToolResult, "content", over)),
        *((Message, "content", ("a", over)), (ConfigChange, "tools", ("a", over)), (Mask, "stub", over)),
        *((Message, "agent_id", over), (ToolCall, "name", over), (Opaque, "data", over)),
    ]
    for kind, field, value in fields:
        assert isinstance(refused(kind, {field: value}), TooLarge)


def test_media_hold_their_bytes_or_their_address() -> None:
    for kind in (Image, Audio, File):
        for change in ({"url": None}, {"data": b"s3cr3t"}, {"url": ""}, {"url": None, "data": b""}):
            assert isinstance(refused(kind, change), InvalidValue)
        assert isinstance(refused(kind, {"url": None, "data": bytes(MAX_DATA + 1)}), TooLarge)


def test_an_unknown_item_has_its_common_fields_as_attributes_alone() -> None:
    for change in ({"extras": {"a": SECRET}}, {"fields": {"kind": SECRET}}, {"fields": {"id": SECRET}}):
        assert isinstance(refused(Unknown, change), InvalidValue)


def test_equivalent_values_are_converted() -> None:
    parts: Any = ["a", Image(url="u")]
    number: Any = 5
    data: Any = bytearray(b"a")
    assert Message("user", parts).content == ToolResult("c", "f", parts).content == ("a", Image(url="u"))
    assert type(Message("user", "x", created_at=number).created_at) is float
    assert type(Image(data=data).data) is bytes
    assert Message("user", "x", address={"to": "b"}).address == Address("b")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


class Marked(str):
    """A text of another class."""

    def __str__(self) -> str:
        return "something else"


def test_texts_are_plain_and_free_of_lone_surrogates() -> None:
    for kind, valid in VALID.items():
        for field in (name for name, value in valid.items() if isinstance(value, str) and name != "role"):
            assert getattr(kind(**{**valid, field: "é\ud83d"}), field) == "é\ufffd"
            assert type(getattr(kind(**{**valid, field: Marked("x")}), field)) is str


SURROGATES: list[Item] = [
    Message("user", "a\ud800b\ude00", id="i\ud800", agent_id="\udfff"),
    Message("user", ("\ud800", Audio(url="\ud800", transcript="\ud800")), state=Opaque("\ud800", "m")),
    ToolCall("\ud800", "\ud800", "\ud800"),
    ConfigChange(tools=("a", "\ud800")),
    Summary("\ud800", (Span("\ud800", "b"),)),
    Note({"\ud800": ["\ud800", ("\ud800",)]}, extras={"\ud800": {"a": "\ud800"}}),
    Unknown(name="\ud800", fields={"a": "\ud800"}),
]


def test_no_text_of_an_item_holds_a_lone_surrogate() -> None:
    for item in SURROGATES:
        assert "\ufffd" in repr(item).encode().decode()


@given(text=st.text(st.characters(exclude_categories=()), max_size=30))
def test_pairs_are_joined_and_lone_surrogates_replaced(text: str) -> None:
    expected = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    items: list[Item] = [
        Message("user", text),
        ToolCall("c", "f", text),
        ToolResult("c", "f", text),
        Reasoning(text),
    ]
    assert [getattr(item, "text", None) or getattr(item, "arguments", "") for item in items] == [expected] * 4
    for codec in (JSON, MSGPACK):
        assert codec.decode(codec.encode(items)) == items


@given(content=contents())
def test_text_and_parts_of_a_content_agree(content: Any) -> None:
    message, result = Message("user", content), ToolResult("c", "f", content)
    assert message.text == result.text == text_of(content)
    assert message.parts == result.parts == parts_of(content)
    assert text_of(content) == "\n".join(part for part in parts_of(content) if isinstance(part, str))


@given(item=items())
def test_an_item_made_from_its_own_fields_is_equal(item: Item) -> None:
    assert type(item)(**msgspec.structs.asdict(item)) == item
    assert copy(item) == deepcopy(item) == pickle.loads(pickle.dumps(item)) == item
    assert hash(item) == hash(pickle.loads(pickle.dumps(item)))
    assert (type(item) in EDITS) == (kind_of(item) in ("summary", "mask", "hide", "pin", "undo"))


def test_no_field_can_be_set() -> None:
    for kind, valid in VALID.items():
        for name in kind.__struct_fields__:
            with pytest.raises(AttributeError):
                setattr(kind(**valid), name, None)


def test_reasoning_names_its_model() -> None:
    mine = Reasoning("t", Opaque("p", "m", "d"))
    assert (mine.provider, mine.model, Reasoning().provider, Reasoning().model) == ("p", "m", None, None)


def test_only_items_have_a_kind() -> None:
    with pytest.raises(WrongType):
        kind_of("message")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(WrongType):
        parts_of(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
