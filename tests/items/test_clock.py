"""The one clock, and ids that are unique and sort in the order they were made."""

import multiprocessing
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import pytest

from quire.errors import InvalidValue, QuireError, WrongType
from quire.items import Message, ToolCall, new_id, now, use_clock

COUNT = 5_125  # with 4,194,304,000 ticks in a second, the sixth of these and the one held up would be one


def many_ids(count: int) -> list[str]:
    return [new_id() for _ in range(count)]


def test_an_id_is_twenty_eight_hexadecimal_digits() -> None:
    made = new_id()
    assert len(made) == 28
    assert int(made, 16) > 0


def test_ids_of_one_process_sort_in_the_order_they_were_made() -> None:
    made = many_ids(100_000)
    assert made == sorted(set(made))


@pytest.mark.parametrize("at", [0.0, 1.5, 1_700_000_000.123, 4_000_000_000.0])
def test_they_do_so_while_the_clock_stands_still(at: float) -> None:
    with use_clock(lambda: at):
        made = many_ids(100_000)
    assert made == sorted(set(made))


def test_ids_follow_the_clock() -> None:
    made: list[str] = []
    for at in (0.0, 0.001, 1.0, 1_600_000_000.0, 1_700_000_000.0, 1_700_000_000.001):
        with use_clock(lambda at=at: at):  # type: ignore[misc]
            made.append(new_id())
    assert made == sorted(made)


def test_ids_of_threads_are_unique() -> None:
    with ThreadPoolExecutor(8) as pool:
        made = [found for batch in pool.map(many_ids, [5_000] * 16) for found in batch]
    assert len(set(made)) == len(made)


def test_a_thread_that_is_held_up_between_clock_and_counter_takes_nobodys_id() -> None:
    grain = (
        2.0**-22
    )  # what a float of today's time can tell apart: a thousand ticks of 1000 << 22 in a second
    start = 1_700_000_000.0
    others: list[str] = []

    def other_threads() -> Iterator[float]:
        yield from (start + grain * step for step in range(COUNT))

    def held_up() -> float:
        clock = other_threads()
        with use_clock(lambda: next(clock)):
            others.extend(many_ids(COUNT))
        return start

    with use_clock(held_up):
        mine = new_id()
    assert len({mine, *others}) == COUNT + 1


def test_ids_of_forked_processes_are_unique() -> None:
    forking = multiprocessing.get_context("fork")
    with use_clock(lambda: 5.0), ProcessPoolExecutor(3, mp_context=forking) as pool:
        made = [found for batch in pool.map(many_ids, [2_000] * 6) for found in batch] + many_ids(2_000)
    assert len(set(made)) == len(made)
    assert len({found[16:] for found in made}) > 1


def test_ids_of_one_process_share_their_end() -> None:
    assert len({found[16:] for found in many_ids(100)}) == 1


def test_the_clock_is_put_back_also_after_an_error() -> None:
    with use_clock(lambda: 5.0):
        assert now() == 5.0
        with pytest.raises(RuntimeError), use_clock(lambda: 6.0):
            assert now() == 6.0
            raise RuntimeError
        assert now() == 5.0
    assert now() >= time.time() - 3600


def test_a_set_clock_is_seen_by_all_threads() -> None:
    seen: list[float] = []
    with use_clock(lambda: 7.0):
        thread = threading.Thread(target=lambda: seen.append(now()))
        thread.start()
        thread.join()
    assert seen == [7.0]


def test_items_take_their_time_and_id_from_the_clock() -> None:
    with use_clock(lambda: 1234.5):
        first, second = Message("user", "x"), ToolCall("c", "f")
    assert first.created_at == second.created_at == 1234.5
    assert first.id < second.id
    assert int(first.id[:16], 16) >> 22 >= 1_234_500


def test_a_time_and_an_id_that_are_given_stay() -> None:
    message = Message("user", "x", id="mine", created_at=-3.5)
    assert (message.id, message.created_at) == ("mine", -3.5)


def test_a_clock_can_be_asked() -> None:
    with pytest.raises(WrongType), use_clock(5):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        pass
    assert now() > 0


@pytest.mark.parametrize(
    ("at", "error"),
    [
        *((float("nan"), InvalidValue), (float("inf"), InvalidValue), (-float("inf"), InvalidValue)),
        *((None, WrongType), ("now", WrongType), ("1", WrongType), ([], WrongType), (1j, WrongType)),
    ],
    ids=repr,
)
def test_a_clock_that_gives_no_time_is_told_so(at: Any, error: type[QuireError]) -> None:
    with use_clock(lambda: at):
        for make in (new_id, lambda: Message("user", "x")):
            with pytest.raises(error, match="clock"):
                make()
        with pytest.raises(error, match="created_at"):
            Message("user", "x", id="given")


def test_what_goes_wrong_in_a_clock_is_its_own_affair() -> None:
    def broken() -> float:
        raise ValueError("no battery")

    with use_clock(broken), pytest.raises(ValueError, match="no battery"):
        new_id()


def test_where_processes_cannot_be_forked_there_are_ids_all_the_same() -> None:
    code = "import os; del os.register_at_fork; from quire.items import new_id; print(len(new_id()))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip() == b"28"
    )
