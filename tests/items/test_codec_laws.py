"""Encoding and decoding is the identity, for every kind, in both formats and across them."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire.items import JSON, KINDS, MSGPACK, Codec, Item, Message, Note, ToolCall, kind_of
from tests.items.strategies import FEW, FIELDS, batches, free_values, items, of_kind, same

pytestmark = pytest.mark.laws

BOTH = pytest.mark.parametrize("codec", [JSON, MSGPACK], ids=["json", "msgpack"])


def test_the_strategies_cover_every_kind_and_every_field_of_it() -> None:
    assert set(FIELDS) == KINDS
    for kind, fields in FIELDS.items():
        assert {*fields, "id", "created_at", "agent_id", "extras"} == set(kind.__struct_fields__)


@pytest.mark.parametrize("kind", sorted(KINDS, key=str))
@FEW
@given(data=st.data())
def test_one_item_comes_back_as_it_was(kind: type[Item], data: st.DataObject) -> None:
    item = data.draw(of_kind(kind))
    for codec in (JSON, MSGPACK):
        back = codec.decode_item(codec.encode_item(item))
        assert type(back) is kind
        assert same(back, item)


@given(batch=batches())
def test_a_batch_comes_back_as_it_was(batch: list[Item]) -> None:
    for codec in (JSON, MSGPACK):
        assert same(codec.decode(codec.encode(batch)), batch)
        assert same(codec.decode(codec.encode(tuple(batch))), batch)


@FEW
@given(batch=batches())
def test_a_batch_and_single_items_are_written_alike(batch: list[Item]) -> None:
    singles = [JSON.encode_item(item) for item in batch]
    assert JSON.encode(batch) == b"[" + b",".join(singles) + b"]"
    packed = [MSGPACK.encode_item(item) for item in batch]
    assert MSGPACK.encode(batch) == bytes([0x90 + len(batch)]) + b"".join(packed)


@given(batch=batches())
def test_across_the_formats_items_and_bytes_stay_the_same(batch: list[Item]) -> None:
    written = JSON.encode(batch)
    packed = MSGPACK.encode(JSON.decode(written))
    assert packed == MSGPACK.encode(batch)
    assert same(MSGPACK.decode(packed), batch)
    assert JSON.encode(MSGPACK.decode(packed)) == written


@FEW
@given(batch=batches())
def test_json_is_an_array_of_objects_that_any_reader_takes(batch: list[Item]) -> None:
    raws = json.loads(JSON.encode(batch))
    assert [raw["kind"] for raw in raws] == [kind_of(item) for item in batch]
    assert [raw["id"] for raw in raws] == [item.id for item in batch]


@FEW
@given(batch=batches())
def test_json_with_spaces_and_escapes_says_the_same(batch: list[Item]) -> None:
    raws = json.loads(JSON.encode(batch))
    assert same(JSON.decode(json.dumps(raws, indent=2).encode()), batch)


@BOTH
@given(value=free_values())
def test_free_values_keep_their_types(codec: Codec, value: object) -> None:
    note = Note(value, extras={"value": value}, id="n", created_at=0.0)
    back = codec.decode_item(codec.encode_item(note))
    assert isinstance(back, Note)
    assert same(back.content, note.content)
    assert same(back.extras["value"], note.content)


@BOTH
@FEW
@given(item=items())
def test_writing_does_not_change_the_item(codec: Codec, item: Item) -> None:
    before = repr(item)
    first = codec.encode_item(item)
    assert repr(item) == before
    assert codec.encode_item(item) == first


@BOTH
def test_a_dictionary_that_looks_like_a_tag_stays_a_dictionary(codec: Codec) -> None:
    look_alikes: list[Any] = [
        {"$bytes": "AA=="},
        {"$bytes": b"\0"},
        {"$dict": {"$bytes": "AA=="}},
        {"$dict": {"$dict": {}}},
        {"$dict": 5, "other": 6},
        [{"$dict": {"a": {"$bytes": None}}}],
    ]
    for value in look_alikes:
        note = Note(value, extras={"$bytes": value}, id="n", created_at=0.0)
        assert same(codec.decode_item(codec.encode_item(note)), note)


def test_the_json_of_common_items_is_plain_and_short() -> None:
    assert JSON.encode([Message("user", "hi", id="m", created_at=1.5)]) == (
        b'[{"kind":"message","role":"user","content":"hi","id":"m","created_at":1.5}]'
    )
    assert JSON.encode_item(Note({"a": b"\x00"}, id="n", created_at=1.0)) == (
        b'{"kind":"note","content":{"a":{"$bytes":"AA=="}},"id":"n","created_at":1.0}'
    )
    assert JSON.encode([]) == b"[]"


@BOTH
def test_nothing_is_written_for_an_empty_batch_and_nothing_read(codec: Codec) -> None:
    assert codec.decode(codec.encode([])) == []


@BOTH
@FEW
@given(data=st.data())
def test_a_replaced_field_is_the_only_one_that_differs(codec: Codec, data: st.DataObject) -> None:
    item = data.draw(items())
    changed = msgspec.structs.replace(item, id="another", agent_id="someone")
    back = codec.decode_item(codec.encode_item(changed))
    assert (back.id, back.agent_id) == ("another", "someone")
    assert msgspec.structs.replace(back, id=item.id, agent_id=item.agent_id) == item


@BOTH
def test_json_texts_of_calls_are_not_touched(codec: Codec) -> None:
    for arguments in ('{"a": 1e400}', "{broken", '{"b":1,"a":2, "b":3}', ""):
        call = ToolCall("c", "f", arguments, id="i", created_at=0.0)
        back = codec.decode_item(codec.encode_item(call))
        assert isinstance(back, ToolCall)
        assert back.arguments == arguments
