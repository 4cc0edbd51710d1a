"""The steps of a turn with tools, on the record as they happen, so that a crash leaves nothing in doubt.

Before a call is run, a note says so; then its result is recorded. Calls of one reply run side by side: a
result that comes before its turn is held in a stream of its own, and is not lost either.
"""

from typing import Literal

from quire.items import Item, ToolCall, ToolResult
from quire.session.recording import Recording
from quire.session.steps import begun
from quire.session.workspace import Written
from quire.stores.streams import MAIN, STEPS

Standing = Literal["waiting", "begun", "held"]
"""How far a call without a result has come: it was not begun, it may have run, or its result is held."""


class Stepping(Recording):
    """The verbs for calls on their way."""

    async def begin(self, *calls: ToolCall) -> None:
        """Note that calls are about to be run. From here on, who finds them without a result cannot know."""
        if calls:
            await self._aside(lambda: self._ledger.commit(lambda _: [Written(STEPS, begun(calls))]))

    async def hold(self, result: ToolResult, *others: Item) -> tuple[Item, ...]:
        """Keep a result whose turn has not come, and what came with it; `say` records it later."""
        ready = self._ready([result, *others])
        await self._aside(lambda: self._ledger.commit(lambda _: [Written(STEPS, item) for item in ready]))
        return ready

    def standing(self, name: str = MAIN) -> list[tuple[ToolCall, Standing]]:
        """The calls of a transcript that wait for their result, and how far each has come."""
        begun = self._ledger.workspace.steps.begun
        return [
            (call, "held" if self.held(call) else "begun" if call.id in begun else "waiting")
            for call in self.view(name).pending()
        ]

    def held(self, call: ToolCall) -> tuple[Item, ...]:
        """What is held for a call: its result, and what came with it."""
        held = self._ledger.workspace.steps.held.get(call.call_id, ())
        # Call ids come again: what is on the record is the result of an earlier call.
        known = self._ledger.workspace.transcripts.values()
        return () if any(held[0].id in one for one in known if held) else held
