"""The codec: items to JSON and back, without loss.

msgspec encodes and decodes whole batches. Only items with free values are checked before they are written. A
batch that msgspec refuses is decoded again item by item, because a newer version may have written it. Fields
that this version does not know are kept in `extras` under a reserved key and are written back in their place.
An item of an unknown kind, or with something unknown inside a field, becomes `Unknown`.
"""

from collections.abc import Callable, Sequence
from copy import copy
from operator import attrgetter
from typing import Any, TypeVar, cast, get_args

import msgspec
from msgspec.structs import fields, force_setattr

from quire.errors import Damaged, QuireError, WrongType
from quire.items.kinds import COMMON, KINDS, KNOWN, Checked, Item, Known, Note, Record, Unknown
from quire.items.values import NOTHING, to_json, without_content

T = TypeVar("T")

_NEWER = "quire.newer"  # the key of `extras` that holds the fields of a newer version

_encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode
_decode_all: Callable[[bytes], list[Any]] = msgspec.json.Decoder(list[Known]).decode
_decode_one: Callable[[bytes], Item] = msgspec.json.Decoder(Known).decode

_CANNOT_DECODE = (msgspec.DecodeError, UnicodeError, RecursionError)
_WITH_FREE_VALUES = {Note, Unknown}
_extras_of = attrgetter("extras")


class Codec:
    """Encodes and decodes items, one by one or as an array."""

    def encode(self, items: Sequence[Item]) -> bytes:
        """Encode items as one array."""
        items = items if isinstance(items, list) else list(items)
        kinds = set(map(type, items))
        for kind in kinds - KINDS:
            raise WrongType(f"a codec writes items, not {kind.__name__}")
        if _WITH_FREE_VALUES.isdisjoint(kinds) and not any(map(_extras_of, items)):
            return _encode(items)
        return _encode([_encodable(item, f"$[{index}]") for index, item in enumerate(items)])

    def encode_item(self, item: Item) -> bytes:
        """Encode one item."""
        if type(item) not in KINDS:
            raise WrongType(f"a codec writes items, not {type(item).__name__}")
        return _encode(_encodable(item, "$"))

    def decode(self, data: bytes) -> list[Item]:
        """Decode the items of one array."""
        try:
            return _decode_all(data)
        except _CANNOT_DECODE:
            raws = _parse(data, list[dict[str, Any]])
        return [_read(raw, f"$[{index}]") for index, raw in enumerate(raws)]

    def decode_item(self, data: bytes) -> Item:
        """Decode one item."""
        try:
            return _decode_one(data)
        except _CANNOT_DECODE:
            return _read(_parse(data, dict[str, Any]), "$")


JSON = Codec()
"""The codec that all of Quire uses."""

# Writing


def _encodable(item: Item, path: str) -> Any:
    """What msgspec encodes for an item: the item itself, unless it has free values."""
    if isinstance(item, Unknown):
        common = {name: getattr(item, name) for name in COMMON if getattr(item, name) is not None}
        return {"kind": item.name, **common, **to_json(item.fields, path)}
    if item.extras is NOTHING and type(item) is not Note:
        return item
    extras = to_json(item.extras, f"{path}.extras")
    newer: dict[str, Any] | None = extras.pop(_NEWER, None)
    twin = copy(item)  # for the encoder alone: setting its fields does not freeze them
    force_setattr(twin, "extras", extras or NOTHING)
    if isinstance(item, Note):
        force_setattr(twin, "content", to_json(item.content, f"{path}.content"))
    return twin if newer is None else {**msgspec.to_builtins(twin), **newer}


# Reading what msgspec refused


def _parse(data: bytes, wanted: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=wanted)
    except (msgspec.DecodeError, UnicodeError) as fault:
        text, place = without_content(fault)
        raise Damaged(text, f"${place}") from None
    except RecursionError:
        raise Damaged("nested too deeply", "$") from None


def _read(raw: dict[str, Any], path: str) -> Item:
    kind = raw.get("kind")
    if not isinstance(kind, str) or "id" not in raw:
        raise Damaged("an item must have a kind and an id", path)
    try:
        return _read_known(KNOWN[kind], raw) if kind in KNOWN else _read_unknown(raw)
    except (msgspec.ValidationError, QuireError, UnicodeError) as fault:
        text, place = without_content(fault)
        raise Damaged(text, path + place) from None


def _read_known(kind: type[Known], raw: dict[str, Any]) -> Item:
    ours = ("kind", *kind.__struct_fields__)
    known = {name: value for name, value in raw.items() if name in ours}
    newer = {name: value for name, value in raw.items() if name not in ours}
    extras = raw.get("extras", {})
    if newer and isinstance(extras, dict):
        known["extras"] = {**extras, _NEWER: newer}
    try:
        return msgspec.convert(known, kind)
    except msgspec.ValidationError:
        if any(_is_newer(known.get(field.name), field.type) for field in fields(kind)):
            return _read_unknown(raw)
        raise


def _is_newer(value: Any, annotation: Any) -> bool:
    """Whether a field has a part of an unknown kind, or a struct with an unknown field."""
    structs = _structs_in(annotation)
    values = cast("list[object]", value if isinstance(value, list) else [value])
    parts = [cast("dict[str, Any]", inner) for inner in values if isinstance(inner, dict)]
    for part in parts if structs else []:
        kinds = [kind for kind in structs if kind.__struct_config__.tag == part.get("part")]
        if not kinds or not part.keys() <= {"part", *kinds[0].__struct_fields__}:
            return True
    return False


def _structs_in(annotation: Any) -> list[type[Checked]]:
    if isinstance(annotation, type) and issubclass(annotation, Checked):
        return [annotation]
    return [kind for inner in get_args(annotation) for kind in _structs_in(inner)]


def _read_unknown(raw: dict[str, Any]) -> Unknown:
    fields = {name: value for name, value in raw.items() if name != "kind" and name not in COMMON}
    common: dict[str, Any] = {"created_at": 0.0, **{name: raw[name] for name in COMMON if name in raw}}
    return Unknown(name=raw["kind"], fields=fields, **common)


# Items and parts in pydantic models


def _pydantic_core(kind: type[Checked], _source: Any, _handler: Any) -> Any:
    from pydantic_core import core_schema  # optional: only pydantic calls this

    def validate(value: Any) -> Any:
        if isinstance(value, kind):
            return value
        if not issubclass(kind, Record):
            return msgspec.convert(value, kind)
        item = JSON.decode_item(_encode(value))
        if not isinstance(item, kind):
            raise Damaged(f"expected {kind.__name__}, not {type(item).__name__}", "$")
        return item

    def serialize(value: Any) -> Any:
        written = JSON.encode_item(value) if isinstance(value, Item) else _encode(value)
        return msgspec.json.decode(written)

    validate.__name__ = kind.__name__  # pydantic names the member of a union by it
    return core_schema.no_info_plain_validator_function(
        validate,
        json_schema_input_schema=core_schema.dict_schema(),
        serialization=core_schema.plain_serializer_function_ser_schema(
            serialize, return_schema=core_schema.dict_schema()
        ),
    )


setattr(Checked, "__get_pydantic_core_schema__", classmethod(_pydantic_core))  # noqa: B010
