"""Checkpoints: with a checkpoint, a conversation is opened without reading its whole log.

A checkpoint is derived from the log, and is never the source of truth. The log is read instead if the
checkpoint is missing, damaged, of another format, or older than an erasure. It has ids, versions and numbers,
but no content: content is read from the entries it refers to, some of it only when it is needed.

Its head has the outline of each transcript, and the versions of the entries that every opening needs: notes
of the pool, open plans and calls, instructions, pins, summaries, and the window of the last request. The
other parts are the pages of the transcripts.
"""

from array import array
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import islice

import msgspec

from quire.errors import QuireError, StoreFailed
from quire.items import Item, Note
from quire.session.spending import Spending
from quire.session.state import ITEM_WEIGHT, SKIMMED, State, Versions, Written, weight_of
from quire.state import (
    MAX_ITEMS,
    MAX_PAGES,
    PAGE,
    Cut,
    Outline,
    Page,
    Pool,
    RecentCache,
    Transcript,
    View,
    archived,
    needed_positions,
    reopened,
)
from quire.stores import Opening, Place, Store, Stored, items_in
from quire.stores.store import decode_bodies
from quire.stores.streams import FORGOTTEN, MAIN, ORIGIN

_MEMORY_FACTOR = 4
"""Bytes of memory for each stored byte of a head or page."""

_FORMAT = 4
_MAX_TRANSCRIPTS = 256
_WINDOW = 512
"""How many items an opening reads at once if no cut of a history is known."""


class _Part(msgspec.Struct, array_like=True, frozen=True):
    """A page, and the versions of its entries."""

    versions: bytes
    page: Page


class _Saved(msgspec.Struct, array_like=True, frozen=True):
    """A transcript in the head of a checkpoint."""

    outline: Outline
    first_versions: bytes
    """The version of the first item of each page."""
    pages: dict[int, _Part]
    """The last pages, by number."""
    needed: dict[int, int]
    """By position, the versions of the items that every opening needs."""


class _Head(msgspec.Struct, array_like=True, frozen=True):
    """The state of a conversation at a version. Entries (`pool`, `origin`, …) are given by their versions."""

    format: int
    last_digest: bytes
    """The digest of the last entry."""
    inherited: int
    """How many items of the main transcript a fork inherited."""
    past_forget_count: int
    """As in `State`."""
    transcripts: dict[str, _Saved]
    origin: int
    pool: list[int]
    plans: list[int]
    calls: list[int]
    reserved_names: list[str]
    spending: Spending
    receipt_parts: list[tuple[bytes, int]]
    cuts: dict[str, Cut]
    erased_names: list[str]
    unwiped: list[str]
    forget_count: int
    last_versions: dict[str, int]
    jobs: list[int] = []


_encode = msgspec.msgpack.Encoder().encode
_decode_head = msgspec.msgpack.Decoder(_Head).decode
_decode_part = msgspec.msgpack.Decoder(_Part).decode


class Checkpoint:
    """The last checkpoint of a conversation that this process has opened or written."""

    def __init__(self, store: Store, place: Place) -> None:
        self._store, self._place = store, place
        self.version = 0
        self.links: int | None = None
        """The version of the conversation `LINKS` at the opening, if that is known."""
        self.cached_counts = 0
        """`State.cached_counts` at `version`."""
        self._saved: dict[str, _Saved] = {}
        self._head_weight = 0
        self._loaders: list[_PageLoader] = []

    @property
    def weight(self) -> int:
        """Estimate the bytes of memory of everything that was read through the checkpoint."""
        return self._head_weight + sum(loader.weight for loader in self._loaders)

    def open(self, state: State) -> tuple[bytes, list[Stored]] | None:
        """Restore an empty state from the stored checkpoint, if there is one that can be used.

        Returns the body of the last entry of the checkpoint, and the entries after it.
        """
        opening = self._store.open_checkpoint(self._place)
        if opening is None:
            return None
        self.links = opening.links
        try:
            head = _decode_head(opening.head)
        except msgspec.MsgspecError:
            return None
        last, *after = opening.entries
        is_of_log = _digest(last.body) == head.last_digest and head.format == _FORMAT
        if not is_of_log or any(stored.stream == FORGOTTEN for stored in after):
            return None
        try:
            self._restore(head, opening, state)
        except (QuireError, KeyError):  # for example, the parent of a fork was removed
            return None
        if state.past_forget_count != head.past_forget_count:
            return None
        self.version, self._saved = opening.version, head.transcripts
        self.cached_counts = state.cached_counts()
        return last.body, after

    def _restore(self, head: _Head, opening: Opening, state: State) -> None:
        needed = _NeededItems(self._place, opening)
        if head.origin:
            state.apply([Written(ORIGIN, needed.items[head.origin])])
        past = state.transcripts[MAIN]
        self._head_weight, self._loaders = _MEMORY_FACTOR * len(opening.head) + needed.weight, []
        for index, (name, saved) in enumerate(head.transcripts.items()):
            loader = _PageLoader(self._store, self._place, name, index, saved, needed)
            self._loaders.append(loader)
            loader.past = past if name == MAIN and head.inherited else None
            state.transcripts[name] = reopened(saved.outline, loader, loader.past)
            state.own_versions[name] = Versions(saved.outline, loader.first_versions, loader.versions)
        state.version = opening.version
        rows = (head.pool, head.plans, head.calls, head.jobs)
        pool, plans, calls, jobs = ([needed.items[version] for version in row] for row in rows)
        state.pool = Pool.restored([note for note in pool if isinstance(note, Note)])
        state.plans = {note.id: note for note in plans if isinstance(note, Note)}
        state.calls.apply(calls, state.pending())
        state.jobs.apply(jobs)
        versions = [*head.pool, *head.plans, *head.calls, *head.jobs, *[head.origin] * bool(head.origin)]
        state.versions_by_id.update((needed.items[version].id, version) for version in versions)
        state.reserved_names, state.spending, state.cuts = set(head.reserved_names), head.spending, head.cuts
        state.receipt_parts = dict(head.receipt_parts)
        state.erased_names, state.unwiped = set(head.erased_names), set(head.unwiped)
        state.forget_count, state.last_versions = head.forget_count, head.last_versions

    def drop(self) -> None:
        """Drop the checkpoint, because entries were replaced: the next one is written from the start."""
        self.version, self._saved, self.cached_counts = 0, {}, 0
        self._head_weight, self._loaders = 0, []

    def write(self, state: State, last: bytes) -> bool:
        """Write a checkpoint of a state whose last entry has this body; return whether the store kept it."""
        self.version = state.version  # after a failure, wait for more entries before the next try
        if len(state.transcripts) > _MAX_TRANSCRIPTS:
            return False
        parts: dict[int, bytes] = {}
        needed: set[int] = set()
        transcripts: dict[str, _Saved] = {}
        for index, (name, transcript) in enumerate(state.transcripts.items()):
            saved, pages = self._save(name, transcript, state)
            transcripts[name] = saved
            parts |= {_part_number(number, index): _encode(page) for number, page in pages.items()}
            window, start = _window(transcript.view, state.cuts), saved.outline.start
            needed.update(saved.needed.values())
            needed.update(state.own_versions[name].between(max(window.start - start, 0), window.stop - start))
        pool, calls = [state.versions_by_id[note.id] for note in state.pool], state.calls.needed_ids()
        head = _Head(
            format=_FORMAT,
            last_digest=_digest(last),
            inherited=state.inherited_length(MAIN),
            past_forget_count=state.past_forget_count,
            transcripts=transcripts,
            origin=state.versions_by_id[state.origin.id] if state.origin is not None else 0,
            pool=pool,
            plans=[state.versions_by_id[note_id] for note_id in state.plans],
            calls=sorted(state.versions_by_id[item_id] for item_id in calls),
            reserved_names=sorted(state.reserved_names),
            spending=state.spending,
            receipt_parts=list(state.receipt_parts.items()),
            cuts=state.cuts,
            erased_names=sorted(state.erased_names),
            unwiped=sorted(state.unwiped),
            forget_count=state.forget_count,
            last_versions=state.last_versions,
            jobs=sorted(state.versions_by_id[item_id] for item_id in state.jobs.needed_ids()),
        )
        tracked = {*head.pool, *head.plans, *head.calls, *head.jobs, head.origin} - {0}
        state.versions_by_id = {name: at for name, at in state.versions_by_id.items() if at in tracked}
        self.cached_counts = state.cached_counts()
        versions = sorted(needed | tracked)
        is_kept = self._store.write_checkpoint(self._place, state.version, _encode(head), versions, parts)
        if is_kept:
            self._saved = transcripts
        return is_kept

    def _save(self, name: str, transcript: Transcript, state: State) -> tuple[_Saved, dict[int, _Part]]:
        """A transcript for the head, with its last two pages; and the new pages before these."""
        start, before = state.inherited_length(name), self._saved.get(name)
        outline, pages = archived(transcript, start, None if before is None else before.outline)
        versions = state.own_versions[name]
        part_by_number = {} if before is None else dict(before.pages)
        first_versions = array("Q", b"" if before is None else before.first_versions)
        for number, page in pages.items():
            first = max(number * PAGE, start) - start
            of_page = array("Q", versions.between(first, first + len(page.ids)))
            part_by_number[number] = _Part(of_page.tobytes(), page)
            del first_versions[number - outline.first_page :]
            first_versions.append(of_page[0])
        last = {number: part_by_number.pop(number) for number in sorted(part_by_number)[-2:]}
        needed = {p: versions[p - start] for p in needed_positions(transcript.view) if p >= start}
        return _Saved(outline, first_versions.tobytes(), last, needed), part_by_number


class _NeededItems:
    """The items that every opening needs, read together with the head."""

    def __init__(self, place: Place, opening: Opening) -> None:
        # Receipts and their parts are never needed.
        last = [entry for entry in opening.entries[:1] if entry.stream not in SKIMMED]
        needed = [opening.needed_bodies] if opening.needs else []
        versions = [*opening.needs, *(entry.version for entry in last)]
        bodies = b",".join([*needed, *(entry.body for entry in last)])
        self._place = place
        self._content: tuple[list[int], bytes] | dict[int, Item] = (versions, bodies)
        self.weight = len(bodies) + ITEM_WEIGHT * len(versions)

    @property
    def items(self) -> dict[int, Item]:
        """The items by version. The first access decodes them all."""
        content = self._content
        if isinstance(content, tuple):
            versions, bodies = content
            items = decode_bodies(self._place, bodies, len(versions))
            content = self._content = dict(zip(versions, items, strict=True))
        return content


class _PageLoader:
    """Loads the pages and the items of one transcript."""

    past: Transcript | None = None
    """The transcript that a fork has inherited; `None` if the conversation is no fork."""

    def __init__(
        self, store: Store, place: Place, name: str, index: int, saved: _Saved, needed: _NeededItems
    ) -> None:
        self._store, self._place, self._name, self._index = store, place, name, index
        self._outline, self._parts, self._needed = saved.outline, dict(saved.pages), saved.needed
        self._needed_items = needed
        self._cache = RecentCache[_Part](MAX_PAGES)
        self._items_read = self._items_weight = self._pages_weight = 0
        self.first_versions = array("Q", saved.first_versions)

    @property
    def weight(self) -> int:
        """Estimate the bytes of memory of the pages and items that are still cached."""
        cached_share = min(2 * MAX_ITEMS / max(self._items_read, 1), 1)
        return self._pages_weight + int(self._items_weight * cached_share)

    def page(self, number: int) -> Page:
        """The page with a number."""
        return self._part(number).page

    def items(self, positions: Sequence[int]) -> list[Item]:
        """The items at some positions. Those that are not in memory are read together."""
        versions = self._versions_at(positions)
        needed = self._needed_items.items
        # Needed items are popped, because the caller caches the items.
        item_by_version = {version: needed.pop(version, None) for version in versions}
        missing = [version for version, item in item_by_version.items() if item is None]
        if missing:
            read = self._store.read_at(self._place, missing)
            item_by_version |= zip(missing, items_in(self._place, read), strict=True)
            self._items_read += len(read)
            self._items_weight += sum(map(weight_of, read))
        items = [item for item in item_by_version.values() if item is not None]
        if positions and positions[-1] not in self._needed and items[-1].id != self._id_of(positions[-1]):
            raise StoreFailed(f"{self._place} was removed while it was open, and begun again")
        return items

    def _versions_at(self, positions: Sequence[int]) -> list[int]:
        """The versions of the items at rising positions. Items that every opening needs cost no page."""
        needed, versions = self._needed, list[int]()
        of_page: Sequence[int] = ()
        first = stop = -1
        for position in positions:
            version = needed.get(position)
            if version is None:
                if position >= stop:
                    number = position // PAGE
                    first, stop = max(number * PAGE, self._outline.start), (number + 1) * PAGE
                    of_page = self.versions(number)
                version = of_page[position - first]
            versions.append(version)
        return versions

    def _id_of(self, position: int) -> str:
        number = position // PAGE
        return self._part(number).page.ids[position - max(number * PAGE, self._outline.start)]

    def versions(self, number: int) -> "array[int]":
        """The versions of the items of a page."""
        return array("Q", self._part(number).versions)

    def _part(self, number: int) -> _Part:
        part = self._parts.get(number) or self._cache.get(number)
        if part is None:
            part_number = _part_number(number, self._index)
            try:
                body = self._store.read_parts(self._place, [part_number])[part_number]
                part = self._cache.put(number, _decode_part(body))
                weight = _MEMORY_FACTOR * len(body)
                self._pages_weight = min(self._pages_weight + weight, 2 * MAX_PAGES * weight)
            except (KeyError, msgspec.MsgspecError):  # it is damaged, or something was forgotten since
                self._parts |= self._parts_from_log()
                part = self._parts[number]
        return part

    def _parts_from_log(self) -> dict[int, _Part]:
        """Make all pages again from the log."""
        entries = [stored for stored in self._store.read(self._place) if stored.stream == self._name]
        length = self._outline.end - self._outline.start
        transcript = Transcript() if self.past is None else self.past.copy()
        transcript.extend(items_in(self._place, entries[:length]))
        if len(entries) < length:
            raise StoreFailed(f"{self._place} was removed while it was open")
        _, pages = archived(transcript, self._outline.start)
        versions = iter(stored.version for stored in entries)
        return {
            number: _Part(array("Q", islice(versions, len(page.ids))).tobytes(), page)
            for number, page in pages.items()
        }


def _window(view: View, cuts: Mapping[str, Cut]) -> range:
    """The positions that the next request will probably show: those from the earliest cut on."""
    positions = [view.log.find(cut.first or cut.first_whole, view.end) for cut in cuts.values()]
    starts = [position for position in positions if position is not None]
    return range(max(min(starts, default=view.end - _WINDOW), view.end - 2 * PAGE, 0), view.end)


def _part_number(number: int, index: int) -> int:
    """The number of the checkpoint part with a page of a transcript. Part 0 is the head."""
    return number * _MAX_TRANSCRIPTS + index + 1


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=8).digest()
