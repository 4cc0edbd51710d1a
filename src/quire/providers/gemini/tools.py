"""Gemini: tools as function declarations, and the provider's own as they are."""

from collections.abc import Sequence

from quire.providers.definitions import Tool
from quire.providers.names import Names
from quire.providers.sheet import Json


def write_tools(tools: Sequence[Tool], names: Names) -> list[Json]:
    """All functions in one entry, and each tool of the provider's in one of its own."""
    declared = [_declared(tool, names) for tool in tools if tool.native is None]
    native = [dict(tool.native) for tool in tools if tool.native is not None]
    return [{"function_declarations": declared}, *native] if declared else native


def _declared(tool: Tool, names: Names) -> Json:
    function: Json = {"name": names.give(tool.name)}
    if tool.description:
        function["description"] = tool.description
    if tool.schema.get("properties"):
        # As JSON Schema it is taken whole; the older field knows a part of OpenAPI only. A function without
        # parameters has none.
        function["parameters_json_schema"] = dict(tool.schema)
    return function
