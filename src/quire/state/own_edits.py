"""Which of a child's edits come along with its items: those in force that concern nothing but its own.

Its own is what the parent has from it, by this merge or an earlier one. The parent's item then has one mark
more than the child's, so it is told from what the child inherited, also in logs that were written and read.
"""

from collections.abc import Callable, Iterable

import msgspec

from quire.items import Edit, Hide, Item, Mask, Pin, Summary, Undo, Unknown
from quire.state.active import ActiveEdits, resolved, spans_of
from quire.state.folding import holds
from quire.state.groups import MERGED, is_edit, mark_of
from quire.state.log import EDIT
from quire.state.positions import positions
from quire.state.shape import Interval
from quire.state.transcript import Transcript
from quire.state.view import View


def marked(item: Item, merge: str) -> Item:
    """The item as a parent records it: with the id it was merged by, before the marks it has already.

    What a newer version made has no place for a mark, and stays as it is.
    """
    if isinstance(item, Unknown):
        return item
    earlier = item.extras.get(MERGED)
    mark = mark_of(merge) if earlier is None else f"{mark_of(merge)}/{earlier}"
    return msgspec.structs.replace(item, extras={**item.extras, MERGED: mark})


def own_edits(
    parent: Transcript, child: Transcript, since: int, stays_behind: Callable[[Item], bool]
) -> list[Edit]:
    """The child's edits in force that the parent does not have, in the child's order and as they fit there.

    An edit that was taken back stays behind with what took it back, unless the parent has it by now. So does
    one that is under a later edit which the parent has: there it would come out on top.
    """
    view = child.view
    own = own_ids(parent, child.recorded(since))
    active = ActiveEdits(view.log, view.end)
    found: dict[str, Edit] = {}
    for position in positions(view.log, "edits", since, view.end):
        edit = view.log.item(position)
        assert is_edit(edit)
        if _concerned(view, edit, parent, stays_behind) <= own:
            own.add(edit.id)
            stays = (
                position in active.undone or edit.id in parent or _is_under(position, active, view, parent)
            )
            fitting = None if stays else _fitted(parent, view, edit, found)
            if fitting is not None:
                found[edit.id] = fitting
    return list(found.values())


def _is_under(position: int, active: ActiveEdits, view: View, parent: Transcript) -> bool:
    """Whether a later edit that the parent has by now does the same to all that this one is about."""
    edit = view.log.item(position)
    if isinstance(edit, Mask):
        later = [active.masks[view.position(edit.target)]]
    elif isinstance(edit, Summary) and position not in view.shape.summaries:
        area = active.covers[position].area
        covers = active.covers.items()
        later = [p for p, cover in covers if p > position and cover.is_summary and holds(cover.area, area)]
    else:
        return False
    return any(p > position and view.log.item(p).id in parent for p in later)


def own_ids(parent: Transcript, recorded: Iterable[Item]) -> set[str]:
    """The ids of what the parent has from the child."""
    own: set[str] = set()
    for item in recorded:
        if not is_edit(item) and item.id in parent and _has_one_mark_more(parent.get(item.id), item, own):
            own.add(item.id)
    return own


def _has_one_mark_more(ours: Item, theirs: Item, own: set[str]) -> bool:
    if isinstance(theirs, Unknown):
        return bool(own)  # nothing is inherited after the first that is the child's own
    mark, earlier = ours.extras.get(MERGED), theirs.extras.get(MERGED)
    return isinstance(mark, str) and (earlier is None or mark.endswith(f"/{earlier}"))


def _concerned(view: View, edit: Edit, parent: Transcript, stays_behind: Callable[[Item], bool]) -> set[str]:
    """The ids of all that an edit is about; the child's own that stays behind is not in its way."""
    if isinstance(edit, Mask | Pin | Undo):
        return {edit.target}
    cover = resolved(view.log, edit, view.end)
    told = _content(view, cover.area)
    covered = {item.id for item in told if item.id in parent or not stays_behind(item)}
    return covered | {view.log.item(position).id for position in cover.summaries}


def _content(view: View, area: Iterable[Interval]) -> list[Item]:
    return [item for start, stop in area for item in view.log.items(start, stop) if not is_edit(item)]


def _fitted(parent: Transcript, view: View, edit: Edit, found: dict[str, Edit]) -> Edit | None:
    """The edit as it does the same in the parent, where others may have spoken between the child's items."""
    if isinstance(edit, Undo):
        return edit if edit.target in parent else None
    if not isinstance(edit, Hide | Summary):
        return edit
    cover = resolved(view.log, edit, view.end)
    ids = [item.id for item in _content(view, cover.area) if item.id in parent]
    spans = spans_of(parent.view.log, _area_of(parent.view, ids))
    folded = [span for span in edit.spans if span.first == span.last]
    spans += tuple(s for s in folded if s.first not in ids and (s.first in parent or s.first in found))
    if not spans or spans == edit.spans:
        return edit if spans else None
    return msgspec.structs.replace(edit, spans=spans)


def _area_of(view: View, ids: Iterable[str]) -> list[Interval]:
    """The intervals that hold these items and no other; edits may stand between them."""
    area: list[Interval] = []
    for position in sorted(view.position(item_id) for item_id in ids):
        start = position
        while area and start > area[-1][1] and view.log.head(start - 1) == EDIT:
            start -= 1
        if area and start == area[-1][1]:
            area[-1] = (area[-1][0], position + 1)
        else:
            area.append((position, position + 1))
    return area
