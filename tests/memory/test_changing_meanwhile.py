"""Nobody who asks waits for those who go on adding or changing documents, and nothing forgotten stays."""

from collections.abc import Callable

import pytest

from quire.memory import Knowledge, Memory
from quire.session import Session
from quire.stores import MemoryStore, Place, Store

MANY = 50


def told(memory: Memory, question: str) -> list[str]:
    return [hit.leaf.said for hit in memory.search(question).hits]


def busy(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[Knowledge, int], object]
) -> tuple[Store, list[int]]:
    """A store in which somebody changes documents each time when it was looked at what there is."""
    store, done = MemoryStore(), list[int]()
    documents = Knowledge(store, "ana")
    documents.add_text("The locker word is heliotrope.", source="vault.md")
    standings = type(store).standings

    def looked_at(itself: MemoryStore, scope: str) -> object:
        found = standings(itself, scope)
        if scope == "ana" and len(done) < MANY:
            done.append(len(done))
            change(documents, len(done))
        return found

    monkeypatch.setattr(type(store), "standings", looked_at)
    return store, done


def test_one_look_is_enough_while_others_add(monkeypatch: pytest.MonkeyPatch) -> None:
    store, done = busy(monkeypatch, lambda all_, nth: all_.add_text(f"Page {nth}.", source=f"{nth}.md"))
    memory = Memory(store, "ana")
    done.clear()
    assert told(memory, "locker word") == ["The locker word is heliotrope."]
    assert len(done) == 1


def test_few_looks_are_enough_while_others_change(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    documents = Knowledge(store, "ana")
    documents.add_text("The locker word is heliotrope.", source="vault.md")
    documents.add_text("The gate is 0.", source="gate.md")
    version, looks = MemoryStore.version, list[int]()

    def changed(itself: MemoryStore, place: Place) -> int:
        if len(looks) < MANY:
            looks.append(0)
            documents.add_text(f"The gate is {len(looks)}.", source="gate.md")
        return version(itself, place)

    memory = Memory(store, "ana")
    with monkeypatch.context() as patched:
        patched.setattr(MemoryStore, "version", changed)
        assert told(memory, "locker word") == ["The locker word is heliotrope."]
        assert len(looks) < MANY
        assert told(memory, "gate 0") == []  # it is forgotten, whatever came in its place
    assert told(memory, "gate") == [f"The gate is {len(looks)}."]


def test_what_is_said_is_found_while_others_add(monkeypatch: pytest.MonkeyPatch) -> None:
    store, _ = busy(monkeypatch, lambda all_, nth: all_.add_text(f"Page {nth}.", source=f"{nth}.md"))
    session = Session.open("ana/one", store=store)
    session.user("The gate is green.")
    assert told(session.memory, "gate") == ["The gate is green."]
