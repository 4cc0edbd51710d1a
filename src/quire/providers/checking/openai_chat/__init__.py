"""What OpenAI's Chat Completions refuse, or silently misread, in a request."""

from quire.providers.checking.openai_chat.request import check
from quire.providers.checking.openai_chat.rules import RULES

__all__ = ["RULES", "check"]
