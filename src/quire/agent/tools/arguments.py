"""Arguments as a model writes them: read as JSON, and compared with a JSON schema.

`fit` finds every fault of a value with its path, in words for the model. It accepts mistakes that do no harm,
such as "3" for 3, and nothing that could mean something else.
"""

import datetime
import decimal
import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from itertools import islice
from math import isfinite
from typing import Any, cast

import msgspec

from quire.errors import cut
from quire.items import MAX_DEPTH
from quire.providers import nests_deeper

Json = dict[str, Any]
_Schema = Mapping[str, Any]

MAX_ARGUMENTS = 8 * 1024 * 1024
"""Characters of arguments: more than any model writes in one reply."""

MAX_VALUES = 500_000
"""Values in all, counting those inside others."""

_MOST_FAULTS = 20
_MOST_NAMED = 20
_AROUND = 30
"""Characters that are shown around an error in JSON."""

_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,400}\s*")
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?\s*")
_TYPES = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "object": "an object",
    "array": "an array",
}
_FORMATS: dict[str, tuple[type[Any], str]] = {
    "date-time": (datetime.datetime, "a date and time such as 2026-05-01T12:00:00Z"),
    "date": (datetime.date, "a date such as 2026-05-01"),
    "time": (datetime.time, "a time such as 12:00:00"),
    "duration": (datetime.timedelta, "a duration such as PT90S"),
    "uuid": (uuid.UUID, "a UUID"),
    "decimal": (decimal.Decimal, "a decimal number"),
    "base64": (bytes, "bytes in base64"),
}


class Misfit(ValueError):
    """A value that a tool cannot take: all its faults, each with its path, in words for the model."""

    def __init__(self, faults: str | Iterable[str]) -> None:
        self.faults = (faults,) if isinstance(faults, str) else tuple(faults)
        super().__init__("; ".join(self.faults))

    def inside(self, path: str) -> "Misfit":
        """The same faults, seen from outside: each below a path such as `.items[0]`."""
        return Misfit(_below(path, fault) for fault in self.faults)


def _below(path: str, fault: str) -> str:
    place, colon, why = fault.partition(": ")
    has_place = bool(colon) and re.fullmatch(r"[\w.\[\]-]+", place) is not None
    inner = (place if place.startswith("[") else f".{place}") if has_place else ""
    return f"{path}{inner}".removeprefix(".") + f": {why if has_place else fault}" if path else fault


# JSON as a model writes it.


def read_json(arguments: str | Mapping[str, Any]) -> Json:
    """Arguments as an object: of a bounded size, and with no name given twice."""
    if isinstance(arguments, Mapping):
        fields = dict(arguments)
        _check_size(fields)
        return fields
    if not isinstance(arguments, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Misfit(f"the arguments are a JSON object, not {called(arguments)}")
    value = read_value(arguments)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Misfit(f"the arguments are a JSON object, not {called(value)}")
    return cast(Json, value)


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
        twice = next(name for name in names if names.count(name) > 1)
        raise Misfit(f"{cut(twice)!r} is given twice")
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
            for key, inner in value.items():
                waiting += ((key, depth), (inner, depth + 1))
        elif isinstance(value, list | tuple):
            waiting += ((inner, depth + 1) for inner in cast("Sequence[Any]", value))


# Values and schemas.


def fit(value: Any, schema: Any, *, lenient: bool = True, noun: str = "field") -> Any:
    """A value in the form that a JSON schema asks for, or a `Misfit` with all faults.

    Python values of other types than JSON's are taken in the form that JSON has for them. `noun` is what
    the properties of the outermost object are called in faults.
    """
    fitting = _Fitting(schema)
    fitted = fitting.fit(value, schema, "", lenient, noun)
    if fitting.faults:
        raise Misfit(islice(fitting.faults, _MOST_FAULTS))
    return fitted


def plain(value: Any) -> Any:
    """A Python value in the form that JSON has for it; `TypeError` where there is none."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_encode)


def _encode(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    if hasattr(value, "__fspath__"):
        return str(value)
    raise TypeError(f"a {type(value).__name__} is no JSON")


def called(value: Any) -> str:
    """A value in words, short."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return cut(repr(value))
    if isinstance(value, str):
        return f"the text {cut(value)!r}"
    if isinstance(value, Mapping):
        return "an object"
    return "an array" if isinstance(value, list | tuple) else f"a {type(value).__name__}"


class _Fitting:
    """One comparison of a value with a schema, and the faults found so far."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self.faults: list[str] = []

    def fit(self, value: Any, schema: Any, path: str, lenient: bool, noun: str = "field") -> Any:
        if schema is False:
            return self._fault(path, "nothing is allowed here")
        found = self._resolved(schema)
        if not found:
            return value
        for one in _list(found.get("allOf")):
            value = self.fit(value, one, path, lenient)
        if branches := [*_list(found.get("anyOf")), *_list(found.get("oneOf")), *_split_types(found)]:
            return self._fit_any(value, branches, path, lenient)
        if isinstance(value, Enum):
            value = value.value
        if not isinstance(value, _JSON_TYPES):
            try:
                value = plain(value)
            except (TypeError, ValueError, RecursionError):
                return self._fault(path, f"expected {words_of(found)}, got {called(value)}")
        if "enum" in found or "const" in found:
            return self._fit_choice(value, found, path, lenient)
        return self._fit_type(value, found, path, lenient, noun)

    def _fault(self, path: str, why: str) -> None:
        self.faults.append(f"{path.removeprefix('.')}: {why}" if path else why)

    def _resolved(self, schema: Any) -> _Schema:
        """A schema, or the definition that it refers to."""
        found = _mapping(schema)
        for _ in range(MAX_DEPTH):
            if "$ref" not in found:
                break
            target: Any = self._root
            for step in str(found["$ref"]).removeprefix("#").split("/")[1:]:
                target = _mapping(target).get(step.replace("~1", "/").replace("~0", "~"))
            found = _mapping(target)
        return found

    def _fit_any(self, value: Any, branches: Sequence[Any], path: str, lenient: bool) -> Any:
        """The value by the first branch that it fits exactly, or else by the first that can read it."""
        tried: list[tuple[Any, list[str]]] = []
        for how in (False, True)[: 1 + lenient]:
            tried.clear()
            for branch in branches:
                fitting = _Fitting(self._root)
                fitted = fitting.fit(value, branch, path, how)
                if not fitting.faults:
                    return fitted
                tried.append((branch, fitting.faults))
        # A branch of which more than the type is wrong is the one that was meant.
        meant = [one for one in tried if one[1] != [self._mismatch(value, one[0], path)]]
        tagged = [faults for branch, faults in meant if self._has_tag(value, branch)]
        if meant:
            nearest: list[str] = min(tagged or [faults for _, faults in meant], key=len)
            self.faults += nearest
        else:
            wanted = dict.fromkeys(words_of(self._resolved(branch)) for branch in branches)
            self._fault(path, f"expected {' or '.join(wanted)}, got {called(value)}")
        return None

    def _mismatch(self, value: Any, branch: Any, path: str) -> str:
        why = f"expected {words_of(self._resolved(branch))}, got {called(value)}"
        return f"{path.removeprefix('.')}: {why}" if path else why

    def _has_tag(self, value: Any, branch: Any) -> bool:
        """Whether an object has the values that a branch fixes, such as its tag."""
        properties = _mapping(self._resolved(branch).get("properties")).items()
        fixed = {
            name: _list(one.get("enum")) or [one.get("const")] for name, one in properties if _is_tag(one)
        }
        return all(_mapping(value).get(name) in options for name, options in fixed.items())

    def _fit_choice(self, value: Any, schema: _Schema, path: str, lenient: bool) -> Any:
        options = [schema["const"]] if "const" in schema else _list(schema["enum"])
        if lenient and isinstance(value, float) and value.is_integer():
            value = int(value)
        for option in options:  # in Python 1, 1.0 and True are equal
            if type(value) is type(option) and value == option:
                return value
        if lenient and isinstance(value, str):
            for option in options:
                if not isinstance(option, str) and msgspec.json.encode(option).decode() == value.strip():
                    return option
        return self._fault(path, f"expected {words_of(schema)}, got {called(value)}")

    def _fit_type(self, value: Any, schema: _Schema, path: str, lenient: bool, noun: str) -> Any:
        kind = schema.get("type") or (
            "object" if "properties" in schema and isinstance(value, Mapping) else None
        )
        if kind == "object":
            return self._fit_object(value, schema, path, lenient, noun)
        if kind == "array":
            return self._fit_array(value, schema, path, lenient)
        if kind is None:
            return value
        try:
            fitted = _scalar(value, str(kind), schema, lenient)
        except (ValueError, OverflowError):
            return self._fault(path, f"expected {words_of(schema)}, got {called(value)}")
        self._check_bounds(fitted, schema, path)
        return fitted

    def _fit_array(self, value: Any, schema: _Schema, path: str, lenient: bool) -> Any:
        places = _list(schema.get("prefixItems"))
        value = _unpacked(value) if lenient else value
        if isinstance(value, Mapping) and places and all("title" in one for one in places):
            return self._fit_named(value, schema, places, path, lenient)
        if not isinstance(value, list | tuple):
            return self._fault(path, f"expected {words_of(schema)}, got {called(value)}")
        rest = schema.get("items", {})
        fitted = [
            self.fit(one, places[index] if index < len(places) else rest, f"{path}[{index}]", lenient)
            for index, one in enumerate(cast("Sequence[Any]", value))
        ]
        self._check_bounds(fitted, schema, path)
        return fitted

    def _fit_named(
        self, value: Any, schema: _Schema, places: Sequence[Json], path: str, lenient: bool
    ) -> list[Any] | None:
        """An object as an array: the fields of a named tuple in their order."""
        fields = {one["title"]: one for one in places}
        needed = [*fields][: schema.get("minItems", 0)]
        record = {"type": "object", "properties": fields, "required": needed, "additionalProperties": False}
        fitted = self._fit_object(value, record, path, lenient, "field")
        if fitted is None:
            return None
        last = max((index for index, name in enumerate(fields) if name in fitted), default=-1)
        return [fitted.get(name, fields[name].get("default")) for name in [*fields][: last + 1]]

    def _fit_object(self, value: Any, schema: _Schema, path: str, lenient: bool, noun: str) -> Any:
        value = _unpacked(value) if lenient else value
        if not isinstance(value, Mapping):
            return self._fault(path, f"expected {words_of(schema)}, got {called(value)}")
        given = {key if isinstance(key, str) else str(plain(key)): one for key, one in value.items()}
        properties, others = _mapping(schema.get("properties")), schema.get("additionalProperties", {})
        fitted: Json = {}
        for name, one in given.items():
            if name not in properties and others is False:
                self._fault(path, f"there is no {noun} {cut(name)!r}; there {_listed(properties)}")
            else:
                inner = properties.get(name, others)
                fitted[name] = self.fit(one, {} if inner is True else inner, f"{path}.{cut(name)}", lenient)
        for name in _list(schema.get("required")):
            if name not in given:
                wanted = words_of(self._resolved(properties.get(name)))
                self._fault(path, f"the {noun} {name!r} is missing: {wanted}")
        self._check_bounds(fitted, schema, path)
        return fitted

    def _check_bounds(self, value: Any, schema: _Schema, path: str) -> None:
        for keyword, (is_broken, words) in _LIMITS.items():
            bound = schema.get(keyword)
            if bound is not None and is_broken(value, bound):
                self._fault(path, words.format(bound, len(value) if hasattr(value, "__len__") else value))


_JSON_TYPES = (str, int, float, bool, type(None), dict, list, tuple)


def _number_breaks(compare: Any) -> Any:
    return lambda value, bound: (
        isinstance(value, int | float) and not isinstance(value, bool) and not compare(value, bound)
    )


def _length_breaks(kind: Any, compare: Any) -> Any:
    return lambda value, bound: isinstance(value, kind) and not compare(len(value), bound)


def _at_least(value: Any, bound: Any) -> bool:
    return bool(value >= bound)


def _at_most(value: Any, bound: Any) -> bool:
    return bool(value <= bound)


_TOO_SHORT, _TOO_LONG = (
    "has a length of {1}, at least {0} is allowed",
    "has a length of {1}, at most {0} is allowed",
)
_LIMITS: dict[str, tuple[Any, str]] = {
    "minimum": (_number_breaks(_at_least), "expected at least {0}, got {1}"),
    "maximum": (_number_breaks(_at_most), "expected at most {0}, got {1}"),
    "exclusiveMinimum": (
        _number_breaks(lambda value, bound: value > bound),
        "expected more than {0}, got {1}",
    ),
    "exclusiveMaximum": (
        _number_breaks(lambda value, bound: value < bound),
        "expected less than {0}, got {1}",
    ),
    "multipleOf": (
        _number_breaks(lambda value, bound: value % bound == 0),
        "expected a multiple of {0}, got {1}",
    ),
    "minLength": (_length_breaks(str, _at_least), _TOO_SHORT),
    "maxLength": (_length_breaks(str, _at_most), _TOO_LONG),
    "minItems": (_length_breaks(list, _at_least), _TOO_SHORT),
    "maxItems": (_length_breaks(list, _at_most), _TOO_LONG),
    "minProperties": (_length_breaks(dict, _at_least), _TOO_SHORT),
    "maxProperties": (_length_breaks(dict, _at_most), _TOO_LONG),
    "pattern": (
        lambda value, bound: isinstance(value, str) and re.search(bound, value) is None,
        "expected a text that matches {0}",
    ),
}
"""By keyword: whether a value breaks the bound, and the words for it."""


def words_of(schema: _Schema) -> str:
    """What a schema asks for, in words."""
    if "enum" in schema or "const" in schema:
        options = [schema["const"]] if "const" in schema else _list(schema["enum"])
        listed = [called(option).removeprefix("the text ") for option in options[:_MOST_NAMED]]
        return " or ".join(listed) + (" or another" if len(options) > _MOST_NAMED else "")
    branches = [*_list(schema.get("anyOf")), *_list(schema.get("oneOf")), *_split_types(schema)]
    if branches:
        return " or ".join(dict.fromkeys(words_of(_mapping(branch)) for branch in branches))
    form = schema.get("format") or schema.get("contentEncoding")
    if form in _FORMATS:
        return _FORMATS[form][1]
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        return f"an object with {', '.join(schema['properties']) or 'no fields'}"
    if kind == "array" and "minItems" in schema and schema.get("minItems") == schema.get("maxItems"):
        return f"an array of {schema['minItems']} values"
    return _TYPES.get(str(kind), "a value")


def _scalar(value: Any, kind: str, schema: _Schema, lenient: bool) -> Any:
    """The value of a scalar type; `ValueError` where it is none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    text = value.strip().lower() if lenient and isinstance(value, str) else None
    if kind == "string":
        form = schema.get("format") or schema.get("contentEncoding")
        if form == "decimal" and is_number:
            value = repr(value)
        if isinstance(value, str):
            if form in _FORMATS:
                msgspec.convert(value, _FORMATS[form][0])  # its error is a ValueError
            return value
    elif kind == "integer":
        if isinstance(value, int) and is_number:
            return value
        if lenient and isinstance(value, float) and value.is_integer():
            return int(value)
        if text is not None and _INTEGER.fullmatch(text):
            return int(text)
    elif kind == "number":
        if is_number and isfinite(value):
            return value
        if text is not None and _NUMBER.fullmatch(text) and isfinite(number := float(text)):
            return number
    elif kind == "boolean":
        if isinstance(value, bool):
            return value
        if text in ("true", "false"):
            return text == "true"
    elif kind == "null" and (value is None or text in ("null", "none")):
        return None
    raise ValueError(kind)


def _unpacked(value: Any) -> Any:
    """What a text holds that is itself JSON, as models send arrays and objects; anything else as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return value


def _listed(properties: _Schema) -> str:
    return (
        f"{'is' if len(properties) == 1 else 'are'} {', '.join(properties)}"
        if properties
        else "is none at all"
    )


def _split_types(schema: _Schema) -> list[_Schema]:
    """The branches of a schema with several types."""
    kinds = schema.get("type")
    return [{**schema, "type": kind} for kind in _list(kinds)] if isinstance(kinds, list | tuple) else []


def _is_tag(schema: _Schema) -> bool:
    return "const" in schema or len(_list(schema.get("enum"))) == 1


def _mapping(value: Any) -> _Schema:
    return cast(_Schema, value) if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return list(cast("Sequence[Any]", value)) if isinstance(value, list | tuple) else []
