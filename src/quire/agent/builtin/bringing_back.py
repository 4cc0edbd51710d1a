"""Bringing back what was moved out of the conversation, because it was long."""

from quire.agent.tools import Tool, tool
from quire.agent.tools.output import Allowance
from quire.compactors import READ_BACK, read_back
from quire.context import DEFAULT_MODEL
from quire.items import Item, ToolResult
from quire.session import Session, handle_of
from quire.tokens import Counter, counter_for, whole

_TOKENS = 2_000


def bringing_back_tools(*, tokens: int = _TOKENS, counter: Counter | None = None) -> list[Tool]:
    """The tool by which a model reads what was moved to the pool, so many tokens at a time.

    It gives less where less is shown: what is read back is never cut and moved to the pool once more.
    """
    whole(tokens, "tokens", least=1)
    counted = counter or counter_for(DEFAULT_MODEL)

    @tool(name=READ_BACK["name"], description=READ_BACK["description"], idempotent=True)
    def bring_back(handle: str, session: Session, start: int = 0, allowance: Allowance | None = None) -> str:
        """Read a long output that was moved out of the conversation.

        Args:
            handle: The handle, such as output-0123456789.
            session: The conversation that it was moved out of.
            start: The character from which to read; 0, the beginning, if left out.
            allowance: How much of it is shown; the agent fills it in.
        """
        counts = counted if allowance is None else _Shown(counted, tokens, allowance)
        pool = session.pool.copy()
        session.steps.trace(note.id for note in pool if handle_of(note) == handle)
        return read_back(pool, handle, counts, tokens, start)

    return [bring_back]


class _Shown:
    """Counts as another does. What would not be shown whole is more than so many tokens."""

    def __init__(self, counter: Counter, tokens: int, allowance: Allowance) -> None:
        self._counter, self._tokens, self._allowance = counter, tokens, allowance
        self.key = f"{counter.key}, shown whole"

    def count(self, item: Item) -> int:
        """Tokens of one item."""
        counted = self._counter.count(item)
        is_too_much = isinstance(item, ToolResult) and not self._allowance.holds(item.text)
        return max(counted, self._tokens + 1) if is_too_much else counted

    def total(self, counted: int) -> int:
        """Tokens of a request."""
        return self._counter.total(counted)
