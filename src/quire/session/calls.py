"""Calls that were begun and wait for their results: what comes of them is looked at when it is written.

A tool may have read what was forgotten since. Whoever writes its result, and by which verb, that is not to
come back with it.
"""

from collections.abc import Collection, Iterable, Sequence

from quire.items import Item, ToolCall, ToolResult
from quire.session.draft_ledger import DraftLedger
from quire.session.ledger import Change, Ledger, appending
from quire.session.meanwhile import Meanwhile, left_since
from quire.session.steps import by_result
from quire.session.workspace import Workspace, Written


def watch(ledger: Ledger, calls: Iterable[ToolCall]) -> None:
    """Look from now on at what comes of calls, until they have their results."""
    with ledger.lock:
        _let_go(ledger)
        new = dict.fromkeys((call.call_id for call in calls), Meanwhile(ledger))
        ledger.begun = {**new, **ledger.begun}  # who began one before may still answer it


def add_results(ledger: Ledger, name: str, items: Sequence[Item], expected: int | None) -> tuple[Item, ...]:
    """Add items to a transcript, results among them, and give what was written of them.

    What is held is written as it is held by then.
    """
    change = _answering(ledger, name, items)
    if len(items) == 1 and expected is None and not _are_begun(ledger):
        return (ledger.append(name, items[0], otherwise=change),)
    written = ledger.commit(change, expected=expected)
    answered(ledger)
    return tuple(item for _, item in written)


def _answering(ledger: Ledger, name: str, items: Sequence[Item]) -> Change:
    def change(workspace: Workspace) -> list[Written]:
        left: list[Item] = []
        for came in by_result(workspace.steps.as_held(items)):
            call_ids = [came[0].call_id] if isinstance(came[0], ToolResult) else []
            left += left_of(ledger, came, call_ids, workspace)
        return list(appending(name, left)(workspace))

    return change


def answered(ledger: Ledger) -> None:
    """Look no more at what comes of calls that have their results."""
    if ledger.begun:
        with ledger.lock:
            _let_go(ledger)


def left_of(
    ledger: Ledger, items: Sequence[Item], call_ids: Collection[str], workspace: Workspace
) -> Sequence[Item]:
    """What may be written of what calls gave: of what was forgotten since they were begun, tombstones."""
    if isinstance(ledger, DraftLedger):  # they may have been begun where the draft was
        items = left_of(ledger.left, items, call_ids, ledger.left.workspace)
    if not (call_ids and (ledger.begun or workspace.steps.known)):
        return items
    waiting = [call for call in workspace.pending() if call.call_id in call_ids]
    for watcher in {ledger.begun[call.call_id] for call in waiting if call.call_id in ledger.begun}:
        items = watcher.left_of(items, workspace)
    known = workspace.steps.known
    counts = [known[call.id] for call in waiting if call.call_id not in ledger.begun and call.id in known]
    return _left_since(ledger, min(counts), items, workspace) if counts else items


def _left_since(ledger: Ledger, known: int, items: Sequence[Item], workspace: Workspace) -> list[Item]:
    """What is left where nobody here saw the calls begin; what is held was emptied by who forgot."""
    left = left_since(ledger, known, items, workspace)
    held = {item.id for came in workspace.steps.held.values() for item in came}
    return [item if item.id in held else other for item, other in zip(items, left, strict=True)]


def _are_begun(ledger: Ledger) -> bool:
    """Whether calls may have been begun, as far as is known here."""
    steps = ledger.workspace.steps
    return bool(ledger.begun or steps.known or steps.held) or isinstance(ledger, DraftLedger)


def _let_go(ledger: Ledger) -> None:
    waiting = ledger.workspace.waiting()
    ledger.begun = {call_id: one for call_id, one in ledger.begun.items() if call_id in waiting}
