"""A pool that drafts fill side by side: what gives way is decided when each is merged."""

import asyncio
from typing import Any

import pytest

from quire.compactors import Offload
from quire.items import Note
from quire.session import (
    Added,
    Adding,
    Cleared,
    Clearing,
    Evicted,
    Evicting,
    Removed,
    Removing,
    Session,
    hook,
)
from tests.session.opened import session
from tests.session.test_pool_limit import TEMPLATE, handles_shown, offloaded

LIMIT = 5
told: list[tuple[str, str]] = []


@pytest.fixture(autouse=True)
def _nothing_told() -> None:
    told.clear()


@hook(Adding, Added, Evicting, Evicted, Removing, Removed, Clearing, Cleared)
def hear_pool_of_drafts(event: Any) -> None:
    notes: Any = getattr(event, "items", None) or getattr(event, "notes", None) or (event.note,)
    told.extend((type(event).__name__, str(note.key)) for note in notes)


@hook(Evicting)
def guard_a_note_of_drafts(event: Evicting) -> None:
    if event.note.key == "a0":
        raise PermissionError("it stays")


def note(key: str) -> Note:
    return Note("some content", key=key)


def full(*hooks: Any) -> Session:
    one = session(pool_limit=LIMIT, hooks=hooks)
    for n in range(LIMIT):
        one.keep(note(f"old{n}"))
    told.clear()
    return one


def keys(one: Session) -> list[str]:
    return [str(each.key) for each in one.pool]


async def side_by_side(one: Session, *names: str) -> None:
    async def turn(name: str) -> None:
        async with one.draft() as draft:
            for n in range(LIMIT):
                await draft.put(note(f"{name}{n}"))
                await asyncio.sleep(0)

    await asyncio.gather(*map(turn, names))


def test_the_limit_holds_and_each_note_is_told_of_once() -> None:
    one = full(hear_pool_of_drafts)
    asyncio.run(side_by_side(one, *"abcd"))
    left = keys(one)
    assert len(left) == LIMIT
    came = [key for kind, key in told if kind == "Added"]
    gone = [key for kind, key in told if kind == "Evicted"]
    assert sorted(came) == sorted(f"{name}{n}" for name in "abcd" for n in range(LIMIT))
    assert sorted([*gone, *left]) == sorted([*came, *(f"old{n}" for n in range(LIMIT))])
    assert set(gone) <= {key for kind, key in told if kind == "Evicting"}


def test_drafts_in_plain_blocks_keep_the_limit_too() -> None:
    one = full(hear_pool_of_drafts)
    with one.draft() as draft:
        draft.keep(note("a0"))
        with draft.draft() as inner:
            draft.keep(note("a1"))
            inner.keep(note("b0"))
        one.keep(note("c0"))
    assert keys(one) == ["old4", "c0", "a0", "a1", "b0"]
    assert [key for kind, key in told if kind == "Evicted"] == ["old0", "old1", "old2", "old3"]


def test_what_another_brought_is_not_put_out_unheard() -> None:
    one = full(guard_a_note_of_drafts)
    with pytest.raises(PermissionError), one.draft() as draft:
        for n in range(LIMIT):
            draft.keep(note(f"b{n}"))
        one.clear_pool()
        one.keep(note("a0"))
    assert keys(one) == ["a0"]


def test_hooks_do_not_hear_that_what_others_took_out_is_removed() -> None:
    one = full(hear_pool_of_drafts)
    with one.draft() as draft:
        draft.drop("old0")
        draft.drop("old1")
        one.drop("old0")
        told.clear()
    assert told == [("Removing", "old1"), ("Removed", "old1")]
    with one.draft() as draft:
        draft.clear_pool()
        one.drop("old2")
        one.keep(note("new"))
        told.clear()
    assert told == [(kind, key) for kind in ("Clearing", "Cleared") for key in ("old3", "old4")]
    assert keys(one) == ["new"]


def test_where_nobody_else_wrote_all_is_as_the_draft_had_it() -> None:
    one = full(hear_pool_of_drafts)
    with one.draft() as draft:
        for n in range(LIMIT + 1):
            draft.keep(note(f"a{n}"))
        draft.drop("a3")
        expected = keys(draft)
        assert not told
    assert keys(one) == expected == ["a1", "a2", "a4", "a5"]


def test_outputs_that_a_draft_brings_stay_while_a_stub_names_them() -> None:
    one = asyncio.run(offloaded(3))

    async def turn() -> None:
        async with one.draft() as draft:
            draft.use(Offload())
            draft.user("question")
            call = draft.call("read_file", {"path": "x"})
            draft.tool("more lines " * 3_000, call_id=call.call_id)
            draft.assistant("done")
            draft.user("and?")
            await draft.compact(TEMPLATE)
            for n in range(4):
                await draft.put(note(f"own {n}"))
            one.user("meanwhile")

    asyncio.run(turn())
    assert handles_shown(one) <= set(keys(one))
    assert [key for key in keys(one) if key.startswith("own")] == ["own 1", "own 2", "own 3"]
