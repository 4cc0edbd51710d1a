"""Gemini: tools as function declarations, and the provider's own as they are."""

from collections.abc import Mapping, Sequence
from typing import Any

from quire.errors import InvalidValue
from quire.providers.definitions import Tool
from quire.providers.sheet import Json, Sheet

_MOST = 512  # functions of a request
_NATIVE = frozenset(
    (
        *("googlesearch", "googlesearchretrieval", "googlemaps", "enterprisewebsearch", "parallelaisearch"),
        *("codeexecution", "urlcontext", "computeruse", "filesearch", "retrieval", "mcpservers"),
    )
)


def take_tools(tools: Sequence[Tool], sheet: Sheet) -> None:
    """Give out the names of functions, and note tools that are another provider's."""
    for tool in tools:
        if tool.native is None:
            sheet.names.give(tool.name)
            if tool.mended:
                sheet.note(None, "schema_mended", f"the properties of {tool.name!r} are no object")
        elif not _is_own(tool.native):
            sheet.note(None, "tools_left_out", f"{tool.name!r} is a tool of another service")


def write_tools(tools: Sequence[Tool], sheet: Sheet) -> list[Json]:
    """All functions in one entry, and each tool of the provider's in one of its own."""
    declared = [_declared(tool, sheet) for tool in tools if tool.native is None]
    if len(declared) > _MOST:
        raise InvalidValue(f"{len(declared)} functions: Gemini takes at most {_MOST} in a request")
    native = [dict(tool.native) for tool in tools if tool.native is not None and _is_own(tool.native)]
    return [{"function_declarations": declared}, *native] if declared else native


def _is_own(native: Mapping[str, Any]) -> bool:
    """Whether a tool is this provider's: it is known by its fields, of which each is a tool."""
    return all(_plain(key) in _NATIVE for key in native)


def _plain(key: str) -> str:
    return str(key).replace("_", "").lower()  # clients write google_search, the wire googleSearch


def _declared(tool: Tool, sheet: Sheet) -> Json:
    function: Json = {"name": sheet.names.give(tool.name)}
    if tool.description:
        function["description"] = tool.description
    if tool.schema.get("properties"):
        # As JSON Schema it is taken whole; the older field knows a part of OpenAPI only. A function without
        # parameters has none.
        function["parameters_json_schema"] = dict(tool.schema)
    return function
