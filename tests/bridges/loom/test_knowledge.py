"""Knowledge by vectors: what is nearest, filtered, and never changed by a question."""

from collections.abc import Sequence

import pytest

from quire.bridges.loom import InMemoryVectorStore, KnowledgeItem, VectorKnowledgeBase
from quire.bridges.loom.vectors import VectorMatch
from quire.errors import WrongType
from tests.bridges.loom.tasks import Letters
from tests.bridges.pygents.writing import in_a_loop

ZEBRA = KnowledgeItem("z", "zebras have stripes", "zoo", metadata={"year": 2020})
LAMP = KnowledgeItem("l", "lamps give light", "shop", metadata={"year": 2021})
STRIPES = KnowledgeItem("s", "stripes are in fashion", "shop", metadata={"year": 2020})


async def filled() -> VectorKnowledgeBase:
    kb = VectorKnowledgeBase(Letters(), InMemoryVectorStore())
    await kb.add_items([ZEBRA, LAMP])
    await kb.add_item(STRIPES)
    return kb


@in_a_loop
async def test_the_nearest_comes_first_with_its_relevance() -> None:
    found = await (await filled()).query("zebra stripes", limit=2)
    assert [item.id for item in found] == ["z", "s"]
    assert 1 >= found[0].relevance > found[1].relevance > 0


@in_a_loop
async def test_a_question_changes_no_item() -> None:
    kb = await filled()
    await kb.query("zebra stripes")
    assert await kb.get_by_id("z") == ZEBRA and ZEBRA.relevance == 0.0
    assert await kb.get_by_id("nothing") is None


@in_a_loop
async def test_filters_are_for_metadata_and_source() -> None:
    kb = await filled()
    assert [one.id for one in await kb.query("zebra stripes", limit=1, filters={"source": "shop"})] == ["s"]
    assert {one.id for one in await kb.query("stripes", filters={"year": 2020})} == {"z", "s"}
    assert await kb.query("stripes", filters={"colour": "red"}) == []


@in_a_loop
async def test_another_base_over_the_same_store_finds_what_is_there() -> None:
    store = InMemoryVectorStore()
    await VectorKnowledgeBase(Letters(), store).add_item(ZEBRA)
    (found,) = await VectorKnowledgeBase(Letters(), store).query("zebra")
    assert (found.id, found.content, found.source, found.metadata) == (
        "z",
        ZEBRA.content,
        "zoo",
        {"year": 2020},
    )


@in_a_loop
async def test_what_has_nothing_in_common_is_not_found() -> None:
    kb = VectorKnowledgeBase(Letters(), InMemoryVectorStore())
    await kb.add_item(KnowledgeItem("a", "aaa"))
    assert await kb.query("zzz") == [] and await kb.query("") == []


@in_a_loop
async def test_one_id_has_one_item() -> None:
    kb, store = await filled(), InMemoryVectorStore()
    await kb.add_item(KnowledgeItem("z", "zebras run"))
    assert [one.content for one in await kb.query("zebras run", limit=1)] == ["zebras run"]
    await store.add("a", [1.0, 0.0])
    await store.add("a", [0.0, 1.0], {"n": 1})
    assert len(store) == 1 and (await store.search([0.0, 1.0], 3))[0].metadata == {"n": 1}
    await store.delete("a")
    assert await store.search([0.0, 1.0], 3) == []


@in_a_loop
async def test_what_is_no_item_is_refused() -> None:
    with pytest.raises(WrongType):
        await (await filled()).add_item("zebras")  # type: ignore[arg-type]  # pyright: ignore


class Counted(InMemoryVectorStore):
    """A store that notes how many were asked for each time."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    async def search(self, query_embedding: Sequence[float], top_k: int = 5) -> list[VectorMatch]:
        self.asked.append(top_k)
        return await super().search(query_embedding, top_k)


@in_a_loop
async def test_a_question_is_put_to_the_store_once_however_much_is_known() -> None:
    store = Counted()
    kb = VectorKnowledgeBase(Letters(), store)
    await kb.add_items([KnowledgeItem(f"z{nth}", f"zebra number {nth}") for nth in range(500)])
    assert len(await kb.query("zebra", limit=5)) == 5
    assert store.asked == [5]
