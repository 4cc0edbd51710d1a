"""Lets items and parts be fields of pydantic models and bodies of FastAPI routes.

pydantic looks for two methods on a class. They are attached here, because the kinds do not know the codec.
Quire does not need pydantic: nothing else calls them.
"""

from typing import Any, cast

import msgspec

from quire.errors import Damaged
from quire.items.codec import JSON
from quire.items.kinds import Item, Piece, Record


def attach() -> None:
    """Give every kind of item and part the methods that pydantic looks for."""
    for kind in (Record, Piece):
        setattr(kind, "__get_pydantic_core_schema__", classmethod(_core_schema))  # noqa: B010
        setattr(kind, "__get_pydantic_json_schema__", classmethod(_json_schema))  # noqa: B010


def _core_schema(kind: type[msgspec.Struct], _source: Any, _handler: Any) -> Any:
    from pydantic_core import core_schema

    def validate(value: Any) -> Any:
        return _validated(kind, value)

    validate.__name__ = kind.__name__  # where a field is a union, pydantic names the member by it
    return core_schema.no_info_plain_validator_function(
        validate,
        serialization=core_schema.plain_serializer_function_ser_schema(_serialised, when_used="always"),
    )


def _json_schema(kind: type[msgspec.Struct], _core_schema: Any, _handler: Any) -> dict[str, Any]:
    (schema,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    inlined: dict[str, Any] = _inlined(schema, definitions)
    return inlined


def _validated(kind: type[msgspec.Struct], value: Any) -> Any:
    if isinstance(value, kind):
        return value
    if not isinstance(value, dict):
        raise ValueError(f"expected {kind.__name__} or a dictionary")
    raw = cast("dict[str, Any]", value)
    if not issubclass(kind, Record):
        return msgspec.convert(raw, kind)
    item = JSON.read(raw)
    if not isinstance(item, kind):
        raise Damaged(f"expected {kind.__name__}, not {type(item).__name__}")
    return item


def _serialised(value: msgspec.Struct) -> Any:
    if isinstance(value, Item):
        return msgspec.json.decode(JSON.encode_item(value))
    return msgspec.to_builtins(value)


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """The schema with its references replaced: pydantic does not know the definitions of msgspec."""
    if isinstance(schema, dict):
        fields = cast("dict[str, Any]", schema)
        if "$ref" in fields:
            return _inlined(definitions[fields["$ref"].removeprefix("#/$defs/")], definitions)
        return {key: _inlined(value, definitions) for key, value in fields.items() if key != "discriminator"}
    if isinstance(schema, list):
        return [_inlined(value, definitions) for value in schema]  # pyright: ignore[reportUnknownVariableType]
    return schema
