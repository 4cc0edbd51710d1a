"""How fast a conversation grows: what its calls so far have added."""

from typing import NamedTuple

from quire.items import Item
from quire.state import View, is_output
from quire.tokens import Counter


class Outputs:
    """Counts what the model said and called: about one for each time it was asked."""

    key = "quire.outputs"

    def count(self, item: Item) -> int:
        """One for an output."""
        return int(is_output(item))

    def total(self, counted: int) -> int:
        """As many as there are."""
        return counted


class Pace(NamedTuple):
    """Calls so far, tokens that each added on average, and those that were added since the call before.

    `idle` are the seconds between the model's last output and what was recorded last.
    """

    calls: int
    growth: float
    latest: int
    idle: float


_OUTPUTS = Outputs()


def pace_of(view: View, counter: Counter) -> Pace:
    """The pace up to what a view shows; what it no longer shows counts too."""
    log, end = view.log, view.end
    calls = max(log.tokens(0, end, _OUTPUTS), 1)
    recorded = log.tokens(0, end, counter)
    spoke = _end_of_last_reply(view)
    idle = log.time(end - 1) - log.time(spoke - 1) if spoke else 0.0
    latest = log.tokens(_start_of_last_reply(view, spoke), end, counter)
    return Pace(calls, max(recorded / calls, 1.0), latest, max(idle, 0.0))


def _end_of_last_reply(view: View) -> int:
    position = view.end
    while position > 0 and not is_output(view.log.item(position - 1)):
        position -= 1
    return position


def _start_of_last_reply(view: View, position: int) -> int:
    """The position from which on all was added since the model was last asked."""
    while position > 0 and is_output(view.log.item(position - 1)):
        position -= 1
    return position
