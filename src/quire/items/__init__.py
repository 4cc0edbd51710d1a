"""Records of a conversation: frozen items in one tagged union, the parts of their content, and the codec."""

from quire.items.clock import new_id, now, use_clock
from quire.items.codec import JSON
from quire.items.kinds import (
    EDITS,
    FAR_PAST as FAR_PAST,
    KINDS,
    MAX_DATA,
    ROLES as ROLES,
    Address,
    Audio,
    ConfigChange,
    Content,
    Detail as Detail,
    Edit,
    File,
    Handoff,
    Hide,
    Image,
    Item,
    Mask,
    Message,
    Note,
    Opaque,
    Part,
    Pin,
    Reasoning,
    Role,
    Span,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
    Unknown,
    Wording,
    kind_of,
    parts_of,
    text_of,
)
from quire.items.values import (
    MAX_DEPTH as MAX_DEPTH,
    MAX_TEXT,
    NOTHING as NOTHING,
    freeze,
    replace_surrogates as replace_surrogates,
    thaw,
    to_json as to_json,
)

__all__ = ["JSON", "MAX_DATA", "MAX_TEXT", "freeze", "new_id", "now", "thaw", "use_clock"]
__all__ += ["EDITS", "KINDS", "Edit", "Item", "Unknown", "kind_of"]
__all__ += ["ConfigChange", "Handoff", "Message", "Note", "Reasoning", "ToolCall", "ToolResult"]
__all__ += ["Hide", "Mask", "Pin", "Span", "Summary", "Undo"]
__all__ += ["Audio", "Content", "File", "Image", "Part", "parts_of", "text_of"]
__all__ += ["Address", "Opaque", "Role", "Wording"]
