"""Bringing back what was moved out of the conversation, because it was long."""

from quire.agent.tools import Tool, tool
from quire.compactors import READ_BACK, read_back
from quire.context.template import COMMON
from quire.session import Session
from quire.tokens import Counter, counter_for
from quire.tokens.numbers import whole

_TOKENS = 2_000


def bringing_back_tools(*, tokens: int = _TOKENS, counter: Counter | None = None) -> list[Tool]:
    """The tool by which a model reads what was moved to the pool, so many tokens at a time."""
    whole(tokens, "tokens", least=1)
    counted = counter or counter_for(COMMON)

    @tool(name=READ_BACK["name"], description=READ_BACK["description"], idempotent=True)
    def bring_back(handle: str, session: Session, start: int = 0) -> str:
        """Read a long output that was moved out of the conversation.

        Args:
            handle: The handle, such as output-0123456789.
            session: The conversation that it was moved out of.
            start: The character from which to read; 0, the beginning, if left out.
        """
        return read_back(session.pool, handle, counted, tokens, start)

    return [bring_back]
