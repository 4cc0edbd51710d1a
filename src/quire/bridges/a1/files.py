"""Sessions in files: kept up with each message, or only read. Files that A1 wrote are taken over."""

import logging
import os
from io import BytesIO
from pathlib import Path

from quire.bridges.a1.items import recorded
from quire.bridges.a1.messages import Message
from quire.bridges.a1.naming import checked_context_name
from quire.bridges.a1.older import older_contexts
from quire.session import Session
from quire.stores import Entry, MemoryStore, Place, Store
from quire.stores.contents import Contents
from quire.stores.elements import ARRAY, LINES, line_of
from quire.stores.locked_file import Failing, LockedFile
from quire.stores.scanning import scan

logger = logging.getLogger("quire.bridges.a1")

_PLACE = Place("", "")
_FORMS = {".json": ARRAY, ".jsonl": LINES}


def session_at(path: str | os.PathLike[str], keep_updated: bool) -> Session:
    """The session in a file; without `keep_updated` one in memory that begins with what the file says."""
    # A relative path would lead elsewhere once the process changes its folder.
    file = Path(os.path.abspath(path))
    if not keep_updated:
        return Session.open(store=_read(file))
    if older_contexts(file) is not None:
        _take_over(file)
    return Session.open(store=file)


def _read(file: Path) -> MemoryStore:
    memory = MemoryStore()
    older = older_contexts(file)
    if older is not None:
        _record(memory, older)
    elif file.exists():
        memory.append(_PLACE, _entries_in(file), expected=0)
    return memory


def _entries_in(file: Path) -> list[Entry]:
    """What a file says. A store would mend an end that is torn; here it is left as it is."""
    form = _FORMS.get(file.suffix.lower())
    if form is None:
        with Store.open(file) as store:
            return _all_in(store)
    with Failing(f"{file} cannot be read"):
        text = file.read_bytes()
    contents = Contents()
    scanned = scan(BytesIO(text), form, contents, 0, str(file)) if text else None
    if scanned is not None and scanned.torn is not None:
        logger.warning("%s: its end is torn: the last %d bytes are not read", file, scanned.torn)
    spots = contents.spots(_PLACE)
    return [Entry(stream, b"{" + text[start : start + length]) for stream, start, length in spots]


def _all_in(store: Store) -> list[Entry]:
    return [Entry(stored.stream, stored.body) for stored in store.read(_PLACE)]


def _take_over(file: Path) -> None:
    """Write a file of A1's anew as items, at once; whoever else does the same comes before or after."""
    locked = LockedFile(file, "process")
    try:
        with locked.locked():
            older = older_contexts(file)
            if older is not None:
                locked.replace([_as_items(older)])
    finally:
        locked.close()


def _as_items(older: dict[str, list[Message]]) -> bytes:
    memory = MemoryStore()
    _record(memory, older)
    lines = [line_of(_PLACE, *entry).text for entry in _all_in(memory)]
    if not lines:
        return ARRAY.empty
    return ARRAY.opening + ARRAY.first + ARRAY.between.join(lines) + ARRAY.closing


def _record(store: Store, older: dict[str, list[Message]]) -> None:
    session = Session.open(store=store)
    for name, messages in older.items():
        if messages:
            session.append(*recorded(messages), to=checked_context_name(name))
