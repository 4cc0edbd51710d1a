"""Items are deeply immutable: nobody who holds one, or a piece of one, can change it."""

import copy
import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given

from quire.errors import QuireError
from quire.items import (
    NOTHING,
    FrozenDict,
    FrozenList,
    Image,
    Item,
    Message,
    Note,
    Opaque,
    ToolCall,
    Unknown,
    freeze,
    thaw,
)
from tests.items.strategies import FEW, free_values, items, parts, same

pytestmark = pytest.mark.laws


def structs_in(value: Any) -> list[msgspec.Struct]:
    """The struct itself and every struct in its fields."""
    if isinstance(value, tuple):
        return [struct for inner in value for struct in structs_in(inner)]  # pyright: ignore
    if not isinstance(value, msgspec.Struct):
        return []
    return [
        value,
        *(struct for name in value.__struct_fields__ for struct in structs_in(getattr(value, name))),
    ]


def containers_in(value: Any) -> list[Any]:
    """Every dictionary and list inside, however deep."""
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = [value, *value.values()]  # pyright: ignore
    elif isinstance(value, list):
        inner = [value, *value]  # pyright: ignore
    elif isinstance(value, msgspec.Struct):
        return [c for name in value.__struct_fields__ for c in containers_in(getattr(value, name))]
    return inner[:1] + [container for element in inner[1:] for container in containers_in(element)]


@given(item=items())
def test_no_field_of_an_item_or_its_pieces_can_be_set_or_deleted(item: Item) -> None:
    before = repr(item)
    for struct in structs_in(item):
        for name in (*struct.__struct_fields__, "something_new"):
            with pytest.raises((AttributeError, TypeError)):
                setattr(struct, name, None)
            with pytest.raises((AttributeError, TypeError)):
                delattr(struct, name)
    assert repr(item) == before


DICT_MUTATIONS: list[Callable[[Any], Any]] = [
    lambda d: d.__setitem__("a", 1),
    lambda d: d.__delitem__("a"),
    lambda d: d.__ior__({"a": 1}),
    lambda d: d.clear(),
    lambda d: d.pop("a"),
    lambda d: d.pop("a", None),
    lambda d: d.popitem(),
    lambda d: d.setdefault("new", 1),
    lambda d: d.update({"a": 1}),
    lambda d: d.update(a=1),
    lambda d: setattr(d, "attribute", 1),
]
LIST_MUTATIONS: list[Callable[[Any], Any]] = [
    lambda v: v.__setitem__(0, 1),
    lambda v: v.__setitem__(slice(None), [1]),
    lambda v: v.__delitem__(slice(None)),
    lambda v: v.__delitem__(0),
    lambda v: v.__iadd__([1]),
    lambda v: v.__imul__(2),
    lambda v: v.append(1),
    lambda v: v.clear(),
    lambda v: v.extend([1]),
    lambda v: v.insert(0, 1),
    lambda v: v.pop(),
    lambda v: v.remove(1),
    lambda v: v.reverse(),
    lambda v: v.sort(),
    lambda v: setattr(v, "attribute", 1),
]
MUTATIONS = {FrozenDict: DICT_MUTATIONS, FrozenList: LIST_MUTATIONS}


def test_the_lists_of_mutations_are_complete() -> None:
    readers = {"copy", "get", "items", "keys", "values", "fromkeys", "count", "index"}
    for kind, mutations in ((dict, DICT_MUTATIONS), (list, LIST_MUTATIONS)):
        used = {name for mutate in mutations for name in mutate.__code__.co_names}
        public = {name for name in dir(kind) if not name.startswith("_")}
        in_place = {
            name for name in dir(kind) if name.startswith("__i") and name not in ("__iter__", "__init__")
        }
        assert public | (in_place - {"__init_subclass__"}) <= used | readers


@given(value=free_values())
def test_no_dictionary_and_no_list_inside_can_change(value: Any) -> None:
    note = Note([value], extras={"value": value, "empty": [{}, []]})
    before = repr(note)
    for container in containers_in(note):
        for mutate in MUTATIONS[type(container)]:
            with pytest.raises((QuireError, AttributeError)):
                mutate(container)
        container.__init__([("x", 1)])
    assert repr(note) == before


def test_operators_in_place_are_refused_as_statements_too() -> None:
    note = Note({"a": [1], "b": {}})
    with pytest.raises(TypeError):
        note.content["a"] += [2]
    with pytest.raises(TypeError):
        note.content["b"] |= {"c": 1}
    with pytest.raises(TypeError):
        note.content["a"][:] = []
    assert note.content == {"a": [1], "b": {}}


def test_what_was_passed_in_may_change_without_changing_the_item() -> None:
    inner: list[Any] = [1]
    content, extras, said = {"a": inner}, {"b": inner}, ["x", Image(url="u")]
    fields: dict[str, Any] = {"x": inner}
    note, message = Note(content, extras=extras), Message("user", said)  # type: ignore[arg-type]  # pyright: ignore
    unknown = Unknown(name="future", fields=fields)
    inner.append(2)
    content["c"], extras["d"], fields["y"] = inner, inner, 1
    said.clear()
    assert (note.content, note.extras) == ({"a": [1]}, {"b": [1]})
    assert message.content == ("x", Image(url="u"))
    assert unknown.fields["x"] == [1]
    assert "y" not in unknown.fields


def test_values_frozen_by_hand_are_frozen_all_the_way_down() -> None:
    inner = [1]
    by_hand = Note(FrozenList([inner]), extras=FrozenDict({"a": inner}))
    inner.append(2)
    assert (by_hand.content, by_hand.extras) == ([[1]], {"a": [1]})
    with pytest.raises(TypeError):
        by_hand.extras["a"].append(3)


@given(item=items())
def test_copies_and_pickles_are_equal(item: Item) -> None:
    for other in (copy.copy(item), copy.deepcopy(item), pickle.loads(pickle.dumps(item))):
        assert same(other, item)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert same(pickle.loads(pickle.dumps(item, protocol)), item)


@FEW
@given(item=items())
def test_a_pickled_item_is_as_frozen_as_before(item: Item) -> None:
    other = pickle.loads(pickle.dumps(item))
    assert [type(container) for container in containers_in(other)] == [type(c) for c in containers_in(item)]
    assert (other.extras is NOTHING) == (item.extras is NOTHING)


@given(item=items())
def test_equal_items_have_equal_hashes(item: Item) -> None:
    other = msgspec.structs.replace(item)
    assert other == item
    assert hash(other) == hash(item)
    assert len({item, other}) == 1


@FEW
@given(part=parts())
def test_parts_are_hashable_too(part: object) -> None:
    assert {part: 1}[copy.deepcopy(part)] == 1


def test_an_item_with_values_that_have_no_hash_has_none() -> None:
    with pytest.raises(TypeError):
        hash(Note({"a": {1, 2}}))


@given(value=free_values())
def test_frozen_values_equal_plain_ones_and_thaw_to_them(value: Any) -> None:
    frozen = freeze(value)
    assert frozen == value
    assert same(thaw(frozen), value)
    assert type(thaw(frozen)) is type(value)
    assert freeze(frozen) is frozen
    if isinstance(value, dict):
        assert value == frozen
        assert type(frozen | {}) is dict
        assert type(frozen.copy()) is dict


def test_a_thawed_value_is_free() -> None:
    note = Note({"a": [1]})
    thawed = thaw(note.content)
    thawed["a"].append(2)
    assert (thawed, note.content) == ({"a": [1, 2]}, {"a": [1]})


def test_nothing_is_an_empty_mapping_and_one_for_all() -> None:
    assert Message("user", "x").extras is ToolCall("c", "f", extras={}).extras is NOTHING
    assert NOTHING == {}
    assert hash(NOTHING) == hash(FrozenDict())
    assert copy.deepcopy(NOTHING) is pickle.loads(pickle.dumps(NOTHING)) is NOTHING
    assert (dict(NOTHING), len(NOTHING), NOTHING.get("a")) == ({}, 0, None)


def test_an_item_is_not_made_anew_by_calling_its_constructor_again() -> None:
    message = Message("user", "x", state=Opaque("p", "m", "d"))
    before = repr(message)
    for name in ("__init__", "__post_init__"):
        again: Any = getattr(message, name)
        with suppress(TypeError):
            again("assistant", "y") if name == "__init__" else again()
    assert repr(message) == before


def test_what_a_tuple_holds_is_frozen_too() -> None:
    note = Note(([1], {"a": ([2],)}), extras={"t": ([3],)})
    assert note.content == ([1], {"a": ([2],)})
    for inner in (note.content[0], note.content[1], note.content[1]["a"][0], note.extras["t"][0]):
        assert isinstance(inner, FrozenList | FrozenDict)
    assert isinstance(thaw(note.content)[0], list) and not isinstance(thaw(note.content)[0], FrozenList)
    plain = (1, ("a", b"b"))
    assert freeze(plain) is plain
