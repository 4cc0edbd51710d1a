"""Reading what a newer version wrote, so that it can be written again untouched.

Fields that this version does not know are kept in `extras` under one reserved key and put back where they
were. A part it does not know is shown as a short text. A kind it does not know becomes `Unknown`.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from quire.errors import Damaged, QuireError, Unencodable, WrongType
from quire.items.edits import Span
from quire.items.kinds import Address, Note, Opaque, Wording
from quire.items.parts import Audio, File, Image
from quire.items.portable import restored, verbatim
from quire.items.settle import HALF_A_PAIR, without_content
from quire.items.union import KNOWN, Item, Known, kind_of
from quire.items.unknown import UNTIMED, Unknown

VERSION = 1
"""The version this code writes. Items of version 1 have no stamp; later ones are stamped in the field `v`."""

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
        raise damaged(fault, path)
    try:
        return _convert({**known, "extras": with_kept(known.get("extras", {}), kept)}, KNOWN[kind])
    except (msgspec.ValidationError, QuireError) as again:
        if _is_newer(raw):
            return _unknown(kind, raw, path)
        raise damaged(str(again), path) from None
    except UnicodeEncodeError:  # it would quote the text
        raise Damaged(f"a text {HALF_A_PAIR}", path) from None


def read_without_tags(raw: Mapping[str, Any], path: str) -> Item | None:
    """One item whose free values are turned back before they are looked at; none where that is not all."""
    kind = raw.get("kind")
    if not isinstance(kind, str) or kind not in KNOWN:
        return None
    free = [name for name in ("extras", "content") if name in raw and (name == "extras" or kind == "note")]
    try:
        item = _convert({**raw, **{name: restored(raw[name], path) for name in free}}, KNOWN[kind])
    except (msgspec.ValidationError, QuireError, UnicodeEncodeError):
        return None
    if KEPT in item.extras:
        raise Damaged("this key is reserved", f"{path}.extras.{KEPT}")
    return item


def damaged(fault: str, path: str) -> Damaged:
    """What msgspec found at fault, with its place, and without the value."""
    text, place = without_content(fault)
    return Damaged(text, path + place)


def put_back(item: Known, written: dict[str, Any], path: str, tag_bytes: bool) -> None:
    """Put what was kept of the newer version in its old place among the written fields."""
    kept = item.extras[KEPT]
    if not _is_kept(kept, type(item)):
        raise Unencodable("this key is reserved", f"{path}.extras.{KEPT}")
    for name, original in kept.get("nested", {}).items():
        if _says_the_same(item, name, original):
            spelled = _with_spelled_data(original) if tag_bytes and name == "content" else original
            written[name] = verbatim(spelled, f"{path}.{name}", tag_bytes)
    for name, value in kept.get("fields", {}).items():
        written[name] = verbatim(value, f"{path}.{name}", tag_bytes)


def write_unknown(item: Unknown, path: str) -> dict[str, Any]:
    """All fields of an item of an unknown kind, as they were read."""
    if item.name in KNOWN and not _is_newer(item.fields):
        raise Unencodable(f"{item.name!r} is a kind of this version, and would come back as one", path)
    return {"kind": kind_of(item), **item.fields}


def with_kept(extras: Any, kept: dict[str, Any]) -> dict[str, Any]:
    """Extras with what this version does not know under the reserved key."""
    if not isinstance(extras, dict) or KEPT in extras:
        raise WrongType("extras are no mapping, or hold a reserved key")
    return {**extras, KEPT: kept}


def _is_kept(kept: Any, kind: type[Known]) -> bool:
    # Only what was read has this form for sure; anybody can write to the reserved key.
    ours = {*kind.__struct_fields__, "kind"}
    return (
        isinstance(kept, dict)
        and kept.keys() <= {"fields", "nested"}
        and all(isinstance(inner, dict) for inner in kept.values())  # pyright: ignore
        and not kept.get("fields", {}).keys() & ours  # pyright: ignore
        and kept.get("nested", {}).keys() <= {"content", *_NESTED} & ours  # pyright: ignore
    )


def _says_the_same(item: Known, name: str, original: Any) -> bool:
    wanted = next(field.type for field in msgspec.structs.fields(item) if field.name == name)
    try:
        return bool(msgspec.convert(_pruned(type(item), name, original), wanted) == getattr(item, name))
    except (msgspec.ValidationError, UnicodeEncodeError):
        return False


def _is_newer(raw: Mapping[str, Any]) -> bool:
    version = raw.get("v", 1)
    return isinstance(version, int) and version > VERSION


def _unknown(kind: str, raw: Mapping[str, Any], path: str) -> Unknown:
    fields = {name: value for name, value in raw.items() if name != "kind"}
    if "id" not in raw:
        raise Damaged("an item without an id", path)
    try:
        return Unknown(
            name=kind,
            fields=fields,
            id=raw["id"],
            created_at=raw.get("created_at", UNTIMED),
            agent_id=raw.get("agent_id"),
        )
    except QuireError as fault:
        raise damaged(str(fault), path) from None


def _parted(kind: type[Known], raw: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    ours = set(kind.__struct_fields__)
    known = {name: _pruned(kind, name, value) for name, value in raw.items() if name in ours}
    fields = {name: value for name, value in raw.items() if name not in ours and name != "kind"}
    nested = {name: _with_plain_data(raw[name]) for name in known if known[name] != raw[name]}
    return known, {name: kept for name, kept in (("fields", fields), ("nested", nested)) if kept}


def _pruned(kind: type[Known], name: str, value: Any) -> Any:
    if name == "content" and kind is not Note and isinstance(value, list):
        return [_pruned_part(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    struct = _NESTED.get(name)
    if struct is None:
        return value
    if isinstance(value, list):
        return [_pruned_struct(struct, inner) for inner in value]  # pyright: ignore
    return _pruned_struct(struct, value)


def _with_plain_data(content: Any) -> Any:
    """The parts of a content with their bytes as bytes, whichever format they were read from."""
    return _with_data(content, str, _plain)


def _with_spelled_data(content: Any) -> Any:
    """The same parts with their bytes spelled as JSON spells them."""
    return _with_data(content, bytes, _spelled)


def _with_data(content: Any, kind: type, turned: Callable[[Any], Any]) -> Any:
    if not isinstance(content, list):
        return content
    return [
        {**part, "data": turned(part["data"])}
        if _is_known_part(part) and isinstance(part.get("data"), kind)  # pyright: ignore
        else part
        for part in content  # pyright: ignore
    ]


def _plain(text: str) -> bytes | str:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        return text


def _spelled(data: bytes) -> str:
    return b64encode(data).decode()


def _is_known_part(part: Any) -> bool:
    return isinstance(part, dict) and str(part.get("part")) in _PARTS  # pyright: ignore


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
