"""Gemini: tools as function declarations, and the provider's own as they are."""

from collections.abc import Mapping, Sequence
from typing import Any

from quire.errors import InvalidValue
from quire.providers.declaring import Fields, declare, is_text
from quire.providers.definitions import Tool
from quire.providers.json_values import is_object
from quire.providers.sheet import Json, Sheet

_MOST = 512  # functions of a request
_NATIVE = frozenset(
    (
        *("googlesearch", "googlesearchretrieval", "googlemaps", "enterprisewebsearch", "parallelaisearch"),
        *("codeexecution", "urlcontext", "computeruse", "filesearch", "retrieval", "mcpservers"),
    )
)


_OWN: Fields = {"behavior": is_text, "response": is_object, "response_json_schema": is_object}
_IN_WIRE = {"responseJsonSchema": "response_json_schema"}
_BARE = frozenset(("type", "properties", "required", "additionalProperties", "title", "$schema"))


class Toolbox:
    """The tools of a request: functions, and the provider's own, as far as a model takes both together."""

    __slots__ = ("_functions", "_native")

    def __init__(self, tools: Sequence[Tool], sheet: Sheet, mixes: bool) -> None:
        """Give out the names of functions, and note what is left out."""
        functions = [tool for tool in tools if tool.native is None]
        if len(functions) > _MOST:
            raise InvalidValue(f"{len(functions)} functions: Gemini takes at most {_MOST} in a request")
        self._functions = [_declared(tool, sheet) for tool in functions]
        self._native: list[Json] = []
        for tool in tools:
            if tool.native is None:
                continue
            if not _is_own(tool.native):
                sheet.note(None, "tools_left_out", f"{tool.name!r} is a tool of another service")
            elif functions and not mixes:
                sheet.note(None, "tools_left_out", f"{tool.name!r} goes with no functions on this model")
            else:
                self._native.append(dict(tool.native))

    def config(self) -> Json:
        """All functions in one entry, each tool of the provider's in its own, and that both are meant."""
        if not self._functions:
            return {"tools": self._native.copy()} if self._native else {}
        declared: list[Json] = [{"function_declarations": self._functions.copy()}, *self._native]
        both = {"tool_config": {"include_server_side_tool_invocations": True}} if self._native else {}
        return {"tools": declared, **both}


def _is_own(native: Mapping[str, Any]) -> bool:
    """Whether a tool is this provider's: it is known by its fields, of which each is a tool."""
    return all(_plain(key) in _NATIVE for key in native)


def _plain(key: str) -> str:
    return str(key).replace("_", "").lower()  # clients write google_search, the wire googleSearch


def _declared(tool: Tool, sheet: Sheet) -> Json:
    function: Json = {"name": sheet.names.give(tool.name)}
    if tool.description:
        function["description"] = tool.description
    if not _is_bare(tool.schema):
        # As JSON Schema it is taken whole; the older field knows a part of OpenAPI only.
        function["parameters_json_schema"] = dict(tool.schema)
    beside = {_IN_WIRE.get(name, name): value for name, value in tool.beside.items()}
    if tool.strict:
        beside["strict"] = True  # which is for others
    return function | declare(tool._replace(beside=beside), sheet, _OWN)


def _is_bare(schema: Mapping[str, Any]) -> bool:
    """Whether a schema says nothing but that there are no parameters: then the function has none."""
    closed = schema.get("additionalProperties", False) is False  # what is empty there takes anything
    said = schema.get("properties") or schema.get("required")
    return closed and not said and schema.keys() <= _BARE
