"""Strict tools of the Messages API: what one of them may say, and how much all of a request may."""

from collections.abc import Mapping
from typing import Any

from quire.providers.checking.patterns import compiles, looks_around, outside
from quire.providers.checking.reading import Fields, as_list, as_object
from quire.providers.checking.schemas import each_schema
from quire.providers.checking.strictness import check_closed, check_formats, check_pointers, each_strict

_KEY = "input_schema"
_BARRED = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
    *("maxItems", "uniqueItems", "minProperties", "maxProperties", "patternProperties", "oneOf", "not"),
    *("propertyNames", "dependentRequired", "dependentSchemas", "unevaluatedProperties", "prefixItems"),
    *("if", "then", "else", "contains", "minContains", "maxContains", "unevaluatedItems"),
)
_FORMATS = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")
)
_LIMITS = {"strict tools": 20, "parameters that may be left out": 24, "values of several types": 16}


def check_strict(tool: Fields) -> None:
    """What a strict tool says that it must not."""
    check_closed(tool, _KEY, _BARRED)
    check_formats(tool, _KEY, _FORMATS)
    check_pointers(tool, _KEY, alone=False)
    for place, schema in each_strict(tool, _KEY):
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and not _is_simple(pattern):
            text = "a pattern looks neither around nor back where a tool is strict"
            tool.findings.add(f"{place}.pattern", "tool_strict", text)
        if any("$ref" in (as_object(inner) or {}) for inner in as_list(schema.get("allOf")) or ()):
            tool.findings.add(
                f"{place}.allOf", "tool_strict", "no pointer is in allOf where a tool is strict"
            )
        if any(isinstance(value, dict | list) for value in as_list(schema.get("enum")) or ()):
            tool.findings.add(
                f"{place}.enum", "tool_strict", "an enum has plain values where a tool is strict"
            )
    if tool.get("strict") is True and _holds_itself(tool):
        tool.add(_KEY, "tool_strict", "a schema that holds itself is not taken where a tool is strict")


def check_counts(body: Fields) -> None:
    """What all strict tools of a request have together."""
    tools = [as_object(tool) or {} for tool in as_list(body.get("tools")) or ()]
    strict = [Fields(body.findings, "", tool) for tool in tools if tool.get("strict") is True]
    schemas = [schema for tool in strict for _, schema in each_strict(tool, _KEY)]
    several = ("anyOf" in schema or as_list(schema.get("type")) is not None for schema in schemas)
    counts = (len(strict), sum(map(_optional, schemas)), sum(several))
    for (what, most), count in zip(_LIMITS.items(), counts, strict=True):
        if count > most:
            body.add("tools", "strict_count", f"{count} {what}, more than {most}")


def _optional(schema: Mapping[str, Any]) -> int:
    required = as_list(schema.get("required")) or ()
    return sum(name not in required for name in as_object(schema.get("properties")) or {})


def _is_simple(pattern: str) -> bool:
    special = {pattern[at : at + 2] for at in outside(pattern)} & {f"\\{one}" for one in "123456789bBk"}
    return compiles(pattern) and not looks_around(pattern) and not special and "(?P=" not in pattern


def _holds_itself(tool: Fields) -> bool:
    """Whether, from what a pointer leads to, pointers lead back to it."""
    schema = as_object(tool.get(_KEY)) or {}
    led = {"#": _pointers(tool, schema)}
    waiting = [*led["#"]]
    while waiting:
        pointer = waiting.pop()
        if pointer not in led:
            led[pointer] = _pointers(tool, _at(schema, pointer))
            waiting += led[pointer]
    while ended := [pointer for pointer, others in led.items() if not any(one in led for one in others)]:
        for pointer in ended:
            del led[pointer]
    return bool(led)


def _pointers(tool: Fields, schema: Any) -> set[str]:
    inner = Fields(tool.findings, "", {_KEY: schema})
    found = ((as_object(value) or {}).get("$ref") for _, value in each_schema(inner, _KEY))
    return {pointer for pointer in found if isinstance(pointer, str) and pointer.startswith("#")}


def _at(schema: Any, pointer: str) -> Any:
    for name in pointer.split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        entries = as_list(schema)
        if entries is not None:
            schema = entries[int(key)] if key.isdecimal() and int(key) < len(entries) else None
        else:
            schema = (as_object(schema) or {}).get(key)
    return schema
