"""An index holds what its store does: after any writing, forking and forgetting, in any order."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from quire.items import Item, ToolCall, ToolResult
from quire.memory import Leaf, Memory
from quire.session import Session
from quire.stores import Place, Store

pytestmark = pytest.mark.laws

WORDS = ["heliotrope", "marmalade", "quicksilver", "bergamot", "tamarind", "verdigris"]
CONVERSATIONS = ["one", "two"]
Work = Callable[[Store], None]


def _said(scope: str, name: str, word: str) -> Work:
    def work(store: Store) -> None:
        Session.open(scope=scope, conversation=name, store=store).user(f"the {word} is here")

    return work


def _done(scope: str, name: str, word: str) -> Work:
    def work(store: Store) -> None:
        session = Session.open(scope=scope, conversation=name, store=store)
        call = ToolCall("c1", "look_up", f'{{"what": "{word}"}}')
        session.append(call)
        session.user("meanwhile")
        session.append(ToolResult("c1", "look_up", f"{word} found"))

    return work


def _forgotten(scope: str, name: str, nth: int) -> Work:
    def work(store: Store) -> None:
        session = Session.open(scope=scope, conversation=name, store=store)
        ids = [item.id for item in session.view()]
        if ids:
            session.forget(ids[nth % len(ids)])

    return work


def _forked(scope: str, name: str, word: str) -> Work:
    def work(store: Store) -> None:
        session = Session.open(scope=scope, conversation=name, store=store)
        child = session.fork(f"child of {word}")
        child.user(f"the child has {word}")

    return work


def _taken_out(scope: str, name: str) -> Work:
    def work(store: Store) -> None:
        if not any(other.startswith(f"{name}/") for other in store.conversations(scope)):
            store.forget(Place(scope, name))
            store.remembered.pop(Place(scope, name), None)

    return work


def _known(scope: str, name: str, word: str) -> Work:
    def work(store: Store) -> None:
        Memory.of(store, scope).knowledge.add_text(f"On {word}.", source=f"{name}.txt")

    return work


def _known_in_parts(scope: str, name: str, words: list[str]) -> Work:
    """A document of sections, so that adding it again inserts, moves and takes away some of its chunks."""

    def work(store: Store) -> None:
        text = "\n\n".join(f"# {word}\n\nOn {word}, at length." for word in words)
        Memory.of(store, scope).knowledge.add_text(text, source=f"{name}.md")

    return work


def _unknown(scope: str, name: str) -> Work:
    def work(store: Store) -> None:
        Memory.of(store, scope).knowledge.remove(f"{name}.txt")

    return work


def _looked(scope: str) -> Work:
    return lambda store: Memory.of(store, scope).catch_up()


def works() -> st.SearchStrategy[Work]:
    scopes, names, words = (
        st.sampled_from(["ana", "bo"]),
        st.sampled_from(CONVERSATIONS),
        st.sampled_from(WORDS),
    )
    return st.one_of(
        st.builds(_said, scopes, names, words),
        st.builds(_done, scopes, names, words),
        st.builds(_forgotten, scopes, names, st.integers(0, 9)),
        st.builds(_forked, scopes, names, words),
        st.builds(_taken_out, scopes, names),
        st.builds(_known, scopes, names, words),
        st.builds(_known_in_parts, scopes, names, st.lists(words, max_size=6)),
        st.builds(_unknown, scopes, names),
        st.builds(_looked, scopes),
    )


def _held(memory: Memory) -> list[Leaf]:
    memory.catch_up()
    leaves = memory._index.newest(10_000)  # pyright: ignore[reportPrivateUsage]
    found = {(leaf.source, leaf.transcript, leaf.key): leaf for leaf in leaves}
    assert len(found) == len(leaves)
    return sorted(leaves, key=lambda leaf: (leaf.source, leaf.transcript, leaf.order, leaf.key))


@given(st.lists(works(), max_size=12))
def test_what_is_followed_is_what_is_read_at_once(chosen: list[Work]) -> None:
    store = Store.open("memory:")
    for work in chosen:
        _tried(work, store)
    for scope in ("ana", "bo"):
        assert _held(Memory.of(store, scope)) == _held(Memory(store, scope))


@given(st.lists(works(), max_size=8))
def test_another_process_finds_the_same(chosen: list[Work]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        with Store.open(path) as store:
            for work in chosen:
                _tried(work, store)
            held = [_held(Memory.of(store, scope)) for scope in ("ana", "bo")]
        with Store.open(path) as again:
            assert held == [_held(Memory(again, scope)) for scope in ("ana", "bo")]


@given(st.lists(works(), max_size=12), st.sampled_from(WORDS))
def test_recall_never_crosses_scopes(chosen: list[Work], word: str) -> None:
    store = Store.open("memory:")
    for work in chosen:
        _tried(work, store)
    _said("eve", "secret", word)(store)
    for scope in ("ana", "bo"):
        memory = Memory.of(store, scope)
        hits = memory.search(f"Where is the {word}?", limit=1_000).hits
        own = {item.id for name in store.conversations(scope) for item in _items(store, scope, name)}
        assert {i for hit in hits if hit.leaf.kind != "document" for i in hit.leaf.ids} <= own
        assert all("secret" not in hit.leaf.source for hit in hits)


@given(st.lists(works(), max_size=12), st.data())
def test_what_was_forgotten_never_comes_back(chosen: list[Work], data: st.DataObject) -> None:
    store = Store.open("memory:")
    session = Session.open("ana/vault", store=store)
    secret = session.user("my password is xylophone")
    for work in chosen:
        _tried(work, store)
    if data.draw(st.booleans(), label="asked before"):
        assert Memory.of(store, "ana").search("password xylophone").hits
    session.forget(secret.id)
    for memory in (Memory.of(store, "ana"), Memory(store, "ana")):
        for hit in memory.search("password xylophone", limit=1_000).hits:
            assert "xylophone" not in hit.leaf.text and secret.id not in hit.leaf.ids


def _tried(work: Work, store: Store) -> None:
    try:
        work(store)
    except Exception as fault:
        if type(fault).__module__ != "quire.errors":
            raise


def _items(store: Store, scope: str, name: str) -> list[Item]:
    if name.startswith("~"):
        return []
    session = Session.open(scope=scope, conversation=name, store=store)
    with session._ledger.lock:  # pyright: ignore[reportPrivateUsage]
        return [item for t in session._ledger.workspace.transcripts.values() for item in t.recorded()]  # pyright: ignore
