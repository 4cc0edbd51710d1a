"""Keeping an index up to date with a store: what conversations have grown by is read when somebody asks.

An append costs nothing here, and what another process wrote is found too. The index says how far each
conversation was read. Where something was forgotten, the conversation is read again, and what differs changes
in the index: so it holds nothing that the store does not.

A leaf of a conversation is a group of items: a message, a note, a summary, or a call with its result. A
result joins the leaf of its call, however late it comes; then the leaf is made again under the same key and
in the same place. A forgotten item keeps its place and says nothing, so all others keep theirs.

A leaf has the least origin of its items. One that is distrusted, or not any more, is read again with all that
was made of it.

Some leaves are withdrawn: a note that was kept again under its key or dropped, a summary that a later one
covers, and items that a `Hide` with `extras={"recall": False}` hides. Other hidden items stay: what a
compactor left out of the view is what recall is for.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import chain
from threading import RLock
from typing import Any, NamedTuple

import msgspec

from quire.compactors import part_text
from quire.items import (
    EDITS,
    JSON,
    ORIGINS,
    Distrust,
    Hide,
    Item,
    Message,
    Note,
    Origin,
    Span,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
    lowest,
    own_origin,
)
from quire.memory.index import Index, LeafFilter, Mark
from quire.memory.knowledge import Knowledge
from quire.memory.leaf import KNOWLEDGE, Kind, Leaf, leaves_of_document
from quire.state import ALL, ELSEWHERE, OF, Grouping, PackedGrouping
from quire.stores import LogVersion, Place, Store, Stored, items_in
from quire.stores.store import is_own, is_tombstone
from quire.stores.streams import FORGOTTEN, POOL
from quire.tokens import note_text

RECALL = "recall"
"""The key of `extras` with which a `Hide` says, by `False`, that what it hides is not recalled either."""

IMPORTANCE = "importance"
"""The key of `extras` under which an item says how much it matters, from 0 to 1."""

RECALL_TOOLS = frozenset(("recall", "search_knowledge"))
"""Their calls and results repeat what is in the index already, so they are in no leaf."""

PAUSE = 6 * 3600.0
"""Seconds of silence after which a new stretch of talk begins."""

_SUMMARIES_AT = 1 << 30
"""Summaries have orders from here on, so that none stands between two messages."""

_APART = 8
"""The distance between the orders of leaves that lend each other no words: summaries and kept notes."""

_PLACE, _ORDER = 13, 4
"""The bytes of a place, and of the order in it, which stands behind a digest and an origin."""

_DIGEST = _PLACE - _ORDER - 1

_KINDS: dict[type, Kind] = {ToolCall: "done", ToolResult: "done", Summary: "summary", Note: "note"}
_ERROR, _QUESTION = 0.9, 0.65
_IMPORTANCE: dict[type, float] = {Summary: 0.8, Note: 0.8, ToolResult: 0.75, ToolCall: 0.7, Message: 0.5}
_SPEAKERS = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


class Follower:
    """One scope of a store, and the index of what is in it."""

    def __init__(self, store: Store, scope: str, index: Index, knowledge: Knowledge) -> None:
        self.index = index
        self._store, self._scope, self._knowledge = store, scope, knowledge
        self._logs: dict[str, LogLeaves] = {}
        self._moment: Any = None
        self._lock = RLock()

    def catch_up(self) -> None:
        """Take in what was written, and remove what was forgotten, since the last time."""
        with self._lock:
            changes = self._store.changes(self._scope, self._moment)
            for name in self.index.marks.keys() - changes.versions.keys() if changes.is_all else ():
                self._drop(name)
            for name, log_version in changes.versions.items():
                mark = self.index.marks.get(name)
                if mark is None or not self._is_read(name, mark, log_version):
                    self._read(name, mark, log_version)
            self._moment = changes.moment

    def catch_up_to_save(self) -> None:
        """Catch up, and note in the index where each conversation continues."""
        with self._lock:
            self.catch_up()
            self.index.states |= {name: log.state() for name, log in self._logs.items()}

    def _is_read(self, name: str, mark: Mark, log_version: LogVersion) -> bool:
        if (mark.version, mark.log) != (log_version.version, log_version.log):
            return False
        return bool(log_version.log) or _continues(self._entries(name, mark.version - 1), mark)

    def _entries(self, name: str, after: int = 0) -> list[Stored]:
        return self._store.read(Place(self._scope, name), after=after)

    def _read(self, name: str, mark: Mark | None, log_version: LogVersion) -> None:
        """Read on from the last entry that was read, if it is the same; otherwise read all again."""
        if name == KNOWLEDGE:
            stored = self._entries(name, log_version.version - 1)  # first: the documents may be newer
            documents = self._knowledge.all_chunks().values()
            self._replace(
                name, stored, log_version.log, chain.from_iterable(map(leaves_of_document, documents))
            )
            return
        if mark is not None and mark.log == log_version.log and self._read_on(name, mark):
            return
        self._logs[name] = log = LogLeaves(Place(self._scope, name))
        stored = self._entries(name)
        changes = log.take(stored)
        self._replace(name, stored, log_version.log, changes.leaves if changes is not None else ())

    def _read_on(self, name: str, mark: Mark) -> bool:
        """Take in what follows a mark; return whether that was possible."""
        log, stored = self._logs.pop(name, None), self._entries(name, mark.version - 1)
        if log is None and (state := self.index.state(name)) is not None:  # of another process
            log = LogLeaves.of_state(Place(self._scope, name), state)
        changes = log.take(stored[1:]) if log is not None and _continues(stored, mark) else None
        if log is None or changes is None:
            return False
        self.index.update(name, _mark_at(stored, mark.log), gone=changes.gone, leaves=changes.leaves)
        self._logs[name] = log
        return True

    def _replace(self, name: str, stored: Sequence[Stored], log: str, new: Iterable[Leaf]) -> None:
        """Change in the index what is not as it should be."""
        if not stored:  # removed meanwhile
            self._drop(name)
            return
        there = self.index.newest(len(self.index), LeafFilter(sources=frozenset((name,))))
        before = {(leaf.transcript, leaf.key): leaf for leaf in there}
        now = {(leaf.transcript, leaf.key): leaf for leaf in new}
        changed = {key for _, key in before.keys() ^ now.keys()}
        changed |= {leaf.key for at, leaf in now.items() if at in before and before[at] != leaf}
        put = [leaf for leaf in now.values() if leaf.key in changed]
        self.index.update(name, _mark_at(stored, log), gone=changed, leaves=put)

    def _drop(self, name: str) -> None:
        self._logs.pop(name, None)
        self.index.update(name, None)


def _continues(stored: Sequence[Stored], mark: Mark) -> bool:
    """Whether entries begin with the last that was read, and nothing was forgotten since."""
    if not stored or _digest(stored[0]) != mark.last:
        return False
    return not any(entry.stream == FORGOTTEN for entry in stored[1:])


def _mark_at(stored: Sequence[Stored], log: str) -> Mark:
    return Mark(stored[-1].version, _digest(stored[-1]), log)


def _digest(entry: Stored) -> bytes:
    return blake2b(entry.body, digest_size=16, key=entry.stream.encode()[:64]).digest()


# The leaves of a log


class Changes(NamedTuple):
    """Leaves that are new or changed, and the keys of those that are withdrawn."""

    leaves: list[Leaf]
    gone: set[str]


class LogLeaves:
    """The leaves of one conversation. Entries are taken in the order of the log."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._streams: dict[str, TranscriptLeaves] = {}

    @classmethod
    def of_state(cls, place: Place, state: bytes) -> "LogLeaves":
        """Continue where `state` was taken."""
        log = cls(place)
        for stream, packed in _decode_states(state).items():
            log._streams[stream] = TranscriptLeaves(place.conversation, stream, packed)
        return log

    def state(self) -> bytes:
        """What is needed to take the next entries: numbers, digests, and the items of unfinished groups."""
        return _encode({stream: one.packed() for stream, one in self._streams.items()})

    def take(self, stored: Sequence[Stored]) -> Changes | None:
        """Return what entries change; none if they change what earlier ones did: then read all again."""
        said = [entry for entry in stored if entry.stream == POOL or not is_own(entry.stream)]
        rows: dict[str, list[Item]] = {}
        for entry, item in zip(said, items_in(self._place, said), strict=True):
            rows.setdefault(entry.stream, []).append(item)
        leaves, gone = list[Leaf](), set[str]()
        for stream, items in rows.items():
            if stream not in self._streams:
                self._streams[stream] = TranscriptLeaves(self._place.conversation, stream)
            changes = self._streams[stream].take(items)
            if changes is None:
                return None
            leaves += changes.leaves
            gone |= changes.gone
        return Changes(leaves, gone)


class _Read(msgspec.Struct, array_like=True):
    """What is known of the items of a transcript that were taken."""

    order: int = 0
    summaries: int = 0
    stretch: int = 0
    until: float | None = None
    places: bytearray = msgspec.field(default_factory=bytearray)
    """By position: the digest of the item's id, the rank of its origin, and the order of the next leaf."""
    areas: dict[str, list[tuple[int, int]]] = {}
    """By summary: the positions that it covers."""
    keyed: dict[str, str] = {}
    gone: set[str] = set()
    """Withdrawn items whose groups may still change."""
    orders: dict[int, tuple[int, int, int]] = {}
    """By head of a group: the order and the stretch of its leaf, and how far back its exchange began."""
    opened: int = -1
    """The order of the leaf that opened the last exchange."""
    distrusted: set[str] = set()


_Packed = tuple[_Read, PackedGrouping, dict[int, dict[int, bytes]]]


class TranscriptLeaves:
    """The leaves of one transcript, or of the pool."""

    def __init__(self, source: str, transcript: str, packed: _Packed | None = None) -> None:
        """Continue with what was packed, if it is given."""
        self._source, self._transcript = source, transcript
        self._read, grouping, groups = packed or (_Read(), Grouping().packed(), {})
        # By head, then by position; those that others may join.
        self._groups = {
            head: {position: JSON.decode_item(body) for position, body in group.items()}
            for head, group in groups.items()
        }
        items = {position: item for group in self._groups.values() for position, item in group.items()}
        self._grouping = Grouping.unpacked(grouping, items.__getitem__)
        self._positions: dict[str, int] = {}  # of the items that are being taken

    def packed(self) -> _Packed:
        """What is needed to take the next items."""
        groups = {
            head: {position: JSON.encode_item(item) for position, item in group.items()}
            for head, group in self._groups.items()
        }
        return self._read, self._grouping.packed(), groups

    def take(self, items: Sequence[Item]) -> Changes | None:
        """Return what items change; none if they undo an earlier edit, or hide earlier items from recall."""
        read, undone = self._read, _undone_by(items)
        known = len(read.places) // _PLACE
        self._positions = {item.id: position for position, item in enumerate(items, known)}
        distrusted = {item.target for item in items if isinstance(item, Distrust) and item.id not in undone}
        if known and not undone | distrusted <= self._positions.keys():
            return None
        read.distrusted |= distrusted
        before, touched = set(read.gone), dict[int, None]()
        is_pool = self._transcript == POOL
        for position, item in enumerate(items, known):
            head = self._grouping.add(item, position)
            is_edit = type(item) in EDITS
            if not is_edit or (isinstance(item, Summary) and item.id not in undone):
                self._groups.setdefault(head, {})[position] = item
                if _has_words(item):
                    self._give_order(head, item)
                if head in read.orders:
                    touched[head] = None
            rank = ORIGINS.index(self._origin(item))
            read.places += _digest_of(item.id) + bytes((rank,)) + read.order.to_bytes(_ORDER, "big")
            if not (is_edit or is_pool) or item.id in undone:
                continue
            if isinstance(item, Hide) and not is_pool:
                if item.extras.get(RECALL) is False:
                    for start, stop in self._area(item.spans):
                        if start < known:
                            return None
                        read.gone.update(one.id for one in items[start - known : stop - known])
            else:
                self._withdraw(item)
        made = filter(None, map(self._leaf, touched))
        changes = Changes([leaf for leaf in made if leaf.key not in read.gone], read.gone - before)
        self._close_groups()
        self._positions = {}
        return changes

    def _give_order(self, head: int, item: Item) -> None:
        read, at = self._read, item.created_at
        if head in read.orders:
            return
        is_reply = read.opened >= 0 and not isinstance(item, Note | Summary) and not _is_of_user(item)
        if read.until is not None and at - read.until > PAUSE and not is_reply:
            read.stretch += 1
        read.until = at if read.until is None else max(read.until, at)
        if isinstance(item, Summary):
            read.summaries += 1
            order = _SUMMARIES_AT + _APART * read.summaries
        else:
            order = read.order
            read.order += _APART if self._transcript == POOL else 1
            if not is_reply:
                read.opened = -1 if isinstance(item, Note) else order
        read.orders[head] = order, read.stretch, order - read.opened if is_reply else 0

    def _origin(self, item: Item) -> Origin:
        """Return the lowest of an item's own origin and those of its sources."""
        if item.id in self._read.distrusted:
            return "external"
        names = [name for name in item.extras.get(OF, ()) if name != ALL] if item.extras else []
        if not names and not isinstance(item, Summary):
            return own_origin(item)
        spans = item.spans if isinstance(item, Summary) else ()
        areas = [*self._area(spans), *((p, p + 1) for p in map(self._position, names) if p >= 0)]
        elsewhere = any(self._position(name) < 0 for name in names)
        elsewhere |= any(self._position(span.first) < 0 for span in spans)
        other: Origin = item.extras.get(ELSEWHERE) or item.origin or "external"
        places = self._read.places
        ranks = {
            rank
            for start, stop in areas
            for rank in places[start * _PLACE + _DIGEST : stop * _PLACE : _PLACE]
        }
        return lowest((own_origin(item), *([other] if elsewhere else ()), *map(ORIGINS.__getitem__, ranks)))

    def _withdraw(self, item: Item) -> None:
        """Note which leaves a summary, or an item of the pool, withdraws."""
        read = self._read
        match item:
            case Summary():
                own = self._positions[item.id]
                area = self._area(item.spans) or [(own, own + 1)]
                read.gone.update(one for one, other in read.areas.items() if _is_within(other, area))
                read.areas = {one: other for one, other in read.areas.items() if one not in read.gone}
                read.areas[item.id] = area
            case Hide():
                read.gone.update(span.first for span in item.spans)
            case Note(key=str(key)):
                if key in read.keyed:
                    read.gone.add(read.keyed[key])
                read.keyed[key] = item.id
                read.gone.discard(item.id)
            case _:
                pass

    def _area(self, spans: Iterable[Span]) -> list[tuple[int, int]]:
        """Return the positions of spans; items before the beginning of this log have none."""
        found = [(max(self._position(one.first), 0), self._position(one.last) + 1) for one in spans]
        return [(start, stop) for start, stop in found if stop > start]

    def _position(self, item_id: str) -> int:
        """Return where an item is, or -1."""
        if item_id in self._positions:
            return self._positions[item_id]
        digest, places = _digest_of(item_id), self._read.places
        found = places.find(digest)
        while found > 0 and found % _PLACE:  # across two places
            found = places.find(digest, found + 1)
        return found // _PLACE

    def _leaf(self, head: int) -> Leaf | None:
        items = [
            item
            for item in self._groups[head].values()
            if not _is_recall(item) and not (item.extras and is_tombstone(item))
        ]
        text = "\n".join(filter(None, map(_words, items)))
        if not text.strip() or not any(map(_has_words, items)):
            return None
        order, stretch, after = self._read.orders[head]
        return Leaf(
            source=self._source,
            transcript=self._transcript,
            key=items[0].id,
            order=order,
            stretch=stretch,
            ids=tuple([item.id for item in items]),
            kind=_kind(items),
            at=items[0].created_at,
            speaker=_speaker(items),
            text=text,
            importance=max(map(_importance, items)),
            origin=lowest(map(self._origin, items)),
            after=after,
            covers_until=self._covers_until(items[0]),
        )

    def _covers_until(self, item: Item) -> int:
        """Return the order of the first leaf that a summary does not cover."""
        spans = item.spans if isinstance(item, Summary) else ()
        last = max((self._position(span.last) for span in spans), default=-1)
        end = (last + 1) * _PLACE
        return int.from_bytes(self._read.places[end - _ORDER : end], "big") if last >= 0 else 0

    def _close_groups(self) -> None:
        """Keep only what the next items may change: the reply that goes on, and groups with open calls."""
        calls, replying = set(self._grouping.open_calls()), self._grouping.reply
        still = {
            head: group
            for head, group in self._groups.items()
            if head == replying or not calls.isdisjoint(group)
        }
        self._groups = still
        self._read.orders = {head: order for head, order in self._read.orders.items() if head in still}
        self._read.gone &= {item.id for group in still.values() for item in group.values()}


_encode = msgspec.msgpack.Encoder().encode
_decode_states = msgspec.msgpack.Decoder(dict[str, _Packed]).decode


def _digest_of(item_id: str) -> bytes:
    return blake2b(item_id.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


def _undone_by(items: Sequence[Item]) -> set[str]:
    undone: set[str] = set()
    for item in reversed(items):
        if isinstance(item, Undo) and item.id not in undone:
            undone.add(item.target)
    return undone


def _is_within(area: list[tuple[int, int]], other: list[tuple[int, int]]) -> bool:
    return all(any(low <= start and stop <= high for low, high in other) for start, stop in area)


def _is_recall(item: Item) -> bool:
    return isinstance(item, ToolCall | ToolResult) and item.name in RECALL_TOOLS


def _has_words(item: Item) -> bool:
    """Whether an item makes its group a leaf."""
    if isinstance(item, Message):
        return item.role in ("user", "assistant")
    return type(item) in _KINDS and not _is_recall(item)


def _is_of_user(item: Item) -> bool:
    return isinstance(item, Message) and item.role == "user"


def _kind(items: Sequence[Item]) -> Kind:
    for item in items:
        if type(item) in _KINDS:
            return _KINDS[type(item)]
    return "said"


def _speaker(items: Sequence[Item]) -> str:
    """Return who said or did it: the agent or person by name, or else the role."""
    for item in items:
        if item.agent_id:
            return item.agent_id
    first = items[0]
    if isinstance(first, Summary):
        return "summary"
    return _SPEAKERS[first.role] if isinstance(first, Message) else "assistant"


def _words(item: Item) -> str:
    match item:
        case Message():
            return "\n".join(map(part_text, item.parts))
        case ToolCall():
            return f"[called {item.name} with {item.arguments}]"
        case ToolResult():
            outcome = "failed with" if item.is_error else "gave"
            return f"[{item.name} {outcome}] " + "\n".join(map(part_text, item.parts))
        case Summary():
            return item.text
        case Note():
            return "\n".join(filter(None, (item.description, note_text(item.content))))
        case _:
            return ""


def _importance(item: Item) -> float:
    """Return what an item says of its importance, or else that of its kind."""
    given = item.extras.get(IMPORTANCE) if item.extras else None
    if isinstance(given, int | float) and not isinstance(given, bool):
        return min(max(float(given), 0.0), 1.0)
    if isinstance(item, ToolResult) and item.is_error:
        return _ERROR
    if isinstance(item, Message) and item.role == "user":
        return _QUESTION
    return _IMPORTANCE.get(type(item), 0.0)
