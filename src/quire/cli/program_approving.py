"""Who approves of the calls of a program: the person at the terminal, asked for one call at a time."""

import asyncio

from quire.cli.chat_words import call_in_words
from quire.cli.program_telling import Telling
from quire.cli.terminal import Terminal
from quire.items import ToolCall

_YES, _NO = ("y", "yes"), ("", "n", "no")


class Approving:
    """Asks a person, where there is one. What happens meanwhile is shown once they have said."""

    def __init__(self, telling: Telling, terminal: Terminal | None = None) -> None:
        self._telling = telling
        self._terminal = terminal or Terminal()
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, call: ToolCall) -> bool | str:
        """Whether a call may be run; where a person says why not, that."""
        if not self._terminal.is_person:
            return "nobody is there to approve of it"
        async with self._one_at_a_time:
            with self._telling.held():
                said = await asyncio.to_thread(self._ask, call)
        return said.lower() in _YES if said.lower() in (*_YES, *_NO) else said

    def _ask(self, call: ToolCall) -> str:
        self._terminal.note(f"may this be run? {call_in_words(call)}")
        return (self._terminal.line("yes, no or why not: ") or "").strip()
