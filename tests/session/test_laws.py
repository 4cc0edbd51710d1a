"""The laws of keeping in sessions: what is written is what is read, whoever wrote meanwhile."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given, settings, strategies as st

from quire import Budget, Session, Template
from quire.errors import Conflict, InvalidValue, QuireError, UnknownId
from quire.items import JSON, Item, Message, Note, Summary, ToolResult
from quire.sections import Catalogue, History, Instructions
from quire.session import find_items
from quire.state import Pool, Transcript
from quire.stores import MemoryStore
from quire.testing.histories import OPS, Author, Op
from tests.session.opened import KINDS, ids, send, session, texts, twin
from tests.stores.keeping import kept

pytestmark = pytest.mark.laws
EVERY = pytest.mark.parametrize("kind", KINDS)
FEW = settings(max_examples=max(4, settings().max_examples // 20))
SOME = settings(max_examples=max(5, settings().max_examples // 4))
NAMES = ("", "ana", "Ana", "..", "a/b", "a%2Fb", "'; DROP TABLE entries; --", "%_", "🧵", "x" * 300)
SHOWN = Template(Instructions("Be brief."), History(), Catalogue(), budget=Budget(window=2_000))


def recorded(one: Session) -> list[Item]:
    return one.view().recorded()


def write(one: Session, author: Author, op: Op) -> Item | None:
    """One random step; the item, where the session took it. It takes what a transcript takes."""
    transcript = Transcript(recorded(one))
    item = author.item(transcript, op)
    if item is None:
        return None
    try:
        transcript.append(item)
    except QuireError as fault:
        with pytest.raises(type(fault)):
            one.append(item)
        return None
    one.append(item)
    return item


@EVERY
@FEW
@given(ops=OPS)
def test_what_is_written_is_what_is_read(kind: str, ops: list[Op]) -> None:
    with kept(kind) as held:
        one, author = session(held.store), Author()
        taken = sum(write(one, author, op) is not None for op in ops)
        assert one.version == taken
        shown = [list(one.view(at=version)) for version in range(taken + 1)]
        again = session(held.reopen())
        assert (
            again.version == taken and [list(again.view(at=version)) for version in range(taken + 1)] == shown
        )


@EVERY
@FEW
@given(ops=OPS, turns=st.lists(st.booleans(), min_size=40, max_size=40))
def test_two_writers_lose_nothing(kind: str, ops: list[Op], turns: list[bool]) -> None:
    with kept(kind) as held:
        store = held.store if kind == "memory" else held.open()
        sessions = {True: session(held.store), False: session(store)}
        authors = {True: Author("x"), False: Author("y")}
        written: list[str] = []
        for op, turn in zip(ops, turns, strict=False):
            item = authors[turn].item(Transcript(recorded(sessions[turn])), op)
            try:
                written += [] if item is None else ids(sessions[turn].append(item))
            except QuireError:
                continue
        for one in sessions.values():
            one.refresh()
        third = session(held.reopen())
        assert ids(recorded(third)) == written
        assert all(list(one.view()) == list(third.view()) for one in sessions.values())


@EVERY
def test_many_writers_at_once(kind: str) -> None:
    with kept(kind) as held:

        def write_some(number: int) -> list[str]:
            one = session(held.store if kind == "memory" or number % 2 else held.open())
            return [one.user(f"{number} {n}").id for n in range(15)]

        with ThreadPoolExecutor(4) as pool:
            written = [item for row in pool.map(write_some, range(4)) for item in row]
        one, other = session(held.store), session(held.open())
        assert sorted(ids(one.view())) == sorted(written) and ids(one.view()) == ids(other.view())


@EVERY
@FEW
@given(
    scopes=st.lists(st.sampled_from(NAMES), min_size=2, max_size=2, unique=True), name=st.sampled_from(NAMES)
)
def test_nothing_of_one_scope_is_readable_from_another(kind: str, scopes: list[str], name: str) -> None:
    with kept(kind) as held:
        mine, theirs = (Session.open(scope=scope, conversation=name, store=held.store) for scope in scopes)
        secret = mine.user("the secret")
        mine.pool.keep(Note("secret", key="k", description="secret"))
        send(mine.build(SHOWN))
        assert theirs.version == 0 and list(theirs.view()) == [] and len(theirs.pool) == 0
        assert len(theirs.receipts) == 0 and theirs.spending.tokens == 0 and theirs.refresh() == []
        assert not held.store.conversations(scopes[1]) and find_items(theirs, "secret") == []
        for verb in (theirs.forget, theirs.pin, theirs.undo, theirs.view().get):
            with pytest.raises(UnknownId):
                verb(secret.id)
        for keep in ("all", "result"):
            with pytest.raises(InvalidValue):
                theirs.merge(mine, keep=keep)
        theirs.user("of theirs")
        assert texts(theirs.fork("x").view()) == ["of theirs"] and texts(theirs.child("y").view()) == []
        theirs.forget()
        assert ids(mine.view()) == [secret.id] and mine.refresh() == []


@SOME
@given(ops=OPS, turns=st.none() | st.integers(1, 3), more=OPS, own=OPS)
def test_a_fork_and_its_parent_never_see_each_others_later_items(
    ops: list[Op], turns: int | None, more: list[Op], own: list[Op]
) -> None:
    store = MemoryStore()
    one, author = session(store), Author()
    for op in ops:
        write(one, author, op)
    before = recorded(one)
    child, theirs = one.fork("x", turns=turns), Author("c")
    shown = list(child.view())
    assert set(ids(shown)) <= {*ids(one.view()), *ids(recorded(child)[len(before) :])}
    later = {item.id for op in more if (item := write(one, author, op)) is not None}
    assert list(child.view()) == shown
    added = {item.id for op in own if (item := write(child, theirs, op)) is not None}
    assert later.isdisjoint(ids(recorded(child))) and added.isdisjoint(ids(recorded(one)))
    again = Session.open(scope="ana", conversation="q3/x", store=twin(store))
    assert list(again.view()) == list(child.view()) and recorded(again) == recorded(child)


@SOME
@given(ops=OPS, own=OPS, meanwhile=OPS)
@example(ops=[(0, 0, 0, 0), (0, 0, 0, 0), (11, 0, 0, 0)], own=[(16, 0, 0, 0)], meanwhile=[(16, 0, 0, 0)])
def test_a_draft_is_its_items_after_what_was_written_meanwhile(
    ops: list[Op], own: list[Op], meanwhile: list[Op]
) -> None:
    store = MemoryStore()
    one, author = session(store), Author()
    for op in ops:
        write(one, author, op)
    before, drafted = recorded(one), list[Item]()
    later: list[Item] = []
    try:
        with one.draft() as draft:
            theirs = Author("d")
            drafted = [item for op in own if (item := write(draft, theirs, op)) is not None]
            later = [item for op in meanwhile if (item := write(one, author, op)) is not None]
            assert recorded(draft) == [*before, *drafted] and recorded(one) == [*before, *later]
    except Conflict:
        drafted = []
    assert recorded(one) == [*before, *later, *drafted]
    assert recorded(session(twin(store))) == recorded(one)


@SOME
@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abcd"), st.booleans()), max_size=20),
    st.none() | st.integers(1, 3),
)
def test_a_pool_of_two_writers_is_one_pool(steps: list[tuple[int, str, bool]], limit: int | None) -> None:
    with kept("sqlite") as held:
        sessions = {
            True: session(held.store, pool_limit=limit),
            False: session(held.open(), pool_limit=limit),
        }
        model = Pool(limit=limit)
        for nth, (verb, key, turn) in enumerate(steps):
            one = sessions[turn]
            one.refresh()
            if verb == 2:
                one.pool.clear()
                model.clear()
            elif verb == 1 and key in model:
                one.pool.drop(key)
                model.remove(key)
            else:
                note = Note(str(nth), key=key)
                one.pool.keep(note)
                model.add(note)
        for one in (*sessions.values(), session(held.open())):
            one.refresh()
            assert [note.content for note in one.pool] == [note.content for note in model]


@SOME
@given(ops=OPS, words=st.sampled_from(["question", "ANSWER 1", "Result", "gist", "rule", "é"]))
def test_find_gives_the_items_that_contain_a_text(ops: list[Op], words: str) -> None:
    one, author = session(), Author()
    for op in ops:
        write(one, author, op)
    note = one.pool.keep(Note("a Question of notes", key="k"))
    found, fold = find_items(one, words), words.casefold()
    assert (note.id in found) == (words == "question") and len(found) == len(set(found))
    for item in recorded(one):
        says = isinstance(item, Message | ToolResult | Summary) and fold in item.text.casefold()
        assert item.id in found if says else True
        assert fold in JSON.encode_item(item).decode().casefold() or item.id not in found
