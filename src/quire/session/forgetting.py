"""Forgetting: content is gone from memory and from the store, and a tombstone stays where it was.

What was made from it goes with it: summaries that cover it are emptied and taken back, stubs and notes that
repeat it are emptied, receipts lose what they kept of it. What somebody said about it in words of their own
is another item, and has to be named too.
"""

import logging
from collections.abc import Collection, Iterable, Sequence

from msgspec import to_builtins

from quire.errors import UnknownId, cut
from quire.items import JSON, Item, Mask, Note, Summary, ToolResult, Undo
from quire.session.ledger import Ledger
from quire.session.opening import shared_ledger
from quire.session.receipts import is_receipt
from quire.session.streams import FORGOTTEN, ORIGIN, POOL, RECEIPTS, is_own
from quire.session.tombstones import holds, is_tombstone, texts_of, tombstone
from quire.session.workspace import Workspace, Written
from quire.state import Transcript
from quire.state.active import area_of_summary
from quire.state.shape import contains
from quire.stores import Place

logger = logging.getLogger("quire.session")


def forget(ledger: Ledger, ids: Collection[str]) -> None:
    """Forget items of a conversation, here and in the forks that began with it."""
    with ledger.lock:
        ledger.catch_up()
        known = {item.id for _, item in ledger.recorded()}
        for item_id in ids:
            if item_id not in known:
                raise UnknownId(f"no item {cut(item_id)!r} in {ledger.place}")
        texts = {text for _, item in ledger.recorded() if item.id in ids for text in texts_of(item)}
        for one in (ledger, *_forks(ledger)):
            _forget_in(one, set(ids), texts)


def forget_all(ledger: Ledger) -> None:
    """Forget a whole conversation: its log is gone, unless forks still stand on it."""
    if any(True for _ in _forks(ledger)):
        said = {item.id for stream, item in ledger.recorded() if stream == POOL or not is_own(stream)}
        forget(ledger, said)
    else:
        ledger.store.forget(ledger.place)
        ledger.catch_up()


def _forks(ledger: Ledger) -> Iterable[Ledger]:
    scope, name = ledger.place
    for other in ledger.store.conversations(scope):
        if other.startswith(f"{name}/"):
            fork = shared_ledger(ledger.store, Place(scope, other))
            if fork.workspace.versions(ORIGIN):
                yield fork


def _forget_in(ledger: Ledger, ids: set[str], texts: set[str]) -> None:
    with ledger.lock:
        ledger.catch_up()
        emptied = ids | _made_from(ledger.workspace, ids)
        bodies: dict[int, bytes] = {}
        for version, (stream, item) in enumerate(ledger.recorded(), 1):
            left = _left_of(stream, item, emptied, texts)
            if left is not item:
                bodies[version] = JSON.encode_item(left)
        if bodies:
            ledger.store.forget(ledger.place, bodies)
        ledger.reload()
        # Others who have read the conversation learn by this that they have to read it again.
        ledger.commit(lambda workspace: [_marker(ids), *_taken_back(workspace, emptied)])
        logger.info("forgot %d items of %s, %d entries emptied", len(ids), ledger.place, len(bodies))


def _made_from(workspace: Workspace, ids: set[str]) -> set[str]:
    """The summaries that cover items, and the stubs that stand for them."""
    made: set[str] = set()
    for transcript in workspace.transcripts.values():
        view = transcript.view
        targets = [p for p in (view.log.find(item_id, view.end) for item_id in ids) if p is not None]
        for position, item in enumerate(transcript.recorded()):
            covers = isinstance(item, Summary) and _covers(transcript, position, targets)
            if covers or (isinstance(item, Mask) and item.target in ids):
                made.add(item.id)
    return made


def _covers(transcript: Transcript, summary: int, targets: Sequence[int]) -> bool:
    view = transcript.view
    area = area_of_summary(view.log, summary, view.end)
    return any(contains(area, target) for target in targets)


def _left_of(stream: str, item: Item, emptied: set[str], texts: set[str]) -> Item:
    if is_tombstone(item):
        return item
    if item.id in emptied or (stream == POOL and isinstance(item, Note) and holds(item.content, texts)):
        return tombstone(item)
    if stream == RECEIPTS and not is_receipt(item) and holds(to_builtins(item), texts):
        return tombstone(item)
    if not is_own(stream) and isinstance(item, ToolResult | Note) and _repeats(item, texts):
        return tombstone(item)
    return item


def _repeats(item: ToolResult | Note, texts: set[str]) -> bool:
    """Whether something holds the whole of a forgotten text: read again from a pool, or given by a tool."""
    found = texts_of(item)
    return any(text in own for own in found for text in texts)


def _marker(ids: Collection[str]) -> Written:
    return Written(FORGOTTEN, Note(content={"ids": sorted(ids)}, description="forgotten"))


def _taken_back(workspace: Workspace, emptied: set[str]) -> list[Written]:
    """What brings back what an emptied summary stood for."""
    undone: list[Written] = []
    for name, transcript in workspace.transcripts.items():
        view = transcript.view
        for position in view.shape.summaries:
            item = view.log.item(position)
            if item.id in emptied:
                undone.append(Written(name, Undo(item.id)))
    return undone
