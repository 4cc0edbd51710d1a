"""Anthropic Messages: tool definitions, and the input of a call."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from quire.errors import cut
from quire.providers.anthropic.strict_room import StrictRoom
from quire.providers.declaring import Fields, are_names, are_objects, declare, is_flag, said_strict
from quire.providers.definitions import Tool, refuse_same_names
from quire.providers.json_values import entries_in, fields_in
from quire.providers.properties import Narrow, renamed
from quire.providers.routes import Cloud, cloud_of
from quire.providers.schemas import EMPTY
from quire.providers.sheet import Json, Sheet
from quire.providers.wording import mended

_decode = msgspec.json.Decoder().decode
_DATED = re.compile(r"[a-z][a-z0-9_]*_\d{8}")
_NOT_RUN: dict[Cloud | None, re.Pattern[str]] = {
    "bedrock": re.compile(r"(?:web_search|web_fetch|code_execution|advisor)_\d{8}|mcp_toolset"),
    "vertex": re.compile(r"(?:web_fetch|code_execution|advisor)_\d{8}|mcp_toolset"),
}
"""The types of tools that Anthropic's servers run, and that are refused where a cloud serves the model."""

_UNDATED = ("mcp_toolset", "tool_search_tool_regex", "tool_search_tool_bm25")
_GONE = "Not at hand any more."
_MARK = "cache_control"


def _is_mark(value: Any) -> bool:
    mark = fields_in(value)
    return mark.get("type") == "ephemeral" and mark.get("ttl", "5m") in ("5m", "1h")


_OWN: Fields = {
    "defer_loading": is_flag,
    "eager_input_streaming": is_flag,
    "input_examples": are_objects,
    "allowed_callers": are_names,
    _MARK: _is_mark,
}
# No cloud runs code for the model, so a tool that only code may call could be called by nobody.
_NOT_ON_CLOUDS = ("eager_input_streaming", "allowed_callers")
_ON_CLOUDS: Fields = {name: takes for name, takes in _OWN.items() if name not in _NOT_ON_CLOUDS}


class Tooling(NamedTuple):
    """The tools of a request, and the mark of a cache that one of them came with."""

    tools: list[Json]
    mark: Json | None = None


def definitions(tools: Sequence[Tool], sheet: Sheet) -> Tooling:
    """The tools as the wire has them; names are given out, and what was mended or left out is noted."""
    taken, cloud = list[Tool](), cloud_of(sheet.model or "")
    for tool in tools:
        if tool.native is not None and not _is_own(tool.native):
            sheet.note(None, "tools_left_out", f"{tool.name!r} is a tool of another service")
        elif tool.native is not None and _is_not_run(tool.native, cloud):
            sheet.note(None, "tools_left_out", f"{tool.name!r} is run by Anthropic, and not on this cloud")
        else:
            taken.append(tool)
    refuse_same_names(taken)
    by_cloud = cloud is not None
    room, own = StrictRoom(by_cloud=by_cloud), _ON_CLOUDS if by_cloud else _OWN
    written = [_definition(tool, sheet, room, own) for tool in taken]
    # Here they stand in the order of their names, so that a mark is one for all of them: the one that lasts.
    marks = [tool.pop(_MARK) for tool in written if _MARK in tool]
    lasting = next((mark for mark in marks if mark.get("ttl") == "1h"), None)
    return Tooling(written, lasting or next(iter(marks), None))


def marked(tools: list[Json], mark: Json) -> list[Json]:
    """The tools with a mark on the last that can have one: those that are loaded later cannot."""
    at = next((at for at in range(len(tools) - 1, -1, -1) if not tools[at].get("defer_loading")), None)
    return tools if at is None else [*tools[:at], {**tools[at], _MARK: mark}, *tools[at + 1 :]]


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


def _is_not_run(native: Mapping[str, Any], cloud: Cloud | None) -> bool:
    """Whether a tool needs servers of Anthropic's; others are run by the caller, or by whoever serves it."""
    pattern = _NOT_RUN.get(cloud)
    return pattern is not None and pattern.fullmatch(str(native.get("type"))) is not None


def _definition(tool: Tool, sheet: Sheet, room: StrictRoom, own: Fields) -> Json:
    name = sheet.names.give(tool.name)
    if tool.native is not None:
        return dict(tool.native)
    written: Json = {"name": name}
    if tool.description and not tool.description.isspace():
        written["description"] = tool.description
    written["input_schema"] = dict(tool.schema)
    if said_strict(tool, sheet, room.refusal(tool)):
        written["strict"] = True  # false says nothing here, and clouds refuse the very word
    written |= declare(tool, sheet, own)
    return written if tool.narrow is None else _narrow(written, tool, tool.narrow, sheet)


def _narrow(written: Json, tool: Tool, narrow: Narrow, sheet: Sheet) -> Json:
    """The tool with names of its parameters that the API takes; calls of it have them too."""
    schema, names = narrow
    sheet.parameters[tool.name] = names
    reason = f"parameters of {cut(tool.name)!r} have other names here: {len(names)}"
    sheet.note(None, "name_renamed", reason)
    written["input_schema"] = dict(schema)
    if "input_examples" in written:
        written["input_examples"] = [renamed(one, names) for one in entries_in(written["input_examples"])]
    return written
