"""Free values are frozen all the way down and equal plain ones; ids sort by a clock that can be set."""

import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given

from quire.errors import InvalidValue, WrongType
from quire.items import JSON, Message, Note, freeze, new_id, thaw, use_clock
from quire.testing.items import free_values

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
    for frozen in (freeze(raw), Note(raw).content, Message("user", "x", extras=raw).extras):
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
    assert type(thaw(frozen)) in (dict, list) or thaw(frozen) is frozen


def test_the_spelling_of_bytes_is_read_where_it_is_exact() -> None:
    inexact: list[Any] = [{"$bytes": "aGk"}, {"$bytes": "a!k="}, {"$bytes": 5}, {"$bytes": "aGl="}]
    inexact += [{"$bytes": "aGk=", "b": 1}, {"$dict": {}}]
    nested: tuple[Any, Any] = {"$bytes": {"$bytes": "aGk="}}, {"$bytes": b"hi"}
    rows: list[tuple[Any, Any]] = [({"$bytes": "aGk="}, b"hi"), ([{"$bytes": ""}], [b""]), nested]
    for raw, frozen in rows + [(raw, raw) for raw in inexact]:
        note = Note(raw, extras={"a": raw})
        assert note.content == note.extras["a"] == frozen and JSON.decode_item(JSON.encode_item(note)) == note


def test_extras_are_a_mapping_and_a_value_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append((endless,))
    for make in (lambda: Note(endless), lambda: Message("user", "x", extras={"a": endless})):
        with pytest.raises(InvalidValue, match=r"Note|Message"):
            make()
    wrong: list[Any] = [[], "text", {"$bytes": "aGk="}]
    for extras in wrong:
        with pytest.raises(WrongType, match=r"Message\.extras"):
            Message("user", "x", extras=extras)


# The clock and ids


def many_ids(count: int) -> list[str]:
    return [new_id() for _ in range(count)]


def test_ids_sort_in_the_order_in_which_they_were_made_and_follow_the_clock() -> None:
    made = many_ids(20_000)
    assert made == sorted(set(made)) and all(len(one) == 28 for one in made)
    made = list[str]()
    for at in (-99_999_999_999.0, -3.5, 0.0, 0.001, 1_700_000_000.0, 1_700_000_000.001, 99_999_999_999.0):
        with use_clock(lambda at=at: at):  # type: ignore[misc]
            made += many_ids(1_000)
    assert made == sorted(set(made))


def test_ids_of_threads_and_forked_processes_are_unique() -> None:
    forking = multiprocessing.get_context("fork")
    with use_clock(lambda: 5.0), ProcessPoolExecutor(2, mp_context=forking) as processes:
        made = [one for batch in processes.map(many_ids, [1_000] * 4) for one in batch]
        with ThreadPoolExecutor(4) as threads:
            made += [one for batch in threads.map(many_ids, [1_000] * 4) for one in batch]
    assert len(set(made)) == len(made) == 8_000
