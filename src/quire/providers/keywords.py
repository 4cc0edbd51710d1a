"""The keywords of JSON Schema, draft 2020-12: where schemas stand within one, and what others hold."""

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from quire.providers.json_values import entries_in

TYPES = frozenset(("string", "number", "integer", "boolean", "array", "object", "null"))
BY_NAME = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
LISTED = frozenset(("anyOf", "oneOf", "allOf", "prefixItems"))
INNER = frozenset(
    (
        *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
        *("unevaluatedItems", "unevaluatedProperties", "additionalItems", "contentSchema"),
    )
)
NUMBERS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
COUNTS = frozenset(
    (
        *("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"),
        *("minContains", "maxContains"),
    )
)
_TEXTS = (
    *("title", "description", "pattern", "format", "contentEncoding", "contentMediaType"),
    *("$ref", "$id", "$schema", "$comment", "$anchor", "$dynamicRef", "$dynamicAnchor"),
)
_FLAGS = ("uniqueItems", "deprecated", "readOnly", "writeOnly")
_ANCHOR = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*")


def is_number(value: Any) -> bool:
    """Whether a value is a number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_count(value: Any) -> bool:
    """Whether a value is a whole number from zero on, however it is written."""
    return is_number(value) and value >= 0 and value == int(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_anchor(value: Any) -> bool:
    return isinstance(value, str) and _ANCHOR.fullmatch(value) is not None


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _has_choices(value: Any) -> bool:
    return bool(entries_in(value))


def are_names(value: Any) -> bool:
    """Whether a value is a list of different texts."""
    names = entries_in(value)
    return _is_list(value) and all(map(_is_text, names)) and len(set(names)) == len(names)


def _are_lists_of_names(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(are_names, cast("Mapping[str, Any]", value).values()))


HOLDS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(_TEXTS, _is_text),
    **dict.fromkeys(_FLAGS, _is_flag),
    **dict.fromkeys(NUMBERS, is_number),
    **dict.fromkeys(COUNTS, is_count),
    **dict.fromkeys(BY_NAME, lambda value: isinstance(value, Mapping)),
    **dict.fromkeys(LISTED, _has_choices),
    "$anchor": _is_anchor,
    "$dynamicAnchor": _is_anchor,
    "enum": _has_choices,
    "examples": _is_list,
    "required": are_names,
    "dependentRequired": _are_lists_of_names,
    "multipleOf": lambda value: is_number(value) and value > 0,
}
"""What tells whether a keyword holds what it may; one that is not here may hold anything."""
