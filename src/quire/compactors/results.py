"""Results of tools that a stub may take the place of."""

from itertools import islice

import msgspec

from quire.compactors.foreseeing import shown_tokens
from quire.items import Item, Mask, ToolResult
from quire.state import View
from quire.tokens import Counter


class Results:
    """Counts results of tools; with `larger_than` only those above so many tokens."""

    def __init__(self, counter: Counter, larger_than: int = -1) -> None:
        self._counter = counter
        self._larger_than = larger_than
        self.key = f"quire.results>{larger_than}/{counter.key}" if larger_than >= 0 else "quire.results"

    def count(self, item: Item) -> int:
        """One for such a result."""
        if not isinstance(item, ToolResult):
            return 0
        return int(self._larger_than < 0 or self._counter.count(item) > self._larger_than)

    def total(self, counted: int) -> int:
        """As many as there are."""
        return counted


def newest_results(view: View, limit: int) -> list[ToolResult]:
    """The last few results that are shown, masked or not."""
    return list(islice((item for item in reversed(view) if isinstance(item, ToolResult)), limit))


def clearable(view: View, keep: int) -> list[ToolResult]:
    """All results but the newest `keep`, oldest first.

    None that is masked or pinned, and none beside a call that waits.
    """
    results = [item for item in view if isinstance(item, ToolResult)]
    old = results[: max(len(results) - keep, 0)]
    beside = _beside_waiting_calls(view)
    return [result for result in old if result.id not in beside and _is_shown_as_recorded(view, result)]


def saving(view: View, result: ToolResult, mask: Mask, counter: Counter) -> int:
    """Tokens that a mask takes away; below zero where the stub is the longer one."""
    stub = msgspec.structs.replace(result, content=mask.stub)
    return shown_tokens(view, result, counter) - counter.count(stub)


def _is_shown_as_recorded(view: View, result: ToolResult) -> bool:
    # A stub is another object; to ask for the fate of a masked item would look at all edits.
    return view.get(result.id) is result and view.fate(result.id).state == "shown"


def _beside_waiting_calls(view: View) -> set[str]:
    if not view.pending():
        return set()
    return {item.id for group in view.groups() if group.pending for item in group.items}
