"""What the model sees: templates of sections, fitted into a budget, with a receipt that says why."""

from quire.context.context import Context, shared_prefix as shared_prefix
from quire.context.cutting import Sums as Sums, core as core
from quire.context.diffing import Change, diff
from quire.context.fates import Entry
from quire.context.fit import Fitted, fit
from quire.context.gathering import Piece, asked as asked, enabled as enabled, gather
from quire.context.policies import KEEP_ALL as KEEP_ALL, POLICIES, compactor_for as compactor_for
from quire.context.receipt import Line, Receipt
from quire.context.repeats import Seen as Seen
from quire.context.replaying import Call, Replay, replay
from quire.context.template import COMMON as COMMON, Template

__all__ = [
    "POLICIES",
    "Call",
    "Change",
    "Context",
    "Entry",
    "Fitted",
    "Line",
    "Piece",
    "Receipt",
    "Replay",
    "Template",
    "diff",
    "fit",
    "gather",
    "replay",
]
