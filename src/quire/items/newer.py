"""Reading what a newer version wrote, so that it can be written again untouched.

Fields that this version does not know are kept in `extras` under one reserved key and put back where they
were. A part it does not know is shown as a short text. A kind it does not know becomes `Unknown`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from quire.errors import Damaged, QuireError, Unencodable, WrongType
from quire.items.nested import NESTED, pruned, with_plain_data, with_spelled_data
from quire.items.portable import reread, reread_struct, restored, verbatim, verbatim_struct
from quire.items.settle import HALF_A_PAIR, without_content
from quire.items.union import KNOWN, Item, Known, kind_of
from quire.items.unknown import UNTIMED, Unknown

VERSION = 1
"""The version this code writes. Items of version 1 have no stamp; later ones are stamped in the field `v`."""

KEPT = "quire.newer"
"""The reserved key of `extras` that holds what this version does not know."""


def read_leniently(raw: Mapping[str, Any], path: str, fault: str, tagged: bool) -> Item:
    """One item from its raw fields; `fault` is why the strict reader refused it.

    Tags are levels of their own, so where there are some, they are turned back before depths are looked at.
    """
    kind = raw.get("kind")
    if not isinstance(kind, str):
        raise Damaged("an item without a kind", path)
    if kind not in KNOWN:
        return _unknown(kind, raw, path, tagged)
    known, kept = _parted(KNOWN[kind], raw, tagged)
    try:
        if tagged:
            known |= {name: restored(known[name], f"{path}.{name}") for name in _free(kind, known)}
        return _convert(_with_kept(known, kept), KNOWN[kind])
    except (msgspec.ValidationError, QuireError) as again:
        if _is_newer(raw):
            return _unknown(kind, raw, path, tagged)
        if isinstance(again, Damaged):
            raise
        raise damaged(str(again) if kept else fault, path) from None
    except UnicodeEncodeError:  # it would quote the text
        raise Damaged(f"a text {HALF_A_PAIR}", path) from None


def _free(kind: str, known: Mapping[str, Any]) -> list[str]:
    return [name for name in ("extras", "content") if name in known and (name == "extras" or kind == "note")]


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
            spelled = with_spelled_data(original) if tag_bytes and name == "content" else original
            written[name] = verbatim_struct(spelled, f"{path}.{name}", tag_bytes)
    for name, value in kept.get("fields", {}).items():
        written[name] = verbatim(value, f"{path}.{name}", tag_bytes)


def write_unknown(item: Unknown, path: str, tag_bytes: bool) -> dict[str, Any]:
    """All fields of an item of an unknown kind, as they were read."""
    if item.name in KNOWN and not _is_newer(item.fields):
        raise Unencodable(f"{item.name!r} is a kind of this version, and would come back as one", path)
    written: dict[str, Any] = verbatim_struct({"kind": kind_of(item), **item.fields}, path, tag_bytes)
    return written


def _with_kept(known: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """The fields with what this version does not know under the reserved key of extras."""
    extras = known.get("extras", {})
    if isinstance(extras, dict) and KEPT in extras:
        raise WrongType("extras hold a reserved key")
    if not kept:
        return known
    if not isinstance(extras, dict):
        raise WrongType("extras are no mapping")
    return {**known, "extras": {**extras, KEPT: kept}}  # pyright: ignore[reportUnknownVariableType]


def _is_kept(kept: Any, kind: type[Known]) -> bool:
    # Only what was read has this form for sure; anybody can write to the reserved key.
    ours = {*kind.__struct_fields__, "kind"}
    return (
        isinstance(kept, dict)
        and kept.keys() <= {"fields", "nested"}
        and all(isinstance(inner, dict) for inner in kept.values())  # pyright: ignore
        and not kept.get("fields", {}).keys() & ours  # pyright: ignore
        and kept.get("nested", {}).keys() <= {"content", *NESTED} & ours  # pyright: ignore
    )


def _says_the_same(item: Known, name: str, original: Any) -> bool:
    wanted = next(field.type for field in msgspec.structs.fields(item) if field.name == name)
    try:
        return bool(msgspec.convert(pruned(type(item), name, original), wanted) == getattr(item, name))
    except (msgspec.ValidationError, UnicodeEncodeError):
        return False


def _is_newer(raw: Mapping[str, Any]) -> bool:
    version = raw.get("v", 1)
    return isinstance(version, int) and version > VERSION


def _unknown(kind: str, raw: Mapping[str, Any], path: str, tagged: bool) -> Unknown:
    fields = {name: reread(value) if tagged else value for name, value in raw.items() if name != "kind"}
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


def _parted(kind: type[Known], raw: Mapping[str, Any], tagged: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields as this version knows them, and what has to be kept beside them."""
    ours = set(kind.__struct_fields__)
    known = {name: pruned(kind, name, value) for name, value in raw.items() if name in ours}
    fields = {name: value for name, value in raw.items() if name not in ours and name != "kind"}
    nested = {name: with_plain_data(raw[name]) for name in known if known[name] != raw[name]}
    if tagged:
        fields = {name: reread(value) for name, value in fields.items()}
        nested = {name: reread_struct(value) for name, value in nested.items()}
    return known, {name: kept for name, kept in (("fields", fields), ("nested", nested)) if kept}


def _convert(known: dict[str, Any], kind: type[Known]) -> Known:
    return msgspec.convert({"kind": kind.__struct_config__.tag, **known}, kind)
