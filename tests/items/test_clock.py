"""The clock can be set, and ids are unique and sort in the order in which they were made."""

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import pytest

from quire.errors import InvalidValue, QuireError, WrongType
from quire.items import Message, ToolCall, new_id, now, use_clock


def many_ids(count: int) -> list[str]:
    return [new_id() for _ in range(count)]


@pytest.mark.parametrize("at", [None, 0.0, 1.5, 1_700_000_000.123])
def test_ids_sort_in_the_order_in_which_they_were_made(at: float | None) -> None:
    with use_clock(time.time if at is None else lambda: at):
        made = many_ids(20_000)
    assert made == sorted(set(made)) and all(len(one) == 28 for one in made)


def test_ids_follow_the_clock() -> None:
    made: list[str] = []
    for at in (0.0, 0.001, 1.0, 1_700_000_000.0, 1_700_000_000.001):
        with use_clock(lambda at=at: at):  # type: ignore[misc]
            made.append(new_id())
    assert made == sorted(made)


def test_ids_of_threads_and_forked_processes_are_unique() -> None:
    forking = multiprocessing.get_context("fork")
    with use_clock(lambda: 5.0), ProcessPoolExecutor(2, mp_context=forking) as processes:
        made = [one for batch in processes.map(many_ids, [1_000] * 4) for one in batch]
        with ThreadPoolExecutor(4) as threads:
            made += [one for batch in threads.map(many_ids, [1_000] * 4) for one in batch]
    assert len(set(made)) == len(made) == 8_000


def test_the_clock_is_restored_after_an_error() -> None:
    with use_clock(lambda: 5.0):
        with pytest.raises(RuntimeError), use_clock(lambda: 6.0):
            assert now() == 6.0
            raise RuntimeError
        assert now() == 5.0
    assert now() >= time.time() - 3600


def test_items_take_their_time_and_id_from_the_clock_unless_they_are_given() -> None:
    with use_clock(lambda: 1234.5):
        first, second = Message("user", "x"), ToolCall("c", "f")
        given = Message("user", "x", id="mine", created_at=-3.5)
    assert first.created_at == second.created_at == 1234.5 and first.id < second.id
    assert (given.id, given.created_at) == ("mine", -3.5)


@pytest.mark.parametrize(
    ("at", "error"),
    [(float("nan"), InvalidValue), (float("inf"), InvalidValue), (None, WrongType), ("1", WrongType)],
    ids=repr,
)
def test_a_clock_returns_a_finite_number(at: Any, error: type[QuireError]) -> None:
    with use_clock(lambda: at):
        with pytest.raises(error, match="clock"):
            new_id()
        with pytest.raises(error, match="created_at"):
            Message("user", "x", id="given")
    with pytest.raises(WrongType), use_clock(5):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        pass
