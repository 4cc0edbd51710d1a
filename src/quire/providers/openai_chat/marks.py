"""OpenAI Chat Completions: tools, the key of a cache, and where the messages that stay the same end."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, cast

from quire.providers.definitions import Tool
from quire.providers.names import Names
from quire.providers.rendering import Marks
from quire.providers.sheet import Json

_LONGEST_KEY = 64
_KEPT = 40  # of a longer key, so that people still know it
_BREAKPOINT = {"mode": "explicit"}


def written_tool(tool: Tool, names: Names) -> Json | None:
    """A tool; none where it is one of another service."""
    if tool.native is not None:
        return _custom(tool.native) if tool.native.get("type") == "custom" else None
    function: Json = {"name": names.give(tool.name)}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = dict(tool.schema)
    if tool.strict is not None:
        function["strict"] = tool.strict
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


def cache_key(key: str) -> str:
    """A key as OpenAI takes it: of a longer one a digest is the end, so that no two become one."""
    if len(key) <= _LONGEST_KEY:
        return key
    digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{key[:_KEPT]}-{digest}"[:_LONGEST_KEY]


def marked(messages: list[Json], marks: Marks) -> list[Json]:
    """The messages with the ends of the static and the slow part marked."""
    copied = messages.copy()
    for end in {marks.static, marks.slow}:
        place = min(end, len(copied)) - 1
        while place >= 0 and copied[place]["role"] == "assistant":
            place -= 1
        if place >= 0:
            copied[place] = _with_breakpoint(copied[place])
    return copied


def _with_breakpoint(message: Json) -> Json:
    content = message["content"]
    parts: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    parts[-1] = {**parts[-1], "prompt_cache_breakpoint": _BREAKPOINT}
    return {**message, "content": parts}
