"""Policies by name, to compare them on a conversation: what one would use, and what others do."""

from quire.compactors import Cascade, ClearToolResults, Compactor, Planner, Summarize, TruncateOldest
from quire.errors import InvalidValue, cut
from quire.tokens import named

KEEP_ALL = "keep-all"
_CHOICE = (ClearToolResults(), TruncateOldest())

POLICIES: dict[str, Compactor | None] = {
    "default": TruncateOldest(),
    "planner": Planner(*_CHOICE),
    "clear-in-batches": Cascade(ClearToolResults(), TruncateOldest()),
    "cut-to-75": TruncateOldest(floor=0.75),
    "summarize": Summarize(unit="tokens", size=512),
    "sliding-window": TruncateOldest(floor=1.0),
    "clear-each-call": Cascade(ClearToolResults(at_least=0, ceiling=0), TruncateOldest(floor=1.0)),
    KEEP_ALL: None,
}
"""A name for each; with none, everything is kept."""


def compactor_for(policy: str, model: str | None = None) -> Compactor | None:
    """The compactor of a policy; a planner goes by the prices of the model."""
    if named(policy, "the name of a policy") not in POLICIES:
        raise InvalidValue(f"no policy {cut(policy)!r}; there are {', '.join(POLICIES)}")
    return Planner(*_CHOICE, model=model) if policy == "planner" else POLICIES[policy]
