"""What is recorded: frozen items in one tagged union, the parts of their content, and how to write them."""

from quire.items.clock import new_id, now, use_clock
from quire.items.codec import JSON, MSGPACK, Codec
from quire.items.edits import Hide, Mask, Pin, Span, Summary, Undo
from quire.items.foreign import fit_for_pydantic as _fit_for_pydantic
from quire.items.frozen import MAX_DEPTH as MAX_DEPTH, NOTHING, FrozenDict, FrozenList, freeze, thaw
from quire.items.kinds import (
    ROLES as ROLES,
    Address,
    ConfigChange,
    Handoff,
    Message,
    Note,
    Opaque,
    Reasoning,
    Role,
    ToolCall,
    ToolResult,
    Wording,
)
from quire.items.parts import MAX_DATA, Audio, Content, Detail as Detail, File, Image, Part, parts_of, text_of
from quire.items.portable import DICT as DICT, portable as portable, restored as restored
from quire.items.record import FAR_PAST as FAR_PAST
from quire.items.settle import MAX_TEXT
from quire.items.union import EDITS, KINDS, Edit, Item, kind_of
from quire.items.unknown import Unknown

__all__ = [
    "EDITS",
    "JSON",
    "KINDS",
    "MAX_DATA",
    "MAX_TEXT",
    "MSGPACK",
    "NOTHING",
    "Address",
    "Audio",
    "Codec",
    "ConfigChange",
    "Content",
    "Edit",
    "File",
    "FrozenDict",
    "FrozenList",
    "Handoff",
    "Hide",
    "Image",
    "Item",
    "Mask",
    "Message",
    "Note",
    "Opaque",
    "Part",
    "Pin",
    "Reasoning",
    "Role",
    "Span",
    "Summary",
    "ToolCall",
    "ToolResult",
    "Undo",
    "Unknown",
    "Wording",
    "freeze",
    "kind_of",
    "new_id",
    "now",
    "parts_of",
    "text_of",
    "thaw",
    "use_clock",
]

_fit_for_pydantic()
