"""Bytes that are not what they should be give items or an error of ours: no other exception, and no crash."""

import datetime
import json
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire.errors import Damaged
from quire.items import JSON, MSGPACK, Codec, Item, Message, Note
from tests.items.strategies import FEW, batches, json_values

pytestmark = pytest.mark.laws

BOTH = pytest.mark.parametrize("codec", [JSON, MSGPACK], ids=["json", "msgpack"])
PLAIN: dict[str, Any] = {"kind": "message", "id": "m", "created_at": 1.0, "role": "user", "content": "x"}


def survives(codec: Codec, data: bytes) -> list[Item] | None:
    """What was read, or nothing where the codec says that it is damaged; what was read can be written."""
    try:
        items = codec.decode(data)
    except Damaged:
        return None
    assert codec.decode(codec.encode(items)) == items
    for either in (JSON, MSGPACK):
        either.encode(items)
    return items


@BOTH
@FEW
@given(batch=batches())
def test_every_truncation_is_damage(codec: Codec, batch: list[Item]) -> None:
    data = codec.encode(batch)
    for length in range(len(data)):
        with pytest.raises(Damaged):
            codec.decode(data[:length])


@BOTH
@FEW
@given(batch=batches(), seed=st.integers(0, 2**32))
def test_flipped_bytes_give_items_or_damage(codec: Codec, batch: list[Item], seed: int) -> None:
    data = codec.encode(batch)
    dice = random.Random(seed)
    for _ in range(60):
        flipped = bytearray(data)
        for _ in range(dice.randint(1, 3)):
            flipped[dice.randrange(len(flipped))] ^= 1 << dice.randrange(8)
        survives(codec, bytes(flipped))


@BOTH
@given(data=st.binary(max_size=60))
def test_any_bytes_give_items_or_damage(codec: Codec, data: bytes) -> None:
    survives(codec, data)
    try:
        codec.decode_item(data)
    except Damaged as fault:
        assert fault.path.startswith("$")


@given(
    name=st.sampled_from(["kind", "id", "created_at", "agent_id", "extras", "role", "content", "state", "v"]),
    value=json_values(),
    kind=st.sampled_from(["message", "note", "summary", "hide", "tool_call", "config_change", "future"]),
)
def test_any_value_in_any_field_gives_items_or_damage(name: str, value: Any, kind: str) -> None:
    raw = {**PLAIN, "kind": kind, "text": "t", "spans": [{"first": "a", "last": "b"}], name: value}
    for codec, data in ((JSON, msgspec.json.encode([raw])), (MSGPACK, msgspec.msgpack.encode([raw]))):
        survives(codec, data)
        survives(codec, data.replace(b"spans", b"sp\xc3\xa4n"))


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"content": 5}, "$[3].content"),
    ({"role": "SECRET"}, "$[3].role"),
    ({"role": ["SECRET"]}, "$[3].role"),
    ({"content": ["a", {"part": "image", "url": 5}]}, "$[3].content[1].url"),
    ({"content": ["a", {"part": "image", "url": "SECRET", "width": 0}]}, "$[3].content[1]"),
    ({"content": ["a", {"part": "image", "data": "SECRET?"}]}, "$[3].content[1].data"),
    ({"state": {"provider": "SECRET", "model": 1, "data": "d"}}, "$[3].state.model"),
    ({"created_at": "SECRET"}, "$[3].created_at"),
    ({"created_at": 1e300}, "$[3]"),
    ({"id": ""}, "$[3]"),
    ({"extras": ["SECRET"]}, "$[3].extras"),
    ({"extras": {"$bytes": "SECRET!"}}, "$[3].extras"),
    ({"extras": {"a": {"$bytes": 5}}}, "$[3].extras.a"),
    ({"extras": {"$bytes": "AA=="}}, "$[3]"),
    ({"kind": 5}, "$[3]"),
    ({"kind": "future", "id": 5}, "$[3]"),
]


@pytest.mark.parametrize(("change", "path"), WRONG, ids=[str(change) for change, _ in WRONG])
def test_the_place_of_the_fault_is_named_and_never_the_value(change: dict[str, Any], path: str) -> None:
    raws = [PLAIN, PLAIN, {"kind": "future", "id": "f"}, {**PLAIN, **change}, PLAIN]
    with pytest.raises(Damaged) as caught:
        JSON.decode(json.dumps(raws).encode())
    assert caught.value.path == path
    assert "SECRET" not in str(caught.value)
    with pytest.raises(Damaged) as single:
        JSON.decode_item(json.dumps(raws[3]).encode())
    assert single.value.path == path.replace("[3]", "")


@pytest.mark.parametrize(
    "data", [b"", b" ", b"null", b"{}", b'"x"', b"5", b"[", b"[1]", b"[[]]", b"[{}]", b"[]]", b"\xff"]
)
def test_json_that_is_no_array_of_items_is_damage(data: bytes) -> None:
    with pytest.raises(Damaged):
        JSON.decode(data)
    with pytest.raises(Damaged):
        JSON.decode_item(data)


@pytest.mark.parametrize(
    "data", [b"", b"\xc0", b"\x80", b"\xa1x", b"\x05", b"\x91", b"\x91\x01", b"\x91\x80", b"\x90\x90"]
)
def test_msgpack_that_is_no_array_of_items_is_damage(data: bytes) -> None:
    with pytest.raises(Damaged):
        MSGPACK.decode(data)
    with pytest.raises(Damaged):
        MSGPACK.decode_item(data)


LYING = [
    *(
        b"\xdd\xff\xff\xff\xff",
        b"\x91\xdf\xff\xff\xff\xff",
        b"\x91\xdb\xff\xff\xff\xff",
        b"\x91\xc9\xff\xff\xff\xff\x01",
    ),
    *(b"\x91\x81\x91\x01\x01", b"\x91\x81\x81\x01\x01\x01", b"\x91\xd7\xff" + b"\xff" * 8, b"\x91\xc1"),
    *(b"\x91\xc7\x0c\xff" + b"\xff" * 12, b"\x91\x81\xa4kind\xd7\xff" + b"\0" * 8, b"\x91\x81\xa1\xff\x01"),
]


@pytest.mark.parametrize("data", LYING, ids=bytes.hex)
def test_msgpack_that_lies_about_lengths_keys_and_times_is_damage(data: bytes) -> None:
    with pytest.raises(Damaged):
        MSGPACK.decode(data)


@pytest.mark.parametrize(
    "opening", [b"[", b'[{"a":', b'[{"kind":"note","id":"n","content":', b'{"a":[', b"[[["]
)
def test_endless_brackets_are_damage(opening: bytes) -> None:
    for depth in (10, 300, 1_000, 100_000):
        with pytest.raises(Damaged):
            JSON.decode(opening * depth)
        with pytest.raises(Damaged):
            JSON.decode(b'[{"kind":"note","id":"n","content":' + b"[" * depth)


def test_deep_values_that_end_are_read_or_damage() -> None:
    for depth in range(1, 1200, 37):
        for field in (
            b'"kind":"note","content":',
            b'"kind":"future","x":',
            b'"kind":"note","content":1,"x":',
        ):
            for left, right in ((b"[", b"]"), (b'{"a":', b"}")):
                survives(JSON, b'[{"id":"n",' + field + left * depth + b"1" + right * depth + b"}]")
        survives(MSGPACK, b"\x91\x83\xa2id\xa1n\xa4kind\xa4note\xa7content" + b"\x91" * depth + b"\x01")


def test_megabytes_of_garbage_are_damage() -> None:
    garbage = random.Random(1).randbytes(5_000_000)
    for codec in (JSON, MSGPACK):
        for data in (garbage, b"[" + garbage, b"\xdd" + garbage, b'[{"kind":"' + garbage):
            with pytest.raises(Damaged):
                codec.decode(data)


def test_of_two_fields_with_one_name_the_last_counts() -> None:
    twice = b'[{"kind":"message","id":"a","id":"b","created_at":1,"role":"user","content":5,"content":"x"}]'
    assert JSON.decode(twice.replace(b"5", b'"y"')) == [Message("user", "x", id="b", created_at=1.0)]
    survives(JSON, twice)
    survives(JSON, twice.replace(b'"kind":"message"', b'"kind":"note","kind":"message"'))


@pytest.mark.parametrize("text", ["!", "AAA", "A===", "AA==\\n", "\\u00e9", "AA-_"])
def test_a_tag_that_is_not_base64_is_damage_with_its_place(text: str) -> None:
    data = f'[{{"kind":"note","id":"n","content":{{"a":[0,{{"$bytes":"{text}"}}]}}}}]'
    with pytest.raises(Damaged) as caught:
        JSON.decode(data.encode())
    assert caught.value.path == "$[0].content.a[1]"


def test_a_tag_means_nothing_to_msgpack() -> None:
    note = MSGPACK.decode_item(
        msgspec.msgpack.encode({"kind": "note", "id": "n", "content": {"$bytes": "!"}})
    )
    assert isinstance(note, Note)
    assert note.content == {"$bytes": "!"}


UNWRITABLE: dict[str, Any] = {
    "an integer key": {1: 2},
    "a key that is nothing": {None: 2},
    "a key of bytes": {b"SECRET": 2},
    "an extension": msgspec.msgpack.Ext(5, b"SECRET"),
    "a time": datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
    "no number": float("nan"),
    "infinity": float("inf"),
    "less than anything": -float("inf"),
}
PLACES: dict[str, tuple[Callable[[Any], dict[str, Any]], str]] = {
    "extras": (lambda value: {**PLAIN, "extras": {"a": [0, value]}}, "$[1].extras.a[1]"),
    "content": (lambda value: {"kind": "note", "id": "n", "content": {"a": value}}, "$[1].content.a"),
    "unknown kind": (lambda value: {"kind": "future", "id": "u", "x": [value]}, "$[1].x[0]"),
    "unknown field": (lambda value: {**PLAIN, "new": {"a": value}}, "$[1].new.a"),
    "unknown nested": (
        lambda value: {**PLAIN, "state": {"provider": "p", "model": "m", "new": value}},
        "$[1].state.new",
    ),
    "unknown part": (lambda value: {**PLAIN, "content": [{"part": "new", "a": value}]}, "$[1].content[0].a"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("what", UNWRITABLE)
def test_what_could_not_be_written_again_is_damage(what: str, place: str) -> None:
    make, path = PLACES[place]
    raw = make(UNWRITABLE[what])
    with pytest.raises(Damaged) as caught:
        MSGPACK.decode(msgspec.msgpack.encode([PLAIN, raw]))
    assert caught.value.path == path
    assert "SECRET" not in str(caught.value)
    with pytest.raises(Damaged) as single:
        MSGPACK.decode_item(msgspec.msgpack.encode(raw))
    assert single.value.path == path.replace("[1]", "", 1)


@pytest.mark.parametrize("kind", ["message", "note", "future"])
@pytest.mark.parametrize("name", [1, None, b"a", 1.5])
def test_a_field_is_named_by_a_text(kind: str, name: Any) -> None:
    with pytest.raises(Damaged):
        MSGPACK.decode(msgspec.msgpack.encode([{**PLAIN, "kind": kind, name: 1}]))
    with pytest.raises(Damaged):
        MSGPACK.read({**PLAIN, "kind": kind, name: 1})


def test_an_integer_that_could_not_be_written_again_is_damage() -> None:
    for field in ('"extras":{"a":%d}', '"new":{"a":%d}'):
        data = '{"kind":"note","id":"n","created_at":0,"content":1,%s}' % (field % 2**64)
        with pytest.raises(Damaged):
            JSON.decode_item(data.encode())
