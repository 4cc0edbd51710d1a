"""Files: histories and logs as a read-only source, and the faults that a provider would find in them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from quire.errors import Damaged, InvalidValue, QuireError
from quire.integrations.logs.histories import OWN, History, histories_in
from quire.integrations.logs.repair import Change, changes, repaired
from quire.items import Item
from quire.providers import PROVIDERS, provider_for
from quire.reading.source import MAX_ROWS, Source
from quire.session import Session, Written, log_of
from quire.session.spending import usage_note
from quire.stores import MemoryStore
from quire.stores.streams import USAGE

_STORES = (b"SQLite format 3\0", b'{"quire":')
"""The first bytes of the files of stores."""
_LONGEST = 4_000


def is_store(data: bytes) -> bool:
    """Whether the bytes of a file are a store."""
    return data.startswith(_STORES)


def open_files(files: Mapping[str, bytes], label: str) -> Source:
    """Return a source of all conversations in some files, by name. Its notes name what could not be read."""
    source = Source(MemoryStore(), label=label, histories={})
    for name, data in files.items():
        add_file(source, name, data)
    if not source.histories:
        raise InvalidValue(source.notes[0] if source.notes else f"there are no histories in {label}")
    return source


def add_file(source: Source, name: str, data: bytes) -> None:
    """Add the conversations of one file to a source of files."""
    if source.histories is None:
        raise InvalidValue("files are not added to a store here: `quire import` does that")
    try:
        if is_store(data):
            raise Damaged(f"it is a store: open it with `quire inspect {name}`", name)
        histories = histories_in(data, name)
    except (QuireError, RecursionError) as fault:
        is_ours = isinstance(fault, QuireError)
        source.notes.append(str(fault) if is_ours else f"{name}: it is nested too deeply")
        return
    if histories[0].log is not None:
        source.notes.append(f"{name}: {histories[0].log}")
    for history in histories:
        conversation = name if history.line is None else f"{name}-{history.line}"
        session = Session.open(scope="file", conversation=conversation, store=source.store)
        if str(session.place) in source.histories:
            source.notes.append(f"{conversation}: another file of this name is open")
            continue
        try:
            append_history(session, history, history._replace(line=None).items())
        except QuireError as fault:
            source.notes.append(f"{name}: {history.place}{fault}")
        else:
            source.histories[str(session.place)] = history


def append_history(
    session: Session, history: History, items: Sequence[Item], expected: int | None = None
) -> None:
    """Record a history, and the usage that its log reports."""
    session.append(*items, expected=expected)
    usages = () if history.conversation is None else history.conversation.used
    end = items[-1].created_at
    notes = [(usage_note(used.usage, used.model, {}), min(used.time or end, end)) for used in usages]
    written = [Written(USAGE, replace(note, created_at=time)) for note, time in notes]
    log_of(session).commit(lambda _: written)


def find_faults(
    source: Source, address: str, provider: str = "", model: str = "", whole: bool = False
) -> dict[str, Any]:
    """Return what a provider would refuse in a history of a file, and what a repair changes."""
    history: History | None = (source.histories or {}).get(str(source.place(address)))
    if history is None:
        raise InvalidValue("only a history from a file has faults: the requests of Quire are repaired first")
    wire, model_name = provider or history.format(), model or history.model
    faults = [] if wire == OWN else provider_for(wire).check(history.payload, model_name)
    row: dict[str, Any] = {
        "provider": wire,
        "providers": list(PROVIDERS),
        "model": model_name,
        "count": len(faults),
        "faults": [fault._asdict() for fault in faults[:MAX_ROWS]],
    }
    if not faults:
        return row
    try:
        payload, _ = repaired(history, wire, model_name)
    except QuireError as fault:
        return row | {"unrepaired": str(fault)}
    if whole:
        return row | {"payload": payload}
    changed = changes(history.payload, payload, wire)
    left = [str(fault) for fault in provider_for(wire).check(payload, model_name)]
    return row | {
        "left": left,
        "changed": len(changed),
        "changes": [_row(change) for change in changed[:MAX_ROWS]],
    }


def _row(change: Change) -> dict[str, Any]:
    """A change with its messages as JSON, cut if long."""
    texts = (
        [msgspec.json.format(msgspec.json.encode(message)).decode()[:_LONGEST] for message in messages]
        for messages in (change.before, change.after)
    )
    return change._asdict() | dict(zip(("before", "after"), texts, strict=True))
