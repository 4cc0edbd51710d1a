"""Anthropic Messages: tool definitions, and the input of a call."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from quire.providers.definitions import EMPTY, Tool, refuse_same_names
from quire.providers.sheet import Json, Sheet
from quire.providers.wording import mended

_decode = msgspec.json.Decoder().decode
_COMBINED = ("allOf", "anyOf", "oneOf")
_DATED = re.compile(r"[a-z][a-z0-9_]*_\d{8}")
_UNDATED = ("mcp_toolset", "tool_search_tool_regex", "tool_search_tool_bm25")
_GONE = "Not at hand any more."


def definitions(tools: Sequence[Tool], sheet: Sheet) -> list[Json]:
    """The tools as the wire has them; names are given out, and what was mended or left out is noted."""
    taken: list[Tool] = []
    for tool in tools:
        if tool.native is None or _is_own(tool.native):
            taken.append(tool)
        else:
            sheet.note(None, "tools_left_out", f"{tool.name!r} is a tool of another service")
    refuse_same_names(taken)
    return [_definition(tool, sheet) for tool in taken]


def stand_ins(names: Sequence[str]) -> list[Json]:
    """Definitions for tools that a history speaks of and that are not at hand now."""
    return [{"name": name, "description": _GONE, "input_schema": EMPTY} for name in sorted(names)]


def input_of(arguments: str) -> tuple[Json, bool]:
    """The arguments of a call as an object, and whether they had to be mended into one."""
    if not arguments.isascii():
        arguments = mended(arguments)
    if not arguments or arguments.isspace():
        return {}, False
    try:
        decoded: Any = _decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        decoded = None
    return (cast(Json, decoded), False) if isinstance(decoded, dict) else ({"arguments": arguments}, True)


def _is_own(native: Mapping[str, Any]) -> bool:
    """Whether a tool is this provider's: its type ends in a date, or is one of a few without."""
    kind = str(native.get("type"))
    named = bool(native.get("name")) or kind == "mcp_toolset"  # which names its server instead
    return named and (kind in _UNDATED or _DATED.fullmatch(kind) is not None)


def _definition(tool: Tool, sheet: Sheet) -> Json:
    name = sheet.names.give(tool.name)
    if tool.native is not None:
        return dict(tool.native)
    written: Json = {"name": name}
    if tool.description and not tool.description.isspace():
        written["description"] = tool.description
    written["input_schema"], lossy = _schema(tool.schema)
    if tool.mended:
        sheet.note(None, "schema_mended", f"the properties of {name!r} are no object")
    if lossy:
        sheet.note(None, "schema_mended", f"the schema of {name!r} combines others at its top")
    if tool.strict is not None:
        written["strict"] = tool.strict
    return written


def _schema(schema: Mapping[str, Any]) -> tuple[Json, bool]:
    """A schema whose top is a plain object, as the API wants it, and whether it says less than before."""
    plain = {**schema, "type": "object"}
    combined = [(key, plain.pop(key)) for key in _COMBINED if key in plain]
    if combined:
        properties = dict(_mapping(plain.get("properties")))
        required = dict.fromkeys(_names(plain.get("required")))
        for key, branches in combined:
            found = [_resolved(branch, schema) for branch in _list(branches)]
            for branch in found:
                properties = {**_mapping(branch.get("properties")), **properties}
            needed = [_names(branch.get("required")) for branch in found]
            if key == "allOf":
                required.update((name, None) for names in needed for name in names)
            elif needed:
                required.update((name, None) for name in needed[0] if all(name in one for one in needed))
        plain["properties"] = properties
        plain["required"] = [name for name in required if name in properties]
    return plain, bool(combined)


def _resolved(branch: Any, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A branch, or the definition beside it that it only points to."""
    found = _mapping(branch)
    kind, _, name = str(found.get("$ref", "")).removeprefix("#/").partition("/")
    return _mapping(_mapping(schema.get(kind)).get(name)) or found


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return list(cast("Sequence[Any]", value)) if isinstance(value, list | tuple) else []


def _names(value: Any) -> list[str]:
    return [name for name in _list(value) if isinstance(name, str)]
