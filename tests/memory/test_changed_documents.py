"""Of a document that changed, the index puts what is new or stands elsewhere, and leaves the rest alone."""

import pytest

from quire.memory import Memory
from quire.stores import MemoryStore, Place, Stored
from tests.memory.watched import Watched

SECTIONS = [f"# Part {number}\n\nThe lamp number {number} hangs here." for number in range(40)]


def changed(sections: list[str]) -> tuple[Memory, Watched]:
    index = Watched()
    memory = Memory(MemoryStore(), "ana", index=index)
    for text in (SECTIONS, sections):
        index.done.clear()
        memory.knowledge.add_text("\n\n".join(text), source="guide.md")
        memory.catch_up()
    return memory, index


@pytest.mark.parametrize(
    ("sections", "done"),
    [
        ([*SECTIONS[:7], "# Part 7\n\nThe heliotrope.", *SECTIONS[8:]], ["put 7"]),
        ([*SECTIONS, "# More\n\nThe heliotrope."], ["put 40"]),
        (SECTIONS[:-3], []),
        ([*SECTIONS[:37], *SECTIONS[38:]], ["put 37", "put 38"]),
        ([*SECTIONS[:38], "# New\n\nThe heliotrope.", *SECTIONS[38:]], ["put 38", "put 39", "put 40"]),
        ([], ["drop"]),
    ],
)
def test_only_what_changed_is_put(sections: list[str], done: list[str]) -> None:
    memory, index = changed(sections)
    assert index.done == done
    assert len(index) == len(sections)
    texts = [leaf.text for leaf in index.newest(100)]
    assert sum("heliotrope" in text for text in texts) == "".join(sections).count("heliotrope")
    assert bool(memory.search("heliotrope").hits) == ("heliotrope" in "".join(sections))


def test_vectors_of_what_stays_stay() -> None:
    index = Watched()
    memory = Memory(MemoryStore(), "ana", index=index)
    memory.knowledge.add_text("\n\n".join(SECTIONS), source="guide.md")
    memory.catch_up()
    leaves = index.newest(100)
    index.set_vectors(leaves, [[1.0, 0.0]] * len(leaves))
    memory.knowledge.add_text("\n\n".join(["# Part 0\n\nNew.", *SECTIONS[1:]]), source="guide.md")
    memory.catch_up()
    assert len(index._held.vectors) == len(SECTIONS) - 1  # pyright: ignore[reportPrivateUsage]


class Asked(MemoryStore):
    """A store that counts how often it is read."""

    reads = 0

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        self.reads += 1
        return super().read(place, after=after)


@pytest.mark.parametrize("others", [3, 90])
def test_after_one_document_was_added_the_store_is_read_a_few_times(others: int) -> None:
    store = Asked()
    memory = Memory(store, "ana")
    for number in range(others):
        memory.knowledge.add_text(f"The lamp number {number} hangs here.", source=f"{number}.md")
    memory.catch_up()
    memory.knowledge.add_text("The heliotrope.", source="new.md")
    store.reads = 0
    assert memory.search("heliotrope").hits
    assert store.reads <= 5
