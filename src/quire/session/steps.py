"""What is known of calls that wait: which were begun, and what is held back of them until their turn."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeGuard

from quire.items import Item, Message, Note, ToolCall, ToolResult

_BEGUN = "begun"
_HELD = "held"


class Steps:
    """The state of the calls of a conversation. Of those that were answered nothing is kept."""

    def __init__(self) -> None:
        # By the ids of the items of calls, all of it: call ids may come again, in one reply too.
        self.begun: dict[str, Note] = {}
        """What says that calls were about to be run."""
        self.known: dict[str, int] = {}
        """How often something had been forgotten when they first were."""
        self.held: dict[str, tuple[Item, ...]] = {}
        """What came before its turn: a result and what came with it."""
        self.heard: set[str] = set()
        """The ids of the results among them that hooks have heard of."""
        self._last = ""  # the call that what comes next came with
        self._announced: str | None = None  # the call that the next result is of, where it was said

    def take(self, items: Iterable[Item], pending: Collection[ToolCall], forgotten: int) -> None:
        """Take in what stands in the stream of steps; `pending` are the calls without a result.

        `forgotten` says how often something was forgotten before.
        """
        waiting = {call.id for call in pending}
        self.begun = {call: note for call, note in self.begun.items() if call in waiting}
        self.known = {call: count for call, count in self.known.items() if call in waiting}
        self.held = {call: came for call, came in self.held.items() if call in waiting}
        self.heard &= {came[0].id for came in self.held.values()}
        for item in items:
            if isinstance(item, ToolResult):
                self._hold(item, pending)
            elif not is_mark(item):
                self.held[self._last] = (*self.held.get(self._last, ()), item)
            elif _HELD in item.content:
                self._announced = item.content[_HELD]
            else:
                self.begun |= dict.fromkeys(item.content[_BEGUN], item)
                self.known = {**dict.fromkeys(item.content[_BEGUN], forgotten), **self.known}

    def _hold(self, result: ToolResult, pending: Iterable[ToolCall]) -> None:
        if self._announced is not None:
            self.heard.add(result.id)
        self._last = self._announced or self.call_of(result, pending) or ""
        self._announced = None
        self.held[self._last] = (result,)

    def as_held(self, items: Iterable[Item]) -> list[Item]:
        """Items, and in place of those that are held what is held: what was forgotten of it is gone."""
        came = {one[0].id: one for one in self.held.values()}
        return [item for given in by_result(items) for item in came.get(given[0].id, given)]

    def call_of(self, result: ToolResult, pending: Iterable[ToolCall]) -> str | None:
        """The call that a result is of where nobody says it: the last, since the first need not be held."""
        calls = [call.id for call in pending if call.call_id == result.call_id]
        free = [call for call in calls if call not in self.held]
        return next(reversed(free or calls), None)


def begun(calls: Iterable[ToolCall], claim: Mapping[str, object]) -> Note:
    """The note that says that calls are about to be run, and by whom. Notes that tools give have no key."""
    return Note(content={**claim, _BEGUN: [call.id for call in calls]}, key=_BEGUN)


def held(call_id: str) -> Note:
    """The note that says of which call the next result is, by the id of its item; hooks have heard of it."""
    return Note(content={_HELD: call_id}, key=_HELD)


def is_mark(item: Item) -> TypeGuard[Note]:
    """Whether an item of the stream of steps is one of these notes, and not something that a tool gave."""
    return isinstance(item, Note) and item.key is not None


def by_result(items: Iterable[Item]) -> list[Sequence[Item]]:
    """Each result with what came with it; what somebody says stands alone."""
    found: list[list[Item]] = []
    for item in items:
        if found and not isinstance(item, ToolResult | Message):
            found[-1].append(item)
        else:
            found.append([item])
    return [*found]
