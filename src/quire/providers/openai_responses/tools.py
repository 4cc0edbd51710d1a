"""OpenAI Responses: tools as functions, and those of OpenAI as they are."""

import re
from collections.abc import Mapping
from typing import Any, cast

from quire.providers.declaring import Fields, are_names, declare, is_flag, said_strict, vetted_schema
from quire.providers.definitions import Tool
from quire.providers.json_values import is_object
from quire.providers.openai_chat.customs import as_function, is_custom
from quire.providers.openai_chat.manners import manners_of
from quire.providers.sheet import Json, Sheet

_OWN = frozenset(
    (
        *("apply_patch", "code_interpreter", "computer", "computer_use", "computer_use_preview", "custom"),
        *("file_search", "function", "image_generation", "local_shell", "mcp", "namespace", "shell"),
        *("programmatic_tool_calling", "tool_search", "web_search", "web_search_preview"),
    )
)
_DATED = ("web_search_", "computer_use_")
_FOREIGN = re.compile(r"_\d{8}$")
_FIELDS: Fields = {
    "defer_loading": is_flag,
    "allowed_callers": are_names,
    "async": is_flag,
    "output_schema": is_object,
}


def written_tool(tool: Tool, sheet: Sheet) -> Json | None:
    """A tool; none where it is one of another service."""
    if is_custom(tool) and not manners_of(sheet.model).whole:
        tool = as_function(tool, sheet)
    if tool.native is None:
        return _function(tool, sheet)
    return _flat(tool.native) if _is_own(tool.native) else None


def _is_own(native: Mapping[str, Any]) -> bool:
    kind = native.get("type")
    # OpenAI dates its own in pieces, as in web_search_preview_2025_03_11; Anthropic's end in eight digits.
    return isinstance(kind, str) and (kind in _OWN or kind.startswith(_DATED)) and not _FOREIGN.search(kind)


def _function(tool: Tool, sheet: Sheet) -> Json:
    """A function; whether it is strict is always said, because here one is unless it says no."""
    written: Json = {"type": "function", "name": sheet.names.give(tool.name)}
    if tool.description:
        written["description"] = tool.description
    written["parameters"] = vetted_schema(tool, sheet)
    written["strict"] = said_strict(tool, sheet, tool.refusals.openai) is True
    return written | declare(tool, sheet, _FIELDS)


def _flat(native: Mapping[str, Any]) -> Json:
    """A tool as it is, except for one that takes any text, in which Chat Completions has a level more."""
    inner = native.get("custom")
    if not isinstance(inner, Mapping):
        return dict(native)
    written: Json = {"type": "custom", **cast(Json, inner)}
    form: Any = written.get("format")
    if isinstance(form, Mapping) and isinstance(grammar := cast(Json, form).get("grammar"), Mapping):
        written["format"] = {"type": "grammar", **cast(Json, grammar)}
    return written
