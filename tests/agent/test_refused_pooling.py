"""Notes that a call gives, and hooks that let none of the old ones go: all of them are pooled, or none."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from quire import Agent, Note, Session, tool
from quire.errors import InvalidValue
from quire.models import Scripted
from quire.session import Added, Adding, Evicted, Evicting, Hook
from quire.stores import Entry, MemoryStore, Place, SQLiteStore
from quire.stores.streams import POOL
from tests.agent.answering import call, results, run

Pooled = list[tuple[str | None, Any]]
OUTPUT, OLDER = "output-0123456789", "output-9876543210"
KEYS = ["a", "b", "c", "d"]


class Appends(MemoryStore):
    """Remembers what was added to the pool, by how much of it at once."""

    def __init__(self) -> None:
        super().__init__()
        self.pooled: list[int] = []

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        version = super().append(place, entries, expected=expected)
        notes = sum(entry.stream == POOL for entry in entries)
        self.pooled += [notes] if notes else []
        return version


def pooled(session: Session) -> Pooled:
    return [(note.key, note.content) for note in session.pool]


def old(key: str) -> Note:
    return Note(f"{key[-1]} as the user said it: 0151 2345678", key=key, description="x")


def new(keys: Iterable[str]) -> list[Note]:
    return [
        Note(f"{key[-1]} as it was found at place {n}: 0171 2345678", key=key, description="x")
        for n, key in enumerate(keys)
    ]


def agent_giving(notes: Sequence[Note], session: Session) -> Agent:
    @tool
    async def fetch() -> list[Note]:
        """Fetch notes."""
        return list(notes)

    return Agent(session, model=Scripted([[call("fetch")], "Done."]), tools=[fetch])


def one_by_one(known: Iterable[str], notes: Iterable[Note], limit: int | None) -> Pooled:
    """The pool where each note comes by itself, while the call waits, and nobody is asked."""
    session = Session.open("ana/one", store=MemoryStore(), pool_limit=limit)
    for key in known:
        session.pool.keep(old(key))
    session.call("fetch")
    for note in notes:
        session.pool.keep(note)
    return pooled(session)


def listening(heard: list[Any], guarded: set[Any], *, is_async: bool) -> Hook:
    """Refuses that some notes are added, or give way."""

    def hear(event: Any) -> None:
        heard.append(event)
        notes = (
            event.items if isinstance(event, Adding) else [event.note] if isinstance(event, Evicting) else []
        )
        if any(getattr(note, "content", None) in guarded for note in notes):
            raise InvalidValue("it stays")  # a hook may raise what a store does

    async def hear_later(event: Any) -> None:
        await asyncio.sleep(0)
        hear(event)

    return Hook(hear_later if is_async else hear, (Adding, Evicting, Added, Evicted))


def asked_of(heard: Iterable[Any]) -> set[Any]:
    asked = [event for event in heard if isinstance(event, Adding) and event.stream == POOL]
    added = {item.content for event in asked for item in event.items if isinstance(item, Note)}
    return added | {event.note.content for event in heard if isinstance(event, Evicting)}


def assert_heard_once(heard: Sequence[Any]) -> None:
    """Of each thing once, before and after."""
    told = [
        (type(event).__name__, *ids)
        for event in heard
        for ids in (
            [(event.note.id, event.by.id)]
            if isinstance(event, Evicting | Evicted)
            else [(item.id,) for item in event.items]
        )
    ]
    assert len(told) == len({*told})


def test_what_another_brings_while_hooks_are_asked_is_asked_about_too(tmp_path: Path) -> None:
    """They let `a` go; then another puts it out, and one has to go that they do not let go."""
    heard, store = list[Any](), SQLiteStore(tmp_path / "a.db")
    other = Session.open("ana/q3", store=SQLiteStore(tmp_path / "a.db"), pool_limit=2)

    def another_comes_first(event: Evicting) -> None:
        heard.append((event.note.key, event.by.key))
        if event.note.key == "a":
            other.pool.keep(old("z"))
        if event.note.key == "z":
            raise PermissionError

    async def talk() -> None:
        hooks = [Hook(another_comes_first, (Evicting,))]
        session = Session.open("ana/q3", store=store, hooks=hooks, pool_limit=2)
        session.pool.keep(old("a"))
        session.pool.keep(old("b"))
        agent = agent_giving(new(["c", "d"]), session)
        assert (await agent.ask("go")).text == "Done."
        assert "refused by a hook: PermissionError" in results(agent)[0].text
        assert [key for key, _ in pooled(session)] == ["b", "z"]
        assert heard == [("a", "c"), ("b", "d"), ("b", "c"), ("z", "d")]

    run(talk)


@pytest.mark.parametrize("is_refused", [False, True])
def test_what_a_draft_pools_is_refused_with_the_draft_when_it_is_merged(is_refused: bool) -> None:
    def guarding(event: Evicting) -> None:
        if is_refused and event.note.key == "a":
            raise PermissionError

    async def talk() -> None:
        hooks, store = [Hook(guarding, (Evicting,))], MemoryStore()
        session = Session.open("ana/one", store=store, hooks=hooks, pool_limit=2)
        session.user("b as the user said it: 0151 2345678")
        session.pool.keep(old("a"))
        session.pool.keep(old("b"))
        was, said = pooled(session), list(session.view())
        try:
            async with session.draft() as draft:
                await agent_giving(new(["b", "c"]), draft).ask("go")
        except PermissionError:
            assert is_refused
            assert pooled(session) == was and list(session.view()) == said
        else:
            assert not is_refused
            assert pooled(session) == one_by_one(["a", "b"], new(["b", "c"]), 2)

    run(talk)
