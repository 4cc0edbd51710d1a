"""Free values are frozen all the way down, equal plain ones, and hold bytes for `{"$bytes": ...}`."""

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from quire.errors import InvalidValue, WrongType
from quire.items import JSON, NOTHING, FrozenDict, FrozenList, Message, Note, freeze, thaw
from tests.items.strategies import free_values

CHANGES: list[Callable[[Any], object]] = [
    *(lambda d: d.clear(), lambda d: d.pop("a"), lambda d: d.popitem(), lambda d: d.setdefault("b", 1)),
    *(lambda d: d.update(b=1), lambda d: d.__setitem__("a", 1), lambda d: d.__delitem__("a")),
    *(lambda d: d.__ior__({}), lambda d: d["a"].append(1), lambda d: d["a"].clear()),
    *(lambda d: d["a"].extend([1]), lambda d: d["a"].insert(0, 1), lambda d: d["a"].pop()),
    *(lambda d: d["a"].remove(1), lambda d: d["a"].reverse(), lambda d: d["a"].sort()),
    *(lambda d: d["a"].__setitem__(0, 1), lambda d: d["a"].__delitem__(0), lambda d: d["a"].__iadd__([])),
    *(lambda d: d["a"].__imul__(2), lambda d: d["t"][0].append(1)),
]


def test_every_change_is_refused() -> None:
    raw: Any = {"a": [1, 2], "t": ([1],)}
    for frozen in (freeze(raw), FrozenDict(raw), Note(raw).content, Message("user", "x", extras=raw).extras):
        for change in CHANGES:
            with pytest.raises(WrongType):
                change(frozen)
        raw["a"].append(3)
        assert frozen == {"a": [1, 2], "t": ([1],)}
        raw["a"].pop()


@given(value=free_values())
def test_frozen_values_equal_plain_ones(value: Any) -> None:
    frozen = freeze(value)
    assert freeze(frozen) == frozen == thaw(frozen) == pickle.loads(pickle.dumps(frozen))
    assert hash(frozen) == hash(freeze(thaw(frozen)))
    assert not isinstance(thaw(frozen), FrozenDict | FrozenList)


INEXACT: list[Any] = [
    *({"$bytes": "aGk"}, {"$bytes": "a!k="}, {"$bytes": 5}, {"$bytes": "aGl="}),
    *({"$bytes": "aGk=", "b": 1}, {"$dict": {}}),
]
SPELLED: list[tuple[Any, Any]] = [
    *(({"$bytes": "aGk="}, b"hi"), ([{"$bytes": ""}], [b""]), (FrozenDict({"$bytes": "aGk="}), b"hi")),
    *(({"$bytes": {"$bytes": "aGk="}}, {"$bytes": b"hi"}), *((raw, raw) for raw in INEXACT)),
]


@pytest.mark.parametrize(("raw", "frozen"), SPELLED, ids=str)
def test_the_spelling_of_bytes_is_read_where_it_is_exact(raw: Any, frozen: Any) -> None:
    assert Note(raw).content == frozen and type(Note(raw).content) is type(freeze(raw))
    note = Note(raw, extras={"$bytes": raw})
    assert JSON.decode_item(JSON.encode_item(note)) == note


def test_objects_of_other_classes_stay_as_they_are() -> None:
    class Own(dict[str, Any]):
        pass

    for value in ({1, 2}, Own(a=[1]), bytearray(b"x"), object()):
        assert Note([value]).content[0] is value


def test_a_value_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append((endless,))
    for make in (lambda: Note(endless), lambda: Message("user", "x", extras={"a": endless})):
        with pytest.raises(InvalidValue, match=r"Note\.content|Message\.extras"):
            make()


@pytest.mark.parametrize("extras", [{1: 2}, {"a": 1, None: 2}, [], "text"], ids=repr)
def test_extras_are_a_mapping_with_texts_as_keys(extras: Any) -> None:
    with pytest.raises(WrongType, match=r"Message\.extras"):
        Message("user", "x", extras=extras)


def test_items_without_extras_share_one_mapping() -> None:
    assert Message("user", "x").extras is Message("user", "x", extras={}).extras is NOTHING
    assert pickle.loads(pickle.dumps(Message("user", "x"))).extras is NOTHING and NOTHING == {}
