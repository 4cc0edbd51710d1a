"""Forgetting by provenance: the content of items, and of all that names them as its source, is erased.

1. The intent is noted in every conversation that may hold the items: forks, relatives, those that quote them.
2. All that names them is found, in all of these together, and noted too.
3. Tombstones replace the entries. Summaries that were erased are undone, so that their other sources show.
4. The end is noted, and then the index and the files of the store are scrubbed.

After a crash at any step, the next session of one of the conversations finishes it. What is written after
step 1 and names an erased item is written as a tombstone (see `Log.commit`).
"""

import logging
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from threading import RLock
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import msgspec

from quire.compactors import handle_for
from quire.errors import Forgotten, InvalidValue, QuireError, UnknownId, cut
from quire.items import JSON, Hide, Item, Note, Summary, ToolCall, ToolResult, Undo, new_id
from quire.memory import Memory, on_removed
from quire.session.entries import AcceptedJob, forgotten_job, job_entry
from quire.session.log import CLAIMS, Entries, Log, open_log
from quire.session.pool import handle_of
from quire.session.state import PendingJob, State, Written, is_accepted_job, sources_of
from quire.state import Transcript
from quire.stores import Place, Store
from quire.stores.store import is_own, is_tombstone
from quire.stores.streams import (
    ALL,
    FORGOTTEN,
    JOBS,
    LINKS,
    MERGED,
    OUTPUTS,
    POOL,
    RECEIPT_PARTS,
    WIPED,
    digest_of,
    forgetting,
    holds_content,
    note_removed,
    tombstone,
)

logger = logging.getLogger("quire.session")

_locks: "WeakKeyDictionary[Store, RLock]" = WeakKeyDictionary()
"""Held during an erasure in a store: one at a time."""


def find(log: Log, text: str) -> list[str]:
    """The ids of items in all transcripts, the pool and jobs that wait that contain a text, in any case."""
    if not text.strip():
        raise InvalidValue("an empty text is in every item")
    wanted = text.casefold()
    log.root.catch_up()
    with log.lock:
        found: list[Item] = [item for one in log.state.transcripts.values() for item in one.recorded()]
        waiting = [item for job in log.state.jobs.pending.values() for item in (_given(job), *job.items)]
        items = {item.id: item for item in (*found, *log.state.pool, *waiting)}
    return [item.id for item in items.values() if any(wanted in one.casefold() for one in _texts(item))]


def _given(job: PendingJob) -> Note:
    """What a job that waits was given besides its items, under the id of its note."""
    entry = job.entry
    return Note(content=[entry.decisions, entry.parameters, entry.tools, entry.output], id=job.note)


def _texts(item: Item) -> Iterator[str]:
    """All texts of an item, except ids; those in the arguments of a call also as they are decoded."""
    if is_tombstone(item):
        return
    ids = ("id", "agent_id", "call_id", "spans", "target", "kind", "state")
    fields = msgspec.to_builtins(item)
    yield from _strings([value for name, value in fields.items() if name not in ids])
    if isinstance(item, ToolCall):
        with suppress(msgspec.DecodeError, RecursionError):
            yield from _strings(msgspec.json.decode(item.arguments))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        yield from _strings([*fields.keys(), *fields.values()])
    elif isinstance(value, list | tuple):
        for inner in cast("list[Any]", value):
            yield from _strings(inner)


# Conversations that share items


def merged_with(other: Place) -> Written:
    """The entry that says that two conversations share items; it is written in both."""
    return Written(MERGED, Note(content={"conversation": other.conversation}, description="merged"))


def is_related(one: Place, other: Place) -> bool:
    """Whether one of two conversations is below the other, or the same: then no entry has to say so."""
    names = one.conversation, other.conversation
    return one == other or names[0].startswith(f"{names[1]}/") or names[1].startswith(f"{names[0]}/")


def _relatives(logs: Sequence[Log]) -> list[Log]:
    """All conversations that may share items with some: below one address, forked, or merged; these too."""
    store, scope = logs[0].store, logs[0].place.scope
    names = {*store.conversations(scope), *(log.place.conversation for log in logs)}
    tops = {_top_of(name, names) for log in logs for name in _related_names(log)}
    below = tuple(f"{top}/" for top in tops)
    places = [Place(scope, name) for name in sorted(names) if name in tops or name.startswith(below)]
    known = {log.place: log for log in logs}
    return [known.get(log.place, log) for log in _opened(store, places)]


def _related_names(log: Log) -> list[str]:
    """The names of a conversation, of where it was forked, and of those it was merged with."""
    notes = [log.state.origin, *log.read_stream(MERGED)]
    others = [one.content["conversation"] for one in notes if isinstance(one, Note) and one.content]
    return [log.place.conversation, *others]


def _top_of(name: str, names: Collection[str]) -> str:
    return next((upper for upper in _names_above(name) if upper in names), name)


def _names_above(name: str) -> list[str]:
    """What stands before each slash of a name, the shortest first."""
    return [name[:place] for place, letter in enumerate(name) if letter == "/"]


def _opened(store: Store, places: Iterable[Place]) -> list[Log]:
    found: list[Log] = []
    for place in places:
        with suppress(Forgotten):  # a fork of a conversation that was removed
            found.append(open_log(store, place))
    return found


# Erasing


def forget(log: Log, ids: Sequence[str]) -> None:
    """Erase items of a conversation by their ids, or all items and notes of it."""
    log.catch_up()
    if not ids and log.place not in CLAIMS.get():  # unless a tool asks for it, whose turn would be lost
        log.commit(State.drop_jobs)
    with _locks.setdefault(log.store, RLock()):
        _Erasing(log.store, log.place.scope).run([_Family(log, _checked_ids(log, set(ids)))])
    logger.info("forgot items of %s", log.place.digest)


@on_removed
def _forget_removed(store: Store, place: Place, _: Collection[str]) -> None:
    """Erase what conversations quoted of something that was removed, as it was noted before."""
    if store.version(links := Place(place.scope, LINKS)):
        finish_erasing(open_log(store, links), waits=True)


def remove_conversation(store: Store, place: Place) -> None:
    """Remove a whole conversation from a store, with what others quoted of it."""
    if place.conversation == LINKS and any(name != LINKS for name in store.conversations(place.scope)):
        raise InvalidValue(f"{place} says which conversations quote which, and stays as long as they do")
    for _ in remove_conversations(store, {place: store.version(place)}):
        pass


def remove_conversations(store: Store, versions: Mapping[Place, int]) -> Iterator[Place]:
    """Remove whole conversations, with what others quoted of them, and give each that is removed.

    One that has another version by now stays. The files of the store are scrubbed once, at the end.
    """
    try:
        # The last name first: a fork goes before what it was forked from.
        for scope, group in groupby(sorted(versions, reverse=True), lambda place: place.scope):
            places = [place for place in group if store.version(place) == versions[place]]
            for place in places:
                note_removed(store, place, [ALL])
            _forget_removed(store, Place(scope, LINKS), ())
            with suppress(InvalidValue):  # within a sealed store
                Memory.remove_forgotten(store, scope)
            for place in places:
                store.remove(place)
                yield place
            if all(name == LINKS for name in store.conversations(scope)):
                store.remove(Place(scope, LINKS))
    finally:
        store.scrub()


def finish_erasing(log: Log, *, waits: bool = False) -> None:
    """Finish what was begun in a conversation or above it, and not finished: its process may be gone."""
    above = [Place(log.place.scope, name) for name in _names_above(log.place.conversation)]
    places = [place for place in above if log.store.version(place)]
    logs = {one.place: one for one in (log, *_opened(log.store, places), *_links_to_finish(log))}.values()
    if any(one.state.forgetting for one in logs):
        with _locks.setdefault(log.store, RLock()):
            families, names = list[_Family](), set[str]()
            for one in logs:
                begun = [note.content for note in one.state.forgetting.values()]
                ids = {item_id for content in begun for item_id in content["ids"]}
                names |= {name for content in begun for name in content["names"]} - ids
                families += [_Family(one, ids)] if begun else []
            if families:
                _Erasing(log.store, log.place.scope, names).run(families, waits=waits)
    elif log.state.unwiped:
        _scrub(_relatives([log]), waits=waits)
    if log.state.origin is not None:  # what was forgotten where a fork began while it was being made
        parent = open_log(log.store, Place(log.place.scope, log.state.origin.content["conversation"]))
        notes = log.read_stream(POOL) if parent.state.erased_names else []
        gone = {note.id for note in notes if note.id in parent.state.erased_names and not is_tombstone(note)}
        if gone:
            forget(log, sorted(gone))


def _links_to_finish(log: Log) -> list[Log]:
    """The log of links of a scope, unless nothing was noted in it since all of it was finished."""
    links = Place(log.place.scope, LINKS)
    finished: dict[Place, int] = log.store.attached.setdefault("links", {})
    version = log.links_version()
    if version == finished.get(links, 0):
        return []
    found = open_log(log.store, links)
    if not found.state.forgetting:
        finished[links] = version
    return [found]


def _may_go(stream: str, item: Item) -> bool:
    """Whether an entry can be erased: it holds content, and is no note of the session itself."""
    is_note = stream == JOBS and isinstance(item, Note) and item.key is not None and not is_accepted_job(item)
    return holds_content(stream) and not is_note


def _checked_ids(log: Log, ids: Collection[str]) -> set[str]:
    """The ids, or without any those of all items and notes; an error if one cannot be erased here."""
    entries = {item.id: stream for stream, item in log.recorded() if _may_go(stream, item)}
    for item_id in ids:
        is_inherited = log.state.origin is not None and _has_inherited(log.state, [item_id])
        if item_id not in entries and not is_inherited:
            raise UnknownId(f"no item {cut(item_id)!r} in {log.place} that can be forgotten here")
    said = {one for one, stream in entries.items() if not is_own(stream) or stream in (POOL, JOBS)}
    return set(ids) or said


def _has_inherited(state: State, ids: Iterable[str]) -> bool:
    """Whether an item of some ids is from before the log began."""
    return any(True for item_id in ids for _ in state.inherited(item_id))


class _Row(NamedTuple):
    """An entry that can be erased, and all names that bind it to others."""

    stream: str
    item: Item
    names: Collection[str]


class _Family:
    """Conversations that share items, and what is to be erased in them: ids, and handles of long outputs."""

    def __init__(self, log: Log, ids: set[str]) -> None:
        self.logs = [log]
        self.ids = ids
        self.handles = set[str]()


class _Erasing:
    """One run: over all families of conversations that hold, share or quote the items.

    `names` are those by which other conversations name what is to be erased: `digest/id`, or `digest/*`.
    """

    def __init__(self, store: Store, scope: str, names: Iterable[str] = ()) -> None:
        self.store, self.scope = store, scope
        self.families: list[_Family] = []
        self.names = set(names)

    def run(self, families: list[_Family], *, waits: bool = True) -> None:
        """Erase all of it; with `waits`, raise an error if the files cannot be scrubbed now."""
        while families:
            self.families += families
            for family in families:
                self._note(family)
            self._close_over()
            known = {log.place for _, log in self._all()}
            families = [_Family(log, set()) for log in self._quoting() if log.place not in known]
        for family, log in self._all():
            self._begin(log, family)
        for family, log in self._all():
            self._empty(log, family)
        mark = new_id()
        for family, log in self._all():
            log.reload()
            log.commit(lambda state: _done(family, mark, state))  # noqa: B023
        _scrub([log for _, log in self._all()], waits=waits)

    def _all(self) -> list[tuple[_Family, Log]]:
        return [(family, log) for family in self.families for log in family.logs]

    def _note(self, family: _Family) -> None:
        """Note the intent in all conversations of a family; others may be forked or merged meanwhile."""
        noted: dict[Place, Log] = {}
        while new := [log for log in _relatives(family.logs) if log.place not in noted]:
            for log in new:
                self._begin(log, family)
                noted[log.place] = log
            family.logs = list(noted.values())

    def _begin(self, log: Log, family: _Family) -> None:
        """Note the intent, unless one that is not finished says as much."""
        own = digest_of(log.place.conversation)
        intent = forgetting(family.ids, [name for name in self.names if name.partition("/")[0] != own])

        def entries(state: State) -> Entries:
            is_noted = any(begun.content == intent.content for begun in state.forgetting.values())
            return [] if is_noted else [Written(FORGOTTEN, intent)]

        log.commit(entries)

    def _quoting(self) -> list[Log]:
        """The logs of conversations that quoted one of which something is to be erased."""
        links = Place(self.scope, LINKS)
        if not self.store.version(links):
            return []
        sources = {name.partition("/")[0] for name in self.names}
        by = {one for source, one in open_log(self.store, links).state.quote_links if source in sources}
        names = [name for name in self.store.conversations(self.scope) if digest_of(name) in by]
        return _opened(self.store, [Place(self.scope, name) for name in names])

    def _close_over(self) -> None:
        """Find all that names what is to be erased, in all families, until there is no more."""
        rows = [(family, log, _rows(log.reload())) for family, log in self._all()]
        found = -1
        while found < len(self.names):
            found = len(self.names)
            for family, log, own in rows:
                digest = digest_of(log.place.conversation)
                for item in self._derived(family, log.state, own):
                    family.ids.add(item.id)
                    family.handles |= _handles_of(item)
                    self.names.add(f"{digest}/{item.id}")

    def _derived(self, family: _Family, state: State, rows: Sequence[_Row]) -> Iterator[Item]:
        """The entries of a log that are to be erased: they are named, or name what is."""
        covered = {name: _Covered(transcript, family.ids) for name, transcript in state.transcripts.items()}
        # A request of which a source is ALL ("*") may show whatever the conversation had by then: it is
        # erased if an entry before it is, or an item of the past of a fork.
        one_went_before = _has_inherited(state, family.ids)
        for stream, item, names in rows:
            is_named = any(self._is_gone(family, name) for name in names)
            is_made_of_all = one_went_before and ALL in names
            is_covering = isinstance(item, Summary) and stream in covered and covered[stream].by(item)
            if is_named or is_made_of_all or is_covering:
                one_went_before = one_went_before or stream != RECEIPT_PARTS
                yield item

    def _is_gone(self, family: _Family, name: str) -> bool:
        is_own = name in family.ids or name in family.handles
        return is_own or name in self.names or f"{name.partition('/')[0]}/{ALL}" in self.names

    def _empty(self, log: Log, family: _Family) -> None:
        with log.lock:
            bodies = {version: JSON.encode_item(left) for version, left in _left(log.reload(), family.ids)}
            if bodies:
                self.store.replace(log.place, bodies)


def _scrub(logs: Sequence[Log], *, waits: bool) -> None:
    """Remove what was erased from the index and the files of the store, and note that."""
    store, marks = logs[0].store, set[str]().union(*(log.state.unwiped for log in logs))

    def wiped(state: State) -> Entries:
        done = sorted(state.unwiped & marks)
        return [Written(WIPED, Note(content={"of": done}, description="wiped"))] if done else []

    try:
        Memory.remove_forgotten(store, logs[0].place.scope)
        store.scrub(wait=waits)
        for log in logs:
            log.commit(wiped)
    except QuireError as fault:
        if waits:
            raise
        logger.warning("what was forgotten in %s is still in its files: %s", logs[0].place.digest, fault)


def _done(family: _Family, mark: str, state: State) -> Entries:
    """The end of all intents of a family, and what undoes its erased summaries."""
    ends = [
        Written(FORGOTTEN, Note(content={"of": begun.id, "unwiped": [mark]}, description="forgotten"))
        for begun in state.forgetting.values()
        if family.ids.issuperset(begun.content["ids"])
    ]
    for name, transcript in state.transcripts.items():
        trial = transcript.copy()
        while shown := [one for one in trial.view.summaries() if one.spans and is_tombstone(one)]:
            for summary in shown:  # others under it may show now
                undo = Undo(summary.id, origin="model")
                trial.append(undo)
                ends.append(Written(name, undo))
    return ends


def _left(entries: Entries, ids: Collection[str]) -> Iterator[tuple[int, Item]]:
    """What replaces the entries that are erased, by version."""
    keys: dict[str | None, str] = {}  # of the pool: the last note of each key
    for version, (stream, item) in enumerate(entries, 1):
        if is_tombstone(item) or not _may_go(stream, item):
            continue
        extras: dict[str, str] = {}
        is_gone = item.id in ids
        if stream == POOL and isinstance(item, Hide):  # it has the key of the note
            is_gone = any(span.first in ids for span in item.spans)
        elif stream == POOL and isinstance(item, Note):
            extras = {"instead_of": keys[item.key]} if item.key in keys else {}
            keys[item.key] = item.id
        if is_gone and stream == JOBS and is_accepted_job(item):
            yield version, forgotten_job(item)
        elif is_gone:
            yield version, tombstone(item, **extras)


# Provenance


def _rows(entries: Entries) -> list[_Row]:
    """The entries that can be erased, with what they name."""
    brought_by = _brought(entries)
    return [
        _Row(stream, item, {item.id, *sources_of(item), *_handles_of(item), *brought_by.get(item.id, ())})
        for stream, item in entries
        if _may_go(stream, item)
    ]


def _brought(entries: Entries) -> dict[str, set[str]]:
    """By the notes that jobs were accepted: the ids of the messages and results that the jobs brought.

    The result of a call that a job has decided is one of them: its text may be the reason that was given.
    """
    calls = {item.id: item.call_id for _, item in entries if isinstance(item, ToolCall)}
    results: dict[str, set[str]] = {}
    for _, item in entries:
        if isinstance(item, ToolResult):
            results.setdefault(item.call_id, set()).add(item.id)
    found: dict[str, set[str]] = {}
    brought, before = set[str](), 0
    for item in (item for stream, item in entries if stream == JOBS):
        if before:
            before -= 1
        elif isinstance(entry := job_entry(item), AcceptedJob):
            decided = (results.get(calls.get(name, name), ()) for name in entry.decisions)
            brought, before = set[str]().union(*decided), entry.before
            found[item.id] = brought
        elif entry is None:
            brought.add(item.id)
    return found


def _handles_of(item: Item) -> set[str]:
    """The handles of the long output that an item holds, or shows the ends of."""
    if isinstance(item, Note):
        handle = handle_of(item)
        return set() if handle is None else {handle}
    return {*item.extras.get(OUTPUTS, ()), handle_for(item.id)} if isinstance(item, ToolResult) else set()


class _Covered:
    """The places of some ids in a transcript, and which summaries stand for one of them."""

    def __init__(self, transcript: Transcript, ids: Collection[str]) -> None:
        self._view, self._ids = transcript.view, ids
        found = (self._view.log.find(item_id, self._view.end) for item_id in ids)
        self._places = sorted(place for place in found if place is not None)

    def by(self, summary: Summary) -> bool:
        """Whether a summary covers one of them, or folds in another that is erased."""
        log, end = self._view.log, self._view.end
        if not self._places or log.find(summary.id, end) is None:
            return False
        if any(span.first == span.last and span.first in self._ids for span in summary.spans):
            return True
        starts = [(bisect_left(self._places, start), stop) for start, stop in log.area(summary, end)]
        return any(n < len(self._places) and self._places[n] < stop for n, stop in starts)
