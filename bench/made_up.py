"""A long history made of the turns of short ones: their words and lengths, and no turn twice."""

from collections.abc import Sequence
from random import Random

from msgspec.structs import replace

from locomo import Conversation
from quire.memory.leaf import Leaf

_STRETCH = 20
_BETWEEN_STRETCHES, _A_TURN_TAKES = 43_200.0, 20.0


def made_up(found: Sequence[Conversation], count: int, seed: int = 7) -> list[Leaf]:
    """So many leaves; each has the first half of one turn and the second half of another."""
    chance = Random(seed)
    turns = [leaf for one in found for leaf in one.leaves]
    begun = turns[0].at
    return [_mixed(nth, chance.choice(turns), chance.choice(turns), begun) for nth in range(count)]


def _mixed(nth: int, one: Leaf, other: Leaf, begun: float) -> Leaf:
    first, second = one.text.split(), other.text.split()
    text = " ".join(first[: len(first) // 2 + 1] + second[len(second) // 2 :])
    stretch = nth // _STRETCH
    at = begun + stretch * _BETWEEN_STRETCHES + nth * _A_TURN_TAKES
    key = f"t{nth}"
    return replace(one, source="made up", key=key, order=nth, stretch=stretch, ids=(key,), at=at, text=text)
