"""Transcripts: one conversation with its edits in place, its versions and branches, and comparisons.

A position counts the items of a transcript in the order of recording. The positions of a fork continue those
of its parent.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from quire.items import Undo, kind_of
from quire.reading.compactions import past_compactions
from quire.reading.items import LONG_TEXT, Shown, describe
from quire.reading.source import Count, Limit, Record, Source, counter_of, view_with
from quire.session import Session, StoredReceipt, family, request_named
from quire.state import IndexKind, Pair, Run, Stretch, View, is_edit, laid_out, side_by_side, subject
from quire.stores.streams import MAIN
from quire.tokens import Counter

_MAX_MARKS, _MAX_BRANCHES = 400, 200
_UNFOLDED = 4
"""A comparison folds more equal rows than this."""


class Row(Record, frozen=True, omit_defaults=True):
    """A row of a transcript: an item, an edit, a summary, or a fold of `count` hidden items.

    `sort` is one of these. `by` is the edit that gave the item its `state`. For an edit, `undo` is what undid
    it, and `of` the kind of the first item that it is about. `seen` says whether a request showed the item to
    the model; it is None if no later request is known.
    """

    sort: str
    position: int
    version: int
    state: str
    by: str | None
    item: Shown | None = None
    stub: Shown | None = None
    stop: int | None = None
    count: int | None = None
    undo: str | None = None
    of: str | None = None
    seen: bool | None = None


class Page(Record, frozen=True):
    """Rows from `start` on, of `length` in all; `item` is the position of the requested item.

    `request` is the version of the request to which `seen` refers.
    """

    inherited: int
    start: int
    length: int
    item: int | None
    request: int | None
    rows: Sequence[Row]


class _Version(NamedTuple):
    """A transcript at a version: its view, and the versions of its items (0 for a fork's inherited ones)."""

    session: Session
    version: int
    view: View
    versions: Sequence[int]
    inherited: int


def _version(source: Source, address: str, transcript: str, at: int | None) -> _Version:
    session = source.session(address)
    version = session.version if at is None else at
    own = source.store.versions_of(session.place, transcript, before=version + 1)
    view = session.view(transcript, at=version)
    return _Version(session, version, view, [0] * (view.end - len(own)) + own, view.end - len(own))


def _rows(length: int, limit: int, start: int | None, around: int = 0) -> range:
    """The rows of a page from `start` on, by default those around a row."""
    start = max(min(around - limit // 2, length - limit), 0) if start is None else min(start, length)
    return range(start, min(start + limit, length))


# The head: figures, marks of versions, branches


def describe_conversation(
    source: Source, address: str, transcript: str = MAIN, at: Count | None = None
) -> dict[str, Any]:
    """Return the figures of a conversation, without reading its items."""
    snapshot = _version(source, address, transcript, at)
    session, spent = snapshot.session, snapshot.session.spending
    requests, place = session.receipts.versions(), session.place
    counts = {"requests": len(requests), "compactions": len(past_compactions(session))}
    branches = family(source.store, place, _MAX_BRANCHES)
    return {
        "address": str(place),
        "version": snapshot.version,
        "transcripts": list(session.transcripts),
        "spending": {"tokens": spent.tokens, "cost": spent.cost, "unpriced": spent.unpriced},
        "counts": counts | {"steps": len(snapshot.view.open_calls())},
        "is_file": source.is_file,
        "marks": _marks(snapshot, requests),
        "branches": [branch._asdict() | {"place": str(branch.place)} for branch in branches],
    }


def measure(source: Source, address: str, transcript: str = MAIN, at: Count | None = None) -> dict[str, Any]:
    """Return the size of a version. Unlike `describe_conversation`, it may have to read and count items."""
    snapshot = _version(source, address, transcript, at)
    tokens = snapshot.view.tokens(counter_of(snapshot.session))
    return {"tokens": tokens, "shown": len(snapshot.view), "recorded": snapshot.view.end}


def _marks(snapshot: _Version, requests: Sequence[int]) -> dict[str, list[int]]:
    """The versions of user messages, edits and requests; if they are many, neighbours share a mark."""
    kinds: tuple[IndexKind, ...] = ("users", "edits")
    view = snapshot.view
    positions = {kind: view.log.positions(kind, snapshot.inherited, view.end) for kind in kinds}
    versions = {kind: [snapshot.versions[position] for position in row] for kind, row in positions.items()}
    width = snapshot.version // _MAX_MARKS + 1
    rows = [*versions.items(), ("requests", requests)]
    return {kind: list({at // width: at for at in row}.values()) for kind, row in rows}


# The transcript


def read_transcript(
    source: Source,
    address: str,
    transcript: str = MAIN,
    at: Count | None = None,
    start: Count | None = None,
    limit: Limit = 100,
    item: str = "",
    flat: bool = False,
    request: str = "",
) -> Page:
    """Return a page of a transcript in order of recording: from `start`, around an `item`, or the end.

    Hidden items are folded, unless `flat`. Each item says whether a `request` showed it to the model; "last"
    is the last request at that version.
    """
    snapshot = _version(source, address, transcript, at)
    view, edits = snapshot.view, snapshot.view.edits_in_force.edits.values()
    flat_rows = (Stretch("item", position, position + 1) for position in range(view.end))
    rows = list(flat_rows if flat else laid_out(view))
    item_at = view.log.find(item, view.end)
    indexes = (n for n, row in enumerate(rows) if item_at is not None and row.start <= item_at < row.stop)
    page = _rows(len(rows), limit, start, next(indexes, len(rows)))
    page_rows = rows[page.start : page.stop]
    view.log.load(Run(row.start, row.stop) for row in page_rows if row.sort != "fold")
    undone = {edit.target: edit.id for edit in edits if isinstance(edit, Undo)}
    kept, counter = _request(snapshot, request), counter_of(snapshot.session)
    return Page(
        inherited=snapshot.inherited,
        start=page.start,
        length=len(rows),
        item=item_at,
        request=None if kept is None else kept.version,
        rows=[_row(snapshot, row, undone, counter, kept) for row in page_rows],
    )


def _request(snapshot: _Version, name: str) -> StoredReceipt | None:
    receipts = snapshot.session.receipts
    if name != "last":
        return request_named(receipts, name) if name else None
    is_now = snapshot.version == snapshot.session.version
    latest_first = reversed(receipts[-1 if is_now else 0 :])
    return next((request for request in latest_first if request.version <= snapshot.version), None)


def _row(
    snapshot: _Version, row: Stretch, undone: Mapping[str, str], counter: Counter, kept: StoredReceipt | None
) -> Row:
    view, at = snapshot.view, row.start
    if row.sort == "fold":
        edits = view.log.positions("edits", at, row.stop)
        inner = next((position for position in range(at, row.stop) if position not in edits), at)
        state, by = view.fate(view.log.id_at(inner))
        count, version = row.stop - at - len(edits), snapshot.versions[at]
        return Row(sort="fold", position=at, version=version, state=state, by=by, stop=row.stop, count=count)
    item, (state, by) = view.log.item(at), view.fate_at(at)
    stub = view.shown_at(at) if state == "masked" else None
    area = subject(view, item) if is_edit(item) else ()
    return Row(
        sort=("summary" if row.sort == "summary" else "edit") if is_edit(item) else row.sort,
        position=at,
        version=snapshot.versions[at],
        state=state,
        by=by,
        item=describe(item, counter, view=view),
        stub=None if stub is None else describe(stub, counter, view=view),
        undo=undone.get(item.id),
        of=kind_of(view.log.item(area[0][0])) if area else None,
        count=sum(stop - start for start, stop in area) if is_edit(item) else None,
        seen=None if kept is None else kept.shows(item),
    )


def read_item(source: Source, address: str, id: str, start: Count = 0) -> Shown:
    """Return one item, with much of its text from `start` on."""
    view = view_with(source.session(address), id)
    return describe(view.get(id), start=start, longest=LONG_TEXT, view=view)


# Two versions or branches side by side


def compare(
    source: Source,
    address: str,
    other: str = "",
    transcript: str = MAIN,
    at: Count | None = None,
    other_at: Count | None = None,
    start: Count = 0,
    limit: Limit = 100,
    flat: bool = False,
) -> dict[str, Any]:
    """Return a page of two versions side by side; long runs of equal rows are folded, unless `flat`."""
    left = _version(source, address, transcript, at)
    right = _version(source, other or address, transcript, other_at)
    pairs = list(enumerate(side_by_side(left.view, right.view)))
    rows: list[list[tuple[int, Pair]]] = []
    for is_same, group in groupby(pairs, key=lambda numbered: numbered[1].state == "same"):
        run = list(group)
        rows += [run] if is_same and len(run) > _UNFOLDED and not flat else [[pair] for pair in run]
    counter = counter_of(left.session)
    return {
        "left": {"version": left.version, "shown": len(left.view)},
        "right": {"version": right.version, "shown": len(right.view)},
        "differences": sum(pair.state != "same" for _, pair in pairs),
        "length": len(rows),
        "rows": [
            _both(left.view, right.view, rows[index], counter) for index in _rows(len(rows), limit, start)
        ],
    }


def _both(left: View, right: View, row: Sequence[tuple[int, Pair]], counter: Counter) -> dict[str, Any]:
    """A row of both versions, or a fold of equal rows."""
    start, pair = row[0]
    if len(row) > 1:
        return {"state": "same", "start": start, "count": len(row)}
    both = (("left", left, pair.left), ("right", right, pair.right))
    return {"state": pair.state} | {
        side: describe(view[at], counter, view=view) for side, view, at in both if at is not None
    }
