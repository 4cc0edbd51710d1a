"""Each kind checks its fields, names the one at fault, and never quotes a value."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire import items as q
from quire.errors import Damaged, InvalidValue, QuireError, WrongType
from quire.testing.items import contents

SECRET = "s3cr3t"
VALID: dict[type[msgspec.Struct], dict[str, Any]] = {
    q.Message: {"role": "user", "content": "x"},
    q.ToolCall: {"call_id": "c", "name": "f"},
    q.ToolResult: {"call_id": "c", "name": "f", "content": "x"},
    q.Reasoning: {},
    q.Handoff: {"to_agent": "a"},
    q.ConfigChange: {},
    q.Note: {"content": 1},
    q.Summary: {"text": "t"},
    q.Mask: {"target": "t", "stub": "s"},
    q.Hide: {"spans": (q.Span("a", "b"),)},
    q.Pin: {"target": "t"},
    q.Distrust: {"target": "t"},
    q.Undo: {"target": "t"},
    q.Unknown: {"name": "future", "fields": {}},
    q.Image: {"url": "u"},
    q.Audio: {"url": "u"},
    q.File: {"url": "u"},
    q.Opaque: {"provider": "p", "model": "m"},
    q.Wording: {},
    q.Address: {"to": "a"},
    q.Span: {"first": "a", "last": "b"},
}


def refused(kind: type[msgspec.Struct], change: dict[str, Any]) -> QuireError:
    with pytest.raises(QuireError) as caught:
        kind(**{**VALID[kind], **change})
    assert SECRET not in str(caught.value)
    return caught.value


def test_a_wrong_type_names_its_field() -> None:
    for kind, field in [(one, field) for one in VALID for field in one.__struct_fields__]:
        for value in (object(), [object(), SECRET], 1j, {SECRET: 1}):
            free = field in ("extras", "fields") and isinstance(value, dict)
            if not free and (kind, field) != (q.Note, "content"):
                fault = refused(kind, {field: value})
                assert isinstance(fault, WrongType), (field, value, fault)
                assert f"{kind.__name__}.{field}" in str(fault)


NAN, INF = float("nan"), float("inf")
BAD: list[tuple[type[msgspec.Struct], str, list[Any]]] = [
    *((kind, "id", [""]) for kind in VALID if kind in q.KINDS),
    *((kind, "created_at", [NAN, INF, -INF, 1e12]) for kind in (q.Message, q.ToolCall, q.ToolResult, q.Pin)),
    *((kind, "call_id", [""]) for kind in (q.ToolCall, q.ToolResult)),
    *((kind, "name", [""]) for kind in (q.ToolCall, q.ToolResult)),
    *((kind, "target", [""]) for kind in (q.Mask, q.Pin, q.Distrust, q.Undo)),
    *((q.Message, "role", [SECRET, "", "user\ud800"]), (q.Note, "key", [""]), (q.Handoff, "to_agent", [""])),
    (q.Message, "content", [(), [], [{"part": "image", "url": SECRET, "width": 0}], [{"part": SECRET}]]),
    *(
        (q.Summary, "text", [" \n", ""]),
        (q.Mask, "stub", ["", "\t"]),
        (q.Hide, "spans", [()]),
        (q.Span, "last", [""]),
    ),
    *((q.Image, "width", [0, -1, 10**9]), (q.Image, "detail", [SECRET]), (q.File, "pages", [0])),
    *(
        (q.Audio, "seconds", [0, NAN, INF]),
        (q.Address, "to", [""]),
        (q.Address, "priority", [1.5, -0.1, NAN]),
    ),
    (q.Address, "expires_at", [NAN, -1e12]),
]


def test_a_bad_value_names_its_field() -> None:
    for kind, field, values in BAD:
        for value in values:
            fault = refused(kind, {field: value})
            assert isinstance(fault, InvalidValue) and f"{kind.__name__}.{field}" in str(fault)


def test_a_text_beyond_the_limit_is_refused() -> None:
    limit = "x" * q.MAX_TEXT
    over = limit + SECRET
    assert q.Message("user", limit).text == limit
    fields: list[tuple[type[msgspec.Struct], str, Any]] = [
        *((q.Message, "content", over), (q.ToolCall, "arguments", over), (q.ToolResult, "content", over)),
        *(
            (q.Message, "content", ("a", over)),
            (q.ConfigChange, "tools", ("a", over)),
            (q.Mask, "stub", over),
        ),
        (q.Opaque, "data", over),
    ]
    for kind, field, value in fields:
        assert isinstance(refused(kind, {field: value}), InvalidValue)


def test_media_hold_their_bytes_or_their_address() -> None:
    for kind in (q.Image, q.Audio, q.File):
        empty, large = {"url": None, "data": b""}, {"url": None, "data": bytes(q.MAX_DATA + 1)}
        for change in ({"url": None}, {"data": b"s3cr3t"}, {"url": ""}, empty, large):
            assert isinstance(refused(kind, change), InvalidValue)


def test_equivalent_values_are_converted() -> None:
    parts: Any = ["a", q.Image(url="u")]
    number: Any = 5
    data: Any = bytearray(b"a")
    assert (
        q.Message("user", parts).content == q.ToolResult("c", "f", parts).content == ("a", q.Image(url="u"))
    )
    assert type(q.Message("user", "x", created_at=number).created_at) is float
    assert type(q.Image(data=data).data) is bytes
    assert q.Message("user", "x", address={"to": "b"}).address == q.Address("b")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


class Marked(str):
    """A text of another class."""

    def __str__(self) -> str:
        return "something else"


def test_texts_are_plain_and_free_of_lone_surrogates() -> None:
    for kind, valid in VALID.items():
        for field in (name for name, value in valid.items() if isinstance(value, str) and name != "role"):
            assert getattr(kind(**{**valid, field: "é\ud83d"}), field) == "é\ufffd"
            assert type(getattr(kind(**{**valid, field: Marked("x")}), field)) is str
    parts = q.Message("user", ("\ud800", q.Audio(url="\ud800")), id="\ud800", state=q.Opaque("\ud800", "m"))
    note = q.Note({"\ud800": ["\ud800", ("\ud800",)]}, extras={"\ud800": {"a": "\ud800"}})
    for item in (
        parts,
        note,
        q.ConfigChange(tools=("a", "\ud800")),
        q.Summary("x", (q.Span("\ud800", "b"),)),
    ):
        assert "\ufffd" in repr(item).encode().decode()


@given(text=st.text(st.characters(exclude_categories=()), max_size=30))
def test_pairs_are_joined_and_lone_surrogates_replaced(text: str) -> None:
    expected = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    items: list[q.Item] = [
        q.Message("user", text),
        q.ToolCall("c", "f", text),
        q.ToolResult("c", "f", text),
        q.Reasoning(text),
    ]
    assert [getattr(item, "text", None) or getattr(item, "arguments", "") for item in items] == [expected] * 4
    assert q.JSON.decode(q.JSON.encode(items)) == items


@given(content=contents())
def test_text_and_parts_of_a_content_agree(content: Any) -> None:
    message, result = q.Message("user", content), q.ToolResult("c", "f", content)
    assert message.text == result.text == q.text_of(content)
    assert message.parts == result.parts == q.parts_of(content)
    assert q.text_of(content) == "\n".join(part for part in q.parts_of(content) if isinstance(part, str))


def test_the_words_of_msgspec_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    convert = msgspec.convert

    def worded_otherwise(*args: Any, **options: Any) -> Any:
        try:
            return convert(*args, **options)
        except msgspec.ValidationError as fault:
            raise msgspec.ValidationError(f"Falsch: {SECRET}") from fault.__cause__

    monkeypatch.setattr(msgspec, "convert", worded_otherwise)
    for kind, field, values in BAD:
        for value in values:
            assert isinstance(refused(kind, {field: value}), InvalidValue), (kind, field, value)
    assert isinstance(refused(q.Message, {"content": 5}), WrongType)
    newer = b'{"kind": "message", "id": "1", "role": "user", "content": [{"part": "hologram", "depth": 3}]}'
    assert isinstance(q.JSON.decode_item(newer), q.Unknown)
    with pytest.raises(Damaged) as damage:
        q.JSON.decode_item(b'{"kind": "message", "id": "1", "role": "s3cr3t", "content": "x"}')
    assert SECRET not in str(damage.value)
