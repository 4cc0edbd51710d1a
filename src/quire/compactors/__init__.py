"""How a conversation shrinks: compactors say what should go, and `record` does it.

A compactor is pure. It acts above a ceiling and goes down to a floor at once, because each change of what was
sent before makes a provider read it anew. What needs words is a request, for whoever can write.
"""

from quire.compactors.cascade import Cascade
from quire.compactors.clearing import CLEARED, ClearToolResults
from quire.compactors.limits import Messages, Size, Turns, Unit
from quire.compactors.offloading import (
    HANDLE as HANDLE,
    HANDLE_DIGITS as HANDLE_DIGITS,
    Offload,
    handle_for as handle_for,
)
from quire.compactors.plan import (
    Compactor,
    Forecast,
    Plan,
    Request,
    Room,
    checked_compactor as checked_compactor,
)
from quire.compactors.planner import Planner
from quire.compactors.rates import RATIOS as RATIOS, known_prices as known_prices, rates_of as rates_of
from quire.compactors.reading_back import READ_BACK, read_back
from quire.compactors.recording import TOO_LONG as TOO_LONG, Outcome, record
from quire.compactors.stretches import Stretch, leaving_out, old_turns
from quire.compactors.summarizing import Summarize
from quire.compactors.telling import (
    CONVERSATION as CONVERSATION,
    in_words,
    line_of as line_of,
    part_in_words as part_in_words,
    told,
)
from quire.compactors.truncating import TruncateOldest

__all__ = [
    "CLEARED",
    "READ_BACK",
    "Cascade",
    "ClearToolResults",
    "Compactor",
    "Forecast",
    "Messages",
    "Offload",
    "Outcome",
    "Plan",
    "Planner",
    "Request",
    "Room",
    "Size",
    "Stretch",
    "Summarize",
    "TruncateOldest",
    "Turns",
    "Unit",
    "in_words",
    "leaving_out",
    "old_turns",
    "read_back",
    "record",
    "told",
]
