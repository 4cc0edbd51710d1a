"""Leaves for tests: drawn ones from a small world in which much is alike, and plain ones by hand."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from quire.memory.index import Index
from quire.memory.leaf import Kind, Leaf

NOW = 1_700_000_000.0
DAY = 86_400.0
_WORDS = "car vehicle dog puppy bought Ana Ben yesterday last week the of Berlin 7 November 2023 why"
QUESTIONS = [
    *("Which dog did Ana buy last week?", "What did Ana buy on 7 November 2023?", "When was Ben in Berlin?"),
    *("vehicle", "the of", "", "数据库"),
]
KINDS: list[Kind] = ["said", "done", "note", "document"]
_SOURCES, _TRANSCRIPTS, _KEYS = ["one", "two"], ["main", "side"], [f"k{nth}" for nth in range(9)]


def said(text: str, order: int = 0, **more: object) -> Leaf:
    """A leaf of the first conversation."""
    given: dict[str, object] = {
        "source": "one",
        "key": f"i{order}",
        "order": order,
        "stretch": 0,
        "ids": (f"i{order}",),
        "kind": "said",
        "at": NOW + order,
        "speaker": "Ana",
        "text": text,
    }
    return Leaf(**(given | more))  # type: ignore[arg-type]


texts = st.lists(st.sampled_from([*_WORDS.split(), "?", "."]), max_size=8).map(" ".join)


@st.composite
def drawn_leaves(draw: st.DrawFn) -> Leaf:
    """A leaf of its own time: of leaves with equal times the last put comes first."""
    source, transcript = draw(st.sampled_from(_SOURCES)), draw(st.sampled_from(_TRANSCRIPTS))
    key = draw(st.sampled_from(_KEYS))
    nth = 100 * _SOURCES.index(source) + 50 * _TRANSCRIPTS.index(transcript) + _KEYS.index(key)
    return Leaf(
        source=source,
        transcript=transcript,
        key=key,
        order=(order := draw(st.integers(0, 9))),
        after=draw(st.integers(0, min(order, 2))),
        stretch=draw(st.integers(0, 1)),
        ids=("x",),
        kind=draw(st.sampled_from(KINDS)),
        at=draw(st.sampled_from([NOW, NOW - DAY, NOW - 7 * DAY])) - nth,
        speaker=draw(st.sampled_from(["Ana", "Ben", "user"])),
        text=draw(texts),
        importance=draw(st.sampled_from([0.1, 0.5, 0.9])),
    )


leaves = drawn_leaves()


class Put(NamedTuple):
    leaves: list[Leaf]


class Remove(NamedTuple):
    source: str
    keys: list[str]


class Drop(NamedTuple):
    source: str


Step = Put | Remove | Drop

_sources = st.sampled_from([*_SOURCES, "three"])
_puts = st.builds(Put, st.lists(leaves, max_size=6))
_removes = st.builds(Remove, _sources, st.lists(st.sampled_from(_KEYS), max_size=4))
steps = st.lists(st.one_of(_puts, _puts, _removes, st.builds(Drop, _sources)))


def done(index: Index, taken: Sequence[Step]) -> list[Leaf]:
    """Take the steps; what should be left, by rules of a few lines."""
    left: list[Leaf] = []
    for step in taken:
        match step:
            case Put(new):
                index.put(new)
                for leaf in new:
                    left = [*(one for one in left if not _gives_way(one, leaf)), leaf]
            case Remove(source, keys):
                index.remove(source, keys)
                left = [one for one in left if one.source != source or one.key not in keys]
            case Drop(source):
                index.drop(source)
                left = [one for one in left if one.source != source]
    return left


def restarted(index: Index, kept: dict[str, bytes]) -> Index:
    """The index that another process opens, after this one has saved its changes."""
    for name, part in index.parts().items():
        kept.pop(name, None)
        if part is not None:
            kept[name] = part

    def load(names: Iterable[str]) -> dict[str, bytes]:
        return {name: kept[name] for name in names}

    index.on_saved(load)
    return Index.of_snapshot(load)


def _gives_way(one: Leaf, to: Leaf) -> bool:
    if (one.source, one.transcript) != (to.source, to.transcript):
        return False
    return one.key == to.key or (one.stretch, one.order) == (to.stretch, to.order)
