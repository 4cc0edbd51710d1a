"""How fast a conversation grows: what its calls so far have added."""

from typing import NamedTuple

from quire.items import Item
from quire.state import View
from quire.state.groups import is_output
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
    """Calls so far, tokens that each added on average, and those that were added since the call before."""

    calls: int
    growth: float
    latest: int


_OUTPUTS = Outputs()


def pace_of(view: View, counter: Counter) -> Pace:
    """The pace up to what a view shows; what it no longer shows counts too."""
    log, end = view.log, view.end
    calls = max(log.tokens(0, end, _OUTPUTS), 1)
    recorded = log.tokens(0, end, counter)
    return Pace(calls, max(recorded / calls, 1.0), log.tokens(_start_of_last_reply(view), end, counter))


def _start_of_last_reply(view: View) -> int:
    """The position from which on all was added since the model was last asked."""
    position = view.end
    while position > 0 and not is_output(view.log.item(position - 1)):
        position -= 1
    while position > 0 and is_output(view.log.item(position - 1)):
        position -= 1
    return position
