"""How a conversation shrinks: compactors say what should go, and `record` does it.

A compactor is pure. It acts above a ceiling and goes down to a floor at once, because each change of what was
sent before makes a provider read it anew. What needs words is a request, for whoever can write.
"""

from quire.compactors.cascade import Cascade
from quire.compactors.clearing import CLEARED, ClearToolResults
from quire.compactors.limits import Messages, Size, Turns, Unit
from quire.compactors.offloading import Offload
from quire.compactors.plan import Compactor, Forecast, Plan, Request, Room
from quire.compactors.planner import Planner
from quire.compactors.reading_back import READ_BACK, read_back
from quire.compactors.recording import Outcome, record
from quire.compactors.stretches import Stretch, leaving_out, old_turns
from quire.compactors.summarizing import Summarize
from quire.compactors.telling import in_words, told
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
