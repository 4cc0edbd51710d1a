"""Calls and their results go together, also where a section of somebody's own shows only one of the two."""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from quire.items import Item, Message, Reasoning, ToolCall, ToolResult
from quire.state import Answers

_DONE = "(This was run; what it gave is left out here.)"
_FAILED = "(This failed; what was said of it is left out here.)"


def paired(items: Sequence[Item], recorded: Callable[[], Iterable[Item]]) -> Sequence[Item]:
    """What a section shows, without calls whose results it left out, and results whose calls it left out.

    A model would be told that such a call had been interrupted. In the turn under way it would make a call
    again that it does not see: there the call stays, and words stand for its result. A call that has no
    result on the record waits, and stays as it is.
    """
    found = Answers(items)
    call_of, waiting = found.call_of, found.open_calls()
    results = {place for place, item in enumerate(items) if isinstance(item, ToolResult)}
    alone = results - call_of.keys() | set(waiting)
    if not alone:
        return items
    record = _Record(list(recorded()))
    shown: list[Item] = []
    unsaid: list[Item] = []
    for place, item in enumerate(items):
        if unsaid and not isinstance(item, ToolCall):
            shown, unsaid = [*shown, *unsaid], []
        result = record.result_of(item) if place in alone else None
        if result is None:
            shown.append(item)
        elif isinstance(item, ToolCall) and record.is_under_way(result):
            shown.append(item)
            unsaid.append(_left_out(item, result))
        elif isinstance(item, ToolCall):
            while shown and isinstance(shown[-1], Reasoning):
                shown.pop()  # a thought goes with the call that it led to
    return [*shown, *unsaid]


def _left_out(call: ToolCall, result: ToolResult) -> ToolResult:
    words = _FAILED if result.is_error else _DONE
    return replace(result, content=words, call_id=call.call_id, id=f"{result.id}/left-out")


class _Record:
    """All that was said in a conversation, with the calls and results that belong together."""

    def __init__(self, items: Sequence[Item]) -> None:
        found = Answers(items)
        call_of, waiting = found.call_of, found.open_calls()
        self._known = {item.id for item in items}
        self._results: dict[str, ToolResult] = {}
        self._by_call: dict[str, ToolResult] = {}
        asked = max((n for n, item in enumerate(items) if _is_of_user(item)), default=-1)
        self._new = {item.id for item in items[asked + 1 :]}
        for place, call in call_of.items():
            result = items[place]
            if isinstance(result, ToolResult):
                self._results[result.id] = self._results[items[call].id] = result
                self._by_call[result.call_id] = result
        for place in waiting:
            if isinstance(waits := items[place], ToolCall):
                self._by_call.pop(waits.call_id, None)

    def result_of(self, item: Item) -> ToolResult | None:
        """The result of a call, or of the call of a result; what a section changed is known by its call."""
        if item.id in self._known or not isinstance(item, ToolCall | ToolResult):
            return self._results.get(item.id)
        return self._by_call.get(item.call_id)

    def is_under_way(self, result: ToolResult) -> bool:
        """Whether the user has said nothing since."""
        return result.id in self._new


def _is_of_user(item: Item) -> bool:
    return isinstance(item, Message) and item.role == "user"
