"""What Gemini's generateContent refuses, or silently misreads, in a request."""

from quire.providers.checking.gemini.request import check
from quire.providers.checking.gemini.rules import RULES

__all__ = ["RULES", "check"]
