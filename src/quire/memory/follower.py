"""The follower: it keeps an index up to date with a store, by reading new entries before each search.

An append costs nothing here, and writes of other processes are read too. The index stores how far each
conversation was read, and the checksum of the last entry. If something was forgotten, or a restored store has
another entry there, the whole conversation is read again and the differences are applied to the index, so it
never has anything that the store lacks.

A leaf of a conversation is a group of items: a message, a note, a summary, or a call with its result. A late
result joins the leaf of its call: the leaf is made again with the same key and place. A forgotten item keeps
its place without a text, so all others keep theirs.

A leaf has the lowest origin of its items. When an item is distrusted, or no longer distrusted, the whole
conversation is read again, because items made of it change too.

Some leaves are withdrawn: a note that was replaced under its key or dropped, a summary that a later one
covers, and items that are hidden by a `Hide` with `extras={"recall": False}`. Other hidden items stay,
because recall is for what a compactor left out of the view.
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
from quire.memory.index import Index, LeafFilter, Progress
from quire.memory.knowledge import Knowledge
from quire.memory.leaf import KNOWLEDGE, Kind, Leaf, leaves_of_document
from quire.state import Grouping, PackedGrouping, derived_origin, is_user_message, source_ids
from quire.stores import LogVersion, Place, Store, Stored, items_in
from quire.stores.store import is_internal, is_tombstone
from quire.stores.streams import FORGOTTEN, POOL
from quire.tokens import note_text

RECALL = "recall"
"""The key of `extras` of a `Hide`; with `False`, the hidden items are not recalled either."""

IMPORTANCE = "importance"
"""The key of `extras` for the importance of an item, from 0 to 1."""

RECALL_TOOLS = frozenset(("recall", "search_knowledge"))
"""Their calls and results repeat leaves of the index, so they are in none."""

PAUSE = 6 * 3600.0
"""Seconds of silence after which a new stretch begins."""

_SUMMARIES_AT = 1 << 30
"""The orders of summaries begin here, so that none is between two messages."""

_APART = 8
"""The distance between the orders of summaries, and of notes in the pool: none is a neighbour of another."""

_PLACE_BYTES, _ORDER_BYTES = 13, 4
"""The bytes of an item's entry in `_State.places`, and of the order at its end."""

_DIGEST_BYTES = _PLACE_BYTES - _ORDER_BYTES - 1  # one byte is the rank of the origin

_KINDS: dict[type, Kind] = {ToolCall: "done", ToolResult: "done", Summary: "summary", Note: "note"}
_ERROR, _QUESTION = 0.9, 0.65
_IMPORTANCE: dict[type, float] = {Summary: 0.8, Note: 0.8, ToolResult: 0.75, ToolCall: 0.7, Message: 0.5}
_SPEAKERS = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


class Follower:
    """Keeps the index of one scope up to date with its store."""

    def __init__(self, store: Store, scope: str, index: Index, knowledge: Knowledge) -> None:
        self.index = index
        self._store, self._scope, self._knowledge = store, scope, knowledge
        self._logs: dict[str, LogLeaves] = {}
        self._moment: Any = None
        self._lock = RLock()

    def catch_up(self) -> None:
        """Index what was written, and remove what was forgotten, since the last call."""
        with self._lock:
            changes = self._store.changes(self._scope, self._moment)
            for name in self.index.progress.keys() - changes.versions.keys() if changes.is_all else ():
                self._drop(name)
            for name, log_version in changes.versions.items():
                progress = self.index.progress.get(name)
                if progress is None or not self._is_read(name, progress, log_version):
                    self._read(name, progress, log_version)
            self._moment = changes.moment

    def catch_up_to_save(self) -> None:
        """Catch up, and store in the index where each conversation continues."""
        with self._lock:
            self.catch_up()
            self.index.states |= {name: log.state() for name, log in self._logs.items()}

    def _is_read(self, name: str, progress: Progress, log_version: LogVersion) -> bool:
        if (progress.version, progress.log, progress.checksum) != log_version:
            return False
        if log_version.checksum is not None:
            return True
        return _continues(self._entries(name, progress.version - 1), progress)

    def _entries(self, name: str, after: int = 0) -> list[Stored]:
        return self._store.read(Place(self._scope, name), after=after)

    def _read(self, name: str, progress: Progress | None, log_version: LogVersion) -> None:
        """Read the entries after the last that was read, if that is unchanged; otherwise read all again."""
        if name == KNOWLEDGE:
            # Read before the documents: they may be newer than the progress, but never older.
            stored = self._entries(name, log_version.version - 1)
            documents = self._knowledge.all_chunks().values()
            self._replace(name, stored, log_version, chain.from_iterable(map(leaves_of_document, documents)))
            return
        if progress is not None and self._read_on(name, progress, log_version):
            return
        self._logs[name] = log = LogLeaves(Place(self._scope, name))
        stored = self._entries(name)
        changes = log.apply(stored)
        self._replace(name, stored, log_version, changes.leaves if changes is not None else ())

    def _read_on(self, name: str, progress: Progress, log_version: LogVersion) -> bool:
        """Apply the entries after the last that was read; return whether that was possible."""
        if progress.log != log_version.log:
            return False
        log, stored = self._logs.pop(name, None), self._entries(name, progress.version - 1)
        if log is None and (state := self.index.state(name)) is not None:  # from another process
            log = LogLeaves.of_state(Place(self._scope, name), state)
        changes = log.apply(stored[1:]) if log is not None and _continues(stored, progress) else None
        if log is None or changes is None:
            return False
        now = _progress(stored, log_version)
        self.index.update(name, now, removed=changes.withdrawn, leaves=changes.leaves)
        self._logs[name] = log
        return True

    def _replace(
        self, name: str, stored: Sequence[Stored], log_version: LogVersion, new: Iterable[Leaf]
    ) -> None:
        """Replace the leaves of a source that differ from the new ones."""
        if not stored:  # the conversation was removed meanwhile
            self._drop(name)
            return
        known = self.index.newest(len(self.index), LeafFilter(sources=frozenset((name,))))
        before = {(leaf.transcript, leaf.key): leaf for leaf in known}
        now = {(leaf.transcript, leaf.key): leaf for leaf in new}
        changed = {key for _, key in before.keys() ^ now.keys()}
        changed |= {leaf.key for key, leaf in now.items() if key in before and before[key] != leaf}
        leaves = [leaf for leaf in now.values() if leaf.key in changed]
        self.index.update(name, _progress(stored, log_version), removed=changed, leaves=leaves)

    def _drop(self, name: str) -> None:
        self._logs.pop(name, None)
        self.index.update(name, None)


def _continues(stored: Sequence[Stored], progress: Progress) -> bool:
    """Whether the first entry is the last that was read, and nothing was forgotten since."""
    if not stored or _digest(stored[0]) != progress.last:
        return False
    return not any(entry.stream == FORGOTTEN for entry in stored[1:])


def _progress(stored: Sequence[Stored], log_version: LogVersion) -> Progress:
    return Progress(stored[-1].version, _digest(stored[-1]), log_version.log, log_version.checksum)


def _digest(entry: Stored) -> bytes:
    return blake2b(entry.body, digest_size=16, key=entry.stream.encode()[:64]).digest()


# The leaves of a log


class Changes(NamedTuple):
    """New or changed leaves, and the keys of withdrawn ones."""

    leaves: list[Leaf]
    withdrawn: set[str]


class LogLeaves:
    """The leaves of one conversation. Entries are applied in the order of the log."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._streams: dict[str, TranscriptLeaves] = {}

    @classmethod
    def of_state(cls, place: Place, state: bytes) -> "LogLeaves":
        """Return the leaves as they were when `state()` returned this state."""
        log = cls(place)
        for stream, packed in _decode_states(state).items():
            log._streams[stream] = TranscriptLeaves(place.conversation, stream, packed)
        return log

    def state(self) -> bytes:
        """What the next entries need: numbers, digests, and the items of unfinished groups."""
        return _encode({stream: leaves.packed() for stream, leaves in self._streams.items()})

    def apply(self, stored: Sequence[Stored]) -> Changes | None:
        """Return what entries change; None if they change older leaves, so that all must be read again."""
        entries = [entry for entry in stored if entry.stream == POOL or not is_internal(entry.stream)]
        rows: dict[str, list[Item]] = {}
        for entry, item in zip(entries, items_in(self._place, entries), strict=True):
            rows.setdefault(entry.stream, []).append(item)
        leaves, withdrawn = list[Leaf](), set[str]()
        for stream, items in rows.items():
            if stream not in self._streams:
                self._streams[stream] = TranscriptLeaves(self._place.conversation, stream)
            changes = self._streams[stream].apply(items)
            if changes is None:
                return None
            leaves += changes.leaves
            withdrawn |= changes.withdrawn
        return Changes(leaves, withdrawn)


class _State(msgspec.Struct, array_like=True):
    """What is known of the applied items of a transcript."""

    next_order: int = 0
    summary_count: int = 0
    stretch: int = 0
    latest: float | None = None
    """The time of the latest item."""
    places: bytearray = msgspec.field(default_factory=bytearray)
    """By position: a digest of the item's id, the rank of its origin, and the order of the next leaf."""
    areas: dict[str, list[tuple[int, int]]] = {}
    """By summary: the positions that it covers."""
    note_by_key: dict[str, str] = {}
    withdrawn: set[str] = set()
    """Withdrawn items whose groups may still change."""
    orders: dict[int, tuple[int, int, int]] = {}
    """By head of a group: the order and the stretch of its leaf, and the distance to the leaf that opens its
    exchange."""
    opened: int = -1
    """The order of the leaf that opened the last exchange."""
    distrusted: set[str] = set()


_Packed = tuple[_State, PackedGrouping, dict[int, dict[int, bytes]]]


class TranscriptLeaves:
    """The leaves of one transcript, or of the pool."""

    def __init__(self, source: str, transcript: str, packed: _Packed | None = None) -> None:
        """With `packed`, continue where `packed()` was called."""
        self._source, self._transcript = source, transcript
        self._state, grouping, groups = packed or (_State(), Grouping().packed(), {})
        # Groups that other items may join, by head and then by position.
        self._groups = {
            head: {position: JSON.decode_item(body) for position, body in group.items()}
            for head, group in groups.items()
        }
        items = {position: item for group in self._groups.values() for position, item in group.items()}
        self._grouping = Grouping.unpacked(grouping, items.__getitem__)
        self._positions: dict[str, int] = {}  # of the items that are being applied

    def packed(self) -> _Packed:
        """What the next items need."""
        groups = {
            head: {position: JSON.encode_item(item) for position, item in group.items()}
            for head, group in self._groups.items()
        }
        return self._state, self._grouping.packed(), groups

    def apply(self, items: Sequence[Item]) -> Changes | None:
        """Return what items change; None if one of them is an edit that changes older leaves."""
        state, undone = self._state, _undone_by(items)
        first_new = len(state.places) // _PLACE_BYTES
        self._positions = {item.id: position for position, item in enumerate(items, first_new)}
        distrusted = {item.target for item in items if isinstance(item, Distrust) and item.id not in undone}
        if first_new and not undone | distrusted <= self._positions.keys():
            return None
        state.distrusted |= distrusted
        withdrawn_before, touched = set(state.withdrawn), dict[int, None]()
        is_pool = self._transcript == POOL
        for position, item in enumerate(items, first_new):
            head = self._grouping.add(item, position)
            is_edit = type(item) in EDITS
            if not is_edit or (isinstance(item, Summary) and item.id not in undone):
                self._groups.setdefault(head, {})[position] = item
                if _makes_leaf(item):
                    self._assign_order(head, item)
                if head in state.orders:
                    touched[head] = None
            rank = ORIGINS.index(self._origin(item))
            next_order = state.next_order.to_bytes(_ORDER_BYTES, "big")
            state.places += _digest_of(item.id) + bytes((rank,)) + next_order
            if not (is_edit or is_pool) or item.id in undone:
                continue
            if isinstance(item, Hide) and not is_pool:
                if item.extras.get(RECALL) is False:
                    for start, stop in self._area(item.spans):
                        if start < first_new:
                            return None
                        hidden = items[start - first_new : stop - first_new]
                        state.withdrawn.update(item.id for item in hidden)
            else:
                self._withdraw(item)
        leaves = [leaf for leaf in map(self._leaf, touched) if leaf and leaf.key not in state.withdrawn]
        changes = Changes(leaves, state.withdrawn - withdrawn_before)
        self._close_groups()
        self._positions = {}
        return changes

    def _assign_order(self, head: int, item: Item) -> None:
        state, at = self._state, item.created_at
        if head in state.orders:
            return
        is_reply = state.opened >= 0 and not isinstance(item, Note | Summary) and not is_user_message(item)
        if state.latest is not None and at - state.latest > PAUSE and not is_reply:
            state.stretch += 1
        state.latest = at if state.latest is None else max(state.latest, at)
        if isinstance(item, Summary):
            state.summary_count += 1
            order = _SUMMARIES_AT + _APART * state.summary_count
        else:
            order = state.next_order
            state.next_order += _APART if self._transcript == POOL else 1
            if not is_reply:
                state.opened = -1 if isinstance(item, Note) else order
        state.orders[head] = order, state.stretch, order - state.opened if is_reply else 0

    def _origin(self, item: Item) -> Origin:
        """Return the lowest of an item's own origin and those of its sources."""
        if item.id in self._state.distrusted:
            return "external"
        names, spans = source_ids(item), item.spans if isinstance(item, Summary) else ()
        if not names and not spans:
            return own_origin(item)
        positions = [self._position(name) for name in names]
        areas = [*self._area(spans), *((p, p + 1) for p in positions if p >= 0)]
        has_others = any(p < 0 for p in (*positions, *(self._position(span.first) for span in spans)))
        places = self._state.places
        ranks = {
            rank
            for start, stop in areas
            for rank in places[start * _PLACE_BYTES + _DIGEST_BYTES : stop * _PLACE_BYTES : _PLACE_BYTES]
        }
        return derived_origin(item, map(ORIGINS.__getitem__, ranks), has_others=has_others)

    def _withdraw(self, item: Item) -> None:
        """Withdraw the leaves that a summary, or an item of the pool, replaces."""
        state = self._state
        match item:
            case Summary():
                own = self._positions[item.id]
                area = self._area(item.spans) or [(own, own + 1)]
                replaced = {earlier for earlier, inner in state.areas.items() if _is_within(inner, area)}
                state.withdrawn |= replaced
                state.areas = {name: a for name, a in state.areas.items() if name not in state.withdrawn}
                state.areas[item.id] = area
            case Hide():
                state.withdrawn.update(span.first for span in item.spans)
            case Note(key=str(key)):
                if key in state.note_by_key:
                    state.withdrawn.add(state.note_by_key[key])
                state.note_by_key[key] = item.id
                state.withdrawn.discard(item.id)
            case _:
                pass

    def _area(self, spans: Iterable[Span]) -> list[tuple[int, int]]:
        """Return the positions of spans, as far as they are in this log."""
        area = [(max(self._position(span.first), 0), self._position(span.last) + 1) for span in spans]
        return [(start, stop) for start, stop in area if stop > start]

    def _position(self, item_id: str) -> int:
        """Return the position of an item, or -1."""
        if item_id in self._positions:
            return self._positions[item_id]
        digest, places = _digest_of(item_id), self._state.places
        found = places.find(digest)
        while found > 0 and found % _PLACE_BYTES:  # a match across two places
            found = places.find(digest, found + 1)
        return found // _PLACE_BYTES

    def _leaf(self, head: int) -> Leaf | None:
        items = [
            item
            for item in self._groups[head].values()
            if not _is_recall_traffic(item) and not (item.extras and is_tombstone(item))
        ]
        text = "\n".join(filter(None, map(_text_of, items)))
        if not text.strip() or not any(map(_makes_leaf, items)):
            return None
        order, stretch, after = self._state.orders[head]
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
        end = (last + 1) * _PLACE_BYTES
        return int.from_bytes(self._state.places[end - _ORDER_BYTES : end], "big") if last >= 0 else 0

    def _close_groups(self) -> None:
        """Keep only groups that the next items may join: the unfinished reply, and those with open calls."""
        calls, replying = set(self._grouping.open_calls()), self._grouping.reply
        unfinished = {
            head: group
            for head, group in self._groups.items()
            if head == replying or not calls.isdisjoint(group)
        }
        self._groups = unfinished
        self._state.orders = {head: order for head, order in self._state.orders.items() if head in unfinished}
        self._state.withdrawn &= {item.id for group in unfinished.values() for item in group.values()}


_encode = msgspec.msgpack.Encoder().encode
_decode_states = msgspec.msgpack.Decoder(dict[str, _Packed]).decode


def _digest_of(item_id: str) -> bytes:
    return blake2b(item_id.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def _undone_by(items: Sequence[Item]) -> set[str]:
    undone: set[str] = set()
    for item in reversed(items):
        if isinstance(item, Undo) and item.id not in undone:
            undone.add(item.target)
    return undone


def _is_within(inner: list[tuple[int, int]], outer: list[tuple[int, int]]) -> bool:
    return all(any(low <= start and stop <= high for low, high in outer) for start, stop in inner)


def _is_recall_traffic(item: Item) -> bool:
    return isinstance(item, ToolCall | ToolResult) and item.name in RECALL_TOOLS


def _makes_leaf(item: Item) -> bool:
    """Whether an item makes its group a leaf."""
    if isinstance(item, Message):
        return item.role in ("user", "assistant")
    return type(item) in _KINDS and not _is_recall_traffic(item)


def _kind(items: Sequence[Item]) -> Kind:
    for item in items:
        if type(item) in _KINDS:
            return _KINDS[type(item)]
    return "said"


def _speaker(items: Sequence[Item]) -> str:
    """Return the name of the agent or person of some items, or else their role."""
    for item in items:
        if item.agent_id:
            return item.agent_id
    first = items[0]
    if isinstance(first, Summary):
        return "summary"
    return _SPEAKERS[first.role] if isinstance(first, Message) else "assistant"


def _text_of(item: Item) -> str:
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
    """Return the importance of an item from its `extras`, or else that of its kind."""
    own = item.extras.get(IMPORTANCE) if item.extras else None
    if isinstance(own, int | float) and not isinstance(own, bool):
        return min(max(float(own), 0.0), 1.0)
    if isinstance(item, ToolResult) and item.is_error:
        return _ERROR
    if is_user_message(item):
        return _QUESTION
    return _IMPORTANCE.get(type(item), 0.0)
