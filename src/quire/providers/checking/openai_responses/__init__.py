"""What OpenAI's Responses refuse, or silently misread, in a request."""

from quire.providers.checking.openai_responses.request import check
from quire.providers.checking.openai_responses.rules import RULES

__all__ = ["RULES", "check"]
