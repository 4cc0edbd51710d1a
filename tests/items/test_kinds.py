"""What each kind takes for its fields, what it turns it into, and how it refuses the rest."""

from collections.abc import Callable
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given

from quire.errors import InvalidValue, QuireError, TooLarge, Unencodable, WrongType
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
    Opaque: {"provider": "p", "model": "m", "data": "d"},
    Wording: {},
    Address: {"to": "a"},
    Span: {"first": "a", "last": "b"},
}
FREE = {(Note, "content")}
FIELDS = [(kind, name) for kind in VALID for name in kind.__struct_fields__ if (kind, name) not in FREE]
TYPES = {(kind, field.name): get_args(field.type) for kind in VALID for field in msgspec.structs.fields(kind)}


def refused(kind: Callable[..., Any], fields: dict[str, Any]) -> QuireError:
    with pytest.raises(QuireError) as caught:
        kind(**fields)
    assert SECRET not in str(caught.value)
    return caught.value


def test_every_kind_is_tried_here() -> None:
    assert set(VALID) >= KINDS
    assert all(kind(**fields) for kind, fields in VALID.items())


@pytest.mark.parametrize(("kind", "name"), FIELDS, ids=lambda value: getattr(value, "__name__", value))
def test_a_wrong_type_is_refused_by_the_name_of_its_field(kind: type[msgspec.Struct], name: str) -> None:
    wrong: list[Any] = [object(), {SECRET}, [object(), SECRET], 1j]
    wrong.append(SECRET if bytes in TYPES[kind, name] else b"s3cr3t")
    wrong += [None] if type(None) not in TYPES[kind, name] else []
    wrong += [SECRET] if name in ("created_at", "extras", "fields", "spans", "state", "width") else []
    for value in wrong:
        fault = refused(kind, {**VALID[kind], name: value})
        assert isinstance(fault, WrongType), (value, fault)
        assert f"{kind.__name__}.{name}" in str(fault)


NAN, INF = float("nan"), float("inf")
BAD: list[tuple[type[msgspec.Struct], dict[str, Any]]] = [
    *((kind, {"id": ""}) for kind in VALID if "created_at" in kind.__struct_fields__),
    *(
        (kind, {"created_at": at})
        for kind in (Message, ToolCall, ToolResult, Pin)
        for at in (NAN, INF, -INF, 1e12)
    ),
    (Message, {"role": SECRET}),
    (Message, {"role": ""}),
    (Message, {"content": ()}),
    (Message, {"content": []}),
    (ToolCall, {"call_id": ""}),
    (ToolCall, {"name": ""}),
    (ToolResult, {"call_id": ""}),
    (ToolResult, {"name": ""}),
    (Handoff, {"to_agent": ""}),
    (Note, {"key": ""}),
    (Summary, {"text": " \n"}),
    (Mask, {"stub": ""}),
    (Hide, {"spans": ()}),
    (Image, {"width": 0}),
    (Image, {"height": -1}),
    (Image, {"width": 10**9}),
    (Image, {"detail": SECRET}),
    (Audio, {"seconds": 0}),
    (Audio, {"seconds": NAN}),
    (Audio, {"seconds": INF}),
    (File, {"pages": 0}),
    (Address, {"to": ""}),
    (Address, {"priority": 1.5}),
    (Address, {"priority": -0.1}),
    (Address, {"priority": NAN}),
    (Address, {"expires_at": NAN}),
    (Address, {"expires_at": -1e12}),
    (Message, {"content": [{"part": SECRET, "url": SECRET}]}),
    (Message, {"content": [{"part": "image", "url": SECRET, "width": 0}]}),
]


@pytest.mark.parametrize(("kind", "change"), BAD, ids=[f"{kind.__name__}-{change}" for kind, change in BAD])
def test_a_bad_value_is_refused_by_the_name_of_its_field(
    kind: type[msgspec.Struct], change: dict[str, Any]
) -> None:
    fault = refused(kind, {**VALID[kind], **change})
    assert isinstance(fault, InvalidValue)
    assert f"{kind.__name__}.{next(iter(change))}" in str(fault)


@pytest.mark.parametrize("kind", [Image, Audio, File])
@pytest.mark.parametrize(
    "place", [{}, {"url": SECRET, "data": b"s3cr3t"}, {"url": ""}, {"data": b""}], ids=str
)
def test_a_part_holds_its_bytes_or_says_where_they_are(kind: type[Image], place: dict[str, Any]) -> None:
    fault = refused(kind, place)
    assert isinstance(fault, InvalidValue)
    assert kind.__name__ in str(fault)


def test_an_unknown_item_keeps_all_of_itself_in_its_fields() -> None:
    assert isinstance(refused(Unknown, {"name": "f", "fields": {}, "extras": {"a": SECRET}}), InvalidValue)
    assert isinstance(refused(Unknown, {"name": "f", "fields": {"kind": SECRET}}), InvalidValue)
    made = Unknown(name="f", fields={"x": 1}, id="i", created_at=2, agent_id="a")
    assert made.fields == {"x": 1, "id": "i", "created_at": 2.0, "agent_id": "a"}


def test_texts_beyond_the_limit_are_too_large_and_the_limit_itself_is_not() -> None:
    limit = "s3cr3t" + "x" * (MAX_TEXT - 6)
    over = limit + "x"
    assert Message("user", limit).text == limit
    changes: list[tuple[type[msgspec.Struct], str, Any]] = [
        *((Message, "content", over), (Message, "content", ("a", over)), (Message, "agent_id", over)),
        *((ToolCall, "arguments", over), (ToolResult, "content", over), (Reasoning, "text", over)),
        *((Summary, "text", over), (Mask, "stub", over), (Note, "description", over)),
        *((ConfigChange, "instructions", over), (ConfigChange, "tools", (over,)), (Handoff, "reason", over)),
        *((Opaque, "data", over), (Audio, "transcript", over), (Wording, "voice", over)),
    ]
    for kind, name, value in changes:
        fault = refused(kind, {**VALID[kind], name: value})
        assert isinstance(fault, TooLarge)
        assert f"{kind.__name__}.{name}" in str(fault)


def test_data_beyond_the_limit_is_too_large_and_the_limit_itself_is_not() -> None:
    data = bytes(MAX_DATA + 1)
    for kind in (Image, Audio, File):
        with pytest.raises(TooLarge, match=rf"{kind.__name__}\.data"):
            kind(data=data)
    assert Image(data=data[:-1])


def test_what_may_be_converted_is() -> None:
    parts: Any = ["a", Image(url="u")]
    assert Message("user", parts).content == ("a", Image(url="u"))
    assert type(ToolResult("c", "f", parts).content) is tuple
    times: Any = 5
    for item in (Message("user", "x", created_at=times), Pin("t", created_at=times)):
        assert type(item.created_at) is float
    named: Any = ["a", "b"]
    assert ConfigChange(tools=named).tools == ("a", "b")
    spans: Any = [Span("a", "b")]
    assert Hide(spans).spans == Summary("t", spans).spans == (Span("a", "b"),)
    assert Audio(url="u", seconds=3).seconds == 3.0
    data: Any = bytearray(b"a")
    assert Image(data=data).data == b"a"
    assert type(Image(data=data).data) is bytes


@pytest.mark.parametrize("flag", [1, 0, "true", None])
def test_a_flag_is_true_or_false_and_nothing_like_it(flag: Any) -> None:
    assert isinstance(refused(Message, {"role": "user", "content": "x", "interrupted": flag}), WrongType)
    assert isinstance(refused(ToolResult, {**VALID[ToolResult], "is_error": flag}), WrongType)


@given(item=items())
def test_an_item_made_from_its_own_fields_is_equal(item: Item) -> None:
    assert type(item)(**msgspec.structs.asdict(item)) == item
    assert (type(item) in EDITS) == (kind_of(item) in ("summary", "mask", "hide", "pin", "undo"))


@given(content=contents())
def test_words_and_parts_of_a_content_agree(content: Any) -> None:
    message, result = Message("user", content), ToolResult("c", "f", content)
    assert message.text == result.text == text_of(content)
    assert message.parts == result.parts == parts_of(content)
    assert text_of(content) == "\n".join(part for part in parts_of(content) if isinstance(part, str))


def test_reasoning_knows_whose_it_is() -> None:
    mine = Reasoning("t", Opaque("p", "m", "d"))
    assert (mine.provider, mine.model) == ("p", "m")
    assert (Reasoning().provider, Reasoning().model) == (None, None)


class Marked(str):
    """A text of another class, with an opinion of its own on what it says."""

    def __str__(self) -> str:
        return "something else"


def marked_text(value: Any) -> Any:
    return Marked(value) if isinstance(value, str) else value


@pytest.mark.parametrize("kind", [kind for kind in VALID if kind in KINDS])
def test_texts_of_other_classes_become_plain_ones(kind: type[Item]) -> None:
    fields: dict[str, Any] = {n: marked_text(value) for n, value in VALID[kind].items()}
    common: dict[str, Any] = {"id": "i", "created_at": 1.0, "agent_id": "a"}
    marked = kind(**{**fields, **common, "id": marked_text("i"), "agent_id": marked_text("a")})
    assert marked == kind(**{**VALID[kind], **common})
    for name in marked.__struct_fields__:
        assert not isinstance(getattr(marked, name), Marked)
    for codec in (JSON, MSGPACK):
        assert codec.decode(codec.encode([marked])) == [marked]


def test_texts_of_other_classes_become_plain_ones_inside() -> None:
    edit = Hide((Span(Marked("a"), Marked("b")),))
    mixed = Message("user", (Marked("x"), Image(url=Marked("u"))), state=Opaque(Marked("p"), Marked("m")))
    tools = ConfigChange(tools=(Marked("t"),))
    for codec in (JSON, MSGPACK):
        assert codec.decode(codec.encode([edit, mixed, tools])) == [edit, mixed, tools]
    assert type(mixed.parts[0]) is type(edit.spans[0].first) is str


def test_what_got_past_the_checks_is_unencodable() -> None:
    message = Message("user", "x")
    msgspec.structs.force_setattr(message, "content", Marked("x"))
    for codec in (JSON, MSGPACK):
        with pytest.raises(Unencodable):
            codec.encode([message])
        with pytest.raises(Unencodable):
            codec.encode_item(message)


@pytest.mark.parametrize("extras", [{1: 2}, {"a": 1, None: 2}, {b"a": 1}])
def test_extras_are_known_by_texts(extras: Any) -> None:
    with pytest.raises(WrongType, match="extras"):
        Message("user", "x", extras=extras)
