"""JSON schemas that programs pass to models as `output_schema`, and the answers that have to fit them.

A program is not trusted: its schema may be invalid, or need a comparison without end.
"""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from quire.agent.answer import unfenced
from quire.agent.tools import Misfit, read_value
from quire.errors import cut
from quire.providers import KEYWORDS, schema_errors

_MAX_SCHEMA = 100_000
_MAX_STEPS = 1_000_000
_ANNOTATIONS = frozenset(("title", "description", "examples", "default", "$comment", "$id", "$schema"))
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "object": dict,
    "array": list,
}
_BOUNDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minimum": operator.ge,
    "maximum": operator.le,
    "exclusiveMinimum": operator.gt,
    "exclusiveMaximum": operator.lt,
    **{f"min{size}": operator.ge for size in ("Length", "Items", "Properties")},
    **{f"max{size}": operator.le for size in ("Length", "Items", "Properties")},
}
_SIZED: Mapping[str, type] = {"Length": str, "Items": list, "Properties": dict}


def check_schema(schema: object) -> Mapping[str, Any] | None:
    """Check the `output_schema` of a program; a `TypeError` if it is not a schema."""
    if schema is None:
        return None
    if not isinstance(schema, Mapping):
        raise TypeError(f"output_schema must be a JSON schema, a dict, not {type(schema).__name__}")
    fields = cast("Mapping[str, Any]", schema)
    if len(msgspec.json.encode(fields)) > _MAX_SCHEMA:
        raise TypeError(f"output_schema has more than {_MAX_SCHEMA} characters")
    unknown = next((name for name in fields if name not in KEYWORDS and name not in _ANNOTATIONS), None)
    if unknown is not None and KEYWORDS.isdisjoint(fields):  # names with types, which any value would fit
        raise TypeError(f"output_schema is not a JSON schema: no keyword {cut(unknown)!r}; use `properties`")
    error = next(schema_errors(fields, "output_schema"), None)
    if error is not None:
        raise TypeError(f"output_schema is not a JSON schema: {cut(error[0])}: {error[1]}")
    return fields


def read_answer(text: str, schema: Mapping[str, Any]) -> Any:
    """Read a model's answer as a JSON value that fits the schema, or raise `ValueError`."""
    try:
        value = read_value(unfenced(text))
        for fault in _Comparison(schema).faults(value, schema, "it"):
            raise Misfit(fault)
    except RecursionError:
        raise ValueError("the model's answer cannot be checked: its schema refers to itself") from None
    except Misfit as fault:
        raise ValueError(f"the model's answer does not fit its schema: {fault}") from None
    return value


class _Comparison:
    """The comparison of a value with a schema, in a limited number of steps. Patterns are not compared."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._steps = 0

    def faults(self, value: Any, schema: Any, path: str) -> Iterator[str]:
        if schema is False:
            yield f"{path} is not allowed"
        if not isinstance(schema, Mapping):
            return
        fields = cast("Mapping[str, Any]", schema)
        options = [fields["const"]] if "const" in fields else fields.get("enum", [value])
        self._count_steps(1 + len(options) + len(fields.get("required", ())))
        if "$ref" in fields:
            yield from self.faults(value, self._referenced(fields["$ref"]), path)
        for inner in fields.get("allOf", ()):
            yield from self.faults(value, inner, path)
        for word in ("anyOf", "oneOf"):
            if word in fields and all(any(self.faults(value, inner, path)) for inner in fields[word]):
                yield f"{path} fits none of {word}"
        if not any(type(value) is type(option) and value == option for option in options):
            yield f"{path} is none of the values of enum"
        kinds = fields.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if kinds and not any(_is_type(value, kind) for kind in kinds):
            yield f"{path} is of type {type(value).__name__}, not {' or '.join(kinds)}"
        for word in _BOUNDS:
            if word in fields and not _is_within(value, word, fields[word]):
                yield f"{path} breaks {word}, {fields[word]}"
        yield from self._faults_inside(value, fields, path)

    def _faults_inside(self, value: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            missing = next((name for name in schema.get("required", ()) if name not in fields), None)
            if missing is not None:
                yield f"{path} has no {cut(str(missing))!r}"
            for name, field in fields.items():
                inner = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
                yield from self.faults(field, inner, f"{path}[{cut(name)!r}]")
        elif isinstance(value, list):
            prefix = schema.get("prefixItems", [])
            for index, element in enumerate(cast("Sequence[Any]", value)):
                inner = prefix[index] if index < len(prefix) else schema.get("items")
                yield from self.faults(element, inner, f"{path}[{index}]")

    def _count_steps(self, count: int) -> None:
        self._steps += count
        if self._steps > _MAX_STEPS:
            raise Misfit("it cannot be checked: the schema is too complex, or the answer too long")

    def _referenced(self, reference: str) -> Any:
        schema: Any = self._root
        for step in reference.removeprefix("#").split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            schema = cast("Mapping[str, Any]", schema).get(key) if isinstance(schema, Mapping) else None
        return schema


def _is_type(value: Any, kind: str) -> bool:
    is_number = kind in ("integer", "number")  # in Python true and false are numbers
    return isinstance(value, _TYPES.get(kind, object)) and not (is_number and isinstance(value, bool))


def _is_within(value: Any, word: str, bound: Any) -> bool:
    """Whether a value is within a bound; a bound for another type does not apply."""
    if word.endswith("imum"):
        return not _is_type(value, "number") or _BOUNDS[word](value, bound)
    is_sized = isinstance(value, _SIZED[word[3:]])
    return not is_sized or _BOUNDS[word](len(value), bound)
