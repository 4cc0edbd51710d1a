"""Reading what a newer version wrote, so that it can be written again untouched.

Fields that this version does not know are kept in `extras` under one reserved key and put back where they were. A part
it does not know is shown as a short text. A kind it does not know becomes `Unknown`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from quire.errors import Damaged, QuireError
from quire.items.edits import Span
from quire.items.kinds import Address, Opaque, Wording
from quire.items.parts import Audio, File, Image
from quire.items.union import KNOWN, Item, Known, kind_of
from quire.items.unknown import Unknown

VERSION = 1
"""The version this code writes. Items of version 1 carry no stamp; a later one is stamped in the field `v`."""

KEPT = "quire.newer"
"""The reserved key of `extras` that holds what this version does not know."""

_PARTS: dict[str, type[msgspec.Struct]] = {"image": Image, "audio": Audio, "file": File}
_NESTED: dict[str, type[msgspec.Struct]] = {
    "state": Opaque,
    "address": Address,
    "wording": Wording,
    "spans": Span,
}


def read_leniently(raw: Mapping[str, Any], path: str, fault: str) -> Item:
    """One item from its raw fields; `fault` is why the strict reader refused it."""
    kind = raw.get("kind")
    if not isinstance(kind, str):
        raise Damaged("an item without a kind", path)
    if kind not in KNOWN:
        return _unknown(kind, raw, path)
    known, kept = _parted(KNOWN[kind], raw)
    if not kept:
        raise Damaged(fault, path)
    known["extras"] = {**(known.get("extras") or {}), KEPT: kept}
    try:
        return _convert(known, KNOWN[kind])
    except (msgspec.ValidationError, QuireError) as again:
        if _is_newer(raw):
            return _unknown(kind, raw, path)
        raise Damaged(str(again), path) from None


def put_back(item: Known, written: dict[str, Any]) -> dict[str, Any]:
    """The written fields of an item with what was kept of the newer version in its old place."""
    extras = written.get("extras", {})
    kept: dict[str, Any] = extras.pop(KEPT, {})
    if not extras:
        written.pop("extras", None)
    for name, original in kept.get("nested", {}).items():
        if _says_the_same(item, name, original):
            written[name] = original
    return {**written, **kept.get("fields", {})}


def write_unknown(item: Unknown) -> dict[str, Any]:
    """All fields of an item of an unknown kind, as they were read."""
    return {"kind": kind_of(item), **item.fields}


def _says_the_same(item: Known, name: str, original: Any) -> bool:
    wanted = next(field.type for field in msgspec.structs.fields(item) if field.name == name)
    return bool(msgspec.convert(_pruned(name, original), wanted) == getattr(item, name))


def _is_newer(raw: Mapping[str, Any]) -> bool:
    version = raw.get("v", 1)
    return isinstance(version, int) and version > VERSION


def _unknown(kind: str, raw: Mapping[str, Any], path: str) -> Unknown:
    fields = {name: value for name, value in raw.items() if name != "kind"}
    common = {name: raw[name] for name in ("id", "created_at", "agent_id") if name in raw}
    if "id" not in common:
        raise Damaged("an item without an id", path)
    try:
        return Unknown(name=kind, fields=fields, **common)
    except QuireError as fault:
        raise Damaged(str(fault), path) from None


def _parted(kind: type[Known], raw: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    ours = set(kind.__struct_fields__)
    known = {name: _pruned(name, value) for name, value in raw.items() if name in ours}
    fields = {name: value for name, value in raw.items() if name not in ours and name != "kind"}
    nested = {name: raw[name] for name in known if known[name] != raw[name]}
    return known, {name: kept for name, kept in (("fields", fields), ("nested", nested)) if kept}


def _pruned(name: str, value: Any) -> Any:
    if name == "content" and isinstance(value, list):
        return [_pruned_part(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    kind = _NESTED.get(name)
    if kind is None:
        return value
    if isinstance(value, list):
        return [_pruned_struct(kind, inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
    return _pruned_struct(kind, value)


def _pruned_part(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    name = str(part.get("part"))  # pyright: ignore
    return _pruned_struct(_PARTS[name], part) if name in _PARTS else f"[{name}]"


def _pruned_struct(kind: type[msgspec.Struct], value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ours = {*kind.__struct_fields__, "part"}
    return {name: inner for name, inner in value.items() if name in ours}  # pyright: ignore


def _convert(known: dict[str, Any], kind: type[Known]) -> Known:
    return msgspec.convert({"kind": kind.__struct_config__.tag, **known}, kind)
