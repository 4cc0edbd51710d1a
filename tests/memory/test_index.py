"""The laws of an index: what comes back depends on the leaves that are there, and on nothing else."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import example, given, strategies as st
from msgspec.structs import replace

from quire.memory import ranking
from quire.memory.index import Index, LeafFilter, Progress
from quire.memory.leaf import Leaf
from quire.memory.ranking import Question
from tests.memory.leaves import DAY, KINDS, NOW, QUESTIONS, Step, done, leaves, restarted, said, steps, texts

questions = (st.sampled_from(QUESTIONS) | texts).map(lambda text: Question.of(text, NOW + 1))
onlys = st.builds(
    LeafFilter,
    sources=st.none() | st.frozensets(st.sampled_from(["one", "two", "three"])),
    kinds=st.none() | st.frozensets(st.sampled_from(KINDS)),
)
shuffles = st.integers(0, 9).map(Random)


def scored(
    index: Index, question: Question, only: LeafFilter | None = None, limit: int = 200
) -> list[tuple[Leaf, float]]:
    return [(hit.leaf, hit.score) for hit in index.search(question, limit=limit, only=only).hits]


def seen(index: Index, question: Question, only: LeafFilter | None) -> list[object]:
    """All that an index shows."""
    orders = [index.newest(5, only), index.most_important(5, only)]
    return [len(index), scored(index, question, only), *orders, sorted(index.progress)]


def allows(only: LeafFilter, leaf: Leaf) -> bool:
    is_of_source = only.sources is None or leaf.source in only.sources
    return is_of_source and (only.kinds is None or leaf.kind in only.kinds)


@pytest.mark.laws
@given(taken=steps, question=questions, only=st.none() | onlys, chance=shuffles)
def test_used_index_finds_what_a_fresh_one_finds(
    taken: list[Step], question: Question, only: LeafFilter | None, chance: Random
) -> None:
    used, fresh = Index(), Index()
    left = done(used, taken)
    chance.shuffle(left)
    fresh.put(left)
    assert seen(used, question, only) == seen(fresh, question, only)


@pytest.mark.laws
@given(taken=steps, more=steps, question=questions, only=st.none() | onlys)
def test_snapshot_is_the_same_index(
    taken: list[Step], more: list[Step], question: Question, only: LeafFilter | None
) -> None:
    """Also after leaves come and go in both, and however often it is repeated."""
    index = Index()
    done(index, taken)
    index.update("three", Progress(7, b"how far"))
    index.set_vectors(index.newest(3), [[1.0, float(nth)] for nth in range(len(index.newest(3)))])
    parts: dict[str, bytes] = {}
    kept = restarted(index, parts)
    assert seen(kept, question, only) == seen(index, question, only)
    for one in (index, kept):
        done(one, more)
    again = restarted(kept, parts)
    asked = replace(question, vector=[1.0, 0.5])
    assert seen(again, question, only) == seen(kept, question, only) == seen(index, question, only)
    assert scored(again, asked) == scored(index, asked)


@pytest.mark.laws
@given(taken=steps, question=st.sampled_from(QUESTIONS), chance=shuffles)
def test_long_history_is_searched_the_same_way_however_it_came(
    taken: list[Step], question: str, chance: Random
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        narrow(patched, few=2, read=3, chosen=2)
        used, fresh = Index(), Index()
        left = done(used, taken)
        chance.shuffle(left)
        fresh.put(left)
        asked = Question.of(question, NOW)
        assert scored(used, asked) == scored(fresh, asked)


def narrow(patched: pytest.MonkeyPatch, *, few: int, read: int, chosen: int) -> None:
    """Treat a short history as a long one."""
    for name, value in {
        "FEW": few,
        "_MAX_READ": read,
        "_MAX_BLOCKS": chosen,
        "_MAX_FOUND": 2 * chosen,
    }.items():
        patched.setattr(ranking, name, value)


@pytest.mark.laws
@given(put=st.lists(leaves, max_size=20), question=questions, only=onlys, limit=st.integers(0, 9))
@example(  # a reply that matches nothing does not stand in for the message that is not allowed
    put=[said("a car", kind="done"), said("yes", 1, after=1)],
    question=Question.of("the car", NOW + 1),
    only=LeafFilter(kinds=frozenset({"said"})),
    limit=1,
)
def test_filter_removes_what_is_not_allowed_and_nothing_else(
    put: list[Leaf], question: Question, only: LeafFilter, limit: int
) -> None:
    index = Index()
    index.put(put)
    found = index.search(question).hits
    keys = {(hit.leaf.source, hit.leaf.transcript, hit.leaf.key) for hit in found}
    assert len(keys) == len(found) <= len(index) and all(hit.reason for hit in found)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    whole = [(leaf, score) for leaf, score in scored(index, question) if allows(only, leaf)]
    assert scored(index, question, only, limit) == whole[:limit]


def orders(found: Sequence[Leaf]) -> list[int]:
    return [leaf.order for leaf in found]


def test_nothing_stays_of_what_was_removed() -> None:
    index = Index()
    index.update("zinnia", Progress(1), leaves=[said("heliotrope", 0, source="zinnia", speaker="Amaryllis")])
    index.update("two", Progress(1), leaves=[said("mild wind", 0, source="two")])
    parts: dict[str, bytes] = {}
    kept = restarted(index, parts)
    assert b"heliotrope" in b"".join(parts.values())
    kept.update("zinnia", None)
    restarted(kept, parts)
    left = b"".join(parts.values())
    assert not any(word in left for word in (b"heliotrop", b"zinnia", b"amaryll", b"Amaryll"))
    assert len(Index.of_snapshot(lambda names: {name: parts[name] for name in names})) == 1


# A long history

DEPLOYS = [
    said("Deploy the gateway", 8 * day, key=f"d{day}", at=NOW - day * DAY, stretch=day) for day in range(400)
]


def test_filter_reaches_places_that_others_would_crowd_out(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow(monkeypatch, few=2, read=3, chosen=2)
    index = Index()
    index.put([said("dog", 8 * nth) for nth in range(40)] + [said("dog", 0, source="two")])
    found = index.search(Question.of("dog", NOW), only=LeafFilter(sources=frozenset(("two",))))
    assert [hit.leaf.source for hit in found.hits] == ["two"]


def test_named_time_reaches_places_that_others_would_crowd_out(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow(monkeypatch, few=2, read=40, chosen=40)
    index = Index()
    index.put(DEPLOYS)
    question = Question.of("What did we deploy to the gateway in March 2023?", NOW)
    hits = index.search(question).hits
    assert {hit.leaf.key for hit in hits[:31]} == {leaf.key for leaf in DEPLOYS if question.names(leaf.at)}
