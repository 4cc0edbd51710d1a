"""A conversation: its transcript with the edits in place, its versions, its branches, two of them compared.

A position counts the items of a transcript in the order they were recorded. The positions of a fork go on
from those of its parent.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from quire.context import DEFAULT_MODEL
from quire.errors import UnknownId, cut
from quire.inspector.compactions import all_done
from quire.inspector.items import STRETCH, describe, text_of_item
from quire.inspector.source import Query, Source, text_in
from quire.items import Undo, kind_of
from quire.session import Session, family, transcript_with
from quire.state import Pair, Run, Sort, Stretch, View, is_edit, laid_out, side_by_side, subject
from quire.stores.streams import MAIN
from quire.tokens import counter_for

_ROWS, _MOST_ROWS = 100, 200
_MOST_MARKS, _MOST_BRANCHES = 400, 200
_FEW = 4
"""Equal rows that are not folded in a comparison."""


class _Shown(NamedTuple):
    """What one transcript showed at a version; the versions of its items, 0 where a fork has its parent's."""

    session: Session
    version: int
    view: View
    versions: Sequence[int]
    inherited: int


def _shown(source: Source, query: Query, other: str = "") -> _Shown:
    """What is asked for by `address`, `transcript` and `at`, or what the other side of a comparison shows."""
    session = source.session(query.text(other, query.text("address")))
    at, name = query.number(f"{other}_at" if other else "at", None), query.text("transcript", MAIN)
    version = session.version if at is None else at
    own = source.store.versions_of(session.place, name, before=version + 1)
    view = session.view(name, at=version)
    return _Shown(session, version, view, [0] * (view.end - len(own)) + own, view.end - len(own))


def _page(query: Query, length: int, around: int = 0) -> range:
    """The rows that are asked for; without a `start`, those around a row."""
    limit = query.number("limit", _ROWS, least=1, most=_MOST_ROWS)
    start = query.number("start", max(min(around - limit // 2, length - limit), 0), most=length)
    return range(start, min(start + limit, length))


# The head: figures, marks for the slider, branches


def head(source: Source, query: Query) -> dict[str, Any]:
    """What is known of a conversation without reading its items."""
    shown = _shown(source, query)
    session, spent, done = shown.session, shown.session.spending, len(all_done(shown.session))
    requests = session.receipts.versions()
    branches = family(source.store, session.place, _MOST_BRANCHES)
    return {
        "address": str(session.place),
        "version": shown.version,
        "transcripts": list(session.transcripts),
        "spending": {"tokens": spent.tokens, "cost": spent.cost},
        "counts": {"requests": len(requests), "compactions": done, "steps": len(shown.view.open_calls())},
        "is_file": source.is_file,
        "marks": _marks(shown, requests),
        "branches": [branch._asdict() | {"place": str(branch.place)} for branch in branches],
    }


def tokens(source: Source, query: Query) -> dict[str, int]:
    """How much a version shows; apart from the head, because what was not counted before is read."""
    view = _shown(source, query).view
    return {"tokens": view.tokens(counter_for(DEFAULT_MODEL)), "shown": len(view), "recorded": view.end}


def _marks(shown: _Shown, requests: Sequence[int]) -> dict[str, list[int]]:
    """The versions of user messages, edits and requests; where there are many, neighbours share a mark."""
    sorts: tuple[Sort, ...] = ("users", "edits")
    positions = {sort: shown.view.log.positions(sort, shown.inherited, shown.view.end) for sort in sorts}
    found = {sort: [shown.versions[position] for position in some] for sort, some in positions.items()}
    width = shown.version // _MOST_MARKS + 1
    each = [*found.items(), ("requests", requests)]
    return {sort: list({at // width: at for at in versions}.values()) for sort, versions in each}


# The transcript


def transcript(source: Source, query: Query) -> dict[str, Any]:
    """A page of a transcript in the order it was recorded: from `start`, around an `item`, or the end of it.

    What is not shown is folded, unless all is asked for (`flat`).
    """
    shown = _shown(source, query)
    view, edits = shown.view, shown.view.edits_in_force.edits.values()
    every = (Stretch("item", position, position + 1) for position in range(view.end))
    rows = list(every if query.flag("flat") else laid_out(view))
    item = view.log.find(query.text("item"), view.end)
    place = (index for index, row in enumerate(rows) if item is not None and row.start <= item < row.stop)
    page = _page(query, len(rows), next(place, len(rows)))
    asked = rows[page.start : page.stop]
    view.log.load(Run(row.start, row.stop) for row in asked if row.sort != "fold")
    undone = {edit.target: edit.id for edit in edits if isinstance(edit, Undo)}
    return {
        "inherited": shown.inherited,
        "start": page.start,
        "length": len(rows),
        "item": item,
        "rows": [_described(shown, row, undone) for row in asked],
    }


def _described(shown: _Shown, row: Stretch, undone: Mapping[str, str]) -> dict[str, Any]:
    view, at, counter = shown.view, row.start, counter_for(DEFAULT_MODEL)
    said: dict[str, Any] = {"sort": row.sort, "position": at, "version": shown.versions[at]}
    if row.sort == "fold":
        edits = view.log.positions("edits", at, row.stop)
        at = next((position for position in range(at, row.stop) if position not in edits), at)
        said |= {"stop": row.stop, "count": row.stop - row.start - len(edits)}
        return said | view.fate(view.log.id_at(at))._asdict()
    item, fate = view.log.item(at), view.fate(view.log.id_at(at))
    said |= {"item": describe(item, counter), **fate._asdict()}
    if fate.state == "masked" and (stub := view.shown_at(at)) is not None:
        said["stub"] = describe(stub, counter)
    if is_edit(item):
        area, sort = subject(view, item), "summary" if row.sort == "summary" else "edit"
        said |= {"sort": sort, "undo": undone.get(item.id), "of": kind_of(view.log.item(area[0][0]))}
        said["count"] = sum(stop - start for start, stop in area)
    return said


def item(source: Source, query: Query) -> dict[str, Any]:
    """One item, with a stretch of its text from `start` on."""
    session, item_id = source.session(query.text("address")), query.text("id")
    name = transcript_with(session, item_id)
    if name is None:
        raise UnknownId(f"there is no item {cut(item_id)!r} here")
    found, start = session.view(name).get(item_id), query.number("start", 0)
    text, end = text_of_item(found), start + STRETCH
    return {**describe(found), "text": text[start:end], "next": end if end < len(text) else None}


# Two versions or branches side by side


def compare(source: Source, query: Query) -> dict[str, Any]:
    """A page of what two versions show, of one conversation or two; unless it is `flat`, equal rows fold."""
    left, right = _shown(source, query), _shown(source, query, "other")
    pairs = list(enumerate(side_by_side(left.view, right.view)))
    rows: list[list[tuple[int, Pair]]] = []
    for is_same, group in groupby(pairs, key=lambda numbered: numbered[1].state == "same"):
        run = list(group)
        is_fold = is_same and len(run) > _FEW and not query.flag("flat")
        rows += [run] if is_fold else [[one] for one in run]
    page = _page(query, len(rows))
    return {
        "left": {"version": left.version, "shown": len(left.view)},
        "right": {"version": right.version, "shown": len(right.view)},
        "differences": sum(pair.state != "same" for _, pair in pairs),
        "length": len(rows),
        "rows": [_described_pair(left.view, right.view, rows[index]) for index in page],
    }


def _described_pair(left: View, right: View, row: Sequence[tuple[int, Pair]]) -> dict[str, Any]:
    start, pair = row[0]
    if len(row) > 1:
        return {"state": "same", "start": start, "count": len(row)}
    both = (("left", left, pair.left), ("right", right, pair.right))
    counter = counter_for(DEFAULT_MODEL)
    return {"state": pair.state} | {
        side: describe(view[at], counter) for side, view, at in both if at is not None
    }


# What a person can change


def undo(source: Source, body: Mapping[str, Any]) -> dict[str, Any]:
    """Undo an edit by its id; an undo is an edit, too, and undoing it applies again what it had undone."""
    session, edit = source.session(text_in(body, "address")), text_in(body, "id")
    undone = session.undo(edit, to=transcript_with(session, edit) or MAIN)
    return {"id": undone.id, "version": session.version}


def fork(source: Source, body: Mapping[str, Any]) -> dict[str, Any]:
    """Begin a branch: now, `at` a version, or with the item of that id."""
    session, at = source.session(text_in(body, "address")), body.get("at")
    branch = session.fork(text_in(body, "name"), at=at, of=body.get("transcript", MAIN))
    return {"address": str(branch.place), "version": branch.version}
