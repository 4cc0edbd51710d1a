"""OpenAI Responses: tools, and where the parts of the input that stay the same end."""

from collections.abc import Sequence

from quire.providers.definitions import Tool
from quire.providers.names import Names
from quire.providers.openai_responses.parts import text_block
from quire.providers.rendering import Marks
from quire.providers.sheet import Json

_BREAKPOINT = {"mode": "explicit"}


def written_tool(tool: Tool, names: Names) -> Json:
    """A tool; whether it is strict is always said, because here one is unless it says no."""
    if tool.native is not None:
        return dict(tool.native)
    written: Json = {"type": "function", "name": names.give(tool.name)}
    if tool.description:
        written["description"] = tool.description
    written["parameters"] = dict(tool.schema)
    written["strict"] = tool.strict is True
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
