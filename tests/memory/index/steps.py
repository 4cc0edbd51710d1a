"""Whatever may happen to an index, and a plain dictionary to which the same happens."""

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from quire.memory.index import Index
from quire.memory.leaf import Leaf
from tests.memory.index.leaves import leaves


class Put(NamedTuple):
    leaves: list[Leaf]


class Remove(NamedTuple):
    source: str
    keys: list[str]


class Drop(NamedTuple):
    source: str
    transcript: str | None


Step = Put | Remove | Drop

_sources = st.sampled_from(["one", "two", "three"])
_keys = st.lists(st.sampled_from([f"k{nth}" for nth in range(10)]), max_size=4)
_transcripts = st.sampled_from(["main", "side", None])
_puts = st.builds(Put, st.lists(leaves, max_size=6))
steps = st.lists(
    st.one_of(_puts, _puts, st.builds(Remove, _sources, _keys), st.builds(Drop, _sources, _transcripts))
)


def done(index: Index, taken: Sequence[Step]) -> list[Leaf]:
    """Take the steps; what should be left, by rules of no more than a few lines."""
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
            case Drop(source, transcript):
                index.drop(source, transcript)
                left = [
                    one for one in left if one.source != source or transcript not in (None, one.transcript)
                ]
    return left


def _gives_way(one: Leaf, to: Leaf) -> bool:
    if (one.source, one.transcript) != (to.source, to.transcript):
        return False
    return one.key == to.key or one.order == to.order
