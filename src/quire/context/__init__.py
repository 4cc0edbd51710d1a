"""What the model sees: templates of sections, fitted into a budget, with a receipt that says why."""

from quire.context.context import Context
from quire.context.diffing import Change, diff
from quire.context.fates import Entry
from quire.context.fit import Fitted, fit
from quire.context.gathering import Piece, gather
from quire.context.policies import POLICIES
from quire.context.receipt import Line, Receipt
from quire.context.replaying import Call, Replay, replay
from quire.context.template import Template

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
