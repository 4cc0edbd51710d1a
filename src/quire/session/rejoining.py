"""What a draft did to the pool, done again on what others made of the pool meanwhile.

Which notes give way is decided anew, and hooks hear of what really comes and leaves.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from quire.items import Hide, Note
from quire.session.deciding import gives_way, put_out
from quire.session.events import (
    Added,
    Adding,
    Cleared,
    Clearing,
    Event,
    Evicted,
    Evicting,
    Removed,
    Removing,
)
from quire.session.merging import is_changed, joined
from quire.session.outputs import put_into, staying
from quire.session.workspace import Workspace, Written
from quire.stores.streams import POOL
from quire.stores.tombstones import is_tombstone


class Drafted(NamedTuple):
    """All that a draft wrote, and what hooks are to hear of it; also as it is merged."""

    written: list[Written]
    before: Sequence[Event]
    after: Sequence[Event]

    def merged(self, workspace: Workspace, began_at: int, limit: int | None) -> "Drafted":
        """The same, for a conversation that the draft left at a version, in the state that it is in now."""
        if not is_changed(workspace, began_at):
            return self._replace(written=joined(self.written, workspace, began_at))
        again = _Again(self.written, workspace, limit)
        return Drafted(
            joined(again.written, workspace, began_at), again.told(self.before), again.told(self.after)
        )


class _Again:
    def __init__(self, drafted: Sequence[Written], workspace: Workspace, limit: int | None) -> None:
        self._pool, self._limit = workspace.pool.fork(), limit
        self._stays = staying(workspace, drafted)
        self._evicted: dict[str, list[Note]] = {}  # by the id of the note that came
        self._dropped: set[str] = set()
        self.written = [new for entry in drafted for new in self._done_again(entry)]

    def told(self, events: Iterable[Event]) -> list[Event]:
        """What hooks hear in place of what they would have heard of the draft alone."""
        evicted = dict(self._evicted)
        return [new for event in events for new in self._told(event, evicted)]

    def _done_again(self, entry: Written) -> list[Written]:
        if entry.stream != POOL:
            return [entry]
        if isinstance(entry.item, Hide):
            return self._taken_out(entry, entry.item)
        if isinstance(entry.item, Note) and not is_tombstone(entry.item):
            return [*self._made_room(entry.item), entry]
        return [entry]

    def _made_room(self, note: Note) -> list[Written]:
        leaving = put_into(self._pool, note, self._limit, lambda: self._stays)
        self._evicted.setdefault(note.id, leaving)
        return [put_out(one, note) for one in leaving]

    def _taken_out(self, entry: Written, hide: Hide) -> list[Written]:
        key, note_id = str(hide.extras.get("key", "")), hide.spans[0].first
        if gives_way(hide) or key not in self._pool or self._pool.get(key).id != note_id:
            return []  # what gives way is decided by who comes; what others took out first is gone
        self._pool.remove(key)
        self._dropped.add(note_id)
        return [entry]

    def _told(self, event: Event, evicted: dict[str, list[Note]]) -> Iterator[Event]:
        if isinstance(event, Adding | Added) and event.stream == POOL:
            kind = Evicting if isinstance(event, Adding) else Evicted
            for note in event.items:
                if isinstance(note, Note):
                    yield from (kind(event.place, one, note) for one in evicted.pop(note.id, ()))
            yield event
        elif isinstance(event, Removing | Removed):
            yield from [event] if event.note.id in self._dropped else ()
        elif isinstance(event, Clearing | Cleared):
            notes = tuple(note for note in event.notes if note.id in self._dropped)
            yield from [event._replace(notes=notes)] if notes or not event.notes else ()
        elif not isinstance(event, Evicting | Evicted):
            yield event
