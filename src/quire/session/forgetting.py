"""Forgetting: content is gone from memory and from the store, and a tombstone stays where it was.

It reaches all conversations that may hold it: the one, its forks, where they began, what was begun beside
them, all that were merged with any of these, and those who recalled some of it. It is noted in each before
anything is emptied, so that who reads on reads again until it is done, who is about to write what he read
before is stopped, and who opens a conversation after a crash can finish it. What was made of it is noted too:
once some of it is empty, nobody could find the rest. When it is empty everywhere, only the files are left to
be wiped.
"""

import logging
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from quire.items import JSON, Item, Note, Summary, Undo, new_id
from quire.session.emptying import Emptying, copied_notes, emptied_notes
from quire.session.families import above, pasts, recallers, relatives
from quire.session.forgettable import check_forgettable, may_go
from quire.session.ledger import Ledger
from quire.session.traces import Read, Times, Traces
from quire.session.wiping import try_to_wipe, wipe
from quire.session.workspace import Workspace, Written
from quire.state import Transcript
from quire.stores import Place, Store
from quire.stores.recalls import digest_of, forgetting, recalled_from
from quire.stores.streams import FORGOTTEN, POOL, RECALLED, STEPS, is_own
from quire.stores.tombstones import is_tombstone

logger = logging.getLogger("quire.session")

_at_work: "WeakKeyDictionary[Store, dict[str, RLock]]" = WeakKeyDictionary()
"""Who forgets in a scope of a store here: one at a time, or all would do the work of each other."""

os.register_at_fork(after_in_child=_at_work.clear)


def forget(ledger: Ledger, ids: Collection[str]) -> None:
    """Forget items that a conversation has, here and wherever forks and merges took them or their past."""
    ledger.catch_up()
    check_forgettable(ledger, ids)
    with _alone(ledger.store, ledger.place.scope):
        others = _digests(ledger.store.conversations(ledger.place.scope))
        traces = Traces(ids, {}, apart=others)
        for item in _named_in(ledger, ids):
            traces.know(item)
        wipe(_carried_out([ledger], traces))
    logger.info("forgot %d items of %s", len(ids), ledger.place)


def forget_all(ledger: Ledger) -> None:
    """Forget all that was said and kept in a conversation; of a fork, not what it began with."""
    recorded = ledger.recorded()
    forget(ledger, {item.id for stream, item in recorded if _is_said(stream) and may_go(stream, item)})


def forget_recalled(store: Store, place: Place, ids: Collection[str]) -> None:
    """Forget what others recalled of items that go from a conversation, or of all of it where none is named.

    That is for what goes without a session: `forget` looks for those who recalled by itself.
    """
    with _alone(store, place.scope):
        found = recallers(store, place.scope, [place.conversation])
        gone = ids or set[str]().union(*(_recalled_by(ledger, place.conversation) for ledger in found))
        if found and gone:
            others = _digests(name for name in store.conversations(place.scope) if name != place.conversation)
            wipe(_carried_out(found, Traces(gone, {}, apart=others), elsewhere=True))


def finish_forgetting(ledger: Ledger) -> None:
    """Forget what somebody began to and did not finish: here, or above, where it is noted first.

    Files that others keep in use are left to whoever comes next: nobody has to wait for that.
    """
    if _begun_in(ledger):
        with _alone(ledger.store, ledger.place.scope):
            begun = _begun_in(ledger)  # who was at work may have finished meanwhile
            for elsewhere in (False, True):
                notes = [note for note in begun if note.get("elsewhere", False) is elsewhere]
                if notes:
                    _carried_out([ledger], _noted(ledger, notes), elsewhere=elsewhere)
    try_to_wipe(ledger)
    _forget_as_the_past(ledger)


def _is_said(stream: str) -> bool:
    return stream in (POOL, STEPS) or not is_own(stream)


def _alone(store: Store, scope: str) -> RLock:
    return _at_work.setdefault(store, {}).setdefault(scope, RLock())


def _begun_in(ledger: Ledger) -> list[Mapping[str, Any]]:
    """What says that somebody began to forget, here or above."""
    found: list[Mapping[str, Any]] = []
    for one in (ledger, *above(ledger)):
        one.catch_up()
        found += [note.content for note in one.workspace.forgetting.values()]
    return found


def _noted(ledger: Ledger, notes: Sequence[Mapping[str, Any]]) -> Traces:
    """What notes say that is to be forgotten."""
    times: dict[str, set[float]] = {}
    for note in notes:
        known: Times | None = note.get("times")
        for item_id, found in (known or {}).items():
            times.setdefault(item_id, set()).update(found)
        if known is None and not note.get("elsewhere"):  # an older version did not say
            for item in _named_in(ledger, set(note["ids"])):
                times.setdefault(item.id, set()).add(item.created_at)
    ids = {item_id for note in notes for item_id in note["ids"]}
    return Traces(ids, times, made={item_id for note in notes for item_id in note.get("made", ())})


def _named_in(ledger: Ledger, ids: Collection[str]) -> Iterator[Item]:
    """The items of some ids in a conversation and in its past."""
    yield from (item for _, item in ledger.recorded() if item.id in ids)
    yield from (item for item_id in ids for item in ledger.workspace.inherited(item_id))


def _digests(conversations: Iterable[str]) -> list[str]:
    return list(map(digest_of, conversations))


def _recalled_by(ledger: Ledger, conversation: str) -> set[str]:
    """The ids of all that one recalled from a conversation."""
    return recalled_from(ledger.read_at(ledger.workspace.versions(RECALLED)), conversation)


def _carried_out(begun: Sequence[Ledger], traces: Traces, *, elsewhere: bool = False) -> list[Ledger]:
    """Note it everywhere, find what was made of it, note that too, and empty it all; where that was.

    `elsewhere` says that those it begins with only recalled it. The files are yet to be wiped.
    """
    ids, logs = frozenset(traces.ids), dict[Place, Read]()
    concerned, recalling = dict[Place, Ledger](), set[Place]()
    first, late = begun[0], begun
    while late:
        is_elsewhere = elsewhere or late is not begun
        new = _note(late, forgetting(ids, times=traces.times, elsewhere=is_elsewhere), concerned)
        recalling.update(new if is_elsewhere else ())
        logs = {place: _read(one) for place, one in concerned.items()}
        traces.follow(list(logs.values()))
        late = _late(first, logs, traces)
    for one in concerned.values():
        is_elsewhere = one.place in recalling
        note = forgetting(traces.ids, made=traces.made, times=traces.times, elsewhere=is_elsewhere)
        one.commit(partial(_begun, note))
        one.lost(traces.ids, traces.texts)
    # Where the items themselves are comes last: as long as they are there, one knows what to look for.
    for one in sorted(concerned.values(), key=lambda one: _has(logs[one.place], traces)):
        _empty(one, traces)
    mark = new_id()
    for one in concerned.values():
        _finish(one, traces.ids, mark)
    # Who said that he recalls before this looked for it again after, and found nothing more.
    late = _late(first, logs, traces)
    return [*concerned.values(), *(_carried_out(late, traces, elsewhere=True) if late else ())]


def _late(first: Ledger, logs: Mapping[Place, Read], traces: Traces) -> list[Ledger]:
    """Who recalled from conversations that hold some of it, and was not looked at yet."""
    holding = [place.conversation for place, log in logs.items() if _has(log, traces)]
    return recallers(first.store, first.place.scope, holding, but=logs)


def _note(begun: Sequence[Ledger], note: Note, noted: dict[Place, Ledger]) -> set[Place]:
    """Note that it begins, the first conversation of all first; what is forked or merged meanwhile too.

    Where that was.
    """
    known = set(noted)
    while new := relatives([*begun, *noted.values()], but=noted):
        for one in new:
            one.commit(partial(_begun, replace(note, id=new_id())))
            noted[one.place] = one
    return noted.keys() - known


def _begun(note: Note, workspace: Workspace) -> list[Written]:
    """What says that it begins, unless somebody said so."""
    said = any(_says_all(begun.content, note.content) for begun in workspace.forgetting.values())
    return [] if said else [Written(FORGOTTEN, note)]


def _says_all(begun: Mapping[str, Any], note: Mapping[str, Any]) -> bool:
    known = begun.get("times", {})
    times = note.get("times", {}).items()
    return set(note["ids"]).issubset(begun["ids"]) and all(
        set(found).issubset(known.get(item_id, ())) for item_id, found in times
    )


def _read(ledger: Ledger) -> Read:
    with ledger.lock:
        written = ledger.reload()
        return Read(ledger.place, ledger.workspace, written)


def _has(log: Read, traces: Traces) -> bool:
    ids = traces.ids_in(log)
    return any(item.id in ids for _, item in log.recorded)


def _empty(ledger: Ledger, traces: Traces) -> None:
    with ledger.lock:
        while True:  # others may write it again meanwhile
            log = _read(ledger)
            traces.follow([log])
            bodies = {version: JSON.encode_item(left) for version, left in Emptying(log, traces).left()}
            if not bodies:
                return
            ledger.store.replace(ledger.place, bodies)


def _finish(ledger: Ledger, ids: Collection[str], mark: str) -> None:
    """Say that it is empty, also what others began of it, and take back summaries that are empty."""
    with ledger.lock:
        ledger.reload()
        ledger.commit(lambda workspace: [*_done(workspace, ids, mark), *_taken_back(workspace)])


def _done(workspace: Workspace, ids: Collection[str], mark: str) -> Iterable[Written]:
    for begun in workspace.forgetting.values():
        if set(begun.content["ids"]).issubset(ids):
            said = {"of": begun.id, "unwiped": [mark]}
            yield Written(FORGOTTEN, Note(content=said, description="forgotten"))


def _forget_as_the_past(ledger: Ledger) -> None:
    """Empty the notes of a fork that were forgotten where it began while it was being made."""
    origin, past = ledger.workspace.origin, next(pasts(ledger), None)
    if origin is None or past is None or past.workspace.forgotten == origin.content.get("forgotten"):
        return
    gone = emptied_notes(past) & copied_notes(ledger)
    if gone:
        forget(ledger, gone)


def _taken_back(workspace: Workspace) -> list[Written]:
    """What brings back what emptied summaries stood for: each of them, also those under others."""
    undone: list[Written] = []
    for name, transcript in workspace.transcripts.items():
        trial = transcript.copy()
        while shown := [one for one in _summaries(trial) if one.spans and is_tombstone(one)]:
            for summary in shown:
                undo = Undo(summary.id)
                trial.append(undo)
                undone.append(Written(name, undo))
    return undone


def _summaries(transcript: Transcript) -> Iterable[Summary]:
    view = transcript.view
    found = map(view.get, view.shape.summaries())
    return [summary for summary in found if isinstance(summary, Summary)]
