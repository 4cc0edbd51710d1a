"""Laws 17 and 18 for documents: writers lose nothing, scopes are apart, who follows knows what is there."""

import subprocess
import sys
from threading import Thread

import pytest
from hypothesis import given, strategies as st

from quire.memory.documents import Chunk, chunks, read_document
from quire.memory.knowledge import Knowledge
from quire.stores import MemoryStore
from tests.memory.knowledge.folders import FEW, STORES, all_said, guide
from tests.stores.keeping import ODD_NAMES, kept

pytestmark = pytest.mark.laws
EVERY = pytest.mark.parametrize("name", STORES)
WORDS = st.lists(st.sampled_from(["tide", "lamp", "quay", "rope", "tide"]), max_size=5)
STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.none() | WORDS, st.booleans()), max_size=8)


class Index:
    """Who follows: the chunks by id, as they were told of."""

    def __init__(self) -> None:
        self.version, self.log, self.chunks = 0, "", dict[str, Chunk]()

    def follow(self, knowledge: Knowledge) -> None:
        grown = knowledge.follow(self.version, self.log)
        if grown.anew:
            self.chunks.clear()
        for gone in grown.gone:
            self.chunks.pop(gone, None)
        self.chunks |= {chunk.id: chunk for chunk in grown.added}
        self.version, self.log = grown.version, grown.log


@EVERY
@FEW
@given(steps=STEPS, every=st.integers(1, 3))
def test_what_is_kept_is_what_was_added_last(
    name: str, steps: list[tuple[str, list[str] | None, bool]], every: int
) -> None:
    wanted: dict[str, str] = {}
    near, far = Index(), Index()
    with kept(name) as held:
        knowledge = Knowledge(held.store, "ana")
        for number, (source, words, restarts) in enumerate(steps):
            if words is not None:
                knowledge.add_text(guide(*words), source=f"{source}.md")
                wanted[f"{source}.md"] = guide(*words)
            elif f"{source}.md" in wanted:
                knowledge.remove(f"{source}.md")
                del wanted[f"{source}.md"]
            if restarts and name != "memory":
                held.reopen()
                knowledge = Knowledge(held.store, "ana")
            near.follow(knowledge)
            if number % every == 0:
                far.follow(knowledge)
        expected = {source: chunks(read_document(text, name=source)) for source, text in wanted.items()}
        assert {one.name: knowledge.chunks(one.name) for one in knowledge.sources()} == expected
        far.follow(knowledge)
        live = {chunk.id: chunk for found in expected.values() for chunk in found}
        assert near.chunks == far.chunks == live
        assert all(knowledge.read(chunk_id) == chunk for chunk_id, chunk in live.items())


@EVERY
@FEW
@given(scopes=st.lists(st.sampled_from(ODD_NAMES), min_size=2, max_size=4, unique=True))
def test_nothing_crosses_scopes(name: str, scopes: list[str]) -> None:
    with kept(name) as held:
        for number, scope in enumerate(scopes):
            Knowledge(held.store, scope).add_text(f"Only of number {number}.", source="same.txt")
        for number, scope in enumerate(scopes):
            knowledge = Knowledge(held.store, scope)
            assert all_said(knowledge) == {"same.txt": [f"Only of number {number}."]}
            assert len(knowledge.follow().added) == 1
        Knowledge(held.store, scopes[0]).remove("same.txt")
        assert all_said(Knowledge(held.store, scopes[1])) == {"same.txt": ["Only of number 1."]}


@pytest.mark.parametrize("name", [*STORES, "postgres"])
def test_writers_side_by_side_lose_nothing(name: str) -> None:
    with kept(name) as held:
        opened = [Knowledge(held.open() if number else held.store, "ana") for number in range(4)]

        def write(number: int) -> None:
            for turn in range(6):
                opened[number].add_text(guide(f"w{number}", f"t{turn}"), source=f"own-{number}-{turn}.md")
                opened[number].add_text(guide(f"turn{turn}"), source="shared.md")

        threads = [Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for knowledge in opened:
            found = all_said(knowledge)
            assert len(found) == 25 and len(found["shared.md"]) == 1
            assert all(len(texts) == 2 for source, texts in found.items() if source != "shared.md")


_ADDING = """
import sys
from quire.memory.knowledge import Knowledge
from quire.stores import Store
with Store.open(sys.argv[1]) as store:
    for number in range(8):
        Knowledge(store, "ana").add_text(f"From {sys.argv[2]}, {number}.", source=f"{sys.argv[2]}-{number}")
        Knowledge(store, "ana").add_text(f"Of all, {number}.", source="all")
"""


@pytest.mark.parametrize("name", ["sqlite", "json"])
def test_processes_side_by_side_lose_nothing(name: str) -> None:
    with kept(name) as held:
        started = [
            subprocess.Popen([sys.executable, "-c", _ADDING, held.shelf.url, f"p{number}"])
            for number in range(3)
        ]
        assert [process.wait() for process in started] == [0, 0, 0]
        found = all_said(Knowledge(held.store, "ana"))
        assert len(found) == 25 and len(found["all"]) == 1


def test_a_log_that_began_again_is_told_from_the_one_before() -> None:
    store, index = MemoryStore(), Index()
    knowledge = Knowledge(store, "ana")
    knowledge.add_text(guide("tide", "lamp"), source="a.md")
    index.follow(knowledge)
    store.forget(knowledge.place)
    assert knowledge.sources() == []
    knowledge.add_text(guide("quay", "rope"), source="b.md")
    knowledge.add_text(guide("oars"), source="c.md")
    index.follow(knowledge)
    assert {chunk.source for chunk in index.chunks.values()} == {"b.md", "c.md"}
