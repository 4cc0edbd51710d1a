"""Vectors beside words: from any callable, each text once, gone with what they are of, never in the way."""

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from quire.context import Template
from quire.errors import WrongType
from quire.memory import Memory, Recall
from quire.memory.embedding import Embed
from quire.memory.index import Index
from quire.memory.ranking import Question
from quire.sections import History
from quire.session import Session
from quire.stores import MemoryStore, Store
from quire.tokens import Budget
from tests.memory.leaves import NOW

ANIMALS = ("dog", "puppy", "hound", "terrier")


class Counting:
    """An embedding that knows animals, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.batches: list[int] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        self.batches.append(len(texts))
        return [[1.0 + len(text) % 7, 9.0 * any(word in text for word in ANIMALS)] for text in texts]


def spoken(store: Store, turns: int = 100) -> Session:
    session = Session.open("ana/one", store=store)
    for nth in range(turns):
        session.user(f"The walk number {nth} with the {ANIMALS[nth % 4] if nth % 3 else 'cart'} was long.")
    return session


def test_nothing_is_embedded_twice() -> None:
    store, embed, index = MemoryStore(), Counting(), Index()
    spoken(store)
    memory = Memory(store, "ana", index=index, embed=embed)
    for _ in range(2):
        assert memory.search("Which walk was long?").hits
    assert len(embed.asked) == len(set(embed.asked)) + 1  # the question, which nobody keeps
    assert max(embed.batches) <= 64
    again = Memory(store, "ana", index=index, embed=embed)
    before = len(embed.asked)
    assert again.search("Which walk was long?").hits and len(embed.asked) == before + 1


def kin(texts: Sequence[str]) -> list[list[float]]:
    """An embedding to which a hound is nearly a dog."""
    return [[1.0, 9.0 * ("dog" in text) + 6.0 * ("hound" in text)] for text in texts]


def test_vectors_move_what_words_found() -> None:
    store = MemoryStore()
    spoken(store)
    question = "Which walk with the dog was long?"
    by_words = [hit.leaf.key for hit in Memory(store, "ana").search(question).hits]
    moved = [hit.leaf.key for hit in Memory(store, "ana", embed=kin).search(question).hits]
    assert set(moved) == set(by_words) and moved != by_words


def test_vectors_are_gone_with_what_was_forgotten() -> None:
    store, index = MemoryStore(), Index()
    session = spoken(store, turns=20)
    memory = Memory(store, "ana", index=index, embed=Counting())
    question = replace(Question.of("Which walk was long?", NOW), vector=[1.0, 0.0])
    assert memory.search(question.text).hits and not index.search(question).without_vectors
    secret = memory.recent(limit=20)[0]
    session.forget(secret.key)
    assert secret not in [hit.leaf for hit in memory.search(question.text).hits]
    index.put([secret])
    assert index.search(question).without_vectors == [secret]


def failing(texts: Sequence[str]) -> list[list[float]]:
    raise OSError(f"cannot embed {texts[0]}")


def too_few(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0] for _ in texts[1:]]


def endless(texts: Sequence[str]) -> list[list[float]]:
    return [[float("nan")] for _ in texts]


@pytest.mark.parametrize("embed", [failing, too_few, endless])
def test_a_callable_that_fails_leaves_what_words_found_and_says_so(
    embed: Embed, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryStore()
    spoken(store)
    by_words = Memory(store, "ana").search("Which walk with the dog?").hits
    hits = Memory(store, "ana", embed=embed).search("Which walk with the dog?").hits
    assert [hit.leaf for hit in hits] == [hit.leaf for hit in by_words]
    assert "by words alone" in hits[0].reason and "walk" in hits[0].reason
    assert "embedding failed" in caplog.text and "walk" not in caplog.text


def test_one_that_is_awaited_is_awaited_where_it_was_asked_from() -> None:
    store, embed = MemoryStore(), Counting()
    session = spoken(store)
    session.user("Which walk with the dog was long?")
    loops: list[asyncio.AbstractEventLoop] = []

    async def awaited(texts: Sequence[str]) -> list[list[float]]:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return embed(texts)

    async def build() -> str:
        template = Template(
            History(), Recall(memory=Memory(store, "ana", embed=awaited), limit=3), budget=Budget(window=300)
        )
        context = await session.aio.build(template)
        assert set(loops) == {asyncio.get_running_loop()}
        return str(context.render("openai")["messages"][-1]["content"])

    assert "walk number" in asyncio.run(build()) and embed.asked
    hits = Memory(store, "ana", embed=awaited).search("Which walk?").hits
    assert "by words alone" not in hits[0].reason


def test_the_memory_of_a_scope_keeps_what_embeds() -> None:
    store, embed = MemoryStore(), Counting()
    session = spoken(store)
    Memory.of(store, "ana", embed=embed)
    assert session.memory.search("Which walk?").hits and embed.asked
    with pytest.raises(WrongType, match="callable"):
        Memory.of(store, "ana", embed="x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
