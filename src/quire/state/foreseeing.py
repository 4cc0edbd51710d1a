"""What edits would do: the view after them, made beside the log, which stays as it is."""

from collections.abc import Iterable

from quire.errors import DuplicateId, WrongType, cut
from quire.items import Edit
from quire.state.editing import Editor
from quire.state.groups import checked_items, is_edit
from quire.state.placing import latest_time
from quire.state.view import View, checked_view


def foreseen(view: View, edits: Iterable[Edit]) -> View:
    """What would be shown once some edits were recorded after all that a view knows.

    An edit that would be refused is. Edits alone: where content would go depends on more than a view knows.
    """
    waiting = checked_view(view).pending()
    open_calls = tuple(view.position(call.id) for call in waiting)
    for edit in _checked_edits(edits):
        view = _after(view, edit, open_calls)
    return view


def _checked_edits(edits: Iterable[Edit]) -> list[Edit]:
    row: list[Edit] = []
    for edit in checked_items(edits):
        if not is_edit(edit):
            raise WrongType(f"only edits can be foreseen, and {cut(edit.id)!r} is none")
        row.append(edit)
    return row


def _after(view: View, edit: Edit, open_calls: tuple[int, ...]) -> View:
    end = view.end
    if view.log.find(edit.id, end) is not None:
        raise DuplicateId(f"item {cut(edit.id)!r} is in the transcript already")
    shape = Editor(view.log, view.shape, end, open_calls).apply(edit)
    log = view.log.forked_at(end)
    log.segments[-1].record_edit(edit, latest_time(log, end - 1))
    return View(log, shape, end + 1, open_calls)
