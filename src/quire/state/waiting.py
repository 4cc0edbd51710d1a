"""Calls that wait for their results, and results that came before their calls."""

from collections.abc import Callable

from quire.items import ToolCall, ToolResult
from quire.state.groups import answered, came_together
from quire.state.log import Log
from quire.state.shape import Place, Run


class Waiting:
    """The calls of one log that wait, by their ids: several may wait under one."""

    __slots__ = ("_by_id",)

    def __init__(self) -> None:
        self._by_id: dict[str, tuple[int, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_id)

    def copy(self) -> "Waiting":
        """The same calls, to be answered elsewhere."""
        twin = Waiting()
        twin._by_id = self._by_id.copy()
        return twin

    def positions(self) -> tuple[int, ...]:
        """Where the calls are, in the order they were made."""
        return tuple(sorted(p for positions in self._by_id.values() for p in positions))

    def add(self, call: ToolCall, position: int) -> None:
        """Take in a call that was made."""
        earlier = self._by_id.get(call.call_id)
        self._by_id[call.call_id] = (position,) if earlier is None else (*earlier, position)

    def answered(self, log: Log, result: ToolResult, within: int | None = None) -> int | None:
        """The head of the group of the call that a result is for, which no longer waits; or none.

        Of the calls in the group of `within` alone, where it is known in which one the result is.
        """
        waiting = self._by_id.get(result.call_id)
        if waiting is None:
            return None
        calls = waiting if within is None else tuple(p for p in waiting if log.head(p) == within)
        position = _answered(log, calls, result)
        if position is None:
            return None
        rest = tuple(p for p in waiting if p != position)
        if rest:
            self._by_id[result.call_id] = rest
        else:
            del self._by_id[result.call_id]
        return log.head(position)


def _answered(log: Log, positions: tuple[int, ...], result: ToolResult) -> int | None:
    if len(positions) == 1 and not result.extras:
        return positions[0]  # the common case
    calls = [call for call in map(log.item, positions) if isinstance(call, ToolCall)]
    index = answered(calls, result, [log.head(p) for p in positions])
    return positions[index] if index >= 0 else None


def waiting_at(log: Log, end: int) -> tuple[int, ...]:
    """The calls that waited at a revision of the past: what answers what is told by the groups."""
    waiting = Waiting()
    for position, item in enumerate(log.items(0, end)):
        head = log.head(position)
        if isinstance(item, ToolCall) and not _joined_its_result(log, item, head):
            waiting.add(item, position)
        elif isinstance(item, ToolResult) and head != position:
            waiting.answered(log, item, head)
    return waiting.positions()


def _joined_its_result(log: Log, call: ToolCall, head: int) -> bool:
    """Whether a call came after its result: then that is the first of the group, as in no other."""
    first = log.item(head)
    return isinstance(first, ToolResult) and first.call_id == call.call_id


def early_result(
    log: Log, end: int, call: ToolCall, place: Place, run_at: Callable[[int], Run | None]
) -> int | None:
    """The result that was recorded before a call but is shown after its place, and that no call has yet.

    It came as the call did, or else it is of another under the same id.
    """
    places = [
        (log.time(position), position)
        for segment, stop in log.seen(end)
        for position in segment.alone.get(call.call_id, ())
        if position < stop and (log.time(position), position) > place
    ]
    alike = (p for _, p in sorted(places) if came_together(call, log.item(p)))
    return next((p for p in alike if len(log.group(p, end)) == 1 and run_at(p) is not None), None)
