"""Decoding what was encoded gives equal items; damage has a path; what a newer version wrote survives."""

import datetime
import json
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire.errors import Damaged, InvalidValue, Unencodable
from quire.items import JSON, KINDS, MAX_DEPTH, Item, Message, Note, ToolCall, Unknown, kind_of
from quire.testing.items import FIELDS, PER_KIND, batches, json_values, of_kind, same, texts

pytestmark = pytest.mark.laws

MESSAGE: dict[str, Any] = {"kind": "message", "role": "user", "content": "x", "id": "m", "created_at": 1.5}


def test_the_strategies_cover_every_field_of_every_kind() -> None:
    assert set(FIELDS) == KINDS
    for kind, fields in FIELDS.items():
        assert {*fields, "id", "created_at", "agent_id", "extras", "origin"} == set(kind.__struct_fields__)


@pytest.mark.parametrize("kind", sorted(KINDS, key=str), ids=lambda kind: kind.__name__)
@PER_KIND
@given(data=st.data())
def test_an_item_comes_back_equal(kind: type[Item], data: st.DataObject) -> None:
    item = data.draw(of_kind(kind))
    before = repr(item)
    assert same(JSON.decode_item(JSON.encode_item(item)), item)
    assert repr(item) == before


def test_the_arguments_of_a_call_are_not_touched() -> None:
    for arguments in ('{"a": 1e400}', "{broken", '{"b":1,"a":2, "b":3}', ""):
        call = JSON.decode_item(JSON.encode_item(ToolCall("c", "f", arguments)))
        assert isinstance(call, ToolCall) and call.arguments == arguments


# Free values


MEMORY_ONLY: list[Any] = [
    *((1, 2), {1}, float("nan"), float("inf"), object(), 2**64, -(2**63) - 1, 1j, bytearray(b"a")),
    *(datetime.date(2020, 1, 1), Message("user", "x"), int),
]


def path_of(write: Callable[[], object]) -> str:
    with pytest.raises(Unencodable) as refused:
        write()
    return refused.value.path


def test_other_values_live_in_memory_and_are_refused_with_their_path() -> None:
    for value in MEMORY_ONLY:
        note = Note({"a": [0, {"b": value}]}, extras={"fine": 1})
        tagged = Message("user", "x", extras={"deep": [{"x": value}]})
        unknown = Unknown(name="future", fields={"a": [value]})
        assert type(value) is tuple or note.content["a"][1]["b"] is value is tagged.extras["deep"][0]["x"]
        for item, path in ((note, "content.a[1].b"), (tagged, "extras.deep[0].x"), (unknown, "a[0]")):
            assert path_of(lambda: JSON.encode([Message("user", "x"), item])) == f"$[1].{path}"  # noqa: B023
            assert path_of(lambda: JSON.encode_item(item)) == f"$.{path}"  # noqa: B023


def test_keys_are_texts_and_long_ones_are_cut_in_a_path() -> None:
    for key in (1, None, 1.5, b"a", (1,)):
        assert path_of(lambda: JSON.encode_item(Note({"a": {key: 1}}))) == "$.content.a"  # noqa: B023
    assert len(path_of(lambda: JSON.encode([Note({"k" * 10_000: {1}})]))) < 300


@pytest.mark.parametrize("innermost", [1, b"x"], ids=repr)
def test_a_value_that_can_be_made_is_written_at_any_depth(innermost: Any) -> None:
    value = innermost
    for depth in range(1, MAX_DEPTH + 1):
        value = [value] if depth % 2 else {"a": value}
        for item in (Note(value), Unknown(name="u", fields={"x": value} if depth < MAX_DEPTH else {})):
            assert JSON.decode_item(JSON.encode_item(item)) == item
    with pytest.raises(InvalidValue, match=r"Note"):
        Note([value])


# Damage


def decoded(data: bytes) -> None:
    """Decode bytes that may be damaged: what comes out can be decoded again, once it is written."""
    try:
        found = JSON.decode(data)
    except Damaged as fault:
        assert fault.path.startswith("$")
        return
    try:
        again = JSON.decode(JSON.encode(found))
    except Unencodable as fault:  # JSON reads integers of any size
        assert "beyond 64 bits" in str(fault)
    else:
        assert same(again, found)


@PER_KIND
@given(batch=batches(), seed=st.integers(0, 2**32))
def test_damaged_bytes_give_items_or_an_error_with_a_path(batch: list[Item], seed: int) -> None:
    data, dice = JSON.encode(batch), random.Random(seed)
    for length in range(0, len(data), 7):
        with pytest.raises(Damaged):
            JSON.decode(data[:length])
    for _ in range(40):
        flipped = bytearray(data)
        flipped[dice.randrange(len(flipped))] ^= 1 << dice.randrange(8)
        decoded(bytes(flipped))


@given(name=st.sampled_from([*MESSAGE, "extras", "state", "spans", "new"]), value=json_values())
def test_any_value_in_any_field_gives_items_or_an_error(name: str, value: Any) -> None:
    for kind in ("message", "note", "summary", "hide", "tool_call", "config_change", "future"):
        raw = {**MESSAGE, "kind": kind, "text": "t", "spans": [{"first": "a", "last": "b"}], name: value}
        decoded(msgspec.json.encode([raw]))


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
    ({"extras": 5, "new": 1}, ".extras"),
    ({"kind": 5}, ""),
    ({"kind": "future", "id": None}, ""),
]


def test_damage_has_a_path_and_quotes_nothing() -> None:
    for change, path in WRONG:
        with pytest.raises(Damaged) as caught:
            JSON.decode(json.dumps([MESSAGE, {**MESSAGE, **change}]).encode())
        assert caught.value.path == f"$[1]{path}" and "SECRET" not in str(caught.value), change


def test_bytes_that_are_not_an_array_of_items_are_damaged() -> None:
    nested = [b'[{"kind":"note","id":"n","content":' + b"[" * depth for depth in (300, 100_000)]
    wrong = [*b'null {} "x" [ [1] [{}] []] \xff ["\\ud800"]'.split(), b"", b"[" * 100_000]
    for data in wrong + nested:
        for read in (JSON.decode, JSON.decode_item):
            with pytest.raises(Damaged):
                read(data)


# Newer versions


def rewritten(raw: dict[str, Any]) -> Item:
    """Decode an item, check that it is written as it was, and give it back."""
    item = JSON.decode_item(json.dumps(raw).encode())
    assert json.loads(JSON.encode_item(item)) == raw
    return item


@given(
    kind=texts().map("new {}".format),
    fields=st.dictionaries(texts().map("new {}".format), json_values(), max_size=3),
)
def test_unknown_kinds_and_fields_survive(kind: str, fields: dict[str, Any]) -> None:
    assert isinstance(rewritten({"kind": kind, "id": "u", "created_at": 2.0, **fields}), Unknown)
    message = rewritten({**MESSAGE, **fields})
    assert isinstance(message, Message)
    masked = msgspec.structs.replace(message, content="masked")
    assert json.loads(JSON.encode_item(masked)) == {**MESSAGE, **fields, "content": "masked"}


@pytest.mark.parametrize(
    "change",
    [
        {"content": ["a", {"part": "image", "data": "aGk=", "new": 0}, {"part": "file", "url": "u"}]},
        {"content": ["a", {"part": "hologram", "depth": 3}]},
        {"state": {"provider": "p", "model": "m", "data": "d", "new": 0}},
        {"address": {"to": "a", "priority": 0.5, "new": 0}, "extras": {"a": 1}},
    ],
    ids=str,
)
def test_an_item_with_something_unknown_inside_a_field_survives_as_unknown(change: dict[str, Any]) -> None:
    item = rewritten({**MESSAGE, **change, "top": 1})
    assert isinstance(item, Unknown) and kind_of(item) == "message"
