"""Schemas as A1 has them: models of pydantic, which is imported when one is first made."""

from collections.abc import Iterator, Mapping
from typing import Any, cast, get_args

from quire.agent.tools import Json, Misfit, Signature
from quire.errors import InvalidValue, WrongType, cut
from quire.programs.schemas import Shaped
from quire.programs.values import plain


def made_schema(name: str, fields: Mapping[str, tuple[Any, Any]]) -> Any:
    """A model of pydantic; a field is a type and a default, which is `...` where there is none."""
    try:
        from pydantic import create_model
    except ImportError as missing:
        raise InvalidValue(
            f"the schema {cut(name)!r} is a model of pydantic, which is not installed: give one of your own"
        ) from missing
    return create_model(name, **cast("dict[str, Any]", fields))


def checked_schema(schema: Any, what: str) -> Any:
    """The schema, if it is a type."""
    if not isinstance(schema, type):
        raise WrongType(f"{what} is a model of pydantic or another type with fields, not {_called(schema)}")
    return schema


def is_model(value: object) -> bool:
    """Whether a value is one of a model of pydantic."""
    return not isinstance(value, type) and hasattr(type(value), "model_fields")


def fields_of(value: Any) -> dict[str, Any]:
    """The fields of a value of a schema, as they are."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    kind: Any = type(cast("object", value))
    for told in ("model_fields", "__struct_fields__", "__dataclass_fields__"):
        if hasattr(kind, told):
            return {name: getattr(value, name) for name in getattr(kind, told)}
    raise WrongType(f"a {kind.__name__} has no fields")


def schemas_within(*schemas: Any) -> dict[str, Json]:
    """The JSON schemas of types and of the models inside them, by their names; the first of a name counts."""
    found: dict[str, Json] = {}
    for schema in schemas:
        for kind in _models(schema, set()):
            if kind.__name__ not in found:
                found[kind.__name__] = Shaped(kind).schema
    return found


class OfSchema(Signature):
    """What a schema asks for, as the signature of a tool whose function is given all of it as one value."""

    shaped: Shaped

    def schema(self) -> Json:
        """The schema itself."""
        return {"properties": {}, **self.shaped.schema}

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """A value of the schema."""
        return {self.order[0].name: self.shaped.read(plain(dict(given)))}


def signature_of(schema: Any, function: Any) -> OfSchema:
    """The signature of a function of one parameter, with a schema in the place of its own."""
    of_schema = OfSchema(function)
    of_schema.shaped = Shaped(schema)
    return of_schema


def result_of(schema: Any, value: Any, tool: str) -> Any:
    """What a tool gave, as a value of its schema where it is a dictionary."""
    if schema is None or not isinstance(value, Mapping):
        return value
    try:
        return Shaped(schema).read(plain(value))
    except Misfit as fault:
        raise InvalidValue(f"what {cut(tool)!r} gave: {fault}") from None


def _models(kind: Any, seen: set[Any]) -> Iterator[type]:
    if isinstance(kind, type) and hasattr(kind, "model_fields"):
        if kind in seen:
            return
        seen.add(kind)
        yield kind
        for field in cast("Mapping[str, Any]", getattr(kind, "model_fields")).values():  # noqa: B009
            yield from _models(field.annotation, seen)
    for inner in get_args(kind):
        yield from _models(inner, seen)


def _called(value: Any) -> str:
    return f"a {type(value).__name__}"
