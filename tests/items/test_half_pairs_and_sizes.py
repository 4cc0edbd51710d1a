"""Texts that are no texts, and pieces beyond all measure: refused by name, and never quoted."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.errors import Damaged, InvalidValue, QuireError, TooLarge, WrongType
from quire.items import JSON, MSGPACK, Codec, Image, Message, Note, Summary, Unknown, frozen

HALF = "secret \ud83d"
KINDS: dict[str, Callable[[str], object]] = {
    "Message.role": lambda half: Message(half, "x"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    "Message.interrupted": lambda half: Message("user", "x", half),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    "Message.state": lambda half: Message("user", "x", state=half),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    "Message.created_at": lambda half: Message("user", "x", created_at=half),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    "Summary.spans": lambda half: Summary("x", half),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    "Image.detail": lambda half: Image(url="u", detail=half),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    "Image.data": lambda half: Image(data=half),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
}


@pytest.mark.parametrize(("field", "make"), KINDS.items(), ids=KINDS)
def test_half_a_pair_where_no_text_belongs_is_an_error_of_ours(
    field: str, make: Callable[[str], object]
) -> None:
    with pytest.raises(QuireError) as caught:
        make(HALF)
    assert field in str(caught.value)
    assert "secret" not in str(caught.value) and caught.value.__cause__ is None


@pytest.mark.parametrize("codec", [JSON, MSGPACK], ids=["json", "msgpack"])
@pytest.mark.parametrize("field", ["kind", "role", "created_at", "interrupted", "wording", "v"])
def test_what_was_read_may_hold_half_a_pair(codec: Codec, field: str) -> None:
    raw = {"kind": "message", "id": "1", "created_at": 0.0, "role": "user", "content": "x", "new": 1}
    try:
        assert codec.read({**raw, field: HALF})
    except Damaged as fault:
        assert "secret" not in str(fault)
    for other in ({**raw, HALF: 1}, {**raw, "wording": {HALF: 1}}, {HALF: 1}):
        try:
            codec.read(other)
        except QuireError as fault:
            assert "secret" not in str(fault)


@pytest.mark.parametrize("field", ["wording", "address", "state"])
def test_fields_that_are_not_known_are_not_quoted(field: str) -> None:
    with pytest.raises(WrongType) as caught:
        Message("user", "x", **{field: {"secret": 1}})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert f"Message.{field}" in str(caught.value) and "secret" not in str(caught.value)


def test_json_given_as_text_may_hold_half_a_pair() -> None:
    for read in (JSON.decode, JSON.decode_item):
        with pytest.raises(Damaged) as caught:
            read(f'["{HALF}"]')  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        assert "secret" not in str(caught.value)


def test_msgpack_is_no_text() -> None:
    for read in (MSGPACK.decode, MSGPACK.decode_item):
        with pytest.raises(WrongType):
            read("text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "value",
    ["a" * 21, {"a" * 21: 1}, b"a" * 21, ("a" * 21,), [({"a": (b"a" * 21,)},)], {("a" * 21,): 1}],
    ids=["text", "key", "bytes", "tuple", "deep", "tuple as key"],
)
def test_no_piece_of_a_free_value_is_too_large(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    makers: list[Callable[[], object]] = [
        lambda: Note(value),
        lambda: Message("user", "x", extras={"e": value}),
        lambda: Unknown(name="x", fields={"id": "1", "f": value}, id="1"),
    ]
    for make in makers:
        make()
    monkeypatch.setattr(frozen, "MAX_FREE_TEXT", 20)
    for make in makers:
        with pytest.raises(TooLarge) as caught:
            make()
        assert "aaa" not in str(caught.value)


def test_a_key_of_extras_is_not_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frozen, "MAX_FREE_TEXT", 20)
    with pytest.raises(InvalidValue, match=r"Message\.extras"):
        Message("user", "x", extras={"a" * 21: 1})
