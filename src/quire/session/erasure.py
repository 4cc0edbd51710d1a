"""Erasure: erases the content of items, and of everything that has them as a source.

1. An intent is noted in each conversation that may have the items: relatives, and those that quote them.
2. In all of them, the items that have an erased item as a source are found, and noted too.
3. Tombstones replace the entries. Erased summaries are undone, so that their other sources are shown again.
4. The end is noted, and the index and the files of the store are wiped.

After a crash at any step, the next session of one of the conversations completes the erasure. From step 1 on,
a new item with an erased source is written as a tombstone (see `Log.commit`).
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
from quire.session.log import CLAIMS, Entries, Log, notice_removal, open_log
from quire.session.pool import handle_of
from quire.session.provenance import places_quoting
from quire.session.state import PendingJob, State, Written, is_accepted_job, sources_of
from quire.state import Transcript
from quire.stores import Place, Store
from quire.stores.store import is_internal, is_tombstone
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
"""By store, a lock that is held during an erasure."""


def find(log: Log, text: str) -> list[str]:
    """The ids of items that contain a text, ignoring case: in transcripts, the pool and pending jobs."""
    if not text.strip():
        raise InvalidValue("an empty text is in every item")
    wanted = text.casefold()
    log.root.catch_up()
    with log.lock:
        recorded = [item for transcript in log.state.transcripts.values() for item in transcript.recorded()]
        of_jobs = [item for job in log.state.jobs.pending.values() for item in (_arguments(job), *job.items)]
        items = {item.id: item for item in (*recorded, *log.state.pool, *of_jobs)}
    return [item.id for item in items.values() if any(wanted in each.casefold() for each in _texts(item))]


def _arguments(job: PendingJob) -> Note:
    """What a pending job has beside its items, as a note under the id of the note that accepted it."""
    entry = job.entry
    return Note(content=[entry.decisions, entry.parameters, entry.tools, entry.output], id=job.note)


def _texts(item: Item) -> Iterator[str]:
    """All texts of an item except ids. The arguments of a call are included encoded and decoded."""
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
    """The entry that records that two conversations share items. It is written in both."""
    return Written(MERGED, Note(content={"conversation": other.conversation}, description="merged"))


def is_related(first: Place, second: Place) -> bool:
    """Whether the addresses of two conversations show that they may share items: one is below the other."""
    names = first.conversation, second.conversation
    return first == second or names[0].startswith(f"{names[1]}/") or names[1].startswith(f"{names[0]}/")


def _relatives(logs: Sequence[Log]) -> list[Log]:
    """These conversations and all that may share items with them: below one address, forked, or merged."""
    store, scope = logs[0].store, logs[0].place.scope
    names = {*store.conversations(scope), *(log.place.conversation for log in logs)}
    tops = {_top_of(name, names) for log in logs for name in _related_names(log)}
    below = tuple(f"{top}/" for top in tops)
    places = [Place(scope, name) for name in sorted(names) if name in tops or name.startswith(below)]
    log_by_place = {log.place: log for log in logs}
    return [log_by_place.get(log.place, log) for log in _opened(store, places)]


def _related_names(log: Log) -> list[str]:
    """The names of a conversation, of its parent, and of the conversations it was merged with."""
    notes = [log.state.origin, *log.read_stream(MERGED)]
    others = [note.content["conversation"] for note in notes if isinstance(note, Note) and note.content]
    return [log.place.conversation, *others]


def _top_of(name: str, names: Collection[str]) -> str:
    return next((upper for upper in _names_above(name) if upper in names), name)


def _names_above(name: str) -> list[str]:
    """The part before each slash of a name, the shortest first."""
    return [name[:index] for index, letter in enumerate(name) if letter == "/"]


def _opened(store: Store, places: Iterable[Place]) -> list[Log]:
    logs: list[Log] = []
    for place in places:
        with suppress(Forgotten):  # a fork of a conversation that was removed
            logs.append(open_log(store, place))
    return logs


# Erasing


def forget(log: Log, ids: Sequence[str]) -> None:
    """Erase items of a conversation by their ids, or all items and notes of it."""
    log.catch_up()
    if not ids and log.place not in CLAIMS.get():  # a tool that calls this must not end its own job
        log.commit(State.drop_jobs)
    with _locks.setdefault(log.store, RLock()):
        _Erasing(log.store, log.place.scope).run([_Family(log, _checked_ids(log, set(ids)))])
    logger.info("forgot items of %s", log.place.digest)


@on_removed
def _forget_removed(store: Store, place: Place, _: Collection[str]) -> None:
    """Erase the quotes of a removed conversation or document. `note_removed` has noted the intent."""
    if store.version(links := Place(place.scope, LINKS)):
        finish_erasing(open_log(store, links), waits=True)


def remove_conversation(store: Store, place: Place) -> None:
    """Remove a whole conversation from a store, and the quotes of it in other conversations."""
    if place.conversation == LINKS and any(name != LINKS for name in store.conversations(place.scope)):
        raise InvalidValue(f"{place} says which conversations quote which, and stays as long as they do")
    for _ in remove_conversations(store, {place: store.version(place)}):
        pass


def remove_conversations(store: Store, versions: Mapping[Place, int]) -> Iterator[Place]:
    """Remove whole conversations and the quotes of them in others; yield each one removed.

    A conversation whose version has changed stays. The files of the store are scrubbed once, at the end.
    """
    try:
        # In reverse order of names, so that a fork is removed before its parent.
        for scope, group in groupby(sorted(versions, reverse=True), lambda place: place.scope):
            places = [place for place in group if store.version(place) == versions[place]]
            for place in places:
                note_removed(store, place, [ALL])
            _forget_removed(store, Place(scope, LINKS), ())
            with suppress(InvalidValue):  # encrypted with another key
                Memory.remove_forgotten(store, scope)
            for place in places:
                store.remove(place)
                notice_removal(store, place)
                yield place
            if all(name == LINKS for name in store.conversations(scope)):
                store.remove(Place(scope, LINKS))
    finally:
        store.scrub()


def finish_erasing(log: Log, *, waits: bool = False) -> None:
    """Complete unfinished erasures in a conversation or above it: their process may have ended."""
    above = [Place(log.place.scope, name) for name in _names_above(log.place.conversation)]
    places = [place for place in above if log.store.version(place)]
    logs = {each.place: each for each in (log, *_opened(log.store, places), *_links_to_finish(log))}.values()
    if any(each.state.forgetting for each in logs):
        with _locks.setdefault(log.store, RLock()):
            families, names = list[_Family](), set[str]()
            for each in logs:
                intents = [note.content for note in each.state.forgetting.values()]
                ids = {item_id for intent in intents for item_id in intent["ids"]}
                names |= {name for intent in intents for name in intent["names"]} - ids
                families += [_Family(each, ids)] if intents else []
            if families:
                _Erasing(log.store, log.place.scope, names).run(families, waits=waits)
    elif log.state.unwiped:
        _wipe(_relatives([log]), waits=waits)
    if log.state.origin is not None:  # notes may have been forgotten in the parent while the fork was made
        parent = open_log(log.store, Place(log.place.scope, log.state.origin.content["conversation"]))
        notes = log.read_stream(POOL) if parent.state.erased_names else []
        erased = [
            note.id for note in notes if note.id in parent.state.erased_names and not is_tombstone(note)
        ]
        if erased:
            forget(log, sorted(set(erased)))


def _links_to_finish(log: Log) -> list[Log]:
    """The log `LINKS` of a scope, unless it has no new entry since its erasures were completed."""
    links = Place(log.place.scope, LINKS)
    completed: dict[Place, int] = log.store.attached.setdefault("links", {})
    version = log.links_version()
    if version == completed.get(links, 0):
        return []
    links_log = open_log(log.store, links)
    if not links_log.state.forgetting:
        completed[links] = version
    return [links_log]


def _is_erasable(stream: str, item: Item) -> bool:
    """Whether an entry has content: not if it only says that a job was claimed, cancelled or ended."""
    if stream == JOBS and isinstance(item, Note) and item.key is not None:
        return is_accepted_job(item)
    return holds_content(stream)


def _checked_ids(log: Log, ids: Collection[str]) -> set[str]:
    """Check that ids can be erased here; without ids, return those of all items and notes."""
    streams = {item.id: stream for stream, item in log.recorded() if _is_erasable(stream, item)}
    for item_id in ids:
        is_inherited = log.state.origin is not None and _has_inherited(log.state, [item_id])
        if item_id not in streams and not is_inherited:
            raise UnknownId(f"no item {cut(item_id)!r} in {log.place} that can be forgotten here")
    if ids:
        return set(ids)
    return {name for name, stream in streams.items() if not is_internal(stream) or stream in (POOL, JOBS)}


def _has_inherited(state: State, ids: Iterable[str]) -> bool:
    """Whether one of the ids is that of an inherited item."""
    return any(next(state.inherited(item_id), None) is not None for item_id in ids)


class _Row(NamedTuple):
    """An erasable entry, with the ids and handles of it and of its sources."""

    stream: str
    item: Item
    names: Collection[str]


class _Family:
    """Conversations that share items, and what to erase in them: ids, and handles of long outputs."""

    def __init__(self, log: Log, ids: set[str]) -> None:
        self.logs = [log]
        self.ids = ids
        self.handles = set[str]()


class _Erasing:
    """One erasure, in all families of conversations that have, share or quote the items.

    `names` are the names that other conversations use for the erased items: `digest/id`, or `digest/*`.
    """

    def __init__(self, store: Store, scope: str, names: Iterable[str] = ()) -> None:
        self.store, self.scope = store, scope
        self.families: list[_Family] = []
        self.names = set(names)

    def run(self, families: list[_Family], *, waits: bool = True) -> None:
        """Carry out the erasure; with `waits`, raise an error if the files cannot be wiped now."""
        while families:
            self.families += families
            for family in families:
                self._note_intent(family)
            self._find_derived()
            places = {log.place for _, log in self._families_with_logs()}
            families = [_Family(log, set()) for log in self._quoting_logs() if log.place not in places]
        for family, log in self._families_with_logs():
            self._begin(log, family)
        for family, log in self._families_with_logs():
            self._replace_entries(log, family)
        erasure_id = new_id()
        for family, log in self._families_with_logs():
            log.reload()
            log.commit(lambda state: _ends(family, erasure_id, state))  # noqa: B023
        _wipe([log for _, log in self._families_with_logs()], waits=waits)

    def _families_with_logs(self) -> list[tuple[_Family, Log]]:
        return [(family, log) for family in self.families for log in family.logs]

    def _note_intent(self, family: _Family) -> None:
        """Note the intent in all conversations of a family, until no new one is forked or merged."""
        noted: dict[Place, Log] = {}
        while new := [log for log in _relatives(family.logs) if log.place not in noted]:
            for log in new:
                self._begin(log, family)
                noted[log.place] = log
            family.logs = list(noted.values())

    def _begin(self, log: Log, family: _Family) -> None:
        """Note the intent, unless an equal one is unfinished."""
        own_digest = digest_of(log.place.conversation)
        intent = forgetting(family.ids, [name for name in self.names if name.partition("/")[0] != own_digest])

        def entries(state: State) -> Entries:
            is_noted = any(note.content == intent.content for note in state.forgetting.values())
            return [] if is_noted else [Written(FORGOTTEN, intent)]

        log.commit(entries)

    def _quoting_logs(self) -> list[Log]:
        """The logs of conversations that quoted one with items to erase."""
        sources = {name.partition("/")[0] for name in self.names}
        return _opened(self.store, places_quoting(self.store, self.scope, sources))

    def _find_derived(self) -> None:
        """Add the items of all families that have an erased item as a source, until no more are found."""
        rows = [(family, log, _rows(log.reload())) for family, log in self._families_with_logs()]
        known_count = -1
        while known_count < len(self.names):
            known_count = len(self.names)
            for family, log, own_rows in rows:
                digest = digest_of(log.place.conversation)
                for item in self._derived(family, log.state, own_rows):
                    family.ids.add(item.id)
                    family.handles |= _handles_of(item)
                    self.names.add(f"{digest}/{item.id}")

    def _derived(self, family: _Family, state: State, rows: Sequence[_Row]) -> Iterator[Item]:
        """The entries of a log to erase: those chosen, and those that have one of them as a source."""
        checks = {name: _CoverCheck(transcript, family.ids) for name, transcript in state.transcripts.items()}
        # A source ALL ("*") stands for any earlier item of the conversation: such an entry is erased if an
        # entry before it is erased, or an inherited item.
        has_erased_before = _has_inherited(state, family.ids)
        for stream, item, names in rows:
            is_named = any(self._is_erased(family, name) for name in names)
            is_made_of_all = has_erased_before and ALL in names
            is_covering = isinstance(item, Summary) and stream in checks and checks[stream].covers(item)
            if is_named or is_made_of_all or is_covering:
                has_erased_before = has_erased_before or stream != RECEIPT_PARTS
                yield item

    def _is_erased(self, family: _Family, name: str) -> bool:
        is_own = name in family.ids or name in family.handles
        return is_own or name in self.names or f"{name.partition('/')[0]}/{ALL}" in self.names

    def _replace_entries(self, log: Log, family: _Family) -> None:
        with log.lock:
            tombstones = _tombstones(log.reload(), family.ids)
            bodies = {version: JSON.encode_item(item) for version, item in tombstones}
            if bodies:
                self.store.replace(log.place, bodies)


def _wipe(logs: Sequence[Log], *, waits: bool) -> None:
    """Remove erased content from the index and the files of the store, and note that it was done."""
    store, erasure_ids = logs[0].store, set[str]().union(*(log.state.unwiped for log in logs))

    def wiped_entries(state: State) -> Entries:
        of_log = sorted(state.unwiped & erasure_ids)
        return [Written(WIPED, Note(content={"of": of_log}, description="wiped"))] if of_log else []

    try:
        Memory.remove_forgotten(store, logs[0].place.scope)
        store.scrub(wait=waits)
        for log in logs:
            log.commit(wiped_entries)
    except QuireError as fault:
        if waits:
            raise
        logger.warning("what was forgotten in %s is still in its files: %s", logs[0].place.digest, fault)


def _ends(family: _Family, erasure_id: str, state: State) -> Entries:
    """The entries that end the intents of a family, and undo its erased summaries."""
    ends = [
        Written(FORGOTTEN, Note(content={"of": note.id, "unwiped": [erasure_id]}, description="forgotten"))
        for note in state.forgetting.values()
        if family.ids.issuperset(note.content["ids"])
    ]
    for name, transcript in state.transcripts.items():
        trial = transcript.copy()
        while shown := [
            summary for summary in trial.view.summaries() if summary.spans and is_tombstone(summary)
        ]:
            for summary in shown:  # an undo may show a summary that this one had folded in
                undo = Undo(summary.id, origin="model")
                trial.append(undo)
                ends.append(Written(name, undo))
    return ends


def _tombstones(entries: Entries, ids: Collection[str]) -> Iterator[tuple[int, Item]]:
    """The tombstone of each erased entry, with the version of the entry."""
    note_id_by_key: dict[str | None, str] = {}  # the note that the next with this key replaces
    for version, (stream, item) in enumerate(entries, 1):
        if is_tombstone(item) or not _is_erasable(stream, item):
            continue
        extras: dict[str, str] = {}
        is_erased = item.id in ids
        if stream == POOL and isinstance(item, Hide):  # erased too: its extras have the key of the note
            is_erased = any(span.first in ids for span in item.spans)
        elif stream == POOL and isinstance(item, Note):
            extras = {"instead_of": note_id_by_key[item.key]} if item.key in note_id_by_key else {}
            note_id_by_key[item.key] = item.id
        if is_erased and stream == JOBS and is_accepted_job(item):
            yield version, forgotten_job(item)
        elif is_erased:
            yield version, tombstone(item, **extras)


# Provenance


def _rows(entries: Entries) -> list[_Row]:
    """The erasable entries, with their names."""
    items_of_jobs = _items_of_jobs(entries)
    return [
        _Row(stream, item, {item.id, *sources_of(item), *_handles_of(item), *items_of_jobs.get(item.id, ())})
        for stream, item in entries
        if _is_erasable(stream, item)
    ]


def _items_of_jobs(entries: Entries) -> dict[str, set[str]]:
    """By the note that accepts a job, the ids of the messages and results of the job.

    The results of the calls that a job decides are included: they may quote the reason of a refusal.
    """
    calls = {item.id: item.call_id for _, item in entries if isinstance(item, ToolCall)}
    results: dict[str, set[str]] = {}
    for _, item in entries:
        if isinstance(item, ToolResult):
            results.setdefault(item.call_id, set()).add(item.id)
    ids_by_job: dict[str, set[str]] = {}
    ids, items_left = set[str](), 0
    for item in (item for stream, item in entries if stream == JOBS):
        if items_left:  # an item of the job that follows
            items_left -= 1
        elif isinstance(entry := job_entry(item), AcceptedJob):
            decided = (results.get(calls.get(name, name), ()) for name in entry.decisions)
            ids, items_left = set[str]().union(*decided), entry.before
            ids_by_job[item.id] = ids
        elif entry is None:
            ids.add(item.id)
    return ids_by_job


def _handles_of(item: Item) -> set[str]:
    """The handles of the long outputs that an item has, in whole or in part."""
    if isinstance(item, Note):
        handle = handle_of(item)
        return set() if handle is None else {handle}
    return {*item.extras.get(OUTPUTS, ()), handle_for(item.id)} if isinstance(item, ToolResult) else set()


class _CoverCheck:
    """Tells whether a summary of a transcript covers an item with one of some ids."""

    def __init__(self, transcript: Transcript, ids: Collection[str]) -> None:
        self._view, self._ids = transcript.view, ids
        positions = (self._view.log.find(item_id, self._view.end) for item_id in ids)
        self._positions = sorted(position for position in positions if position is not None)

    def covers(self, summary: Summary) -> bool:
        """Whether a summary covers one of the ids, or folds in a summary with one of them."""
        log, end = self._view.log, self._view.end
        if not self._positions or log.find(summary.id, end) is None:
            return False
        if any(span.first == span.last and span.first in self._ids for span in summary.spans):
            return True
        positions, area = self._positions, log.area(summary, end)
        return any(bisect_left(positions, start) < bisect_left(positions, stop) for start, stop in area)
