"""A repaired history in the shape that it was given in."""

from typing import Any, cast

from quire.cli.files import fields_of
from quire.cli.formats import READ
from quire.providers import HISTORY, Downgrade

_MADE_UP = ("tools", "tool_choice")
"""Fields that a list of messages has not, and that are only added so that calls in it have their tools."""

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

_SETTINGS = {"tool_config", "toolConfig"}
_REST_NAMES = {
    "parameters_json_schema": "parametersJsonSchema",
    "response_json_schema": "responseJsonSchema",
}


def shaped(rendered: dict[str, Any], original: Any, provider: str) -> Any:
    """What was rendered, in the shape of the original and with the fields that rendering knows nothing of."""
    if isinstance(original, list):
        # Who keeps a list keeps tools elsewhere: those that were made up for a whole request are not meant.
        held = {name: value for name, value in rendered.items() if name not in _MADE_UP}
        return held[HISTORY[provider]] if held.keys() == {HISTORY[provider]} else held
    given = fields_of(original)
    kept = _unread(given, provider)
    return _gemini(rendered, given, kept) if provider == "gemini" else {**kept, **rendered}


def said_of(downgrades: tuple[Downgrade, ...], original: Any) -> tuple[Downgrade, ...]:
    """What is to be said of a repair: not that tools were added which a list is spared."""
    if not isinstance(original, list):
        return downgrades
    return tuple(downgrade for downgrade in downgrades if downgrade.change != "tools_added")


def outgrown(fixed: Any, original: Any) -> str | None:
    """What to say where a list came in and a whole payload has to go out."""
    if not isinstance(original, list) or isinstance(fixed, list):
        return None
    fields = ", ".join(fields_of(fixed))
    return f"a list of messages cannot hold all of it, so a whole payload is written: {fields}"


def _unread(fields: dict[str, Any], provider: str) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in READ[provider]}


def _gemini(rendered: dict[str, Any], given: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    config = fields_of(rendered.get("config"))
    if "config" not in given and not _REST.isdisjoint(given):
        return _joined({**kept, "contents": rendered["contents"]}, _rest(config))
    merged = _joined(_unread(fields_of(given.get("config")), "gemini"), config)
    # An empty `config` stays one: that is how it was given.
    added = {"config": merged} if merged or "config" in given else {}
    return {**kept, "contents": rendered["contents"], **added}


def _joined(kept: dict[str, Any], rendered: dict[str, Any]) -> dict[str, Any]:
    """What was kept and what was rendered; settings of tools are those of both."""
    both = {
        name: {**fields_of(kept.get(name)), **fields_of(rendered[name])} for name in _SETTINGS & set(rendered)
    }
    return {**kept, **rendered, **both}


def _rest(config: dict[str, Any]) -> dict[str, Any]:
    """Instructions and tools as they stand in a request over the wire."""
    fields: dict[str, Any] = {}
    if "system_instruction" in config:
        fields["systemInstruction"] = config["system_instruction"]
    if "tools" in config:
        fields["tools"] = [_rest_tool(tool) for tool in config["tools"]]
    if "tool_config" in config:
        fields["toolConfig"] = {"includeServerSideToolInvocations": True}
    return fields


def _rest_tool(tool: dict[str, Any]) -> dict[str, Any]:
    declared = cast("list[dict[str, Any]] | None", tool.get("function_declarations"))
    if declared is None:
        return tool  # the provider's own: as it was given
    return {"functionDeclarations": [_renamed(function) for function in declared]}


def _renamed(fields: dict[str, Any]) -> dict[str, Any]:
    return {_REST_NAMES.get(name, name): value for name, value in fields.items()}
