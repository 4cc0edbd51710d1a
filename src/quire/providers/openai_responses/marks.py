"""OpenAI Responses: tools, and where the parts of the input that stay the same end."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from quire.providers.definitions import Tool
from quire.providers.names import Names
from quire.providers.openai_responses.parts import text_block
from quire.providers.rendering import Marks
from quire.providers.sheet import Json, Sheet

_BREAKPOINT = {"mode": "explicit"}
_OWN = frozenset(
    (
        *("apply_patch", "code_interpreter", "computer", "computer_use", "computer_use_preview", "custom"),
        *("file_search", "function", "image_generation", "local_shell", "mcp", "namespace", "shell"),
        *("tool_search", "web_search", "web_search_preview"),
    )
)
_DATED = ("web_search_", "computer_use_")
_FOREIGN = re.compile(r"_\d{8}$")


def written_tools(tools: Sequence[Tool], sheet: Sheet) -> list[Json]:
    """The tools; those of another service are left out, and noted."""
    written: list[Json] = []
    for tool in tools:
        if tool.native is None:
            written.append(_function(tool, sheet.names))
        elif _is_own(tool.native):
            written.append(_flat(tool.native))
        else:
            sheet.note(None, "tools_left_out", f"{tool.name!r} is a tool of another service")
    return written


def _is_own(native: Mapping[str, Any]) -> bool:
    kind = native.get("type")
    # OpenAI dates its own in pieces, as in web_search_preview_2025_03_11; Anthropic's end in eight digits.
    return isinstance(kind, str) and (kind in _OWN or kind.startswith(_DATED)) and not _FOREIGN.search(kind)


def _function(tool: Tool, names: Names) -> Json:
    """A function; whether it is strict is always said, because here one is unless it says no."""
    written: Json = {"type": "function", "name": names.give(tool.name)}
    if tool.description:
        written["description"] = tool.description
    written["parameters"] = dict(tool.schema)
    written["strict"] = tool.strict is True
    return written


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


def marked(messages: Sequence[Json], marks: Marks) -> list[Json]:
    """The input with breakpoints at the ends of the static and of the slow part."""
    copied = list(messages)
    for end in sorted({min(marks.static, len(copied)), min(marks.slow, len(copied))}):
        place = end - 1
        while place >= 0 and _field(copied[place]) is None:
            place -= 1
        if place >= 0:
            copied[place] = _with_breakpoint(copied[place])
    return copied


def _field(item: Json) -> str | None:
    """Where an item holds blocks of input, which alone can be marked."""
    if item.get("type") == "function_call_output":
        return "output"
    return "content" if item.get("role", "assistant") != "assistant" else None


def _with_breakpoint(item: Json) -> Json:
    field = _field(item) or "content"
    content = item[field]
    blocks = [text_block(content)] if isinstance(content, str) else list(content)
    blocks[-1] = {**blocks[-1], "prompt_cache_breakpoint": _BREAKPOINT}
    return {**item, field: blocks}
