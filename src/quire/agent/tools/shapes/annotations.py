"""What `Annotated` says beside a type: a description, and bounds.

Whose words they are does not matter: those of msgspec, of pydantic and of others have the same names.
"""

import re
from collections.abc import Sized
from decimal import Decimal
from typing import Any, NamedTuple

from quire.agent.tools.shapes.definitions import Definitions
from quire.agent.tools.shapes.shape import Json, Misfit, Shape

_BOUNDS = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern")
_KEYWORDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}
_LENGTHS = {"array": "Items", "object": "Properties"}


class Bounded(NamedTuple):
    """A type within bounds."""

    inner: Shape
    bounds: dict[str, Any]

    @property
    def words(self) -> str:
        """The type."""
        return self.inner.words

    def schema(self, definitions: Definitions) -> Json:
        """The schema of the type with its bounds."""
        written = self.inner.schema(definitions)
        for name, bound in self.bounds.items():
            keyword = _KEYWORDS.get(name) or f"{name[:3]}{_LENGTHS.get(_kind(written), 'Length')}"
            written[keyword] = float(bound) if isinstance(bound, Decimal) else bound
        return written

    def read(self, value: Any, lenient: bool) -> Any:
        """The value, if it is within bounds."""
        read = self.inner.read(value, lenient)
        for name, bound in self.bounds.items():
            fault = _fault(name, bound, read)
            if fault:
                raise Misfit(fault)
        return read


class Described(NamedTuple):
    """A type with more to say of it in the schema."""

    inner: Shape
    said: dict[str, Any]

    @property
    def words(self) -> str:
        """The type."""
        return self.inner.words

    def schema(self, definitions: Definitions) -> Json:
        """The schema of the type, and what is said of it."""
        return {**self.inner.schema(definitions), **self.said}

    def read(self, value: Any, lenient: bool) -> Any:
        """As the type reads it."""
        return self.inner.read(value, lenient)


def annotated(shape: Shape, notes: tuple[Any, ...]) -> Shape:
    """A shape with what `Annotated` says of it."""
    bounds: dict[str, Any] = {}
    said: dict[str, Any] = {}
    for note in _flat(notes):
        bounds.update((name, bound) for name in _BOUNDS if (bound := _bound(note, name)) is not None)
        said.update(_said(note))
    if bounds:
        shape = Bounded(shape, bounds)
    return Described(shape, said) if said else shape


def is_validator(note: Any) -> bool:
    """Whether a note is code of pydantic's that has to be run on the value."""
    return type(note).__module__.startswith("pydantic.functional_")


def _flat(notes: tuple[Any, ...]) -> list[Any]:
    """The notes, those that are inside a field of pydantic's too."""
    return [one for note in notes for one in (note, *_inner(note))]


def _inner(note: Any) -> tuple[Any, ...]:
    inner = getattr(note, "metadata", ()) if type(note).__name__ == "FieldInfo" else ()
    return tuple(inner)


def _bound(note: Any, name: str) -> Any:
    bound = getattr(note, name, None)
    if name == "pattern":
        return getattr(bound, "pattern", bound)
    return bound if isinstance(bound, int | float | Decimal) else None


def _said(note: Any) -> dict[str, Any]:
    if isinstance(note, str):
        return {"description": note}
    said: dict[str, Any] = {}
    # `documentation` is how a note of plain documentation calls its words.
    for name in ("description", "documentation"):
        if isinstance(words := getattr(note, name, None), str):
            said["description"] = words
    if isinstance(title := getattr(note, "title", None), str):
        said["title"] = title
    if isinstance(examples := getattr(note, "examples", None), list):
        said["examples"] = list(examples)  # pyright: ignore[reportUnknownArgumentType]
    for name in ("extra_json_schema", "json_schema_extra"):
        if isinstance(extra := getattr(note, name, None), dict):
            said.update(extra)  # pyright: ignore[reportUnknownArgumentType]
    return said


def _kind(schema: Json) -> str:
    inner = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return str((inner[0] if inner else schema).get("type"))


def _fault(name: str, bound: Any, value: Any) -> str | None:
    """What is wrong with a value under one bound; what the bound is not about is never wrong."""
    if name == "pattern":
        misses = isinstance(value, str) and re.search(bound, value) is None
        return f"expected a text that matches {bound}" if misses else None
    if name in ("min_length", "max_length"):
        if not isinstance(value, Sized):
            return None
        short = name == "min_length"
        wrong = len(value) < bound if short else len(value) > bound
        return (
            f"has a length of {len(value)}, {'at least' if short else 'at most'} {bound} is allowed"
            if wrong
            else None
        )
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    holds = {
        "ge": lambda: value >= bound,
        "gt": lambda: value > bound,
        "le": lambda: value <= bound,
        "lt": lambda: value < bound,
        "multiple_of": lambda: value % bound == 0,
    }
    told = {
        "ge": "at least",
        "gt": "more than",
        "le": "at most",
        "lt": "less than",
        "multiple_of": "a multiple of",
    }
    return None if holds[name]() else f"expected {told[name]} {bound}, got {value}"
