"""What lets items and parts be fields of pydantic models and bodies of FastAPI routes.

pydantic is not needed to use Quire: it looks for two methods on a class, and nobody else calls them. They are
put on the classes from here, so that the kinds need not know how they are written.
"""

from typing import Any, cast

import msgspec

from quire.errors import Damaged
from quire.items.codec import JSON
from quire.items.edits import Span
from quire.items.kinds import Address, Opaque, Wording
from quire.items.parts import Blob
from quire.items.record import Record
from quire.items.union import KNOWN, Item
from quire.items.unknown import Unknown


def _core_schema(kind: type[msgspec.Struct], _source: Any, _handler: Any) -> Any:
    from pydantic_core import core_schema

    def validate(value: Any) -> Any:
        return _validated(kind, value)

    validate.__name__ = kind.__name__  # where a field is a union, pydantic says of which kind a fault is
    return core_schema.no_info_plain_validator_function(
        validate,
        serialization=core_schema.plain_serializer_function_ser_schema(_serialised, when_used="always"),
    )


def _json_schema(kind: type[msgspec.Struct], _core_schema: Any, _handler: Any) -> dict[str, Any]:
    (schema,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    inlined: dict[str, Any] = _inlined(schema, definitions)
    return inlined


def fit_for_pydantic() -> None:
    """Give the methods that pydantic looks for to every kind of item and part."""
    for kind in (Record, Blob, Opaque, Wording, Address, Span):
        setattr(kind, "__get_pydantic_core_schema__", classmethod(_core_schema))  # noqa: B010
        setattr(kind, "__get_pydantic_json_schema__", classmethod(_json_schema))  # noqa: B010


def _validated(kind: type[msgspec.Struct], value: Any) -> Any:
    if isinstance(value, kind):
        return value
    if not isinstance(value, dict):
        raise ValueError(f"expected {kind.__name__} or a dictionary")
    raw = cast(dict[str, Any], value)
    if not issubclass(kind, Record):
        return msgspec.convert(raw, kind)
    said = KNOWN.get(str(raw.get("kind")))
    if said is not None and not issubclass(kind, Unknown) and not issubclass(said, kind):
        raise Damaged(f"expected {kind.__name__}, got {said.__name__}")  # not what is wrong with another kind
    item = JSON.read(raw)
    if not isinstance(item, kind):
        raise Damaged(f"expected {kind.__name__}, got {type(item).__name__}")
    return item


def _serialised(value: msgspec.Struct) -> Any:
    if isinstance(value, Item):
        return msgspec.json.decode(JSON.encode_item(value))
    return msgspec.to_builtins(value)


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, dict):
        if "$ref" in schema:
            return _inlined(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)  # pyright: ignore
        return {key: _inlined(value, definitions) for key, value in schema.items() if key != "discriminator"}  # pyright: ignore
    if isinstance(schema, list):
        return [_inlined(value, definitions) for value in schema]  # pyright: ignore
    return schema
