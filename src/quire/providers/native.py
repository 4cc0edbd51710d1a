"""What one wire has and no item stands for: files by the id they were uploaded under, blocks and fields.

They are kept in items so that the same wire gets them back. On another, a file or a block is put in words and
a field is left out, and each is noted.
"""

from collections.abc import Mapping
from typing import Any, cast

from msgspec.structs import replace

from quire.items import Audio, Content, File, Image, Item, Message, Note, Summary, ToolCall, ToolResult, thaw
from quire.providers import wording
from quire.providers.media import is_garbled, without_bytes
from quire.providers.sheet import Json, Sheet

BESIDE = "beside"
"""The key in `extras` for what a wire said beside a content: `wire`, and its fields by their names."""

FORM = "form"
"""The key in `extras` for the kind of call that a call was, where it was no call of a function."""

_BLOCK_OF = "block_of"
_SCHEME = "file-id:"


def file_address(owner: str, file_id: Any) -> str | None:
    """The address in an item of a file that a service knows by an id; none for what is no id."""
    return f"{_SCHEME}{owner}/{file_id}" if isinstance(file_id, str) and file_id else None


def file_id(part: Image | Audio | File, owner: str) -> str | None:
    """The id under which this service knows a part, if it does."""
    head = f"{_SCHEME}{owner}/"
    url = part.url or ""
    return (
        url[len(head) :]
        if url.startswith(head) and len(url) > len(head) and wording.mended(url) == url
        else None
    )


def native_note(block: Any, wire: str) -> Note:
    """A block of a wire that no item stands for, as a note that says whose it is."""
    return Note(block, extras={_BLOCK_OF: wire})


def block_owner(item: Item) -> str | None:
    """The wire whose block a note holds, if it does."""
    owner = item.extras.get(_BLOCK_OF)
    return owner if isinstance(owner, str) else None


def said(item: Message | Note | Summary, sheet: Sheet) -> Content:
    """The content of what is said to the model; that a block had to be put in words is noted."""
    owner = block_owner(item)
    if owner is None or not isinstance(item, Note):
        return wording.said(item)
    sheet.note(item, "media_as_text", f"a block of {owner} that no item stands for is put in words")
    return wording.said(replace(item, content=without_bytes(thaw(item.content))))


def note_letters(item: Message | ToolResult, sheet: Sheet) -> None:
    """Note that a file of text in an item is not UTF-8, so that what cannot be read of it is replaced."""
    if type(item.content) is not str and any(map(is_garbled, item.parts)):
        sheet.note(item, "media_as_text", "a file of text is not UTF-8, and letters of it are replaced")


def native_block(item: Item, wire: str) -> Json | None:
    """The block of this wire that a note holds, in a copy of its own."""
    held: Any = item.content if isinstance(item, Note) and block_owner(item) == wire else None
    return thaw(held) if isinstance(held, dict) else None


def beside(wire: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The extras of an item with what stood beside it; none where nothing did."""
    found = {name: value for name, value in fields.items() if value}
    return {BESIDE: {"wire": wire, **found}} if found else {}


def fields_beside(item: Item, wire: str) -> Json:
    """What stood beside an item on this wire."""
    held: Any = item.extras.get(BESIDE)
    if not isinstance(held, dict) or cast("Json", held).get("wire") != wire:
        return {}
    return {name: thaw(value) for name, value in cast("Json", held).items() if name != "wire"}


def formed(kind: str, *wires: str) -> dict[str, Any]:
    """The extras of a call of its own kind, which these wires can take back as it was."""
    return {FORM: {"kind": kind, "wires": list(wires)}}


def is_common(call: ToolCall) -> bool:
    """Whether a call is one of a function with nothing beside it, which all wires write alike."""
    return FORM not in call.extras and BESIDE not in call.extras


def form_of(item: Item, wire: str) -> str | None:
    """The kind of call that a call is on this wire; none for a call of a function."""
    held: Any = item.extras.get(FORM) if item.extras else None
    if not isinstance(held, dict):
        return None
    kind, wires = cast("Json", held).get("kind"), cast("Json", held).get("wires")
    return kind if isinstance(kind, str) and isinstance(wires, list | tuple) and wire in wires else None
