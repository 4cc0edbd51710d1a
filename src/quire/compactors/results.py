"""Results of tools that a stub may take the place of."""

from collections.abc import Callable, Hashable
from itertools import chain, islice
from typing import NamedTuple

import msgspec

from quire.compactors.foreseeing import shown_tokens
from quire.items import Item, Mask, ToolResult, Undo
from quire.state import View, keep_memo, memos, one_per_group
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


class _Known(NamedTuple):
    """Where in the log results are that may be cleared some day, as was found at some revision."""

    positions: tuple[int, ...]
    revision: int


def clearable(view: View, keep: int, never: Callable[[ToolResult], bool], key: Hashable) -> list[ToolResult]:
    """All results but the newest `keep`, oldest first.

    None that is masked or pinned, none beside a call that waits, and none to which `never` says yes. What was
    found is remembered under the `key`, so that the past is gone through once.
    """
    known = _known(view, key)
    spared = {result.id for result in newest_results(view, keep)} | _beside_waiting_calls(view)
    new = (p for p in range(known.revision, view.end) if isinstance(view.log.item(p), ToolResult))
    found: dict[int, ToolResult] = {}
    for position in chain(known.positions, new):
        result = view.log.item(position)
        if isinstance(result, ToolResult) and _is_shown_as_recorded(view, position) and not never(result):
            found[position] = result
    keep_memo(view, key, _Known(tuple(found), view.end))
    return [result for result in found.values() if result.id not in spared]


def _known(view: View, key: Hashable) -> _Known:
    """What was found before; nothing, once an edit was undone."""
    known = memos(view).get(key)
    if not isinstance(known, _Known) or known.revision > view.end:
        return _Known((), 0)
    edits = view.log.positions("edits", known.revision, view.end)
    return _Known((), 0) if any(isinstance(view.log.item(edit), Undo) for edit in edits) else known


def saving(view: View, result: ToolResult, mask: Mask, counter: Counter) -> int:
    """Tokens that a mask takes away; below zero where the stub is the longer one."""
    stub = msgspec.structs.replace(result, content=mask.stub)
    return shown_tokens(view, result, counter) - counter.count(stub)


def is_clearable(view: View, result: ToolResult) -> bool:
    """Whether a stub may take the place of one result."""
    return _is_shown_as_recorded(view, view.position(result.id)) and (
        result.id not in _beside_waiting_calls(view)
    )


def _is_shown_as_recorded(view: View, position: int) -> bool:
    # To ask for the fate of a masked item would look at all edits.
    run = view.run_at(position)
    return run is not None and run.stand_in is None and view.log.head(position) not in view.shape.pins


def _beside_waiting_calls(view: View) -> set[str]:
    waiting = one_per_group(view.log, (view.position(call.id) for call in view.pending()))
    return {view.log.item(position).id for head in waiting for position in view.log.group(head, view.end)}
