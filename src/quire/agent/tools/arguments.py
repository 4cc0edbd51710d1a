"""Arguments and answers as a model writes them: JSON of a bounded size, and values by a JSON schema."""

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard, cast

from quire.errors import cut
from quire.items import MAX_DEPTH
from quire.providers import nests_deeper

Json = dict[str, Any]

MAX_ARGUMENTS = 8 * 1024 * 1024
"""Characters of arguments: more than any model writes in one reply."""

MAX_VALUES = 500_000
"""Values in all, counting those inside others."""

_AROUND = 30
"""Characters that are shown around an error in JSON."""


class Misfit(ValueError):
    """A value that a tool cannot take: where it is and why, in words for the model."""


def read_json(arguments: str | Mapping[str, Any]) -> Json:
    """Arguments as an object: of a bounded size, and with no name given twice."""
    if isinstance(arguments, Mapping):
        _check_size(arguments)
        return dict(arguments)
    value = read_value(arguments) if isinstance(arguments, str) else arguments  # pyright: ignore[reportUnnecessaryIsInstance]
    if value is not None and not isinstance(value, dict):
        raise Misfit(f"the arguments are a JSON object, not {called(value)}")
    return cast(Json, value or {})


def read_value(text: str) -> Any:
    """Any JSON value: of a bounded size, and with no name given twice in an object."""
    if len(text) > MAX_ARGUMENTS:
        raise Misfit(f"the arguments have {len(text):,} characters; {MAX_ARGUMENTS:,} are allowed")
    if nests_deeper(text, MAX_DEPTH):
        raise Misfit(f"the arguments are nested deeper than {MAX_DEPTH} levels")
    value = _decode(text) if text.strip() else None
    if isinstance(value, str) and value.lstrip().startswith("{"):  # encoded twice, as some models do
        value = _decode(value)
    _check_size(value)
    return value


def is_object(value: Any) -> TypeGuard[Json]:
    """Whether a value is a JSON object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Whether a value is a JSON array."""
    return isinstance(value, list)


def called(value: Any) -> str:
    """A value in words, short."""
    if isinstance(value, str):
        return f"the text {cut(value)!r}"
    if value is None or isinstance(value, bool | int | float):
        return cut(json.dumps(value))
    if isinstance(value, Mapping):
        return "an object"
    return "an array" if isinstance(value, list | tuple) else f"a {type(value).__name__}"


def _decode(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as fault:
        raise Misfit(f"the arguments are not JSON: {_place_of(text, fault)}") from None
    except Misfit:
        raise
    except (RecursionError, ValueError) as fault:  # a number of thousands of digits
        raise Misfit(f"the arguments are not JSON: {cut(str(fault))}") from None


def _place_of(text: str, fault: json.JSONDecodeError) -> str:
    before, after = text[max(fault.pos - _AROUND, 0) : fault.pos], text[fault.pos : fault.pos + _AROUND]
    what = f"{fault.msg[:1].lower()}{fault.msg[1:]} at line {fault.lineno}, column {fault.colno}"
    return f"{what}, here: {before}⟨here⟩{after}" if after else f"{what}, at the end of {before!r}"


def _unique(pairs: list[tuple[str, Any]]) -> Json:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        raise Misfit(f"{cut(next(name for name in names if names.count(name) > 1))!r} is given twice")
    return fields


def _no_number(word: str) -> Any:
    raise Misfit(f"the arguments are not JSON: {word} is no number")


# Line breaks inside texts are not JSON, but are unambiguous. Made once: making it takes longer than reading.
_decoder = json.JSONDecoder(strict=False, object_pairs_hook=_unique, parse_constant=_no_number)


def _check_size(fields: Any) -> None:
    """Refuse what is too deep, too large, or no valid text, without recursion."""
    waiting: list[tuple[Any, int]] = [(fields, 1)]
    count = 0
    while waiting:
        value, depth = waiting.pop()
        count += 1
        if depth > MAX_DEPTH:
            raise Misfit(f"the arguments are nested deeper than {MAX_DEPTH} levels, or hold themselves")
        if count > MAX_VALUES:
            raise Misfit(f"the arguments hold more than {MAX_VALUES:,} values")
        if isinstance(value, str):
            if not value.isascii() and any("\ud800" <= one <= "\udfff" for one in value):
                raise Misfit("the arguments hold half of a surrogate pair, which is no text")
        elif isinstance(value, Mapping):
            for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
                waiting += ((key, depth), (inner, depth + 1))
        elif isinstance(value, list | tuple):
            waiting += ((inner, depth + 1) for inner in cast("Sequence[Any]", value))


# Values by a JSON schema that a caller wrote.

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "object": (dict,),
    "array": (list, tuple),
}
_BOUNDS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (operator.ge, "at least"),
    "maximum": (operator.le, "at most"),
    "exclusiveMinimum": (operator.gt, "more than"),
    "exclusiveMaximum": (operator.lt, "less than"),
}
_SIZES: dict[type, str] = {str: "Length", list: "Items", dict: "Properties"}


def fit(value: Any, schema: Any) -> Any:
    """A value, if it fits a JSON schema; otherwise a `Misfit` with the first fault."""
    for path, fault in _faults(value, schema, schema, "", 0):
        raise Misfit(f"{cut(path.removeprefix('.'))}: {fault}" if path else fault)
    return value


def _faults(value: Any, schema: Any, root: Any, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if schema is False or depth > MAX_DEPTH:
        yield path, "nothing is allowed here"
    if not isinstance(schema, Mapping):
        return
    schema = cast(Json, schema)
    if "$ref" in schema:
        target: Any = root
        for step in str(schema["$ref"]).removeprefix("#").split("/")[1:]:
            target = target.get(step) if is_object(target) else None
        yield from _faults(value, target, root, path, depth + 1)
    for inner in schema.get("allOf", ()):
        yield from _faults(value, inner, root, path, depth + 1)
    for word in ("anyOf", "oneOf"):
        found = [next(_faults(value, one, root, path, depth + 1), None) for one in schema.get(word, ())]
        if found and all(found):
            yield cast("tuple[str, str]", max(found, key=lambda fault: len(fault[0]) if fault else 0))
    options = [schema["const"]] if "const" in schema else schema.get("enum", [value])
    if not any(type(value) is type(one) and value == one for one in options):
        yield path, f"expected {' or '.join(map(called, options))}, got {called(value)}"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is_of(value, kind) for kind in kinds):
        yield path, f"expected {' or '.join(map(str, kinds))}, got {called(value)}"
    yield from ((path, fault) for fault in _broken_bounds(value, schema))
    if is_object(value):
        yield from _faults_in_object(value, schema, root, path, depth)
    elif is_array(value):
        places = schema.get("prefixItems", [])
        for index, one in enumerate(value):
            inner = places[index] if index < len(places) else schema.get("items")
            yield from _faults(one, inner, root, f"{path}[{index}]", depth + 1)


def _is_of(value: Any, kind: str) -> bool:
    is_right = isinstance(value, _TYPES.get(kind, (object,))) and (kind == "boolean" or value is not True)
    return is_right and (kind == "boolean" or value is not False)  # in Python true and false are numbers


def _faults_in_object(
    value: Json, schema: Json, root: Any, path: str, depth: int
) -> Iterator[tuple[str, str]]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield path, f"the field {cut(str(name))!r} is missing"
    for name, one in value.items():
        if name not in properties and schema.get("additionalProperties") is False:
            yield path, f"there is no field {cut(name)!r}"
        inner = properties.get(name, schema.get("additionalProperties"))
        yield from _faults(one, inner, root, f"{path}.{name}", depth + 1)


def _broken_bounds(value: object, schema: Json) -> Iterator[str]:
    number: Any = value if isinstance(value, int | float) else None
    if number is not None:
        for keyword, (holds, words) in _BOUNDS.items():
            if keyword in schema and not holds(number, schema[keyword]):
                yield f"expected {words} {schema[keyword]}, got {value}"
    size = _SIZES.get(type(value))
    length = 0 if size is None else len(cast("list[Any]", value))
    least, most = schema.get(f"min{size}", 0), schema.get(f"max{size}", length)
    if not least <= length <= most:
        yield f"has a length of {length}, from {least} to {most} is allowed"
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"expected a text that matches {schema['pattern']}"
