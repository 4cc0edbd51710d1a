"""What speaks for a leaf beside its words: who said it, when, and whether it asks or tells."""

from collections.abc import Iterable, Set
from typing import NamedTuple

from quire.memory.ranking.scoring import Scores


class Cue(NamedTuple):
    """The leaves that something holds for, and what it is worth as a share of the best score."""

    share: float
    leaves: Set[int]


def with_cues(scores: Scores, cues: Iterable[Cue], top: float) -> None:
    """Add to scores what cues are worth."""
    for share, leaves in cues:
        if share:
            for leaf in leaves & scores.keys():
                scores[leaf] += share * top
