"""What Anthropic's Messages API refuses, or silently misreads, in a request."""

from quire.providers.checking.anthropic.request import check
from quire.providers.checking.anthropic.rules import RULES

__all__ = ["RULES", "check"]
