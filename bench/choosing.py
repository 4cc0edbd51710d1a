"""Weights chosen on some conversations and used on another: how much of a figure is tuning."""

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import asdict, replace

from locomo import Conversation
from quire.memory.ranking import Weights
from recall_methods import quire
from recall_scores import Packing, Row, rows

START = replace(Weights(), before=(0.5, 0.5), two_before=0.0, related=0.0, speaker=0.0, date=0.0)
"""Where the search begins: neighbours alike, no lists, few cues. The rest stays as it is shipped."""

GRID: tuple[tuple[dict[str, Any], ...], ...] = (
    tuple({"two_before": share} for share in (0.0, 0.3, 0.5, 0.7)),
    tuple({"speaker": share} for share in (0.0, 0.1, 0.2, 0.3)),
    tuple({"before": shares} for shares in ((0.3, 0.5), (0.3, 1.0), (0.5, 1.0), (0.7, 0.7))),
    tuple({"related": share} for share in (0.0, 0.15, 0.3, 0.45)),
    tuple({"own_question": share} for share in (0.3, 0.5, 1.0)),
    tuple({"date": share} for share in (0.0, 0.15, 0.3)),
)
ROUNDS = 3
STEP = 0.1
"""Points that a move has to gain; less is chance."""


@dataclass
class Chosen:
    """What was found with weights chosen elsewhere, on what they were chosen, and the weights."""

    left_out: list[Row] = field(default_factory=list)
    train: list[Row] = field(default_factory=list)
    weights: dict[str, dict[str, Any]] = field(default_factory=dict)


def left_out(found: Sequence[Conversation], budgets: Sequence[int]) -> Chosen:
    """Each conversation asked with weights that were chosen on the others."""
    folds = [[other for other in found if other is not one] for one in found]
    chosen = Chosen()
    with ProcessPoolExecutor(2) as workers:
        for one, others, weights in zip(found, folds, workers.map(choose, folds), strict=True):
            print(f"left out {one.name}: {weights}", file=sys.stderr)
            chosen.weights[one.name] = asdict(weights)
            chosen.left_out += rows(one, quire(weights)(one), budgets)
            chosen.train += [row for other in others for row in rows(other, quire(weights)(other), budgets)]
    return chosen


def choose(found: Sequence[Conversation]) -> Weights:
    """A search along one coordinate after the other on a coarse grid."""
    packings = [Packing(one) for one in found]
    weights, best = START, _worth(START, packings)
    for nth in range(ROUNDS):
        before = weights
        for knob in GRID:
            for values in knob:
                tried = replace(weights, **values)
                if tried != weights and (worth := _worth(tried, packings)) > best + STEP:
                    weights, best = tried, worth
        print(f"round {nth + 1} on {', '.join(one.name for one in found)}: {best:.2f}", file=sys.stderr)
        if weights == before:
            break
    return weights


def _worth(weights: Weights, packings: Sequence["Packing"]) -> float:
    """The mean over questions and budgets of what is told, in percent."""
    shares = [share for packing in packings for share in packing.shares(quire(weights)(packing.conversation))]
    return 100 * sum(shares) / len(shares)
