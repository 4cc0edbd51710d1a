"""Forgetting by provenance: the content of items, and of all that names them as its source, is erased.

1. The intent is noted in every conversation that may hold the items: forks, relatives, those that quoted them.
2. All that names them is found, in all of these together, and noted too.
3. Tombstones replace the entries. Summaries that were erased are undone, so that their other sources show.
4. The end is noted, and then the index and the files of the store are scrubbed.

After a crash at any step, whoever opens one of the conversations finishes it. What is written after step 1
and names an erased item is written as a tombstone (see `Log.commit`).
"""

import logging
import os
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from quire.compactors import READ_BACK, handle_for
from quire.errors import Forgotten, InvalidValue, QuireError, UnknownId, WrongType, cut
from quire.items import JSON, Hide, Item, Note, Summary, ToolCall, ToolResult, Undo, new_id
from quire.memory import KNOWLEDGE, Memory, on_removed
from quire.memory.quotes import Quote
from quire.session.log import Entries, Log, open_log
from quire.session.pool import PLAIN_HANDLE, handle_of
from quire.session.receipts import is_receipt
from quire.session.state import State, Written, digest_of, is_step, sources_of
from quire.state import MERGED as MERGE_MARK, Transcript
from quire.stores import Place, Store
from quire.stores.streams import (
    ALL,
    FORGOTTEN,
    MERGED,
    NAMED,
    ORIGIN,
    OUTPUTS,
    PLANS,
    POOL,
    RECALLED,
    RECEIPTS,
    STEPS,
    USAGE,
    WIPED,
    is_own,
    is_tombstone,
    tombstone,
)

logger = logging.getLogger("quire.session")

LINKS = "~recalled"
"""The conversation of a scope that says which conversations quoted which, by digests of their names."""

ANY_TIME = -1.0
"""In place of the time of a merged item: the one it was merged from has another."""

_BOOKS = frozenset((ORIGIN, USAGE, PLANS, MERGED, RECALLED, FORGOTTEN, WIPED, NAMED))
"""Streams of ids and numbers, without which a conversation could not be read."""

_alone: "WeakKeyDictionary[Store, dict[str, RLock]]" = WeakKeyDictionary()
os.register_at_fork(after_in_child=_alone.clear)


def _lock_of(store: Store, scope: str) -> RLock:
    """Held by whoever erases in a scope of a store: one at a time."""
    return _alone.setdefault(store, {}).setdefault(scope, RLock())


# Finding items


def find(log: Log, text: str) -> list[str]:
    """The ids of items in all transcripts and the pool that contain a text, in any letter case."""
    if not isinstance(text, str):
        raise WrongType(f"a text is searched for, not {type(text).__name__}")
    if not text.strip():
        raise InvalidValue("an empty text is in every item")
    wanted = text.casefold()
    log.root.catch_up()
    with log.lock:
        rows = [transcript.recorded() for transcript in log.state.transcripts.values()]
        items = {item.id: item for row in (*rows, list(log.state.pool)) for item in row}
    return [item.id for item in items.values() if any(wanted in one.casefold() for one in _texts(item))]


def _texts(item: Item) -> Iterator[str]:
    """All texts of an item, except ids and marks; arguments of calls also without their escapes."""
    fields = msgspec.to_builtins(item)
    for name in ("id", "agent_id", "call_id", "spans", "target", "kind", "state"):
        fields.pop(name, None)
    if is_tombstone(item):
        fields = {}
    yield from _strings(fields)
    if isinstance(item, ToolCall):
        with suppress(msgspec.DecodeError, RecursionError):
            yield from _strings(msgspec.json.decode(item.arguments))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _strings(key)
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)


# Links between conversations


_linked: "WeakKeyDictionary[Log, set[str]]" = WeakKeyDictionary()
"""The digests of conversations that a log is known to quote."""


def names_of(quotes: Iterable[Quote], conversation: str) -> list[str]:
    """The names of quoted items, for `extras["quire.of"]` of what quotes them."""
    return [
        item_id if _source_of(quote) == conversation else f"{digest_of(_source_of(quote))}/{item_id}"
        for quote in quotes
        for item_id in quote.sources
    ]


def _source_of(quote: Quote) -> str:
    """The conversation that a quote is kept in; chunks of documents, which have no time, are in one."""
    return quote.source if quote.at else KNOWLEDGE


def link_sources(log: Log, quotes: Iterable[Quote]) -> bool:
    """Note for the scope that a conversation quotes others; false if one of them was not noted before."""
    log = log.root
    sources = {digest_of(_source_of(one)) for one in quotes} - {digest_of(log.place.conversation)}
    known = _linked.setdefault(log, set())
    if not sources or known.issuperset(sources):
        return True
    links, by = _links_of(log.store, log.place.scope), digest_of(log.place.conversation)
    known.update(one["from"] for one in _pairs_in(links) if one["by"] == by)
    new = set(sources) - known
    notes = [Note(content={"from": source, "by": by}, description="recalled") for source in sorted(new)]
    links.commit(lambda _: [Written(RECALLED, note) for note in notes])
    known.update(new)
    return not new


def _links_of(store: Store, scope: str) -> Log:
    return open_log(store, Place(scope, LINKS))


def _pairs_in(links: Log) -> Iterator[Mapping[str, str]]:
    for note in links.read_at(links.state.versions(RECALLED)):
        if isinstance(note, Note) and note.content:
            yield note.content


def merged_with(other: Place) -> Written:
    """The entry that says that two conversations share items; it is written in both."""
    return Written(MERGED, Note(content={"conversation": other.conversation}, description="merged"))


def is_related(one: Place, other: Place) -> bool:
    """Whether one of two conversations is below the other, or the same: then no entry has to say so."""
    return one == other or _is_below(one, other) or _is_below(other, one)


def _is_below(lower: Place, upper: Place) -> bool:
    return lower.scope == upper.scope and lower.conversation.startswith(f"{upper.conversation}/")


def _names_above(name: str) -> list[str]:
    """What stands before each slash of a name, the shortest first."""
    return [name[:place] for place, letter in enumerate(name) if letter == "/"]


# Erasing


def forget(log: Log, ids: Sequence[str]) -> None:
    """Erase items of a conversation by their ids, or all that was said and kept in it."""
    for item_id in ids:
        if not isinstance(item_id, str):
            raise WrongType(f"items are forgotten by their ids, not by {type(item_id).__name__}")
    log.catch_up()
    found = _own_ids(log) if not ids else set(ids)
    _check_ids(log, found)
    with _lock_of(log.store, log.place.scope):
        _Erasing(log.store, log.place.scope).run(_Family([log], _times_of(log, found)))
    logger.info("forgot %d items of %s", len(found), log.place)


@on_removed
def forget_quotes(store: Store, place: Place, ids: Collection[str]) -> None:
    """Erase what others quoted of items that go from a place: of all its items, without ids."""
    names = {f"{digest_of(place.conversation)}/{one}" for one in ids or ("*",)}
    with _lock_of(store, place.scope):
        erasing = _Erasing(store, place.scope)
        found = erasing.quoting([place.conversation])
        if found:
            erasing.run(*(_Family([log], {}, names) for log in found))
    with suppress(InvalidValue):  # within a sealed store
        Memory.let_go(store, place.scope)


def remove_conversation(store: Store, place: Place) -> None:
    """Remove a whole conversation from a store, with what others quoted of it."""
    others = [name for name in store.conversations(place.scope) if name not in (LINKS, place.conversation)]
    if place.conversation == LINKS and others:
        raise InvalidValue(f"{place} says which conversations quote which, and stays as long as they do")
    forget_quotes(store, place, ())
    store.remove(place)
    if not others and place.conversation != LINKS:
        store.remove(Place(place.scope, LINKS))
    store.scrub()


def finish_erasing(log: Log) -> None:
    """Finish what was begun in a conversation or above it, and not finished: its process may be gone."""
    if _intents(log):
        with _lock_of(log.store, log.place.scope):
            families = [_Family([log], *_noted(note)) for note in _intents(log)]
            if families:
                _Erasing(log.store, log.place.scope).run(*families, waits=False)
    elif log.state.unwiped:
        _Erasing(log.store, log.place.scope).scrub(_relatives([log]), waits=False)
    _forget_as_origin(log)


def _intents(log: Log) -> list[Note]:
    """Intents that are not finished, here or above."""
    found = list(log.state.forgetting.values())
    for name in _names_above(log.place.conversation):
        place = log.place._replace(conversation=name)
        if log.store.version(place):
            with suppress(Forgotten):
                found += open_log(log.store, place).state.forgetting.values()
    return found


def _noted(note: Note) -> tuple[dict[str, set[float]], set[str]]:
    """The items of an intent by id, with their times; and the names of items of other conversations."""
    content = note.content
    if content.get("elsewhere"):  # of an older version, which noted quoted items by their ids alone
        return {}, {f"*/{item_id}" for item_id in content["ids"]}
    times = content.get("times") or {}
    return {one: set(times.get(one, ())) for one in content["ids"]}, set(content.get("names", ()))


def _forget_as_origin(log: Log) -> None:
    """Erase in a fork what was forgotten where it began while it was being made."""
    origin = log.state.origin
    if origin is None:
        return
    parent = open_log(log.store, Place(log.place.scope, origin.content["conversation"]))
    if parent.state.forgotten == origin.content.get("forgotten"):
        return
    notes = log.read_at(log.state.versions(POOL))
    gone = {note.id for note in notes if note.id in parent.state.gone and not is_tombstone(note)}
    if gone:
        forget(log, sorted(gone))


def _own_ids(log: Log) -> set[str]:
    said = (entry for entry in log.recorded() if not is_own(entry.stream) or entry.stream in (POOL, STEPS))
    return {item.id for stream, item in said if _may_go(stream, item)}


def _may_go(stream: str, item: Item) -> bool:
    """Whether an entry can be erased: it may hold what somebody said or made."""
    if stream == STEPS:
        return not is_step(item)
    return stream not in _BOOKS and not (stream == RECEIPTS and is_receipt(item))


def _check_ids(log: Log, ids: Collection[str]) -> None:
    """Raise an error if one of the ids is of nothing that can be erased here; nothing is written yet."""
    unknown, own = set(ids), dict[str, str]()
    for stream, item in log.recorded():
        if _may_go(stream, item):
            unknown.discard(item.id)
        else:
            own[item.id] = stream
    for item_id in unknown:
        if item_id in own:
            raise InvalidValue(
                f"entry {cut(item_id)!r} of {own[item_id]} holds nothing that was said, and stays"
            )
        if not any(True for _ in log.state.inherited(item_id)):
            raise UnknownId(f"no item {cut(item_id)!r} in {log.place}")
        if log.state.origin is None:
            raise UnknownId(f"item {cut(item_id)!r} is not of the draft: forget it in {log.place} itself")


def _times_of(log: Log, ids: Collection[str]) -> dict[str, set[float]]:
    """When the items of some ids were made: two conversations may use one id for two items."""
    found: dict[str, set[float]] = {item_id: set() for item_id in ids}
    inherited = (item for item_id in ids for item in log.state.inherited(item_id))
    for item in (*(item for _, item in log.recorded()), *inherited):
        if item.id in found:
            found[item.id].add(ANY_TIME if MERGE_MARK in getattr(item, "extras", ()) else item.created_at)
    return found


class _Family:
    """Conversations that share items, and the items to be erased in them: by id, with their times.

    `names` are those of erased items of other conversations.
    """

    def __init__(
        self, logs: list[Log], ids: Mapping[str, Collection[float]], names: Collection[str] = ()
    ) -> None:
        self.logs = logs
        self.ids: defaultdict[str, set[float]] = defaultdict(set)
        for item_id, times in ids.items():
            self.ids[item_id].update(times)
        self.names = set(names)

    def has(self, item: Item) -> bool:
        """Whether an item is one of them: it has the id, and the time unless a merge made it anew."""
        times = self.ids.get(item.id)
        if times is None:
            return False
        is_merged = MERGE_MARK in getattr(item, "extras", ())
        return not times or is_merged or ANY_TIME in times or item.created_at in times

    def is_named(self, name: str) -> bool:
        """Whether a source that an item names is one of them."""
        if name in self.ids or name in self.names:
            return True
        source, slash, item_id = name.partition("/")
        return bool(slash) and (f"{source}/*" in self.names or f"*/{item_id}" in self.names)

    def add(self, item: Item) -> bool:
        """Add an item; whether it is new."""
        times = self.ids[item.id]
        time = ANY_TIME if MERGE_MARK in getattr(item, "extras", ()) else item.created_at
        is_new = time not in times
        times.add(time)
        return is_new

    def intent(self) -> Note:
        """The note of what is to be erased."""
        times = {item_id: sorted(found) for item_id, found in self.ids.items() if found}
        content = {"ids": sorted(self.ids), "times": times, "names": sorted({*self.ids, *self.names})}
        return Note(content=content, description="forgetting")


class _Erasing:
    """One run: over all families of conversations that hold, share or quote the items."""

    def __init__(self, store: Store, scope: str) -> None:
        self.store, self.scope = store, scope
        self.families: list[_Family] = []

    def run(self, *families: _Family, waits: bool = True) -> None:
        """Erase all of it; with `waits`, raise an error if the files cannot be scrubbed now."""
        new = list(families)
        while new:
            for family in new:
                self._note(family)
                self.families.append(family)
            self._close_over()
            new = self._quoting_families()
        for family in self.families:
            for log in family.logs:
                log.commit(partial(_begun, family.intent()))
        for family in self.families:
            # The items themselves come last: as long as they are there, a rerun finds what names them.
            for log in sorted(family.logs, key=lambda log: self._holds_source(log, family)):
                self._empty(log, family)
        mark = new_id()
        logs = [log for family in self.families for log in family.logs]
        for family in self.families:
            for log in family.logs:
                log.reload()
                log.commit(partial(_done, family, mark))
        self.scrub(logs, waits=waits)

    def quoting(self, conversations: Iterable[str]) -> list[Log]:
        """The logs of conversations that quoted others."""
        if not self.store.version(Place(self.scope, LINKS)):
            return []
        wanted = set(map(digest_of, conversations))
        by = {one["by"] for one in _pairs_in(_links_of(self.store, self.scope)) if one["from"] in wanted}
        places = [Place(self.scope, name) for name in self.store.conversations(self.scope)]
        return _opened(self.store, [place for place in places if digest_of(place.conversation) in by])

    def scrub(self, logs: Sequence[Log], *, waits: bool) -> None:
        """Remove what was erased from the index and the files, and note that."""
        marks = set[str]().union(*(log.state.unwiped for log in logs))
        try:
            Memory.let_go(self.store, self.scope)
            self.store.scrub()
            for log in logs:
                log.commit(partial(_wiped, marks))
        except QuireError as fault:
            if waits:
                raise
            logger.warning("what was forgotten in %s is still in its files: %s", logs[0].place, fault)

    def _note(self, family: _Family) -> None:
        """Note the intent in all conversations of a family; others may be forked or merged meanwhile."""
        noted = set[Place]()
        while new := [log for log in _relatives(family.logs) if log.place not in noted]:
            for log in new:
                log.commit(partial(_begun, family.intent()))
                noted.add(log.place)
            family.logs = list({log.place: log for log in (*family.logs, *new)}.values())

    def _close_over(self) -> None:
        """Find all that names what is to be erased, in all families, until there is no more."""
        read = {log.place: log.reload() for family in self.families for log in family.logs}
        grows = True
        while grows:
            grows = False
            for family in self.families:
                self._name_others(family, read)
                for log in family.logs:
                    for item in _Derived(family, log.state, read[log.place]).found():
                        grows |= family.add(item)

    def _name_others(self, family: _Family, read: Mapping[Place, Entries]) -> None:
        """Let other families know what is to be erased in this one, by the names they quote it by."""
        for log in family.logs:
            digest = digest_of(log.place.conversation)
            names = {f"{digest}/{item.id}" for _, item in read[log.place] if family.has(item)}
            for other in self.families:
                if other is not family:
                    other.names |= names

    def _quoting_families(self) -> list[_Family]:
        """Conversations that quoted from some that hold what is to be erased, and are not known yet."""
        known = {log.place for family in self.families for log in family.logs}
        found: list[_Family] = []
        for log in self.quoting(place.conversation for place in known):
            if log.place not in known:
                family = _Family([log], {})
                known.update(one.place for one in _relatives([log]))
                found.append(family)
        for family in found:
            for other in self.families:
                for log in other.logs:
                    digest = digest_of(log.place.conversation)
                    items = (item for _, item in log.recorded() if other.has(item))
                    family.names |= {f"{digest}/{item.id}" for item in items}
        return [family for family in found if family.names]

    def _holds_source(self, log: Log, family: _Family) -> bool:
        return any(family.has(item) and not sources_of(item) for _, item in log.recorded())

    def _empty(self, log: Log, family: _Family) -> None:
        with log.lock:
            entries = log.reload()
            bodies = {version: JSON.encode_item(left) for version, left in _left(entries, family)}
            if bodies:
                self.store.replace(log.place, bodies)


def _begun(note: Note, state: State) -> Entries:
    """The intent, unless one that is not finished says as much."""
    for begun in state.forgetting.values():
        known, times = begun.content, begun.content.get("times", {})
        if set(note.content["names"]).issubset(known.get("names", known["ids"])) and all(
            set(found).issubset(times.get(item_id, ())) for item_id, found in note.content["times"].items()
        ):
            return []
    return [Written(FORGOTTEN, Note(content=note.content, description="forgetting"))]


def _done(family: _Family, mark: str, state: State) -> Entries:
    """The end of all intents of a family, and what undoes its erased summaries."""
    ends = [
        Written(FORGOTTEN, Note(content={"of": begun.id, "unwiped": [mark]}, description="forgotten"))
        for begun in state.forgetting.values()
        if begun.content.get("elsewhere") or family.ids.keys() >= set(begun.content["ids"])
    ]
    return [*ends, *_undone_summaries(state)]


def _wiped(marks: Collection[str], state: State) -> Entries:
    done = sorted(state.unwiped.intersection(marks))
    return [Written(WIPED, Note(content={"of": done}, description="wiped"))] if done else []


def _undone_summaries(state: State) -> Iterator[Written]:
    """What shows again what erased summaries stood for, also those under others."""
    for name, transcript in state.transcripts.items():
        trial = transcript.copy()
        while shown := [one for one in _summaries(trial) if one.spans and is_tombstone(one)]:
            for summary in shown:
                undo = Undo(summary.id)
                trial.append(undo)
                yield Written(name, undo)


def _summaries(transcript: Transcript) -> list[Summary]:
    view = transcript.view
    return [item for item in map(view.get, view.shape.summaries()) if isinstance(item, Summary)]


def _left(entries: Entries, family: _Family) -> Iterator[tuple[int, Item]]:
    """What replaces the entries that are erased, by version."""
    keys: dict[str | None, str] = {}
    for version, (stream, item) in enumerate(entries, 1):
        if is_tombstone(item) or not _may_go(stream, item):
            continue
        if stream == POOL and isinstance(item, Hide):
            if any(span.first in family.ids for span in item.spans):
                yield version, tombstone(item)  # it has the key of the note
            continue
        before = keys.get(item.key) if stream == POOL and isinstance(item, Note) else None
        if stream == POOL and isinstance(item, Note):
            keys[item.key] = item.id
        if family.has(item):
            yield version, tombstone(item, **({} if before is None else {"instead_of": before}))


class _Derived:
    """Finds the entries of a log that are to be erased: they are named, or name what is."""

    def __init__(self, family: _Family, state: State, entries: Entries) -> None:
        self._family, self._state, self._entries = family, state, entries

    def found(self) -> Iterator[Item]:
        """All of them; some were known before."""
        covering = {name: _Covering(one, self._family) for name, one in self._state.transcripts.items()}
        handles, calls = self._handles()
        listed = self._listed()
        is_before = any(any(self._state.inherited(item_id)) for item_id in self._family.ids)
        for stream, item in self._entries:
            if not _may_go(stream, item):
                continue
            sources = sources_of(item)
            is_named = self._family.has(item) or any(map(self._family.is_named, sources))
            is_named = is_named or (is_before and ALL in sources)
            is_before = is_before or (is_named and stream != RECEIPTS)
            is_cover = isinstance(item, Summary) and stream in covering and covering[stream].has(item)
            is_output = not handles.isdisjoint(_handles_of(item)) or (
                isinstance(item, ToolResult) and item.call_id in calls
            )
            if is_named or is_cover or is_output or (listed and _lists(item, listed)):
                yield item

    def _handles(self) -> tuple[set[str], set[str]]:
        """The handles of outputs that are to be erased, and the calls that read one of them back."""
        handles: set[str] = set()
        for _, item in self._entries:
            if self._family.has(item):
                handles |= _handles_of(item)
        reading = (item for _, item in self._entries if isinstance(item, ToolCall))
        calls = {
            call.call_id
            for call in reading
            if call.name == READ_BACK["name"] and not handles.isdisjoint(PLAIN_HANDLE.findall(call.arguments))
        }
        return handles, calls if handles else set()

    def _listed(self) -> set[str]:
        """Ids under which results list quotes of what is to be erased, as notes of older versions say."""
        found: set[str] = set()
        for stream, item in self._entries:
            if stream == RECALLED and isinstance(item, Note) and not is_tombstone(item):
                for source, rows in item.content.items():
                    for first, *ids in rows:
                        if any(self._family.is_named(f"{source}/{one}") for one in (first, *ids)):
                            found.add(first)
        return found


def _handles_of(item: Item) -> set[str]:
    """The handles of the long output that an item holds, or shows the ends of."""
    if isinstance(item, Note):
        handle = handle_of(item)
        return set() if handle is None else {handle}
    return {*item.extras.get(OUTPUTS, ()), handle_for(item.id)} if isinstance(item, ToolResult) else set()


def _lists(item: Item, listed: Collection[str]) -> bool:
    """Whether an item quotes under one of some ids, as recall tools write it: in brackets."""
    if not isinstance(item, ToolResult | Note):
        return False
    texts = [text for text in _texts(item) if "(" in text]
    return any(f"({one}{end}" in text for text in texts for one in listed for end in ",; ")


class _Covering:
    """Tells which summaries of a transcript stand for some of the items to be erased."""

    def __init__(self, transcript: Transcript, family: _Family) -> None:
        self._view, self._family = transcript.view, family
        found = (self._view.log.find(item_id, self._view.end) for item_id in family.ids)
        self._positions = sorted(position for position in found if position is not None)

    def has(self, summary: Summary) -> bool:
        """Whether a summary covers one of them, or folds in another that is erased."""
        log, end = self._view.log, self._view.end
        if not self._positions or log.find(summary.id, end) is None:
            return False
        if any(span.first == span.last and span.first in self._family.ids for span in summary.spans):
            return True
        for start, stop in log.area(summary, end):
            index = bisect_left(self._positions, start)
            if index < len(self._positions) and self._positions[index] < stop:
                return True
        return False


def _relatives(logs: Sequence[Log]) -> list[Log]:
    """All conversations that may share items with some: below one address, forked, or merged; itself too."""
    store, scope = logs[0].store, logs[0].place.scope
    names = {*store.conversations(scope), *(log.place.conversation for log in logs)}
    tops = {_top_of(name, names) for log in logs for name in _related_names(log)}
    below = tuple(f"{top}/" for top in tops)
    places = [Place(scope, name) for name in sorted(names) if name in tops or name.startswith(below)]
    known = {log.place: log for log in logs}
    return [*(known[one] for one in places if one in known)] + _opened(
        store, [place for place in places if place not in known]
    )


def _related_names(log: Log) -> list[str]:
    """The names of a conversation, of where it was forked, and of those it was merged with."""
    origin = log.state.origin
    notes = log.read_at(log.state.versions(MERGED))
    merged = [one.content["conversation"] for one in notes if isinstance(one, Note) and one.content]
    forked = [] if origin is None else [origin.content["conversation"]]
    return [log.place.conversation, *forked, *merged]


def _top_of(name: str, names: Collection[str]) -> str:
    return next((upper for upper in _names_above(name) if upper in names), name)


def _opened(store: Store, places: Iterable[Place]) -> list[Log]:
    found: list[Log] = []
    for place in places:
        with suppress(Forgotten):  # a fork of a conversation that was removed
            found.append(open_log(store, place))
    return found
