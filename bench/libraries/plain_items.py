"""Structs with the fields of Quire's items, ids and times, and no checks."""

from typing import Any, Literal

import msgspec

from quire.items import Address, Content, Opaque, Wording, new_id, now

FIXED = {"frozen": True, "kw_only": True, "tag_field": "kind", "omit_defaults": True, "gc": False}


class Plain(msgspec.Struct, **FIXED):
    id: str = msgspec.field(default_factory=new_id)
    created_at: float = msgspec.field(default_factory=now)
    agent_id: str | None = None
    extras: dict[str, Any] | None = None


class PlainMessage(Plain, tag="message", **FIXED):
    role: Literal["system", "developer", "user", "assistant"]
    content: Content
    interrupted: bool = False
    wording: Wording | None = None
    address: Address | None = None
    state: Opaque | None = None


class PlainCall(Plain, tag="tool_call", **FIXED):
    call_id: str
    name: str
    arguments: str = "{}"
    state: Opaque | None = None


class PlainResult(Plain, tag="tool_result", **FIXED):
    call_id: str
    name: str
    content: Content
    is_error: bool = False
