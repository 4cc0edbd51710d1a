"""A whole turn: one more message, cut to the budget where that is due, and the payload for OpenAI."""

from typing import Any

from libraries import Adapter
from timing import Clocked, Patience, clocked, clocked_in_a_row
from transcript import entries, messages

PARTS = {"within a tenth": 10, "with all of it": 0}
"""The budget as a part of what the whole history takes; with none, it is more than that."""


def turn(library: Adapter, size: int, patience: Patience) -> dict[str, dict[str, Any]]:
    """Milliseconds for a turn on a history of so many messages.

    Who keeps its history goes on with the same one. Who cuts it in place is given a whole one for each turn,
    copied off the clock: otherwise there would be nothing left to cut after the first.
    """
    chat = entries(messages(size), library.parsed)
    found: dict[str, dict[str, Any]] = {}
    for way, part in PARTS.items():
        if f"turn {way}" in library.absent:
            continue
        history = library.filled(chat)
        whole = library.total(history) if library.by_tokens else library.length(history)
        limit = whole // part if part else 2 * whole + 100_000
        found[way] = _figures(_clocked(library, history, limit, patience))
    return found


def _clocked(library: Adapter, history: Any, limit: int, patience: Patience) -> Clocked:
    if library.keeps_history:
        taker = library.turns_of(history, limit)
        taker(history)  # the first cuts what was never cut before
        return clocked_in_a_row(taker, lambda: history, patience)
    taker = library.turns_of(history, limit)
    return clocked(taker, lambda: library.spare(history), patience)


def _figures(found: Clocked) -> dict[str, Any]:
    return {"best": found.best * 1e3, "median": found.median * 1e3, "runs": found.runs}
