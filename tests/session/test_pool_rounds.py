"""Hooks that touch the pool they hear of, others that never rest: each thing is heard once, and it ends."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from quire.errors import Conflict
from quire.items import Note
from quire.session import Cleared, Clearing, Evicting, Removing, Session, hook
from tests.session.opened import session
from tests.session.test_pool_of_others import CLEARS, DROPS, KEEPS, contents, note

Act = Callable[[Session], Any]

heard: list[Any] = []
at_hand: list[Session] = []
"""The session that hooks touch."""


@pytest.fixture(autouse=True)
def _nothing_heard() -> None:
    heard.clear()
    at_hand.clear()


def opened(*hooks: Any, **options: Any) -> Session:
    at_hand.append(one := session(hooks=hooks, **options))
    return one


@hook(Clearing, name="note_down_a_clearing")
def note_down(event: Any) -> None:
    heard.append([one.content for one in event.notes])
    at_hand[0].keep(note("audit", f"{len(event.notes)} cleared"))


@hook(Cleared, name="hear_what_was_cleared")
def cleared(event: Any) -> None:
    heard.append(("cleared", [one.content for one in event.notes]))


@hook(Removing, name="replace_what_is_removed")
def replace(event: Any) -> None:
    heard.append(event.note.content)
    at_hand[0].keep(note("plan", f"v{len(heard)}"))


@hook(Removing, name="replace_what_is_removed_once")
def replace_once(event: Any) -> None:
    heard.append(event.note.content)
    if len(heard) == 1:
        at_hand[0].keep(note("plan", "v1"))


@hook(Evicting, name="replace_what_gives_way")
def replace_evicted(event: Any) -> None:
    heard.append(event.note.content)
    at_hand[0].keep(Note(f"v{len(heard)}", key=event.note.key))


@hook(Clearing, name="drop_while_it_is_cleared")
def drop_first(event: Any) -> None:
    heard.append([one.content for one in event.notes])
    at_hand[0].drop("a")


@pytest.mark.parametrize("clear", CLEARS.values(), ids=CLEARS)
def test_what_comes_while_hooks_hear_of_a_clearing_stays(clear: Act) -> None:
    one = opened(note_down, cleared)
    one.keep(note("a", "1"))
    assert [each.content for each in clear(one)] == ["1"]
    assert heard == [["1"], ("cleared", ["1"])] and contents(one) == ["1 cleared"]
    clear(one)  # what they heard of was replaced meanwhile, so it is another
    assert heard[2:] == [["1 cleared"], ("cleared", [])] and contents(one) == ["1 cleared"]


@pytest.mark.parametrize("clear", CLEARS.values(), ids=CLEARS)
def test_what_leaves_while_hooks_hear_of_a_clearing_is_not_cleared(clear: Act) -> None:
    one = opened(drop_first, cleared)
    for key in "ab":
        one.keep(note(key, key))
    assert [each.content for each in clear(one)] == ["b"]
    assert heard == [["a", "b"], ("cleared", ["b"])] and contents(one) == []


def test_clearing_ends_while_others_keep_adding() -> None:
    one, is_done = opened(slow), threading.Event()
    one.keep(note("first", "first"))

    def others() -> None:
        n = 0
        while not is_done.is_set():
            n += 1
            one.keep(note(f"{n}", f"{n}"))

    writer = threading.Thread(target=others)
    writer.start()
    try:
        taken = asyncio.run(asyncio.wait_for(one.take_all(), 20))
    finally:
        is_done.set()
        writer.join()
    assert "first" in [each.content for each in taken] and "first" not in contents(one) and contents(one)


@hook(Clearing, name="slow_to_hear_of_a_clearing")
async def slow(_: Any) -> None:
    await asyncio.sleep(0.05)


@pytest.mark.parametrize("drop", DROPS.values(), ids=DROPS)
def test_a_note_that_is_replaced_while_hooks_hear_of_its_removal_is_heard_of_too(drop: Act) -> None:
    one = opened(replace_once)
    one.keep(note("plan", "v0"))
    assert drop(one).content == "v1" and heard == ["v0", "v1"] and contents(one) == []


@pytest.mark.parametrize("drop", DROPS.values(), ids=DROPS)
def test_one_that_is_replaced_each_time_stays(drop: Act) -> None:
    one = opened(replace)
    one.keep(note("plan", "v0"))
    with pytest.raises(Conflict):
        drop(one)
    assert heard == [f"v{n}" for n in range(10)] and contents(one) == ["v10"]


@pytest.mark.parametrize("keep", KEEPS.values(), ids=KEEPS)
def test_a_note_does_not_come_for_ever(keep: Act) -> None:
    one = opened(replace_evicted, pool_limit=1)
    one.keep(note("a", "v0"))
    with pytest.raises(Conflict):
        keep(one)
    assert len(heard) == len(set(heard)) and contents(one) == [f"v{len(heard)}"]
