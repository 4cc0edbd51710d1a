"""Tiers: where recall searches. A tier is a query over stored items; nothing is copied between tiers.

Episodes are summaries of a conversation's past: those that a compactor wrote and, for the rest, some made by
rule. The rule needs no model: it takes the most important leaves between two long pauses.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple, cast, get_args

from quire.errors import InvalidValue, WrongType
from quire.items import Origin, lowest
from quire.memory.index import Index, LeafFilter
from quire.memory.leaf import Kind, Leaf

Tier = Literal["recent", "working", "episodes", "knowledge"]
"""`recent`: the newest leaves of a conversation; `working`: its most important ones; `episodes`: its
summaries; `knowledge`: everything in the scope, documents included."""

_SAID: frozenset[Kind] = frozenset(("said", "done", "note"))
_SUMMARIES: frozenset[Kind] = frozenset(("summary",))

_MOST_LEAVES = 20
"""Leaves of one episode by rule, at most."""

_MOST_WORDS = 40
_LINES = 3


def checked_tiers(tiers: object) -> tuple[Tier, ...]:
    """Return tiers by name, each once."""
    names = (tiers,) if isinstance(tiers, str) else tiers
    if not isinstance(names, Iterable):
        raise WrongType(f"tiers must be given by name, not as {type(tiers).__name__}")
    found, known = tuple(dict.fromkeys(cast("Iterable[Tier]", names))), get_args(Tier)
    if not found or any(tier not in known for tier in found):
        raise InvalidValue(f"tiers must be some of {', '.join(known)}")
    return found


def leaves_in(conversation: str | None, *tiers: Tier) -> LeafFilter | None:
    """Return the filter for tiers of a conversation, or of all those of the scope; `None` for `knowledge`.

    `recent` and `working` have the same leaves, in another order.
    """
    if not isinstance(conversation, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a conversation must be given by name, not as {type(conversation).__name__}")
    if "knowledge" in tiers:
        return None
    kinds = [_SUMMARIES if tier == "episodes" else _SAID for tier in tiers]
    sources = None if conversation is None else frozenset((conversation,))
    return LeafFilter(sources=sources, kinds=frozenset[Kind]().union(*kinds))


class Episode(NamedTuple):
    """A summary of a part of a conversation; `by_rule` means that no model wrote it."""

    text: str
    source: str
    ids: tuple[str, ...]
    at: float
    by_rule: bool
    origin: Origin


def episodes_of(index: Index, conversation: str | None, limit: int) -> list[Episode]:
    """Return the newest episodes, oldest first."""
    written = index.newest(limit, leaves_in(conversation, "episodes"))
    covered: dict[tuple[str, str], int] = {}
    for leaf in written:
        transcript = leaf.source, leaf.transcript
        covered[transcript] = max(covered.get(transcript, 0), leaf.covers_until)
    said = index.newest(limit * _MOST_LEAVES, leaves_in(conversation, "recent"))
    rest = [leaf for leaf in said if leaf.order >= covered.get((leaf.source, leaf.transcript), 0)]
    episodes = [Episode(leaf.text, leaf.source, leaf.ids, leaf.at, False, leaf.origin) for leaf in written]
    episodes += map(_by_rule, _stretches(rest))
    return sorted(episodes, key=lambda episode: episode.at)[-limit:]


def _by_rule(leaves: Sequence[Leaf]) -> Episode:
    important = sorted(leaves, key=lambda leaf: (-leaf.importance, leaf.order))[:_LINES]
    lines = [_line(leaf) for leaf in sorted(important, key=lambda leaf: leaf.order)]
    ids = tuple(item_id for leaf in leaves for item_id in leaf.ids)
    origin = lowest(leaf.origin for leaf in leaves)
    return Episode("\n".join(lines), leaves[0].source, ids, leaves[0].at, True, origin)


def _line(leaf: Leaf) -> str:
    words = leaf.text.split()
    short = " ".join(words[:_MOST_WORDS])
    return f"{leaf.speaker}: {short}" + (" …" if len(words) > _MOST_WORDS else "")


def _stretches(leaves: Iterable[Leaf]) -> Iterator[list[Leaf]]:
    """Yield the stretches of transcripts, long ones in several parts."""
    in_order = sorted(leaves, key=lambda leaf: (leaf.source, leaf.transcript, leaf.order))
    for _, together in groupby(in_order, key=lambda leaf: (leaf.source, leaf.transcript, leaf.stretch)):
        row = list(together)
        for start in range(0, len(row), _MOST_LEAVES):
            yield row[start : start + _MOST_LEAVES]
