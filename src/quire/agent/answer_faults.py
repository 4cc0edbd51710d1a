"""What is wrong with a value by the schema that it was to fit: all of it, so that one correction will do."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, cast

from quire.agent.tools.arguments import called
from quire.errors import cut

_Schema = Mapping[str, Any]

_MOST = 20  # faults that are told at once
_DEEPEST = 64
_KINDS: Mapping[str, tuple[str, type | tuple[type, ...]]] = {
    "string": ("a text", str),
    "integer": ("a whole number", int),
    "number": ("a number", (int, float)),
    "boolean": ("true or false", bool),
    "null": ("null", type(None)),
    "object": ("an object", Mapping),
    "array": ("an array", (list, tuple)),
}


def faults_in(value: Any, schema: _Schema) -> list[str]:
    """The faults of a value, each with its place, as far as a schema tells them."""
    return [*islice(_Walk(schema).faults(value, schema, "", 0), _MOST)]


class _Walk:
    def __init__(self, root: _Schema) -> None:
        self._root = root

    def faults(self, value: Any, schema: Any, place: str, depth: int) -> Iterator[str]:
        found = self._pointed(schema)
        if depth > _DEEPEST or not found:
            return
        branches = [*_list(found.get("anyOf")), *_list(found.get("oneOf"))]
        if branches:
            yield from self._nearest(value, branches, place, depth)
        elif not _is_of(value, found):
            yield _at(place, f"expected {_words(found)}, got {called(value)}")
        elif isinstance(value, Mapping):
            yield from self._in_object(cast("Mapping[str, Any]", value), found, place, depth)
        elif isinstance(value, list | tuple):
            for index, inner in enumerate(cast("Sequence[Any]", value)):
                yield from self.faults(inner, found.get("items"), f"{place}[{index}]", depth + 1)

    def _in_object(self, value: Mapping[str, Any], schema: _Schema, place: str, depth: int) -> Iterator[str]:
        properties, others = _mapping(schema.get("properties")), schema.get("additionalProperties")
        for name in _list(schema.get("required")):
            if name not in value:
                yield _at(
                    place, f"the field {name!r} is missing: {_words(self._pointed(properties.get(name)))}"
                )
        for name, inner in value.items():
            if name not in properties and others is False:
                yield _at(place, f"there is no field {cut(name)!r}")
            else:
                yield from self.faults(inner, properties.get(name, others), f"{place}.{cut(name)}", depth + 1)

    def _nearest(self, value: Any, branches: Sequence[Any], place: str, depth: int) -> Iterator[str]:
        """The faults by the alternative that a value comes nearest to."""
        found = [[*self.faults(value, branch, place, depth + 1)] for branch in branches]
        of_kind = [one for one, branch in zip(found, branches, strict=True) if self._is_like(value, branch)]
        if all(found) and not of_kind:
            words = dict.fromkeys(_words(self._pointed(branch)) for branch in branches)
            yield _at(place, f"expected {' or '.join(words)}, got {called(value)}")
        elif all(found):
            yield from min(of_kind, key=len)

    def _is_like(self, value: Any, branch: Any) -> bool:
        return _is_of(value, {**self._pointed(branch), "enum": [value]})

    def _pointed(self, schema: Any) -> _Schema:
        """A schema, or the definition that it points to."""
        found = _mapping(schema)
        for _ in range(_DEEPEST):
            if "$ref" not in found:
                break
            kind, _, name = str(found["$ref"]).removeprefix("#/").partition("/")
            found = _mapping(_mapping(self._root.get(kind)).get(name))
        return found


def _is_of(value: Any, schema: _Schema) -> bool:
    choices = [schema["const"]] if "const" in schema else _list(schema.get("enum"))
    if choices and value not in choices:
        return False
    kinds = [kind for kind in _kinds(schema) if kind in _KINDS]
    # Python takes true for a number.
    return not kinds or any(
        isinstance(value, _KINDS[kind][1]) and (kind == "boolean" or not isinstance(value, bool))
        for kind in kinds
    )


def _words(schema: _Schema) -> str:
    choices = [schema["const"]] if "const" in schema else _list(schema.get("enum"))
    if choices:
        return f"one of {', '.join(cut(repr(choice)) for choice in choices)}"
    kinds = [_KINDS[kind][0] for kind in _kinds(schema) if kind in _KINDS]
    return " or ".join(kinds) or "a value"


def _kinds(schema: _Schema) -> list[Any]:
    kind = schema.get("type")
    return [kind] if isinstance(kind, str) else _list(kind)


def _at(place: str, fault: str) -> str:
    return f"{place.removeprefix('.')}: {fault}" if place else fault


def _mapping(value: Any) -> _Schema:
    return cast(_Schema, value) if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return list(cast("Sequence[Any]", value)) if isinstance(value, list | tuple) else []
