"""What a session goes by is not forgotten; a conversation in which it was once can be opened all the same."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from quire import Note, Session
from quire.compactors import Summarize
from quire.errors import Forgotten, InvalidValue, UnknownId
from quire.items import JSON, Item, ToolResult
from quire.models import Scripted
from quire.session.ledger import read_entries
from quire.session.receipts import is_receipt
from quire.session.steps import is_mark
from quire.stores import Entry, MemoryStore, Place, Store
from quire.stores.recalls import forgetting
from quire.stores.streams import FORGOTTEN
from quire.stores.tombstones import is_tombstone, tombstone
from tests.session.opened import FORK, PLACE, session, texts
from tests.session.recalling import PLAIN, quoted, told
from tests.session.test_drafts_spending import ANSWER

BOOKS = (".usage", ".plans", ".merged", ".recalled", ".forgotten", ".wiped")
TOOLS: list[dict[str, Any]] = [{"name": "look", "description": "Looks.", "parameters": {"type": "object"}}]


def lived() -> MemoryStore:
    """A store with a conversation that has something of all that is kept, and with a fork of it."""
    store = MemoryStore()
    told(store)
    quoted(store, "tuesday")
    asyncio.run(_live(store))
    return store


async def _live(store: MemoryStore) -> None:
    one = session(store, compactor=Summarize(floor=2, ceiling=4), model=Scripted(["They talked."]))
    for n in range(4):
        one.user(f"question {n}")
        one.assistant(f"answer {n}")
    await one.compact()
    one.new("attempt")
    one.keep(Note("a value", key="k"))
    one.forget(one.user("a secret that is gone").id)
    (await one.build(PLAIN, tools=TOOLS)).render("openai")
    one.record(ANSWER)
    elsewhere = Session.open("ana/elsewhere", store=store)
    elsewhere.user("said elsewhere")
    await one.merge(elsewhere)
    first, second = one.call("look"), one.call("look")
    async with one.running(first, second):
        await one.hold(ToolResult(second.call_id, "look", "found"), of=second)
    one.fork("x").user("in the fork")


def entries(store: Store, place: Place = PLACE) -> list[tuple[int, str, Item]]:
    stored = store.read(place)
    return [
        (e.version, e.stream, item) for e, (_, item) in zip(stored, read_entries(place, stored), strict=True)
    ]


def entry_of(store: Store, stream: str, place: Place = PLACE) -> tuple[int, Item]:
    return next((version, item) for version, name, item in entries(store, place) if name == stream)


@pytest.mark.parametrize("stream", [one for one in BOOKS if one != ".recalled"])
def test_what_a_session_goes_by_is_refused_before_anything_is_written(stream: str) -> None:
    store = lived()
    one, before = session(store), entries(store)
    said = one.recorded()[0].id
    with pytest.raises(InvalidValue, match=f"of {stream} holds nothing that was said"):
        one.forget(said, entry_of(store, stream)[1].id)
    assert entries(store) == before


def test_so_is_what_says_where_a_fork_began() -> None:
    store = lived()
    child = session(store).reopened("x")
    with pytest.raises(InvalidValue, match=r"of \.origin holds nothing"):
        child.forget(entry_of(store, ".origin", FORK)[1].id)


def test_so_are_receipts_and_what_says_that_calls_were_begun() -> None:
    store = lived()
    own = [item for _, stream, item in entries(store) if stream == ".receipts" and is_receipt(item)]
    own += [item for _, stream, item in entries(store) if stream == ".steps" and is_mark(item)]
    assert len(own) == 3
    for item in own:
        with pytest.raises(InvalidValue, match="holds nothing that was said"):
            session(store).forget(item.id)


def test_what_nobody_has_is_unknown_as_before() -> None:
    with pytest.raises(UnknownId, match="no item 'none'"):
        session().forget("none")


def test_all_that_may_hold_words_can_be_forgotten() -> None:
    store = lived()
    one = session(store)
    with_words = [
        item
        for _, stream, item in entries(store)
        if stream in ("main", ".pool", ".named")
        or (stream == ".receipts" and not is_receipt(item))
        or (stream == ".steps" and not is_mark(item))
    ]
    one.forget(*{item.id for item in with_words})
    left = session(store)
    assert left.new("attempt") == "attempt_a"
    for words in (b"question", b"a value", b"found", b"Looks.", b"attempt"):
        assert not any(words in entry.body for entry in store.read(PLACE)[: one.version - 1])
    with pytest.raises(Forgotten):
        left.receipts()[0].payload()


def test_all_that_was_said_is_forgotten_and_nothing_that_a_session_goes_by() -> None:
    store = lived()
    session(store).forget()
    emptied = {stream for _, stream, item in entries(store) if is_tombstone(item)}
    assert emptied == {"main", ".pool", ".steps"}
    marks = [item for _, stream, item in entries(store) if stream == ".steps" and isinstance(item, Note)]
    assert marks and all(map(is_mark, marks))


def test_the_key_of_a_note_goes_with_what_took_it_out() -> None:
    store = MemoryStore()
    one = session(store)
    one.keep(Note("value", key="a private key"))
    one.drop("a private key")
    one.forget(one._ledger.recorded()[-1].item.id)  # pyright: ignore[reportPrivateUsage]
    assert b"private" not in store.read(PLACE)[1].body
    assert not list(session(store).pool)


@pytest.mark.parametrize("stream", [*BOOKS, ".named", ".steps", ".receipts", ".origin"])
def test_where_it_was_forgotten_once_the_conversation_can_be_opened(stream: str) -> None:
    store = lived()
    place = {".origin": FORK, ".recalled": Place("ana", "tuesday")}.get(stream, PLACE)
    damaged = {
        version: JSON.encode_item(tombstone(item))
        for version, name, item in entries(store, place)
        if name == stream
    }
    assert damaged
    store.replace(place, damaged)
    one = Session.open(str(place), store=Copied(store))
    one.user("Hello again.")
    one.new("attempt")
    assert texts(one.view())[-1] == "Hello again."
    assert one.spending.requests >= 0 and len(one.receipts()) >= 0
    asyncio.run(one.build(PLAIN)).render("openai")
    one.forget(one.user("a secret that goes").id)
    assert texts(one.view())[-1] == "[forgotten]"
    assert texts(Session.open("ana/q3", store=one._ledger.store).view())  # pyright: ignore[reportPrivateUsage]


class Copied(MemoryStore):
    """The same entries where nobody has read them yet."""

    def __init__(self, other: MemoryStore) -> None:
        super().__init__()
        for name in other.conversations("ana"):
            stored = other.read(Place("ana", name))
            self.append(Place("ana", name), [Entry(e.stream, e.body) for e in stored], expected=0)


def test_who_finishes_what_was_begun_so_leaves_what_the_session_goes_by() -> None:
    store = lived()
    own = [item.id for _, stream, item in entries(store) if stream in BOOKS]
    note = JSON.encode_item(forgetting(own))
    store.append(PLACE, [Entry(FORGOTTEN, note)], expected=store.version(PLACE))
    one = session(store)
    one.refresh()
    assert not any(stream in BOOKS and is_tombstone(item) for _, stream, item in entries(store))
    assert not one._ledger.workspace.forgetting  # pyright: ignore[reportPrivateUsage]


def test_a_half_forgotten_store_of_a_file(tmp_path: Path) -> None:
    one = Session.open("ana/q3", store=tmp_path / "kept.db")
    one.user("important")
    one.new("attempt")
    child = one.fork("child")
    child.user("in the fork")
    version, item = entry_of(one._ledger.store, ".named")  # pyright: ignore[reportPrivateUsage]
    one._ledger.store.replace(PLACE, {version: JSON.encode_item(tombstone(item))})  # pyright: ignore
    one._ledger.reload()  # pyright: ignore[reportPrivateUsage]
    assert texts(one.view()) == ["important"]
    assert texts(one.reopened("child").view()) == ["important", "in the fork"]
