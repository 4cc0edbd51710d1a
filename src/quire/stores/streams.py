"""The streams of a conversation, and tombstones: forgotten items without their content.

A stream holds a transcript and has its name, or holds what the session itself records, and its name begins
with a dot. A session stores only items: when a note leaves the pool, it stores a `Hide` of the note.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from msgspec.structs import replace

from quire.errors import Conflict
from quire.items import (
    JSON,
    ConfigChange,
    Handoff,
    Item,
    Mask,
    Message,
    Note,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
    Unknown,
    freeze,
)
from quire.state import ALL as ALL, CLOSED, ELSEWHERE, MERGED as MERGE_MARK, SOURCES as SOURCES, TASK
from quire.stores.store import JOBS as JOBS, Entry, Place, Store, is_internal

MAIN = "main"

POOL = ".pool"
ORIGIN = ".origin"
USAGE = ".usage"
RECEIPTS = ".receipts"
RECEIPT_PARTS = ".receipt_parts"
"""Items that receipts name and no other stream has."""

PLANS = ".plans"
FORGOTTEN = ".forgotten"
WIPED = ".wiped"
CALLS = ".calls"
MERGED = ".merged"
RECALLED = ".recalled"
NAMED = ".named"
"""Names reserved for transcripts that have no item yet."""

LOST = ".lost"
"""Placeholders for entries that a salvage found damaged, so that versions stay the same."""

LINKS = "~recalled"
"""The conversation of a scope that records which conversation quoted which, by digests of their names."""

OUTPUTS = "quire.outputs"
"""The key in the `extras` of a tool result for the handles of its output in the pool."""

RUN_BY_CALLER = "quire.callers"
"""The key in the `extras` of a call that the agent's caller runs: the agent waits for the result."""

UNTRUSTED = "quire.untrusted"
"""The key in the `extras` of a call for the ids of untrusted items in the request that led to the call."""

FORGOTTEN_TEXT = "[forgotten]"

_KEPT_EXTRAS = (MERGE_MARK, CLOSED, TASK, SOURCES, ELSEWHERE, OUTPUTS)
"""The extras that a tombstone keeps: ids, and which item was derived from which."""

_ERASED_FIELDS: dict[type, dict[str, Any]] = {
    Message: {"content": FORGOTTEN_TEXT, "wording": None, "state": None},
    ToolCall: {"arguments": "{}", "state": None},
    ToolResult: {"content": FORGOTTEN_TEXT},
    Reasoning: {"text": "", "state": None},
    ConfigChange: {"instructions": FORGOTTEN_TEXT},
    Handoff: {"reason": None},
    Note: {"content": None, "key": None, "description": FORGOTTEN_TEXT},
    Summary: {"text": FORGOTTEN_TEXT},
    Mask: {"stub": FORGOTTEN_TEXT},
}
"""The fields of a tombstone that replace the content, by kind. Edits without text stay as they are."""


def holds_content(stream: str) -> bool:
    """Whether entries of a stream hold content, and not only ids and numbers."""
    return not is_internal(stream) or stream in (POOL, JOBS, RECEIPT_PARTS)


def tombstone(item: Item, **extras: str) -> Item:
    """The item without its content: id, kind, time and provenance stay."""
    if isinstance(item, Unknown):
        # A newer Quire knows the kind: without its fields it would be damaged, so it gets another name.
        return replace(item, name="forgotten", fields=freeze({"forgotten": True}))
    provenance = {name: item.extras[name] for name in _KEPT_EXTRAS if name in item.extras}
    all_extras = freeze({**provenance, "forgotten": True, **extras})
    return replace(item, **_ERASED_FIELDS.get(type(item), {}), extras=all_extras)


def digest_of(conversation: str) -> str:
    """The name of a conversation in the provenance of another: its real name may have to be erased."""
    return blake2b(conversation.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def forgetting(ids: Iterable[str], names: Iterable[str]) -> Note:
    """The intent to forget the items with these ids, and items that have an id or a name as a source."""
    forgotten = set(ids)
    content = {"ids": sorted(forgotten), "names": sorted(forgotten.union(names))}
    return Note(content=content, description="forgetting")


def note_removed(store: Store, place: Place, ids: Iterable[str]) -> None:
    """Record that items of a place are about to be removed, if another conversation has quoted from it.

    The next session that opens in the scope forgets what was quoted from these items.
    """
    digest, links = digest_of(place.conversation), place._replace(conversation=LINKS)
    body = JSON.encode_item(forgetting((), [f"{digest}/{item_id}" for item_id in ids]))
    stored = store.read(links)
    while any(digest.encode() in entry.body for entry in stored):
        try:
            store.append(links, [Entry(FORGOTTEN, body)], expected=stored[-1].version)
            return
        except Conflict:
            stored = store.read(links)
