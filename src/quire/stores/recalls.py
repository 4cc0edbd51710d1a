"""Who recalled from whom, kept for a scope in a conversation that no user has.

Who forgets finds by it where copies may be. Of conversations only digests are kept, for a name may have to be
forgotten too. A pair is noted before anything is copied, and once.
"""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from time import sleep
from typing import Any

from quire.errors import Conflict
from quire.items import JSON, Item, Note
from quire.stores.entries import is_sealed, items_in
from quire.stores.store import Entry, Place, Store
from quire.stores.streams import FORGOTTEN, RECALLED

RECALLS = "~recalled"
"""The conversation of a scope in which it is kept."""

_TRIES = 1_000
_LONGEST_PAUSE = 0.02


def digest_of(conversation: str) -> str:
    """What a conversation is known by here."""
    return blake2b(conversation.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def link(store: Store, place: Place, sources: Iterable[str]) -> None:
    """Note that a conversation recalls from some sources, by their digests."""
    by = digest_of(place.conversation)
    notes = [Note(content={"from": source, "by": by}, description="recalled") for source in sources]
    _append(store, place._replace(conversation=RECALLS), RECALLED, notes)


def recalling(store: Store, scope: str, sources: Iterable[str]) -> list[Place]:
    """The conversations that are there and recalled something from some sources, by their names."""
    log = Place(scope, RECALLS)
    stored = [entry for entry in store.read(log) if entry.stream == RECALLED]  # whatever else is said there
    if not stored or is_sealed(stored[0].body):  # sealed: whoever has the key is told too
        return []
    wanted = set(map(digest_of, sources))
    links = [note.content for note in items_in(log, stored) if isinstance(note, Note) and note.content]
    by = {link["by"] for link in links if link["from"] in wanted}
    return [Place(scope, name) for name in store.conversations(scope) if digest_of(name) in by]


def is_needed(store: Store, place: Place) -> bool:
    """Whether a conversation says who recalled from whom while there are others: it goes with the last."""
    return place.conversation == RECALLS and any(name != RECALLS for name in store.conversations(place.scope))


def begin_forgetting(store: Store, place: Place, ids: Collection[str] = ()) -> bool:
    """Note with all who recalled from a conversation that some of it is to be forgotten; without ids, all.

    Whoever opens one of them next forgets it there, should nobody be at hand who does it now. Where it is
    still needed, nothing is noted, and it may not go.
    """
    if is_needed(store, place):
        return False
    for one in recalling(store, place.scope, [place.conversation]):
        if gone := ids or recalled_from(_notes(store, one, RECALLED), place.conversation):
            _append(store, one, FORGOTTEN, [forgetting(gone, elsewhere=True)])
    return True


def recalled_from(notes: Iterable[Item], conversation: str) -> set[str]:
    """The ids of all that was recalled from a conversation, as notes of one who recalled say."""
    source, rows = digest_of(conversation), list[list[str]]()
    for note in notes:
        rows += note.content.get(source, ()) if isinstance(note, Note) and note.content else ()
    return {one for row in rows for one in row}


def forgetting(
    ids: Collection[str],
    *,
    times: Mapping[str, Iterable[float]] | None = None,
    made: Collection[str] = (),
    elsewhere: bool = False,
) -> Note:
    """What says that items begin to be forgotten.

    `times` say when they were said, by which they are told from others of the same id. `made` are those of
    them that were only made of the others. Where all were said `elsewhere`, only what was recalled of them
    can be here.
    """
    marks: dict[str, Any] = {"elsewhere": True} if elsewhere else {}
    if made:
        marks["made"] = sorted(made)
    if times is not None:
        marks["times"] = {item_id: sorted(found) for item_id, found in times.items() if found}
    return Note(content={"ids": sorted(ids), **marks}, description="forgetting")


def _notes(store: Store, place: Place, stream: str) -> list[Item]:
    return items_in(place, [stored for stored in store.read(place) if stored.stream == stream])


def _append(store: Store, place: Place, stream: str, notes: Sequence[Note]) -> None:
    entries = [Entry(stream, JSON.encode_item(note)) for note in notes]
    for attempt in range(_TRIES):
        try:
            store.append(place, entries, expected=store.version(place))
            return
        except Conflict:
            sleep(random.random() * min(0.0005 * 2**attempt, _LONGEST_PAUSE))
    raise Conflict(f"others kept writing to {place}")
