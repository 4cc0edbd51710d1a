"""Forgetting: content is gone from memory and from the store, and a tombstone stays where it was.

It reaches all conversations that may hold it: the one, its forks, and where they began. It is noted in each
before anything is emptied, so that who reads on reads again until it is done, who is about to write what he
read before is stopped, and who opens a conversation after a crash can finish it.
"""

import logging
from collections.abc import Collection, Iterable
from functools import partial

from quire.errors import UnknownId, cut
from quire.items import JSON, Item, Note, Undo
from quire.session.emptying import Emptying, copied_notes, emptied_notes
from quire.session.families import family, pasts
from quire.session.ledger import Ledger
from quire.session.streams import FORGOTTEN, POOL, STEPS, is_own
from quire.session.tombstones import is_tombstone, texts_of
from quire.session.workspace import Workspace, Written
from quire.state import Transcript

logger = logging.getLogger("quire.session")


def forget(ledger: Ledger, ids: Collection[str]) -> None:
    """Forget items of a conversation, here and wherever forks and merges took them.

    The others are emptied first: as long as the items are here, one knows what to look for.
    """
    ledger.catch_up()
    recorded = ledger.recorded()
    for item_id in set(ids) - {item.id for _, item in recorded}:
        raise UnknownId(f"no item {cut(item_id)!r} in {ledger.place}")
    texts = {text for _, item in recorded if item.id in ids for text in texts_of(item)}
    concerned = _begun(ledger, ids)
    for one in sorted(concerned, key=lambda one: one is ledger):
        _empty(one, set(ids), texts)
    # Also where there was nothing left to empty: a store that failed before has yet to wipe its files.
    ledger.store.forget(ledger.place, {})
    for one in reversed(concerned):
        _finish(one, set(ids))
    logger.info("forgot %d items of %s", len(ids), ledger.place)


def forget_all(ledger: Ledger) -> None:
    """Forget all that was said and kept in a conversation."""
    forget(ledger, {item.id for stream, item in ledger.recorded() if _is_said(stream)})


def _is_said(stream: str) -> bool:
    return stream in (POOL, STEPS) or not is_own(stream)


def finish_forgetting(ledger: Ledger) -> None:
    """Forget what somebody began to and did not finish: here, or where a fork has its past from."""
    for one in (*reversed(list(pasts(ledger))), ledger):
        for begun in list(one.workspace.forgetting.values()):
            _forget_again(ledger, set(begun.content["ids"]))
    _forget_as_the_past(ledger)


def _forget_again(ledger: Ledger, ids: set[str]) -> None:
    concerned = family(ledger)
    for one in concerned:
        if ids <= {item.id for _, item in one.recorded()}:
            forget(one, ids)
    for one in reversed(concerned):
        _finish(one, ids)


def _forget_as_the_past(ledger: Ledger) -> None:
    """Empty the notes of a fork that were forgotten where it began while it was being made."""
    origin, past = ledger.workspace.origin, next(pasts(ledger), None)
    if origin is None or past is None or past.workspace.forgotten == origin.content.get("forgotten"):
        return
    gone = emptied_notes(past) & copied_notes(ledger)
    if gone:
        forget(ledger, gone)


def _begun(ledger: Ledger, ids: Collection[str]) -> list[Ledger]:
    """Note that it begins, the first conversation of all first; a fork made meanwhile is found too."""
    begun: dict[object, Ledger] = {}
    while new := [one for one in family(ledger) if one.place not in begun]:
        for one in new:
            note = Note(content={"ids": sorted(ids)}, description="forgetting")
            one.commit(partial(_noted, note))
            begun[one.place] = one
    return list(begun.values())


def _noted(note: Note, _: Workspace) -> list[Written]:
    return [Written(FORGOTTEN, note)]


def _done(begun: Note) -> Written:
    return Written(FORGOTTEN, Note(content={"of": begun.id}, description="forgotten"))


def _empty(ledger: Ledger, ids: set[str], texts: set[str]) -> None:
    with ledger.lock:
        emptying = Emptying(ledger.workspace, ids, texts)
        try:
            while bodies := {v: JSON.encode_item(left) for v, left in emptying.left(ledger.recorded())}:
                ledger.store.forget(ledger.place, bodies)  # others may write it again meanwhile
        finally:
            ledger.reload()


def _finish(ledger: Ledger, ids: set[str]) -> None:
    """Say that it is done, also what others began of it, and take back summaries that are empty."""
    with ledger.lock:
        ledger.reload()
        begun = [note for note in ledger.workspace.forgetting.values() if ids.issuperset(note.content["ids"])]
        ledger.commit(lambda workspace: [*map(_done, begun), *_taken_back(workspace)])


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


def _summaries(transcript: Transcript) -> Iterable[Item]:
    view = transcript.view
    return [view.log.item(position) for position in view.shape.summaries]
