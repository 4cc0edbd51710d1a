"""A repaired history in the shape that it was given in."""

from typing import Any, cast

from quire.cli.files import fields_of
from quire.providers.checking import HISTORY

_READ = {
    "openai": {"messages", "tools"},
    "openai-responses": {"input", "instructions", "tools"},
    "anthropic": {"messages", "system", "tools"},
    "gemini": {"contents", "system_instruction", "systemInstruction", "tools"},
}
"""Fields that are read into items and tools, and so are in what is rendered."""

_REST = {
    "systemInstruction",
    "system_instruction",
    "tools",
    "toolConfig",
    "tool_config",
    "generationConfig",
    "generation_config",
    "safetySettings",
    "safety_settings",
    "cachedContent",
    "cached_content",
}
"""Fields that Gemini's API has beside the contents, where its client has a `config`."""

_REST_NAMES = {"parameters_json_schema": "parametersJsonSchema"}


def shaped(rendered: dict[str, Any], original: Any, provider: str) -> Any:
    """What was rendered, in the shape of the original and with the fields that rendering knows nothing of."""
    if isinstance(original, list):
        alone = rendered.keys() == {HISTORY[provider]}
        return rendered[HISTORY[provider]] if alone else rendered
    given = fields_of(original)
    kept = _unread(given, provider)
    return _gemini(rendered, given, kept) if provider == "gemini" else {**kept, **rendered}


def outgrown(fixed: Any, original: Any) -> str | None:
    """What to say where a list came in and a whole payload has to go out."""
    if not isinstance(original, list) or isinstance(fixed, list):
        return None
    fields = ", ".join(fields_of(fixed))
    return f"a list of messages cannot hold all of it, so a whole payload is written: {fields}"


def _unread(fields: dict[str, Any], provider: str) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in _READ[provider]}


def _gemini(rendered: dict[str, Any], given: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    config = fields_of(rendered.get("config"))
    if "config" not in given and not _REST.isdisjoint(given):
        return {**kept, "contents": rendered["contents"], **_rest(config)}
    merged = {**_unread(fields_of(given.get("config")), "gemini"), **config}
    # An empty `config` stays one: that is how it was given.
    added = {"config": merged} if merged or "config" in given else {}
    return {**kept, "contents": rendered["contents"], **added}


def _rest(config: dict[str, Any]) -> dict[str, Any]:
    """Instructions and tools as they stand in a request over the wire."""
    fields: dict[str, Any] = {}
    if "system_instruction" in config:
        fields["systemInstruction"] = config["system_instruction"]
    if "tools" in config:
        fields["tools"] = [_rest_tool(tool) for tool in config["tools"]]
    return fields


def _rest_tool(tool: dict[str, Any]) -> dict[str, Any]:
    declared = cast("list[dict[str, Any]] | None", tool.get("function_declarations"))
    if declared is None:
        return tool  # the provider's own: as it was given
    return {"functionDeclarations": [_renamed(function) for function in declared]}


def _renamed(fields: dict[str, Any]) -> dict[str, Any]:
    return {_REST_NAMES.get(name, name): value for name, value in fields.items()}
