"""Long outputs that are kept in a pool, and which notes give way where it is full."""

from collections.abc import Callable, Iterable, Set

from quire.items import Item, Note
from quire.session.handles import handle_of, named_in
from quire.session.workspace import Workspace, Written
from quire.state import Pool
from quire.stores.streams import POOL
from quire.tokens import whole


def outputs_named(merged: Iterable[Item], theirs: Pool, ours: Pool) -> list[Note]:
    """The long outputs in a fork's pool that something merged names by a handle, and that are not here."""
    named = named_in(merged)
    return [note for note in theirs if handle_of(note) in named and note.key not in ours]


def staying(workspace: Workspace, drafted: Iterable[Written] = ()) -> Set[str]:
    """The handles of outputs that a model may still ask for, and of those that a draft brings or names."""
    handles = {handle for note in workspace.pool if (handle := handle_of(note)) is not None}
    found = workspace.handles.staying(handles, workspace.transcripts, workspace.waiting())
    for stream, item in drafted:
        if stream == POOL and isinstance(item, Note):
            found.update(filter(None, [handle_of(item)]))
        else:
            found |= named_in([item])
    return found


def put_into(pool: Pool, note: Note, limit: int | None, stays: Callable[[], Set[str]]) -> list[Note]:
    """Put a note into a pool, and give those that had to go for it."""
    leaving = giving_way(pool, note, limit, stays)
    for one in leaving:
        pool.remove(str(one.key))
    pool.add(note)
    return leaving


def giving_way(pool: Pool, note: Note, limit: int | None, stays: Callable[[], Set[str]]) -> list[Note]:
    """The oldest notes that have to go for this one. The limit is not for outputs that stay."""
    if limit is None or note.key in pool or handle_of(note) is not None:
        return []
    limit = whole(limit, "a limit", least=1)
    if len(pool) < limit:
        return []
    kept = stays()
    bounded = [one for one in pool if handle_of(one) not in kept]
    return bounded[: max(len(bounded) + 1 - limit, 0)]
