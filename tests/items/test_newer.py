"""What a newer version wrote survives a round trip through this one, untouched."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire.errors import Damaged, Unencodable
from quire.items import (
    JSON,
    MAX_DEPTH,
    MSGPACK,
    Codec,
    Image,
    Item,
    Message,
    Note,
    ToolCall,
    Unknown,
    kind_of,
    use_clock,
)
from tests.items.strategies import FEW, json_values, newer_values, of_kind, same, texts

pytestmark = pytest.mark.laws

MESSAGE: dict[str, Any] = {"kind": "message", "id": "m", "created_at": 1.5, "role": "user"}
NESTED: list[dict[str, Any]] = [
    {**MESSAGE, "content": ["a", {"part": "image", "data": "aGk=", "NEW": 0}, {"part": "file", "url": "u"}]},
    {**MESSAGE, "content": ["a", {"part": "hologram", "depth": 3, "NEW": 0}]},
    {**MESSAGE, "content": "x", "state": {"provider": "p", "model": "m", "data": "d", "NEW": 0}},
    {**MESSAGE, "content": "x", "address": {"to": "a", "priority": 0.5, "NEW": 0}},
    {**MESSAGE, "content": "x", "wording": {"voice": "a", "NEW": 0}},
    {"kind": "hide", "id": "h", "created_at": 0.0, "spans": [{"first": "a", "last": "b", "NEW": 0}]},
    {
        "kind": "summary",
        "id": "s",
        "created_at": 0.0,
        "text": "t",
        "spans": [{"first": "a", "last": "b", "NEW": 0}],
    },
    {
        "kind": "tool_result",
        "id": "r",
        "created_at": 0.0,
        "call_id": "c",
        "name": "f",
        "content": [{"part": "NEW"}],
    },
]
NAMES = texts().map(lambda name: f"new {name}") | st.sampled_from(["v", "$bytes", "$dict", "part", "fields"])


def through_all(raws: list[Any]) -> list[list[Any]]:
    """The same items through JSON, twice, and through MSGPACK and back."""
    items = JSON.decode(json.dumps(raws).encode())
    packed = MSGPACK.decode(MSGPACK.encode(items))
    assert packed == items
    singles = [json.loads(JSON.encode_item(item)) for item in items]
    again = JSON.decode(JSON.encode(items))
    return [json.loads(JSON.encode(batch)) for batch in (items, packed, again)] + [singles]


def filled(value: Any, new: Any) -> Any:
    """The raw item with a value in every place that is called NEW."""
    if isinstance(value, dict):
        return {key: new if key == "NEW" else filled(inner, new) for key, inner in value.items()}  # pyright: ignore
    return [filled(inner, new) for inner in value] if isinstance(value, list) else value  # pyright: ignore


@given(name=texts(), fields=st.dictionaries(NAMES, json_values(), max_size=4))
def test_an_unknown_kind_survives(name: str, fields: dict[str, Any]) -> None:
    raws = [{"kind": f"future {name}", "id": "u", "created_at": 2, **fields}, {**MESSAGE, "content": "plain"}]
    assert all(written == raws for written in through_all(raws))


@FEW
@given(data=st.data(), fields=st.dictionaries(NAMES, json_values(), min_size=1, max_size=3))
def test_unknown_fields_of_a_known_kind_survive(data: st.DataObject, fields: dict[str, Any]) -> None:
    kind = data.draw(st.sampled_from([Message, ToolCall, Note]))
    plain = json.loads(JSON.encode_item(data.draw(of_kind(kind))))
    raws = [{**MESSAGE, "content": "plain"}, {**plain, **fields}, plain]
    assert all(written == raws for written in through_all(raws))


@pytest.mark.parametrize("raw", NESTED, ids=lambda raw: "-".join(raw))
@FEW
@given(new=json_values())
def test_unknown_nested_fields_survive(raw: dict[str, Any], new: Any) -> None:
    raws = [filled(raw, new), {**MESSAGE, "content": "plain"}]
    assert all(written == raws for written in through_all(raws))


@pytest.mark.parametrize("raw", NESTED, ids=lambda raw: "-".join(raw))
def test_they_survive_a_change_of_another_field(raw: dict[str, Any]) -> None:
    item = JSON.decode_item(json.dumps({**raw, "top": {"$dict": {"a": 1}}}).encode())
    changed = msgspec.structs.replace(item, agent_id="someone")
    expected = {**raw, "top": {"$dict": {"a": 1}}, "agent_id": "someone"}
    assert json.loads(JSON.encode_item(changed)) == expected
    assert json.loads(JSON.encode_item(MSGPACK.decode_item(MSGPACK.encode_item(changed)))) == expected


def test_a_time_that_an_unknown_kind_does_not_have_is_not_made_up() -> None:
    assert JSON.encode(JSON.decode(b'[{"kind":"future","id":"u"}]')) == b'[{"kind":"future","id":"u"}]'


@pytest.mark.parametrize("codec", [JSON, MSGPACK])
def test_an_unknown_kind_without_a_time_is_the_same_whenever_it_is_read(codec: Codec) -> None:
    data = {JSON: msgspec.json, MSGPACK: msgspec.msgpack}[codec].encode({"kind": "future", "id": "u"})
    read: list[Item] = []
    for hour in (1.0, 2.0):
        with use_clock(lambda: 3600.0 * hour):  # noqa: B023
            read.append(codec.decode_item(data))
    assert read[0] == read[1]
    assert read[0].created_at == 0.0
    assert codec.encode_item(read[0]) == data
    moved = msgspec.structs.replace(read[0], created_at=5.0)
    assert codec.decode_item(codec.encode_item(moved)) == moved


def test_an_unknown_kind_takes_changes_of_what_all_items_have() -> None:
    item = JSON.decode_item(b'{"kind":"future","id":"u","created_at":5,"x":1}')
    changed = msgspec.structs.replace(item, id="other", agent_id="a")
    assert json.loads(JSON.encode_item(changed)) == {
        **{"kind": "future", "x": 1, "id": "other", "created_at": 5, "agent_id": "a"}
    }
    assert msgspec.structs.replace(changed, id="u", agent_id=None) == item


def through_both(raw: dict[str, Any]) -> None:
    """What was read from MSGPACK is the same by way of JSON, and is written as it was."""
    item = MSGPACK.decode_item(msgspec.msgpack.encode(raw))
    back = JSON.decode_item(JSON.encode_item(item))
    assert same(back, item)
    assert msgspec.msgpack.decode(MSGPACK.encode_item(back)) == raw


@given(fields=st.dictionaries(NAMES, newer_values(), min_size=1, max_size=3))
def test_bytes_of_a_newer_version_go_through_both_formats(fields: dict[str, Any]) -> None:
    through_both({"kind": "future", "id": "u", "created_at": 2, **fields})
    through_both({**MESSAGE, "content": "x", **fields})


@pytest.mark.parametrize("raw", NESTED, ids=lambda raw: "-".join(raw))
@FEW
@given(new=newer_values())
def test_so_do_those_in_nested_fields(raw: dict[str, Any], new: Any) -> None:
    through_both(with_plain_data(filled(raw, new)))


def with_plain_data(raw: Any) -> Any:
    """The raw item as MSGPACK has it, with the bytes of known parts as bytes."""
    if isinstance(raw.get("content"), list):
        parts = [{**p, "data": b"hi"} if p != "a" and "data" in p else p for p in raw["content"]]
        return {**raw, "content": parts}
    return raw


LOOK_ALIKES: list[Any] = [
    {"$bytes": "AA=="},
    {"$bytes": "!"},
    {"$dict": {"$bytes": "AA=="}},
    {"$dict": {"$dict": {"$bytes": "AA=="}}},
    {"$dict": {"$dict": {"$dict": {"$bytes": "AA=="}}}},
    {"$dict": {"$bytes": {"$bytes": "AA=="}}},
    {"$dict": {"$dict": {}}},
    {"$dict": 5},
]
WITH_BYTES: list[Any] = [
    *({"$bytes": b"\0"}, {"$dict": b"\0"}, {"$dict": {"$dict": b"\0"}}, {"$dict": {"$bytes": b"\0"}}),
    [{"$dict": [b"\0", {"$bytes": "AA=="}]}],
]


@pytest.mark.parametrize("value", [*LOOK_ALIKES, *WITH_BYTES], ids=repr)
def test_what_looks_like_a_tag_is_not_taken_for_one(value: Any) -> None:
    through_both({"kind": "dream", "id": "1", "x": value})
    through_both({**MESSAGE, "content": "x", "x": value})
    through_both({**MESSAGE, "content": "x", "wording": {"new": value}})


@pytest.mark.parametrize("value", LOOK_ALIKES, ids=repr)
@pytest.mark.parametrize("name", ["wording", "content", "new"])
def test_what_holds_nothing_else_than_a_look_alike_survives(name: str, value: Any) -> None:
    raw = {**MESSAGE, "content": "hi", name: [value] if name == "content" else value}
    assert all(written == [raw] for written in through_all([raw]))
    through_both(raw)


@pytest.mark.parametrize("codec", [JSON, MSGPACK], ids=["json", "msgpack"])
@pytest.mark.parametrize("innermost", [b"x", {"$bytes": "AA=="}], ids=repr)
@pytest.mark.parametrize("name", ["a", "$dict"])
def test_what_is_kept_comes_back_up_to_the_deepest(codec: Codec, innermost: Any, name: str) -> None:
    value, taken = innermost, 0
    for _ in range(MAX_DEPTH):
        value = {name: value}
        raw = msgspec.msgpack.encode(
            [{"kind": "u", "id": "u", "x": value}, {**MESSAGE, "content": "", "x": value}]
        )
        try:
            items = MSGPACK.decode(raw)
        except Damaged:
            break
        taken += 1
        assert codec.decode(codec.encode(items)) == items
    assert taken >= MAX_DEPTH - 6


def test_a_part_with_bytes_and_an_unknown_field_goes_through_both_formats() -> None:
    raw = {**MESSAGE, "content": [{"part": "image", "data": b"hi", "new": b"\0"}]}
    item = MSGPACK.decode_item(msgspec.msgpack.encode(raw))
    assert isinstance(item, Message)
    assert item.parts == (Image(data=b"hi"),)
    written = json.loads(JSON.encode_item(item))
    assert written["content"] == [{"part": "image", "data": "aGk=", "new": {"$bytes": "AA=="}}]
    assert JSON.decode_item(JSON.encode_item(item)) == item
    assert msgspec.msgpack.decode(MSGPACK.encode_item(item)) == raw


def test_known_fields_are_read_as_ever_beside_unknown_ones() -> None:
    tagged = b'{"kind":"note","id":"n","content":[{"$bytes":"AA=="}],"extras":{"$dict":{"$bytes":1}},"new":1}'
    note = JSON.decode_item(tagged)
    assert isinstance(note, Note)
    assert note.content == [b"\0"]
    assert note.extras["$bytes"] == 1
    assert json.loads(JSON.encode_item(note)).items() >= json.loads(tagged).items()


def test_an_unknown_part_is_shown_as_a_short_text() -> None:
    message = JSON.decode_item(json.dumps(NESTED[1]).encode())
    assert isinstance(message, Message)
    assert message.parts == ("a", "[hologram]")


def test_content_that_was_changed_is_written_without_what_it_no_longer_has() -> None:
    message = JSON.decode_item(json.dumps({**NESTED[0], "top": 1}).encode())
    changed = msgspec.structs.replace(message, content="masked")
    assert json.loads(JSON.encode_item(changed)) == {**MESSAGE, "content": "masked", "top": 1}


@pytest.mark.parametrize(
    "change", [{}, {"content": {"rich": []}}, {"role": "critic"}, {"extras": 5}, {"content": 5, "state": 7}]
)
def test_a_stamp_of_the_future_keeps_even_what_cannot_be_understood(change: dict[str, Any]) -> None:
    raw = {**MESSAGE, "content": "x", "v": 2, **change}
    assert all(written == [raw] for written in through_all([raw]))
    item: Item = JSON.decode_item(json.dumps(raw).encode())
    assert isinstance(item, Unknown if change else Message)
    assert kind_of(item) == "message"


@pytest.mark.parametrize("change", [{"role": "critic"}, {"extras": 5}, {"extras": None}, {"content": 5}])
def test_without_the_stamp_that_is_damage(change: dict[str, Any]) -> None:
    with pytest.raises(Damaged) as caught:
        JSON.decode(
            [JSON.encode([]), json.dumps([{**MESSAGE, "content": "x", "new": 1, **change}]).encode()][1]
        )
    assert caught.value.path.startswith("$[0]")


@pytest.mark.parametrize(
    "kept", [5, {"x": 1}, {"fields": 1}, {"fields": {"id": "stolen"}}, {"nested": {"id": 1}}]
)
def test_the_reserved_key_is_refused(kept: Any) -> None:
    message = Message("user", "x", extras={"quire.newer": kept})
    for codec in (JSON, MSGPACK):
        with pytest.raises(Unencodable) as refused:
            codec.encode([message])
        assert refused.value.path == "$[0].extras.quire.newer"
    raw = {**MESSAGE, "content": "x", "extras": {"quire.newer": kept}}
    with pytest.raises(Damaged):
        JSON.decode_item(json.dumps(raw).encode())
    with pytest.raises(Damaged):
        MSGPACK.decode_item(msgspec.msgpack.encode({**raw, "new": 1}))


@pytest.mark.parametrize("codec", [JSON, MSGPACK])
def test_an_unknown_item_with_the_name_of_a_known_kind_is_not_written(codec: Codec) -> None:
    made_here = Unknown(name="message", fields={"role": "user", "content": "x"})
    with pytest.raises(Unencodable, match="'message' is a kind of this version"):
        codec.encode([made_here])
