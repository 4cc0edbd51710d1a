"""Objects whose fields are known: dataclasses, typed dictionaries, named tuples, structs."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from quire.agent.tools.shapes.containers import fields_of
from quire.agent.tools.shapes.definitions import Definitions
from quire.agent.tools.shapes.shape import Json, Misfit, Shape, called
from quire.errors import cut

MISSING = object()
"""Stands for a default that is not there, or that JSON cannot say."""


class Field(NamedTuple):
    """One field: its name in JSON, and the one that its owner takes it by."""

    key: str
    name: str
    shape: Shape
    is_required: bool
    default: Any = MISSING
    description: str = ""

    def schema(self, definitions: Definitions) -> Json:
        """The schema of its type, with what is said of the field."""
        written = self.shape.schema(definitions)
        if self.description:
            written["description"] = self.description
        if self.default is not MISSING:
            written["default"] = self.default
        return written


class Record:
    """An object whose fields are known. It is filled in after it is made, because it may hold itself."""

    def __init__(self, kind: Hashable, name: str, description: str = "") -> None:
        self._kind = kind
        self._name = name
        self._description = description
        self._fields: dict[str, Field] = {}
        self._tag: tuple[str, Any] | None = None
        self._build: Callable[..., Any] = dict
        self._made: type | None = None

    def fill(
        self,
        fields: list[Field],
        build: Callable[..., Any],
        made: type | None = None,
        tag: tuple[str, Any] | None = None,
    ) -> None:
        """Say what it holds, what is made of that, and the type of what is made already."""
        self._fields = {field.key: field for field in fields}
        self._build, self._made, self._tag = build, made, tag

    @property
    def words(self) -> str:
        """An object with its fields."""
        return f"an object with {names_of(self._fields)}"

    def schema(self, definitions: Definitions) -> Json:
        """An object that has these fields and no others."""
        return definitions.place(self._kind, self._name, lambda: self._written(definitions))

    def _written(self, definitions: Definitions) -> Json:
        described = {"description": self._description} if self._description else {}
        written = object_schema(self._fields, definitions)
        if self._tag is not None:
            key, value = self._tag
            tag = {"type": "string" if isinstance(value, str) else "integer", "enum": [value]}
            written["properties"] = {key: tag, **written["properties"]}
            written["required"] = [key, *written.get("required", ())]
        return {**written, **described}

    def read(self, value: Any, lenient: bool) -> Any:
        """The fields, made into what the function wants."""
        if self._made is not None and isinstance(value, self._made):
            return value
        if lenient and isinstance(value, list | tuple) and self._is_row:
            value = dict(zip(self._fields, value, strict=False)) if len(value) <= len(self._fields) else value  # pyright: ignore
        fields = fields_of(value, lenient, self.words)
        if self._tag is not None:
            key, tag = self._tag
            if fields.pop(key, None) != tag:
                raise Misfit(f"expected {tag!r}", f".{key}")
        return self._built(read_fields(self._fields, fields, lenient))

    @property
    def _is_row(self) -> bool:
        return self._made is not None and issubclass(self._made, tuple)

    def _built(self, values: dict[str, Any]) -> Any:
        try:
            return self._build(**values)
        except Exception as fault:  # a type may refuse what it is made of, by any error
            raise Misfit(f"{type(fault).__name__}: {cut(str(fault))}") from None


def object_schema(fields: Mapping[str, Field], definitions: Definitions) -> Json:
    """The schema of an object that has these fields and no others."""
    written: Json = {
        "type": "object",
        "properties": {key: field.schema(definitions) for key, field in fields.items()},
    }
    required = [key for key, field in fields.items() if field.is_required]
    if required:
        written["required"] = required
    return {**written, "additionalProperties": False}


def read_fields(
    fields: Mapping[str, Field], given: Mapping[Any, Any], lenient: bool, what: str = "field"
) -> dict[str, Any]:
    """The values of fields by the names that their owner has for them; those left out are left out."""
    for key in given:
        if key not in fields:
            raise Misfit(
                f"there is no {what} {called(key).removeprefix('the text ')}; there {_there(fields)}"
            )
    read: dict[str, Any] = {}
    for key, field in fields.items():
        if key in given:
            try:
                read[field.name] = field.shape.read(given[key], lenient)
            except Misfit as fault:
                raise fault.inside(f".{key}") from None
        elif field.is_required:
            raise Misfit(f"the {what} {key!r} is missing: {field.shape.words}")
    return read


def names_of(fields: Mapping[str, Field]) -> str:
    """The names of fields, in a row."""
    return ", ".join(fields) or "no fields"


def _there(fields: Mapping[str, Field]) -> str:
    return f"{'is' if len(fields) == 1 else 'are'} {', '.join(fields)}" if fields else "is none at all"
