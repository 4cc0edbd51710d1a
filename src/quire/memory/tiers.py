"""Where recall looks. Tiers are questions about what is stored: nothing is copied from one to the next."""

from collections.abc import Iterable
from typing import Literal, cast, get_args

from quire.errors import InvalidValue, WrongType
from quire.memory.index import Only
from quire.memory.knowledge import KNOWLEDGE
from quire.memory.leaf import Kind

Tier = Literal["recent", "working", "episodes", "knowledge"]
"""The newest of a conversation, what matters in it, its summaries, and all of a scope with its documents."""

TIERS: tuple[Tier, ...] = get_args(Tier)
_ITS_OWN: frozenset[Tier] = frozenset(("recent", "working", "episodes"))
_SAID: frozenset[Kind] = frozenset(("said", "done", "note"))


def checked_tiers(tiers: object) -> tuple[Tier, ...]:
    """Tiers by name, each once."""
    given = (tiers,) if isinstance(tiers, str) else tiers
    if not isinstance(given, Iterable):
        raise WrongType(f"tiers are given by name, not as {type(tiers).__name__}")
    found = tuple(dict.fromkeys(cast("Iterable[Tier]", given)))
    if not found or any(tier not in TIERS for tier in found):
        raise InvalidValue(f"tiers are some of {', '.join(TIERS)}")
    return found


def only_in(tier: Tier, conversation: str | None) -> Only:
    """What of an index belongs to a tier; without a conversation, of all conversations of the scope."""
    if tier == "knowledge":
        return Only()
    sources = None if conversation is None else frozenset((conversation,))
    return Only(sources=sources, kinds=frozenset(("summary",)) if tier == "episodes" else _SAID)


def is_own(tier: Tier) -> bool:
    """Whether a tier is of one conversation unless more is asked for."""
    return tier in _ITS_OWN


DOCUMENTS = Only(sources=frozenset((KNOWLEDGE,)))
"""Documents alone."""
