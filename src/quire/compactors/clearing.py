"""Clearing old results of tools, in batches."""

import msgspec

from quire.compactors.limits import Size, checked_size, tokens_of
from quire.compactors.plan import Plan, Room
from quire.compactors.results import Results, clearable, saving
from quire.errors import InvalidValue
from quire.items import Mask, ToolResult
from quire.state import View, checked_view
from quire.tokens import named, whole

CLEARED = "[cleared: call the tool again if this is needed]"


class ClearToolResults(msgspec.Struct, frozen=True, kw_only=True):
    """Puts a stub in place of every result but the newest `keep`, once the view is above the ceiling.

    All at once, and only where `at_least` so many tokens are saved: each batch makes a provider read the
    conversation anew from the first result that changed, and must be worth it.
    """

    name = "clear-tool-results"

    keep: int = 3
    at_least: Size = 0.1
    stub: str = CLEARED
    ceiling: Size = 1.0

    def __post_init__(self) -> None:
        whole(self.keep, "keep", least=0)
        checked_size(self.at_least, "at_least")
        checked_size(self.ceiling, "the ceiling")
        if not named(self.stub, "the stub").strip():
            raise InvalidValue("the stub is empty")

    def plan(self, view: View, room: Room) -> Plan | None:
        """A `Mask` for each old result, or none where that is too little."""
        ceiling, counter = tokens_of(self.ceiling, room), room.counter
        held = checked_view(view).tokens(counter)
        if (held <= min(ceiling, room.tokens) and not room.early) or view.counted(
            Results(counter)
        ) <= self.keep:
            return None

        def gain(result: ToolResult) -> int:
            return saving(view, result, Mask(result.id, self.stub), counter)

        key = ("quire.clear", self.stub, counter.key)
        old = clearable(view, self.keep, lambda result: gain(result) <= 0, key)
        masks = [Mask(result.id, self.stub) for result in old]
        saved = sum(map(gain, old))
        if not masks or saved < tokens_of(self.at_least, room):
            return None
        reason = f"{held:,} tokens are shown, and {len(masks)} old results take {saved:,} of them"
        after = counter.total(view.counted(counter) - saved)
        return Plan(self.name, reason, held, after, tuple(masks))
