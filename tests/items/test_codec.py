"""Decoding what was encoded gives equal items, in both formats; damage has a path; newer versions survive."""

import datetime
import json
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire.errors import Damaged, InvalidValue, Unencodable, WrongType
from quire.items import (
    JSON,
    KINDS,
    MAX_DEPTH,
    MSGPACK,
    Codec,
    Image,
    Item,
    Message,
    Note,
    Pin,
    ToolCall,
    Unknown,
    kind_of,
    thaw,
)
from tests.items.strategies import FEW, FIELDS, batches, json_values, of_kind, same, texts

pytestmark = pytest.mark.laws

BOTH = pytest.mark.parametrize("codec", [JSON, MSGPACK], ids=["json", "msgpack"])
MESSAGE: dict[str, Any] = {"kind": "message", "role": "user", "content": "x", "id": "m", "created_at": 1.5}


def test_the_strategies_cover_every_field_of_every_kind() -> None:
    assert set(FIELDS) == KINDS
    for kind, fields in FIELDS.items():
        assert {*fields, "id", "created_at", "agent_id", "extras"} == set(kind.__struct_fields__)


@pytest.mark.parametrize("kind", sorted(KINDS, key=str), ids=lambda kind: kind.__name__)
@FEW
@given(data=st.data())
def test_an_item_comes_back_equal(kind: type[Item], data: st.DataObject) -> None:
    item = data.draw(of_kind(kind))
    before = repr(item)
    for codec in (JSON, MSGPACK):
        assert same(codec.decode_item(codec.encode_item(item)), item)
    assert repr(item) == before


@given(batch=batches())
def test_a_batch_comes_back_equal_also_by_way_of_the_other_format(batch: list[Item]) -> None:
    written, packed = JSON.encode(batch), MSGPACK.encode(batch)
    assert same(JSON.decode(written), batch) and same(MSGPACK.decode(packed), batch)
    assert JSON.encode(MSGPACK.decode(packed)) == written and MSGPACK.encode(JSON.decode(written)) == packed
    assert written == b"[" + b",".join(map(JSON.encode_item, batch)) + b"]" == JSON.encode(tuple(batch))
    assert same(JSON.decode(json.dumps(json.loads(written), indent=2).encode()), batch)


def test_the_json_of_common_items_is_short() -> None:
    assert JSON.encode([Message("user", "hi", id="m", created_at=1.5)]) == (
        b'[{"kind":"message","role":"user","content":"hi","id":"m","created_at":1.5}]'
    )
    assert JSON.encode_item(Note({"a": b"\x00"}, id="n", created_at=1.0)) == (
        b'{"kind":"note","content":{"a":{"$bytes":"AA=="}},"id":"n","created_at":1.0}'
    )


@BOTH
def test_only_items_are_written(codec: Codec) -> None:
    text: Any = "text"
    with pytest.raises(WrongType):
        codec.encode_item(text)
    with pytest.raises(WrongType):
        codec.encode([Pin("t"), text])


# Free values


class Colour(str):
    """A text of another class, which would come back as a plain one."""


MEMORY_ONLY: list[Any] = [
    *((1, 2), {1}, float("nan"), float("inf"), object(), 2**64, -(2**63) - 1, 1j, bytearray(b"a")),
    *(datetime.date(2020, 1, 1), Colour("red"), Message("user", "x"), int),
]


@pytest.mark.parametrize("value", MEMORY_ONLY, ids=lambda value: type(value).__name__)
def test_other_values_live_in_memory_and_are_refused_with_their_path(value: Any) -> None:
    note = Note({"a": [0, {"b": value}]}, extras={"fine": 1})
    tagged = Message("user", "x", extras={"deep": [{"x": value}]})
    unknown = Unknown(name="future", fields={"a": [value]})
    assert note.content["a"][1]["b"] is value and tagged.extras["deep"][0]["x"] is value
    for item, path in ((note, "content.a[1].b"), (tagged, "extras.deep[0].x"), (unknown, "a[0]")):
        for codec in (JSON, MSGPACK):
            assert path_of(lambda: codec.encode([Message("user", "x"), item])) == f"$[1].{path}"  # noqa: B023
            assert path_of(lambda: codec.encode_item(item)) == f"$.{path}"  # noqa: B023


def path_of(write: Callable[[], object]) -> str:
    with pytest.raises(Unencodable) as refused:
        write()
    return refused.value.path


@BOTH
def test_keys_are_texts_and_long_ones_are_cut_in_a_path(codec: Codec) -> None:
    for key in (1, None, 1.5, b"a", (1,), Colour("red")):
        assert path_of(lambda: codec.encode_item(Note({"a": {key: 1}}))) == "$.content.a"  # noqa: B023
    assert len(path_of(lambda: codec.encode([Note({"k" * 10_000: {1}})]))) < 300


@BOTH
@pytest.mark.parametrize("innermost", [1, b"x"], ids=repr)
def test_a_value_that_can_be_made_is_written_at_any_depth(codec: Codec, innermost: Any) -> None:
    value = innermost
    for depth in range(1, MAX_DEPTH + 1):
        value = [value] if depth % 2 else {"a": value}
        for item in (Note(value), Unknown(name="u", fields={"x": thaw(value)} if depth < MAX_DEPTH else {})):
            assert codec.decode_item(codec.encode_item(item)) == item
    with pytest.raises(InvalidValue, match=r"Note\.content"):
        Note([value])


# Damage


def decoded(codec: Codec, data: bytes) -> None:
    """Decode bytes that may be damaged: what comes out can be decoded again, once it is written."""
    try:
        found = codec.decode(data)
    except Damaged as fault:
        assert fault.path.startswith("$")
        return
    try:
        again = codec.decode(codec.encode(found))
    except Unencodable:
        return  # a value that this format can read and not write, such as an integer beyond 64 bits
    assert same(again, found)


@BOTH
@FEW
@given(batch=batches(), seed=st.integers(0, 2**32))
def test_damaged_bytes_give_items_or_an_error_with_a_path(codec: Codec, batch: list[Item], seed: int) -> None:
    data, dice = codec.encode(batch), random.Random(seed)
    for length in range(0, len(data), 7):
        with pytest.raises(Damaged):
            codec.decode(data[:length])
    for _ in range(40):
        flipped = bytearray(data)
        flipped[dice.randrange(len(flipped))] ^= 1 << dice.randrange(8)
        decoded(codec, bytes(flipped))


@given(name=st.sampled_from([*MESSAGE, "extras", "state", "spans", "v"]), value=json_values())
def test_any_value_in_any_field_gives_items_or_an_error(name: str, value: Any) -> None:
    for kind in ("message", "note", "summary", "hide", "tool_call", "config_change", "future"):
        raw = {**MESSAGE, "kind": kind, "text": "t", "spans": [{"first": "a", "last": "b"}], name: value}
        decoded(JSON, msgspec.json.encode([raw]))
        decoded(MSGPACK, msgspec.msgpack.encode([raw]))


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"content": 5}, ".content"),
    ({"content": {"part": "image", "url": "SECRET"}}, ".content"),
    ({"role": "SECRET"}, ".role"),
    ({"content": ["a", {"part": "image", "url": 5}]}, ".content[1].url"),
    ({"content": ["a", {"part": "image", "data": "SECRET?"}]}, ".content[1].data"),
    ({"state": {"provider": "SECRET", "model": 1, "data": "d"}}, ".state.model"),
    ({"created_at": 1e300}, ".created_at"),
    ({"id": ""}, ".id"),
    ({"extras": ["SECRET"]}, ".extras"),
    ({"extras": 5, "new": 1}, ""),
    ({"kind": 5}, ""),
    ({"kind": "future", "id": None}, ""),
]


@pytest.mark.parametrize(("change", "path"), WRONG, ids=[str(change) for change, _ in WRONG])
def test_damage_has_a_path_and_quotes_nothing(change: dict[str, Any], path: str) -> None:
    with pytest.raises(Damaged) as caught:
        JSON.decode(json.dumps([MESSAGE, {**MESSAGE, **change}]).encode())
    assert caught.value.path == f"$[1]{path}" and "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"{}", b'"x"', b"[", b"[1]", b"[{}]", b"[]]", b"\xff", b'["\\ud800"]', b"[" * 100_000]
    + [b'[{"kind":"note","id":"n","content":' + b"[" * depth for depth in (300, 100_000)],
    ids=range(13),
)
def test_bytes_that_are_not_an_array_of_items_are_damaged(data: bytes) -> None:
    for codec in (JSON, MSGPACK):
        for read in (codec.decode, codec.decode_item):
            with pytest.raises(Damaged):
                read(data)


def test_a_field_name_is_a_text() -> None:
    raws: list[dict[Any, Any]] = [{**MESSAGE, 1: 2}, {**MESSAGE, "kind": "future", None: 2}]
    for raw in raws:
        with pytest.raises(Damaged):
            MSGPACK.decode(msgspec.msgpack.encode([raw]))


# Newer versions

NESTED: list[dict[str, Any]] = [
    {"content": ["a", {"part": "image", "data": "aGk=", "NEW": 0}, {"part": "file", "url": "u"}]},
    {"content": ["a", {"part": "hologram", "depth": 3}]},
    {"state": {"provider": "p", "model": "m", "data": "d", "NEW": 0}},
    {"address": {"to": "a", "priority": 0.5, "NEW": 0}},
    {"wording": {"voice": "a", "NEW": 0}},
    {"kind": "hide", "spans": [{"first": "a", "last": "b", "NEW": 0}]},
]


def rewritten(raw: dict[str, Any]) -> Item:
    """Decode an item, check that it is written as it was, also by way of msgpack, and give it back."""
    item = JSON.decode_item(json.dumps(raw).encode())
    assert json.loads(JSON.encode_item(item)) == raw
    assert json.loads(JSON.encode([MSGPACK.decode_item(MSGPACK.encode_item(item))])) == [raw]
    return item


@given(
    kind=texts().map("new {}".format),
    fields=st.dictionaries(texts().map("new {}".format) | st.just("v"), json_values(), max_size=3),
)
def test_unknown_kinds_and_fields_survive(kind: str, fields: dict[str, Any]) -> None:
    assert isinstance(rewritten({"kind": kind, "id": "u", "created_at": 2.0, **fields}), Unknown)
    assert isinstance(rewritten({**MESSAGE, **fields}), Message)


@pytest.mark.parametrize("change", NESTED, ids=str)
def test_unknown_fields_inside_fields_survive(change: dict[str, Any]) -> None:
    raw = {**MESSAGE, **change, "top": 1}
    if raw["kind"] == "hide":
        raw = {name: value for name, value in raw.items() if name not in ("role", "content")}
    item = rewritten(raw)
    moved = msgspec.structs.replace(item, agent_id="other")
    assert json.loads(JSON.encode_item(moved)) == {**raw, "agent_id": "other"}


def test_known_parts_are_read_beside_unknown_ones() -> None:
    picture, hologram = (JSON.read({**MESSAGE, **NESTED[n]}) for n in (0, 1))
    assert isinstance(picture, Message) and picture.parts[:2] == ("a", Image(data=b"hi"))
    assert isinstance(hologram, Message) and hologram.parts == ("a", "[hologram]")
    masked = msgspec.structs.replace(hologram, content="masked")
    assert json.loads(JSON.encode_item(masked)) == {**MESSAGE, "content": "masked"}


def test_a_newer_stamp_keeps_what_cannot_be_read() -> None:
    changes: list[dict[str, Any]] = [{"content": {"rich": []}}, {"role": "critic"}, {"extras": 5}]
    for change in changes:
        item = rewritten({**MESSAGE, "v": 2, **change})
        assert isinstance(item, Unknown) and kind_of(item) == "message"
        with pytest.raises(Damaged):
            JSON.read({**MESSAGE, **change})


@BOTH
def test_what_would_come_back_as_something_else_is_refused(codec: Codec) -> None:
    for item in (
        Unknown(name="message", fields={"role": "user", "content": "x"}),
        Message("user", "x", extras={"quire.newer": 5}),
        Message("user", "x", extras={"quire.newer": {"kind": "note"}}),
    ):
        with pytest.raises(Unencodable):
            codec.encode([item])


def test_the_arguments_of_a_call_are_not_touched() -> None:
    for arguments in ('{"a": 1e400}', "{broken", '{"b":1,"a":2, "b":3}', ""):
        call = JSON.decode_item(JSON.encode_item(ToolCall("c", "f", arguments)))
        assert isinstance(call, ToolCall) and call.arguments == arguments
