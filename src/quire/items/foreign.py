"""What lets items and parts be fields of pydantic models and bodies of FastAPI routes.

pydantic is not needed to use Quire: these two methods are called by it, never by us.
"""

from typing import Any, cast

import msgspec


class PydanticReady:
    """Mixed into structs: pydantic validates them with our codec and describes them by our schema."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            cls._from_foreign,
            serialization=core_schema.plain_serializer_function_ser_schema(_to_foreign, when_used="always"),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _core_schema: Any, _handler: Any) -> dict[str, Any]:
        (schema,), definitions = msgspec.json.schema_components([cls], ref_template="#/$defs/{name}")
        inlined: dict[str, Any] = _inlined(schema, definitions)
        return inlined

    @classmethod
    def _from_foreign(cls, value: Any) -> Any:
        if isinstance(value, cls):
            return value
        if not isinstance(value, dict):
            raise ValueError(f"expected {cls.__name__} or a dictionary")
        from quire.items.codec import from_builtins

        return from_builtins(cast(dict[str, Any], value), cast(type[msgspec.Struct], cls))


def _to_foreign(value: Any) -> Any:
    from quire.items.codec import to_builtins

    return to_builtins(value)


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, dict):
        if "$ref" in schema:
            return _inlined(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)  # pyright: ignore
        return {key: _inlined(value, definitions) for key, value in schema.items() if key != "discriminator"}  # pyright: ignore
    if isinstance(schema, list):
        return [_inlined(value, definitions) for value in schema]  # pyright: ignore
    return schema
