"""Policies by name, to compare them on a conversation: what one would use, and what others do."""

from quire.compactors import Cascade, ClearToolResults, Compactor, Planner, Summarize, TruncateOldest

KEEP_ALL = "keep-all"

POLICIES: dict[str, Compactor | None] = {
    "default": TruncateOldest(),
    "planner": Planner(ClearToolResults(), TruncateOldest()),
    "clear-in-batches": Cascade(ClearToolResults(), TruncateOldest()),
    "cut-to-75": TruncateOldest(floor=0.75),
    "summarize": Summarize(unit="tokens", size=512),
    "sliding-window": TruncateOldest(floor=1.0),
    "clear-each-call": Cascade(ClearToolResults(at_least=0, ceiling=0), TruncateOldest(floor=1.0)),
    KEEP_ALL: None,
}
"""A name for each; with none, everything is kept."""
