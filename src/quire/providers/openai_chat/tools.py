"""OpenAI Chat Completions: tools as functions, and tools that take any text."""

from collections.abc import Mapping
from typing import Any, cast

from quire.providers.declaring import declare, said_strict, vetted_schema
from quire.providers.definitions import Tool
from quire.providers.openai_chat.customs import as_function, is_custom
from quire.providers.openai_chat.manners import manners_of
from quire.providers.sheet import Json, Sheet


def written_tool(tool: Tool, sheet: Sheet) -> Json | None:
    """A tool; none where it is one of another service."""
    if is_custom(tool) and not manners_of(sheet.model).whole:
        tool = as_function(tool, sheet)
    if tool.native is not None:
        return _custom(tool.native) if is_custom(tool) else None
    function: Json = {"name": sheet.names.give(tool.name)}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = vetted_schema(tool, sheet)
    strict = said_strict(tool, sheet, tool.refusals.openai)
    if strict is not None:
        function["strict"] = strict
    declare(tool, sheet, {})  # this wire has no other fields
    return {"type": "function", "function": function}


def _custom(native: Mapping[str, Any]) -> Json:
    """A tool that takes any text, which Responses writes without a level between."""
    if "custom" in native:
        return dict(native)
    inner = {name: value for name, value in native.items() if name != "type"}
    form = inner.get("format")
    fields = dict(cast("Mapping[str, Any]", form)) if isinstance(form, Mapping) else {}
    if fields.pop("type", None) == "grammar" and "grammar" not in fields:
        inner["format"] = {"type": "grammar", "grammar": fields}
    return {"type": "custom", "custom": inner}
