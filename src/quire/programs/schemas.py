"""The types of a task as JSON schemas, and what is read by them."""

from collections.abc import Mapping
from typing import Any, Protocol, cast, get_args

from msgspec import Struct

from quire.agent import Tool
from quire.agent.tools import Misfit, written_function
from quire.agent.tools.shapes import (
    Definitions,
    Field,
    Json,
    Shape,
    Shaper,
    hints_of,
    object_schema,
    read_fields,
)
from quire.errors import InvalidValue, WrongType, cut
from quire.programs.values import TOLD, plain

_REFERENCE = "#/$defs/"


class Given(Protocol):
    """What a task is given."""

    @property
    def schema(self) -> Json:
        """The JSON schema of all of it, an object."""
        ...

    @property
    def properties(self) -> Json:
        """The schemas of what is given, by name."""
        ...

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What is given in the kinds that JSON has, all of it, or a `Misfit`."""
        ...


class Shaped:
    """One type."""

    def __init__(self, kind: Any) -> None:
        if isinstance(kind, Mapping):
            raise WrongType("a task has types, such as a TypedDict or a model, and no JSON schemas")
        try:
            self._shape: Shape = Shaper().shape(kind)
        except NameError as fault:
            raise WrongType(f"a task cannot have a type that is not defined: {fault}") from None
        definitions = Definitions()
        self.schema: Json = definitions.written(self._shape.schema(definitions))

    def read(self, value: Any) -> Any:
        """A value of the type, read exactly, or else as models mean it."""
        try:
            return self._shape.read(value, False)
        except Misfit:
            return self._shape.read(value, True)


class _Record:
    """A type with fields."""

    def __init__(self, kind: Any) -> None:
        self._shaped = Shaped(kind)
        self.schema = _resolved(self._shaped.schema)
        if "properties" not in self.schema:
            name = getattr(kind, "__name__", str(kind))
            raise WrongType(f"the input of a task is a type with fields, or types by name, not {cut(name)}")
        self.properties: Json = self.schema["properties"]

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        fields: Json = plain(_whole(self._shaped.read(plain(dict(given)))))
        return {key: fields.get(key, schema.get("default")) for key, schema in self.properties.items()}


class _Named:
    """Types by name."""

    def __init__(self, kinds: Mapping[str, Any]) -> None:
        shaper, definitions = Shaper(), Definitions()
        self._fields: dict[str, Field] = {}
        for name, kind in kinds.items():
            if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidValue("an input has a name")
            if isinstance(kind, Mapping):
                raise WrongType(f"the input {cut(name)!r} is of a type, and no JSON schema says which")
            try:
                self._fields[name] = Field(name, name, shaper.shape(kind), True)
            except NameError as fault:
                raise WrongType(f"the input {cut(name)!r}: {fault}") from None
        self.schema = definitions.written(object_schema(self._fields, definitions))
        self.properties: Json = self.schema["properties"]

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        values = plain(dict(given))
        try:
            read = read_fields(self._fields, values, False, "input")
        except Misfit:
            read = read_fields(self._fields, values, True, "input")
        return cast("dict[str, Any]", plain(read))


def given_by(kind: Any) -> Given:
    """What a task is given, by a type with fields or by types with names."""
    return _Named(kind) if isinstance(kind, Mapping) else _Record(kind)  # pyright: ignore[reportUnknownArgumentType]


def returned_by(tool: Tool) -> Json | None:
    """The schema of what a tool gives; none where it does not say, or may give what is no plain value."""
    if tool.kind == "generator":
        return None
    try:
        returned = _said_to_give(tool)
        return None if _is_told(returned) else _written_as(returned) or None
    except (KeyError, NameError, WrongType, InvalidValue):
        return None


def _said_to_give(tool: Tool) -> Any:
    """The type that a tool gives: a bridge's may be told of it apart from the annotations of its function."""
    schema = getattr(tool, "output_schema", None)
    return hints_of(written_function(tool.function), {})["return"] if schema is None else schema


def _written_as(kind: Any) -> Json:
    """The schema of values as they are written: a model of pydantic may write other names than it reads."""
    if not _holds_model(kind):
        return Shaped(kind).schema
    if _holds_named_tuple(kind):
        return {}  # pydantic takes it for a row
    from pydantic import TypeAdapter

    try:
        return TypeAdapter(kind).json_schema(mode="serialization")
    except Exception:  # pydantic has many ways to say that it cannot
        return Shaped(kind).schema


def _holds_model(kind: Any) -> bool:
    return hasattr(kind, "model_json_schema") or any(map(_holds_model, get_args(kind)))


def _holds_named_tuple(kind: Any) -> bool:
    is_one = isinstance(kind, type) and tuple in kind.__mro__ and hasattr(kind, "_fields")
    return is_one or any(map(_holds_named_tuple, get_args(kind)))


def _whole(value: Any) -> Any:
    """A value with all its fields: a struct may leave out those that have their defaults."""
    if not isinstance(value, Struct):
        return value
    names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
    return {key: getattr(value, name) for key, name in names}


def _is_told(hint: Any) -> bool:
    return hint in TOLD if isinstance(hint, type) else any(map(_is_told, get_args(hint)))


def _resolved(schema: Json) -> Json:
    """A schema that is no reference itself."""
    name = str(schema.get("$ref", "")).removeprefix(_REFERENCE)
    kept: Json = schema.get("$defs", {})
    return {**kept[name], "$defs": kept} if name in kept else schema
