"""Forgetting by provenance: the content of items, and of all that names them as its source, is erased.

1. The intent is noted in every conversation that may hold the items: forks, relatives, those that quote them.
2. All that names them is found, in all of these together, and noted too.
3. Tombstones replace the entries. Summaries that were erased are undone, so that their other sources show.
4. The end is noted, and then the index and the files of the store are scrubbed.

After a crash at any step, whoever opens one of the conversations finishes it. What is written after step 1
and names an erased item is written as a tombstone (see `Log.commit`).
"""

import logging
import os
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import RLock
from typing import Any, cast
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
from quire.state import Transcript
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

_BOOKS = frozenset((ORIGIN, USAGE, PLANS, MERGED, RECALLED, FORGOTTEN, WIPED, NAMED))
"""Streams of ids and numbers, without which a conversation could not be read."""

_alone: "WeakKeyDictionary[Store, dict[str, RLock]]" = WeakKeyDictionary()
os.register_at_fork(after_in_child=_alone.clear)


def _lock_of(store: Store, scope: str) -> RLock:
    """Held by whoever erases in a scope of a store: one at a time."""
    return _alone.setdefault(store, {}).setdefault(scope, RLock())


def find(log: Log, text: str) -> list[str]:
    """The ids of items in all transcripts and the pool that contain a text, in any letter case."""
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a text is searched for, not {type(text).__name__}")
    if not text.strip():
        raise InvalidValue("an empty text is in every item")
    wanted = text.casefold()
    log.root.catch_up()
    with log.lock:
        found: list[Item] = [item for one in log.state.transcripts.values() for item in one.recorded()]
        items = {item.id: item for item in (*found, *log.state.pool)}
    return [item.id for item in items.values() if any(wanted in one.casefold() for one in _texts(item))]


def _texts(item: Item) -> Iterator[str]:
    """All texts of an item, except ids; those in the arguments of a call also as they are decoded."""
    if is_tombstone(item):
        return
    fields = msgspec.to_builtins(item)
    ids = ("id", "agent_id", "call_id", "spans", "target", "kind", "state")
    yield from _strings({name: value for name, value in fields.items() if name not in ids})
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
    by = digest_of(log.place.conversation)
    sources = {digest_of(_source_of(one)) for one in quotes} - {by}
    known = _linked.setdefault(log, set())
    if known.issuperset(sources):
        return True
    links = open_log(log.store, Place(log.place.scope, LINKS))
    known.update(one["from"] for one in _pairs_in(links) if one["by"] == by)
    new = sorted(sources - known)
    notes = [Note(content={"from": source, "by": by}, description="recalled") for source in new]
    links.commit(lambda _: [Written(RECALLED, note) for note in notes])
    known.update(new)
    return not new


def _pairs_in(links: Log) -> Iterator[Mapping[str, str]]:
    for note in links.read_at(links.state.versions(RECALLED)):
        if isinstance(note, Note) and note.content:
            yield note.content


def _quoting(store: Store, scope: str, conversations: Iterable[str]) -> list[Log]:
    """The logs of conversations that quoted others."""
    if not store.version(Place(scope, LINKS)):
        return []
    wanted = set(map(digest_of, conversations))
    links = open_log(store, Place(scope, LINKS))
    by = {one["by"] for one in _pairs_in(links) if one["from"] in wanted}
    return _opened(
        store, [Place(scope, name) for name in store.conversations(scope) if digest_of(name) in by]
    )


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
    notes = [log.state.origin, *log.read_at(log.state.versions(MERGED))]
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
    """Erase items of a conversation by their ids, or all that was said and kept in it."""
    for item_id in ids:
        if not isinstance(item_id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"items are forgotten by their ids, not by {type(item_id).__name__}")
    log.catch_up()
    with _lock_of(log.store, log.place.scope):
        _Erasing(log.store, log.place.scope).run(_Family(log, _checked_ids(log, set(ids))))
    logger.info("forgot items of %s", log.place)


@on_removed
def forget_quotes(store: Store, place: Place, ids: Collection[str]) -> None:
    """Erase what others quoted of items that go from a place: of all its items, without ids."""
    names = {f"{digest_of(place.conversation)}/{one}" for one in ids or ("*",)}
    with _lock_of(store, place.scope):
        found = _quoting(store, place.scope, [place.conversation])
        if found:
            _Erasing(store, place.scope).run(*(_Family(log, (), names) for log in found))
    with suppress(InvalidValue):  # within a sealed store
        Memory.let_go(store, place.scope)


def remove_conversation(store: Store, place: Place) -> None:
    """Remove a whole conversation from a store, with what others quoted of it."""
    others = [name for name in store.conversations(place.scope) if name not in (LINKS, place.conversation)]
    if place.conversation == LINKS and others:
        raise InvalidValue(f"{place} says which conversations quote which, and stays as long as they do")
    forget_quotes(store, place, ())
    store.remove(place)
    if not others:
        store.remove(Place(place.scope, LINKS))
    store.scrub()


def finish_erasing(log: Log) -> None:
    """Finish what was begun in a conversation or above it, and not finished: its process may be gone."""
    if _intents(log):
        with _lock_of(log.store, log.place.scope):
            families = [_Family(log, *_noted(note)) for note in _intents(log)]
            if families:
                _Erasing(log.store, log.place.scope).run(*families, waits=False)
    elif log.state.unwiped:
        _scrub(_relatives([log]), waits=False)
    origin = log.state.origin
    if origin is not None:  # erase what was forgotten where a fork began while it was being made
        parent = open_log(log.store, Place(log.place.scope, origin.content["conversation"]))
        if parent.state.forgotten != origin.content.get("forgotten"):
            notes = log.read_at(log.state.versions(POOL))
            gone = {note.id for note in notes if note.id in parent.state.gone and not is_tombstone(note)}
            if gone:
                forget(log, sorted(gone))


def _intents(log: Log) -> list[Note]:
    """Intents that are not finished, here or above."""
    above = [log.place._replace(conversation=name) for name in _names_above(log.place.conversation)]
    logs = [log, *_opened(log.store, [place for place in above if log.store.version(place)])]
    return [note for one in logs for note in one.state.forgetting.values()]


def _noted(note: Note) -> tuple[Collection[str], Collection[str]]:
    """The ids of an intent, and the names of items of other conversations."""
    if note.content.get("elsewhere"):  # of an older version, which noted quoted items by their ids alone
        return (), [f"*/{item_id}" for item_id in note.content["ids"]]
    return note.content["ids"], note.content.get("names", ())


def _may_go(stream: str, item: Item) -> bool:
    """Whether an entry can be erased: it may hold what somebody said or made."""
    if stream == STEPS:
        return not is_step(item)
    return stream not in _BOOKS and not (stream == RECEIPTS and is_receipt(item))


def _checked_ids(log: Log, ids: Collection[str]) -> set[str]:
    """The ids, or without any those of all that was said and kept; an error if one cannot be erased here."""
    found, own = set[str](), dict[str, str]()
    for stream, item in log.recorded():
        if not _may_go(stream, item):
            own[item.id] = stream
        elif item.id in ids or (not ids and (not is_own(stream) or stream in (POOL, STEPS))):
            found.add(item.id)
    for item_id in set(ids) - found:
        if item_id in own:
            raise InvalidValue(
                f"entry {cut(item_id)!r} of {own[item_id]} holds nothing that was said, and stays"
            )
        if not any(True for _ in log.state.inherited(item_id)):
            raise UnknownId(f"no item {cut(item_id)!r} in {log.place}")
        if log.state.origin is None:
            raise UnknownId(f"item {cut(item_id)!r} is not of the draft: forget it in {log.place} itself")
    return found.union(ids)


class _Family:
    """Conversations that share items, and the ids of those to be erased in them.

    `names` are those of erased items of other conversations.
    """

    def __init__(self, log: Log, ids: Collection[str], names: Collection[str] = ()) -> None:
        self.logs = [log]
        self.ids, self.names = set(ids), set(names)


class _Erasing:
    """One run: over all families of conversations that hold, share or quote the items."""

    def __init__(self, store: Store, scope: str) -> None:
        self.store, self.scope = store, scope
        self.families: list[_Family] = []
        self._by_digest: dict[str, _Family] = {}
        self._qualified: set[str] = set()  # all that is to be erased, by the names that others quote it by

    def run(self, *families: _Family, waits: bool = True) -> None:
        """Erase all of it; with `waits`, raise an error if the files cannot be scrubbed now."""
        new = list(families)
        while new:
            self.families += new
            for family in new:
                self._note(family)
            self._close_over()
            known = {log.place: log for family in self.families for log in family.logs}
            quoting = _quoting(self.store, self.scope, [place.conversation for place in known])
            new = [_Family(log, (), self._qualified) for log in quoting if log.place not in known]
        for family, log in self._all():
            self._begin(log, family)
        # The items themselves come last: as long as they are there, a rerun finds what names them.
        for family, log in sorted(self._all(), key=lambda pair: self._holds_source(*pair)):
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
                self._by_digest[digest_of(log.place.conversation)] = family
            family.logs = list(noted.values())

    def _begin(self, log: Log, family: _Family) -> None:
        """Note the intent, unless one that is not finished says as much."""
        quoted = self._qualified if len(self.families) > 1 or len(family.logs) > 1 else ()
        names = sorted({*family.ids, *family.names, *quoted})
        content = {"ids": sorted(family.ids), "names": names}

        def entries(state: State) -> Entries:
            if any(begun.content.get("names") == names for begun in state.forgetting.values()):
                return []
            return [Written(FORGOTTEN, Note(content=content, description="forgetting"))]

        log.commit(entries)

    def _close_over(self) -> None:
        """Find all that names what is to be erased, in all families, until there is no more."""
        read = {log.place: log.reload() for _, log in self._all()}
        grows = True
        while grows:
            grows = False
            for family, log in self._all():
                found = {item.id for item in self._derived(family, log.state, read[log.place])}
                grows |= not found <= family.ids
                family.ids |= found
        for family, log in self._all():
            digest = digest_of(log.place.conversation)
            self._qualified |= {f"{digest}/{item.id}" for _, item in read[log.place] if item.id in family.ids}

    def _is_named(self, family: _Family, name: str) -> bool:
        """Whether a source that an item names is to be erased."""
        if name in family.ids or name in family.names:
            return True
        source, slash, item_id = name.partition("/")
        holder = self._by_digest.get(source) if slash else None
        is_held = holder is not None and item_id in holder.ids
        return bool(slash) and (is_held or f"{source}/*" in family.names or f"*/{item_id}" in family.names)

    def _derived(self, family: _Family, state: State, entries: Entries) -> Iterator[Item]:
        """The entries of a log that are to be erased: they are named, or name what is."""
        covering = {name: _Covering(one, family) for name, one in state.transcripts.items()}
        handles = {one for _, item in entries if item.id in family.ids for one in _handles_of(item)}
        calls = _reading_back(entries, handles)
        listed = self._listed(family, entries)
        is_before = any(any(True for _ in state.inherited(item_id)) for item_id in family.ids)
        for stream, item in entries:
            if not _may_go(stream, item):
                continue
            sources = sources_of(item)
            if (
                item.id in family.ids
                or any(self._is_named(family, name) for name in sources)
                or (is_before and ALL in sources)
                or (isinstance(item, Summary) and stream in covering and covering[stream].has(item))
                or not handles.isdisjoint(_handles_of(item))
                or (isinstance(item, ToolResult) and item.call_id in calls)
                or (bool(listed) and _lists(item, listed))
            ):
                is_before = is_before or stream != RECEIPTS
                yield item

    def _listed(self, family: _Family, entries: Entries) -> set[str]:
        """Ids under which results list quotes of what is to be erased, as notes of older versions say."""
        return {
            row[0]
            for stream, item in entries
            if stream == RECALLED and isinstance(item, Note) and not is_tombstone(item)
            for source, rows in item.content.items()
            for row in rows
            if any(self._is_named(family, f"{source}/{one}") for one in row)
        }

    def _holds_source(self, family: _Family, log: Log) -> bool:
        return any(item.id in family.ids and not sources_of(item) for _, item in log.recorded())

    def _empty(self, log: Log, family: _Family) -> None:
        with log.lock:
            bodies = {version: JSON.encode_item(left) for version, left in _left(log.reload(), family)}
            if bodies:
                self.store.replace(log.place, bodies)


def _scrub(logs: Sequence[Log], *, waits: bool) -> None:
    """Remove what was erased from the index and the files of the store, and note that."""
    store, marks = logs[0].store, set[str]().union(*(log.state.unwiped for log in logs))

    def wiped(state: State) -> Entries:
        done = sorted(state.unwiped & marks)
        return [Written(WIPED, Note(content={"of": done}, description="wiped"))] if done else []

    try:
        Memory.let_go(store, logs[0].place.scope)
        store.scrub(wait=waits)
        for log in logs:
            log.commit(wiped)
    except QuireError as fault:
        if waits:
            raise
        logger.warning("what was forgotten in %s is still in its files: %s", logs[0].place, fault)


def _done(family: _Family, mark: str, state: State) -> Entries:
    """The end of all intents of a family, and what undoes its erased summaries."""
    ends = [
        Written(FORGOTTEN, Note(content={"of": begun.id, "unwiped": [mark]}, description="forgotten"))
        for begun in state.forgetting.values()
        if begun.content.get("elsewhere") or family.ids.issuperset(begun.content["ids"])
    ]
    for name, transcript in state.transcripts.items():
        trial = transcript.copy()
        while shown := [one for one in _summaries(trial) if one.spans and is_tombstone(one)]:
            for summary in shown:  # others under it may show now
                undo = Undo(summary.id)
                trial.append(undo)
                ends.append(Written(name, undo))
    return ends


def _summaries(transcript: Transcript) -> list[Summary]:
    view = transcript.view
    return [item for item in map(view.get, view.shape.summaries()) if isinstance(item, Summary)]


def _left(entries: Entries, family: _Family) -> Iterator[tuple[int, Item]]:
    """What replaces the entries that are erased, by version."""
    keys: dict[str | None, str] = {}  # of the pool: the last note of each key
    for version, (stream, item) in enumerate(entries, 1):
        if is_tombstone(item) or not _may_go(stream, item):
            continue
        extras: dict[str, str] = {}
        is_gone = item.id in family.ids
        if stream == POOL and isinstance(item, Hide):  # it has the key of the note
            is_gone = any(span.first in family.ids for span in item.spans)
        elif stream == POOL and isinstance(item, Note):
            extras = {"instead_of": keys[item.key]} if item.key in keys else {}
            keys[item.key] = item.id
        if is_gone:
            yield version, tombstone(item, **extras)


def _reading_back(entries: Entries, handles: Collection[str]) -> set[str]:
    """The call ids of calls that read one of some outputs back."""
    calls = [item for _, item in entries if isinstance(item, ToolCall) and item.name == READ_BACK["name"]]
    named = {call.call_id: PLAIN_HANDLE.findall(call.arguments) for call in calls if handles}
    return {call_id for call_id, found in named.items() if any(one in handles for one in found)}


def _handles_of(item: Item) -> set[str]:
    """The handles of the long output that an item holds, or shows the ends of."""
    if isinstance(item, Note):
        handle = handle_of(item)
        return set() if handle is None else {handle}
    return {*item.extras.get(OUTPUTS, ()), handle_for(item.id)} if isinstance(item, ToolResult) else set()


def _lists(item: Item, listed: Collection[str]) -> bool:
    """Whether an item quotes under one of some ids, as recall tools write it: in brackets."""
    texts = [text for text in _texts(item) if "(" in text] if isinstance(item, ToolResult | Note) else []
    return any(f"({one}{end}" in text for text in texts for one in listed for end in ",; ")


class _Covering:
    """Tells which summaries of a transcript stand for some of the items to be erased."""

    def __init__(self, transcript: Transcript, family: _Family) -> None:
        self._view, self._ids = transcript.view, family.ids
        found = (self._view.log.find(item_id, self._view.end) for item_id in family.ids)
        self._positions = sorted(position for position in found if position is not None)

    def has(self, summary: Summary) -> bool:
        """Whether a summary covers one of them, or folds in another that is erased."""
        log, end = self._view.log, self._view.end
        if not self._positions or log.find(summary.id, end) is None:
            return False
        if any(span.first == span.last and span.first in self._ids for span in summary.spans):
            return True
        starts = [(bisect_left(self._positions, start), stop) for start, stop in log.area(summary, end)]
        return any(n < len(self._positions) and self._positions[n] < stop for n, stop in starts)
