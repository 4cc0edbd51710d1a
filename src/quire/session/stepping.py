"""The steps of a turn with tools, on the record as they happen, so that a crash leaves nothing in doubt.

Before a call is run, a note says so; then its result is recorded. Calls of one reply run side by side: a
result that comes before its turn is held in a stream of its own, and is not lost either.
"""

from typing import Literal

from quire.items import ToolCall, ToolResult
from quire.session.recording import Recording
from quire.session.steps import begun
from quire.session.streams import MAIN, STEPS
from quire.session.workspace import Written

Standing = Literal["waiting", "begun", "held"]
"""How far a call without a result has come: it was not begun, it may have run, or its result is held."""


class Stepping(Recording):
    """The verbs for calls on their way."""

    async def begin(self, *calls: ToolCall) -> None:
        """Note that calls are about to be run. From here on, who finds them without a result cannot know."""
        if calls:
            await self._aside(lambda: self._ledger.commit(lambda _: [Written(STEPS, begun(calls))]))

    async def hold(self, result: ToolResult) -> ToolResult:
        """Keep a result whose turn has not come; `say` records it in a transcript later."""
        ready = self._ready([result])[0]
        assert isinstance(ready, ToolResult)
        await self._aside(lambda: self._ledger.commit(lambda _: [Written(STEPS, ready)]))
        return ready

    def standing(self, name: str = MAIN) -> list[tuple[ToolCall, Standing]]:
        """The calls of a transcript that wait for their result, and how far each has come."""
        steps, calls = self._ledger.workspace.steps, self.view(name).pending()
        return [(call, _standing(call.call_id, steps.begun, steps.held)) for call in calls]

    def held(self, call_id: str) -> ToolResult | None:
        """The result that is held for a call."""
        return self._ledger.workspace.steps.held.get(call_id)


def _standing(call: str, begun: set[str], held: dict[str, ToolResult]) -> Standing:
    return "held" if call in held else "begun" if call in begun else "waiting"
