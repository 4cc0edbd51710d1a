"""A conversation: its transcript with the edits in place, its versions, its branches, two of them compared.

A position counts the items of a transcript in the order they were recorded. The positions of a fork go on
from those of its parent.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from quire.errors import UnknownId, cut
from quire.items import Undo, kind_of
from quire.reading.compactions import past_compactions
from quire.reading.items import STRETCH, Shown, describe
from quire.reading.source import Count, Limit, Record, Source, counter_of
from quire.session import Kept, Session, family, request_named, transcript_with
from quire.state import IndexKind, Pair, Run, Stretch, View, is_edit, laid_out, side_by_side, subject
from quire.stores.streams import MAIN
from quire.tokens import Counter

_MOST_MARKS, _MOST_BRANCHES = 400, 200
_FEW = 4
"""Equal rows that are not folded in a comparison."""


class Row(Record, frozen=True, omit_defaults=True):
    """A row of a transcript: an item, an edit, a summary, or a fold of `count` items that are not shown.

    `seen` says whether a request showed the item to the model; without it, there was none or it came before.
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
    """Rows from `start` on, of `length` in all; `item` is the position of the one that was asked for.

    `request` is the version of the request that they are compared with.
    """

    inherited: int
    start: int
    length: int
    item: int | None
    request: int | None
    rows: Sequence[Row]


class _Version(NamedTuple):
    """What one transcript showed at a version; the versions of its items, 0 where a fork has its parent's."""

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
    """The rows that are asked for; without a `start`, those around a row."""
    start = max(min(around - limit // 2, length - limit), 0) if start is None else min(start, length)
    return range(start, min(start + limit, length))


# The head: figures, marks of versions, branches


def describe_conversation(
    source: Source, address: str, transcript: str = MAIN, at: Count | None = None
) -> dict[str, Any]:
    """Return what is known of a conversation without reading its items."""
    shown = _version(source, address, transcript, at)
    session, spent = shown.session, shown.session.spending
    requests, place = session.receipts.versions(), session.place
    counts = {"requests": len(requests), "compactions": len(past_compactions(session))}
    branches = family(source.store, place, _MOST_BRANCHES)
    return {
        "address": str(place),
        "version": shown.version,
        "transcripts": list(session.transcripts),
        "spending": {"tokens": spent.tokens, "cost": spent.cost, "unpriced": spent.unpriced},
        "counts": counts | {"steps": len(shown.view.open_calls())},
        "is_file": source.is_file,
        "marks": _marks(shown, requests),
        "branches": [branch._asdict() | {"place": str(branch.place)} for branch in branches],
    }


def measure(source: Source, address: str, transcript: str = MAIN, at: Count | None = None) -> dict[str, Any]:
    """Return how much a version shows; apart from the head, because what was not counted before is read."""
    shown = _version(source, address, transcript, at)
    tokens = shown.view.tokens(counter_of(shown.session))
    return {"tokens": tokens, "shown": len(shown.view), "recorded": shown.view.end}


def _marks(shown: _Version, requests: Sequence[int]) -> dict[str, list[int]]:
    """The versions of user messages, edits and requests; where there are many, neighbours share a mark."""
    kinds: tuple[IndexKind, ...] = ("users", "edits")
    positions = {kind: shown.view.log.positions(kind, shown.inherited, shown.view.end) for kind in kinds}
    found = {sort: [shown.versions[position] for position in some] for sort, some in positions.items()}
    width = shown.version // _MOST_MARKS + 1
    each = [*found.items(), ("requests", requests)]
    return {sort: list({at // width: at for at in versions}.values()) for sort, versions in each}


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
    """Return a page of a transcript as it was recorded: from `start`, around an `item`, or the end of it.

    What is not shown is folded, unless all is asked for (`flat`). Each item says whether a `request` showed
    it to the model; "last" is the last one at that version.
    """
    shown = _version(source, address, transcript, at)
    view, edits = shown.view, shown.view.edits_in_force.edits.values()
    every = (Stretch("item", position, position + 1) for position in range(view.end))
    rows = list(every if flat else laid_out(view))
    found = view.log.find(item, view.end)
    place = (index for index, row in enumerate(rows) if found is not None and row.start <= found < row.stop)
    page = _rows(len(rows), limit, start, next(place, len(rows)))
    asked = rows[page.start : page.stop]
    view.log.load(Run(row.start, row.stop) for row in asked if row.sort != "fold")
    undone = {edit.target: edit.id for edit in edits if isinstance(edit, Undo)}
    kept, counter = _request(shown, request), counter_of(shown.session)
    return Page(
        inherited=shown.inherited,
        start=page.start,
        length=len(rows),
        item=found,
        request=None if kept is None else kept.version,
        rows=[_row(shown, row, undone, counter, kept) for row in asked],
    )


def _request(shown: _Version, name: str) -> Kept | None:
    receipts = shown.session.receipts
    if name != "last":
        return request_named(receipts, name) if name else None
    is_now = shown.version == shown.session.version
    return next(
        (one for one in reversed(receipts[-1 if is_now else 0 :]) if one.version <= shown.version), None
    )


def _row(
    shown: _Version, row: Stretch, undone: Mapping[str, str], counter: Counter, kept: Kept | None
) -> Row:
    view, at = shown.view, row.start
    if row.sort == "fold":
        edits = view.log.positions("edits", at, row.stop)
        inner = next((position for position in range(at, row.stop) if position not in edits), at)
        state, by = view.fate(view.log.id_at(inner))
        count, version = row.stop - at - len(edits), shown.versions[at]
        return Row(sort="fold", position=at, version=version, state=state, by=by, stop=row.stop, count=count)
    item, (state, by) = view.log.item(at), view.fate_at(at)
    stub = view.shown_at(at) if state == "masked" else None
    area = subject(view, item) if is_edit(item) else ()
    return Row(
        sort=("summary" if row.sort == "summary" else "edit") if is_edit(item) else row.sort,
        position=at,
        version=shown.versions[at],
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
    """Return one item, with a long stretch of its text from `start` on."""
    session = source.session(address)
    name = transcript_with(session, id)
    if name is None:
        raise UnknownId(f"there is no item {cut(id)!r} here")
    view = session.view(name)
    return describe(view.get(id), start=start, longest=STRETCH, view=view)


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
    """Return a page of what two versions show, of one conversation or two; equal rows fold unless `flat`."""
    left = _version(source, address, transcript, at)
    right = _version(source, other or address, transcript, other_at)
    pairs = list(enumerate(side_by_side(left.view, right.view)))
    rows: list[list[tuple[int, Pair]]] = []
    for is_same, group in groupby(pairs, key=lambda numbered: numbered[1].state == "same"):
        run = list(group)
        rows += [run] if is_same and len(run) > _FEW and not flat else [[one] for one in run]
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
    """What stands side by side, or a fold of equal rows."""
    start, pair = row[0]
    if len(row) > 1:
        return {"state": "same", "start": start, "count": len(row)}
    both = (("left", left, pair.left), ("right", right, pair.right))
    return {"state": pair.state} | {
        side: describe(view[at], counter, view=view) for side, view, at in both if at is not None
    }
