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
    """Forget items of a conversation, here and in the forks that began with it.

    It is noted before, so that who reads on reads again until it is done, and who opens the conversation
    after a crash can finish it. Forks are emptied first: as long as the items are here, one knows what to
    look for. They are done last: their past is here.
    """
    ledger.catch_up()
    recorded = ledger.recorded()
    for item_id in set(ids) - {item.id for _, item in recorded}:
        raise UnknownId(f"no item {cut(item_id)!r} in {ledger.place}")
    texts = {text for _, item in recorded if item.id in ids for text in texts_of(item)}
    concerned = [ledger, *_forks(ledger)]
    for one in concerned:
        _begin(one, ids)
    for one in reversed(concerned):
        _empty(one, set(ids), texts)
    for one in concerned:
        _finish(one, set(ids))
    logger.info("forgot %d items of %s", len(ids), ledger.place)


def forget_all(ledger: Ledger) -> None:
    """Forget all that was said and kept in a conversation."""
    forget(ledger, {item.id for stream, item in ledger.recorded() if stream == POOL or not is_own(stream)})


def finish_forgetting(ledger: Ledger) -> None:
    """Forget what somebody began to and did not finish: here, or where a fork has its past from."""
    for begun in list(ledger.workspace.forgetting.values()):
        ids = set(begun.content["ids"])
        for one in (ledger, *_pasts(ledger)):
            known = ids & {item.id for _, item in one.recorded()}
            if known:
                forget(one, known)
                _finish(one, ids)
                _finish(ledger, ids)


def _pasts(ledger: Ledger) -> Iterable[Ledger]:
    """The conversations that a fork has its past from, the nearest first."""
    for note in ledger.read_at(ledger.workspace.versions(ORIGIN)):
        if isinstance(note, Note):
            past = shared_ledger(ledger.store, Place(ledger.place.scope, note.content["conversation"]))
            yield past
            yield from _pasts(past)


def _begin(ledger: Ledger, ids: Collection[str]) -> None:
    note = Note(content={"ids": sorted(ids)}, description="forgetting")
    ledger.commit(lambda _: [Written(FORGOTTEN, note)])


def _done(begun: Note) -> Written:
    return Written(FORGOTTEN, Note(content={"of": begun.id}, description="forgotten"))


def _forks(ledger: Ledger) -> Iterable[Ledger]:
    scope, name = ledger.place
    for other in ledger.store.conversations(scope):
        if other.startswith(f"{name}/"):
            fork = shared_ledger(ledger.store, Place(scope, other))
            if fork.workspace.versions(ORIGIN):
                yield fork


def _empty(ledger: Ledger, ids: set[str], texts: set[str]) -> None:
    with ledger.lock:
        emptied = ids | _made_from(ledger.workspace, ids)
        try:
            while _emptied(ledger, emptied, texts):
                pass  # others may have written it again meanwhile
        finally:
            ledger.reload()


def _finish(ledger: Ledger, ids: set[str]) -> None:
    """Say that it is done, also what others began of it, and take back summaries that are empty."""
    with ledger.lock:
        ledger.reload()
        begun = [note for note in ledger.workspace.forgetting.values() if ids.issuperset(note.content["ids"])]
        ledger.commit(lambda workspace: [*map(_done, begun), *_taken_back(workspace)])


def _emptied(ledger: Ledger, emptied: set[str], texts: set[str]) -> bool:
    """Empty all entries that are to be, once; whether there were any."""
    bodies: dict[int, bytes] = {}
    for version, (stream, item) in enumerate(ledger.recorded(), 1):
        left = _left_of(stream, item, emptied, texts)
        if left is not item:
            bodies[version] = JSON.encode_item(left)
    # Also where there is nothing left to empty: a store that failed before has yet to wipe its files.
    ledger.store.forget(ledger.place, bodies)
    return bool(bodies)


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


def _taken_back(workspace: Workspace) -> list[Written]:
    """What brings back what emptied summaries stood for: each of them, also those under others."""
    undone: list[Written] = []
    for name, transcript in workspace.transcripts.items():
        trial = transcript.copy()
        while shown := list(filter(is_tombstone, _summaries(trial))):
            for summary in shown:
                undo = Undo(summary.id)
                trial.append(undo)
                undone.append(Written(name, undo))
    return undone


def _summaries(transcript: Transcript) -> list[Item]:
    view = transcript.view
    return [view.log.item(position) for position in view.shape.summaries]
