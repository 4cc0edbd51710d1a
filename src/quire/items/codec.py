"""Items to bytes and back. Decoding what was encoded gives equal items, for every kind.

`JSON` writes an array of items and nothing else; `MSGPACK` is the same in fewer bytes. msgspec encodes and
decodes whole batches. Only items with free values are checked before they are written, and only what msgspec
refuses is read a second time, field by field: it may come from a newer version, whose unknown kinds become
`Unknown` and whose unknown fields are kept in `extras` under a reserved key and written again in their place.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from operator import attrgetter
from typing import Any, cast

import msgspec

from quire.errors import Damaged, QuireError, Unencodable, WrongType
from quire.items.kinds import (
    COMMON,
    KINDS,
    KNOWN,
    Address,
    Audio,
    File,
    Image,
    Item,
    Known,
    Note,
    Opaque,
    Span,
    Unknown,
    Wording,
)
from quire.items.values import NOTHING, is_json, to_json, without_content

VERSION = 1
"""The version that this code writes. A newer one stamps items that this one cannot read, in a field `v`."""

KEPT = "quire.newer"
"""The key of `extras` that holds fields of a newer version, by name, as they were read."""

_PARTS: dict[str, type[msgspec.Struct]] = {"image": Image, "audio": Audio, "file": File}
_NESTED: dict[str, type[msgspec.Struct]] = {"state": Opaque, "address": Address, "wording": Wording}
_CANNOT_DECODE = (msgspec.DecodeError, UnicodeError, RecursionError)
_NEED_CARE = {Note, Unknown}
_extras_of = attrgetter("extras")


class Codec:
    """One format: `JSON` or `MSGPACK`."""

    def __init__(self, library: Any, *, has_bytes: bool) -> None:
        self._encode: Callable[[Any], bytes] = library.Encoder().encode
        self._decode_all: Callable[[bytes], list[Item]] = library.Decoder(list[Known]).decode
        self._decode_one: Callable[[bytes], Item] = library.Decoder(Known).decode
        self._decode_raw: Callable[[bytes], Any] = library.Decoder().decode
        self._has_bytes = has_bytes

    def encode(self, items: Sequence[Item]) -> bytes:
        """The items as one array."""
        items = items if isinstance(items, list) else list(items)
        kinds = set(map(type, items))
        for kind in kinds - KINDS:
            raise WrongType(f"a codec writes items, not {kind.__name__}")
        if _NEED_CARE.isdisjoint(kinds) and not any(map(_extras_of, items)):
            return self._encode(items)
        return self._encode([self._prepared(item, f"$[{index}]") for index, item in enumerate(items)])

    def encode_item(self, item: Item) -> bytes:
        """One item."""
        if type(item) not in KINDS:
            raise WrongType(f"a codec writes items, not {type(item).__name__}")
        is_plain = item.extras is NOTHING and type(item) not in _NEED_CARE
        return self._encode(item if is_plain else self._prepared(item, "$"))

    def decode(self, data: bytes) -> list[Item]:
        """The items of one array."""
        try:
            return self._decode_all(data)
        except _CANNOT_DECODE:
            raws = self._raw(data)
        if not isinstance(raws, list):
            raise Damaged("expected an array of items", "$")
        row: list[Any] = raws  # pyright: ignore[reportUnknownVariableType]
        return [self.read(raw, f"$[{index}]") for index, raw in enumerate(row)]

    def decode_item(self, data: bytes) -> Item:
        """One item."""
        try:
            return self._decode_one(data)
        except _CANNOT_DECODE:
            return self.read(self._raw(data))

    def read(self, raw: Any, path: str = "$") -> Item:
        """One item from the plain values that this format gives for it."""
        if not isinstance(raw, dict):
            raise Damaged(f"expected an item, not {type(raw).__name__}", path)
        fields = cast("dict[str, Any]", raw)
        kind = fields.get("kind")
        if not isinstance(kind, str):
            raise Damaged("an item without a kind", path)
        if not all(isinstance(name, str) for name in fields):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Damaged("a field whose name is not a text", path)
        try:
            return _read_known(KNOWN[kind], fields) if kind in KNOWN else _read_unknown(kind, fields)
        except (msgspec.ValidationError, QuireError, UnicodeError) as fault:
            if kind in KNOWN and _is_newer(fields):
                return _read_unknown(kind, fields)
            text, place = without_content(fault)
            raise Damaged(text, path + place) from None

    def _raw(self, data: bytes) -> Any:
        try:
            return self._decode_raw(data)
        except (msgspec.DecodeError, UnicodeError) as fault:
            text, place = without_content(fault)
            raise Damaged(text, f"${place}") from None
        except RecursionError:
            raise Damaged("nested too deep", "$") from None

    def _prepared(self, item: Item, path: str) -> Any:
        """What msgspec writes for an item: the item itself, unless it has values that need care."""
        if isinstance(item, Unknown):
            return self._unknown_fields(item, path)
        if item.extras is NOTHING and type(item) is not Note:
            return item
        kept = item.extras.get(KEPT)
        if kept is not None:
            return self._with_kept(item, kept, path)
        changed: dict[str, Any] = {}
        for name in ("extras", "content") if type(item) is Note else ("extras",):
            value = getattr(item, name)
            if not is_json(value):
                changed[name] = self._free(value, f"{path}.{name}")
        return _replaced(item, changed) if changed else item

    def _free(self, value: Any, path: str) -> Any:
        return to_json(value, path, spell_bytes=not self._has_bytes)

    def _unknown_fields(self, item: Unknown, path: str) -> dict[str, Any]:
        if item.name in KNOWN and not _is_newer(item.fields):
            raise Unencodable(
                f"{item.name!r} is a kind of this version; decoding would not give Unknown", path
            )
        common = {name: getattr(item, name) for name in COMMON if getattr(item, name) is not None}
        return {"kind": item.name, **common, **self._free(item.fields, path)}

    def _with_kept(self, item: Known, kept: Any, path: str) -> dict[str, Any]:
        """The fields of an item, with those that a newer version wrote in their place."""
        where = f"{path}.extras.{KEPT}"
        if not isinstance(kept, dict) or "kind" in kept:
            raise Unencodable("this key is reserved", where)
        extras = {key: value for key, value in item.extras.items() if key != KEPT}
        plain = self._prepared(msgspec.structs.replace(item, extras=extras), path)
        written: dict[str, Any] = self._decode_raw(self._encode(plain))
        for name, value in cast("dict[str, Any]", kept).items():
            if name not in type(item).__struct_fields__ or _is_current(item, name, value):
                written[name] = self._free(value, f"{where}.{name}")
        return written


def _replaced(item: Item, changed: Mapping[str, Any]) -> Item:
    """A copy for the encoder alone: its values are not frozen, so that bytes stay spelled."""
    twin: Item = copy(item)
    for name, value in changed.items():
        msgspec.structs.force_setattr(twin, name, value)
    return twin


# What a newer version wrote


def _is_newer(fields: Mapping[str, Any]) -> bool:
    version = fields.get("v", VERSION)
    return isinstance(version, int) and version > VERSION


def _read_unknown(kind: str, raw: Mapping[str, Any]) -> Unknown:
    if "id" not in raw:
        raise Damaged("an item without an id")
    fields = {name: value for name, value in raw.items() if name != "kind" and name not in COMMON}
    common: dict[str, Any] = {"created_at": 0.0, **{name: raw[name] for name in COMMON if name in raw}}
    return Unknown(name=kind, fields=fields, **common)


def _read_known(kind: type[Known], raw: Mapping[str, Any]) -> Known:
    """An item of a known kind; fields with something unknown in them are kept under the reserved key."""
    fields = {name: _pruned(kind, name, raw[name]) for name in kind.__struct_fields__ if name in raw}
    kept = {name: value for name, value in raw.items() if name not in fields and name != "kind"}
    # Parts may hold bytes; as text, both formats can be read again.
    kept |= {name: msgspec.to_builtins(raw[name]) for name in fields if fields[name] != raw[name]}
    if kept:
        extras = fields.get("extras", {})
        if not isinstance(extras, dict):
            raise WrongType("extras is not a mapping")
        fields["extras"] = {**extras, KEPT: kept}
    return msgspec.convert({**fields, "kind": raw["kind"]}, kind)


def _pruned(kind: type[Known], name: str, value: Any) -> Any:
    """A field without what this version does not know inside it."""
    if isinstance(value, list) and name == "content" and kind is not Note:
        return [_pruned_part(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list) and name == "spans":
        return [_pruned_struct(Span, span) for span in value]  # pyright: ignore[reportUnknownVariableType]
    return _pruned_struct(_NESTED[name], value) if name in _NESTED else cast(Any, value)


def _pruned_part(part: Any) -> Any:
    """A part of a known kind, or a short text in place of one of an unknown kind."""
    if not isinstance(part, dict):
        return part
    name = str(cast("dict[str, Any]", part).get("part"))
    return _pruned_struct(_PARTS[name], part) if name in _PARTS else f"[{name}]"


def _pruned_struct(struct: type[msgspec.Struct], value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ours = {*struct.__struct_fields__, "part"}
    return {name: inner for name, inner in cast("dict[str, Any]", value).items() if name in ours}


def _is_current(item: Known, name: str, kept: Any) -> bool:
    """Whether a field still has the value that was read; otherwise it was changed since."""
    wanted = next(field.type for field in msgspec.structs.fields(item) if field.name == name)
    try:
        return bool(msgspec.convert(_pruned(type(item), name, kept), wanted) == getattr(item, name))
    except (msgspec.ValidationError, UnicodeError):
        return False


JSON = Codec(msgspec.json, has_bytes=False)
MSGPACK = Codec(msgspec.msgpack, has_bytes=True)
