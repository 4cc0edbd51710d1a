"""Histories and logs in files as a read-only source, their faults, and how a request repairs them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from quire.errors import Damaged, InvalidValue, QuireError
from quire.inspector.items import LONGEST
from quire.inspector.source import Query, Source
from quire.integrations.logs.histories import OWN, History, histories_in
from quire.integrations.logs.repair import Change, changes, repaired
from quire.providers import PROVIDERS, provider_for
from quire.session import Session
from quire.stores import MemoryStore

_STORES = (b"SQLite format 3\0", b'{"quire":')
"""How the files of stores begin."""
_MOST_ROWS = 200


def is_store(data: bytes) -> bool:
    """Whether the content of a file is a store."""
    return data.startswith(_STORES)


def opened(files: Mapping[str, bytes], label: str) -> Source:
    """A source of all conversations in some files, by name. Its notes say what could not be read."""
    source = Source(MemoryStore(), label=label, histories={})
    for name, data in files.items():
        add(source, name, data)
    if not source.histories:
        raise InvalidValue(source.notes[0] if source.notes else f"there are no histories in {label}")
    return source


def add(source: Source, name: str, data: bytes) -> None:
    """Add the conversations of one file to a source of files."""
    if source.histories is None:
        raise InvalidValue("files are not added to a store here: `quire import` does that")
    try:
        if is_store(data):
            raise Damaged(f"it is a store: open it with `quire inspect {name}`", name)
        histories = histories_in(data, name)
    except (QuireError, RecursionError) as fault:
        source.notes.append(
            str(fault) if isinstance(fault, QuireError) else f"{name}: it is nested too deeply"
        )
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
            session.append(*history._replace(line=None).items())
        except QuireError as fault:
            source.notes.append(f"{name}: {history.place}{fault}")
        else:
            source.histories[str(session.place)] = history


def faults(source: Source, query: Query) -> dict[str, Any]:
    """What a provider would refuse in a history of a file, and the difference that the repair makes."""
    place = source.place(query.text("address"))
    history: History | None = (source.histories or {}).get(str(place))
    if history is None:
        raise InvalidValue("faults are those of files: what Quire sends is repaired before")
    provider, model = query.text("provider") or history.format(), query.text("model") or history.model
    found = [] if provider == OWN else provider_for(provider).check(history.payload, model)
    row: dict[str, Any] = {
        "provider": provider,
        "providers": list(PROVIDERS),
        "model": model,
        "count": len(found),
        "faults": [one._asdict() for one in found[:_MOST_ROWS]],
    }
    if not found:
        return row
    try:
        payload, _ = repaired(history, provider, model)
    except QuireError as fault:
        return row | {"unrepaired": str(fault)}
    if query.flag("whole"):
        return row | {"payload": payload}
    made = changes(history.payload, payload, provider)
    left = [str(one) for one in provider_for(provider).check(payload, model)]
    return row | {"left": left, "changed": len(made), "changes": [_shown(one) for one in made[:_MOST_ROWS]]}


def _shown(change: Change) -> dict[str, Any]:
    """A change with its messages as JSON, long ones cut."""
    texts = (
        [msgspec.json.format(msgspec.json.encode(one)).decode()[:LONGEST] for one in messages]
        for messages in (change.before, change.after)
    )
    return change._asdict() | dict(zip(("before", "after"), texts, strict=True))
