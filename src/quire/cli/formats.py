"""Histories between the formats that the command line knows: the four wires, and Quire's own."""

from typing import Any

import msgspec

from quire.cli.files import fields_of, list_of
from quire.errors import InvalidValue, cut
from quire.items import JSON, Item
from quire.providers import PROVIDERS, Downgrade, provider_for

OWN = "quire"
FORMATS = (*PROVIDERS, OWN)

READ: dict[str, set[str]] = {
    "openai": {"messages", "tools"},
    "openai-responses": {"input", "instructions", "tools"},
    "anthropic": {"messages", "system", "tools"},
    "gemini": {"contents", "system_instruction", "systemInstruction", "tools"},
}
"""Fields that are read into items and tools, and so are in what is rendered."""

_MOST = 20  # fields that are named
_NO_CALLS: dict[str, dict[str, Any]] = {
    "openai": {"tool_choice": "none"},
    "openai-responses": {"tool_choice": "none"},
    "anthropic": {"tool_choice": {"type": "none"}},
    "gemini": {"tool_config": {"function_calling_config": {"mode": "NONE"}}},
}
"""How each wire says that tools are only there for calls of the past."""

_CHOICES = {"tool_choice", "tool_config", "toolConfig"}


def guessed(payload: Any, given: str | None) -> str:
    """The format as given, or what the fields of the payload say, or OpenAI's, which most things speak."""
    if given is not None:
        return _known(given)
    fields = fields_of(payload)
    if "contents" in fields:
        return "gemini"
    if "input" in fields:
        return "openai-responses"
    return "anthropic" if "system" in fields or _has_anthropic_blocks(payload) else _by_items(payload)


def read(payload: Any, format_name: str, model: str | None = None) -> list[Item]:
    """A payload in a format as items; `model` is whose the state in it is, where it does not say so."""
    if format_name == OWN:
        return JSON.decode(msgspec.json.encode(payload))
    return provider_for(format_name).read_history(payload, model=model_of(payload) or model)


def written(
    items: list[Item], format_name: str, *, model: str | None, tools: list[Any]
) -> tuple[Any, tuple[Downgrade, ...]]:
    """Items in a format, and what was changed on the way."""
    if _known(format_name) == OWN:
        return msgspec.json.decode(JSON.encode(items)), ()
    rendered = provider_for(format_name).render(items, model=model, tools=tools)
    return rendered.payload, rendered.downgrades


def with_tool_choice(written: Any, payload: Any, format_name: str) -> Any:
    """What was written of a payload, where no tool may be called if none might be before."""
    if format_name == OWN or not (forbids_calls(payload) and tools_of(written)):
        return written
    choice = _NO_CALLS[format_name]
    if format_name != "gemini":
        return {**written, **choice}
    config = fields_of(written["config"])
    settings = {**fields_of(config.get("tool_config")), **choice["tool_config"]}
    return {**written, "config": {**config, "tool_config": settings}}


def forbids_calls(payload: Any) -> bool:
    """Whether a payload, of whichever format, has tools that must not be called."""
    fields = fields_of(payload)
    choice = fields.get("tool_choice")
    settings = _spelled({**fields, **fields_of(fields.get("config"))}, "tool_config", "toolConfig")
    calling = _spelled(settings, "function_calling_config", "functionCallingConfig")
    return choice == "none" or fields_of(choice).get("type") == "none" or calling.get("mode") == "NONE"


def unwritten(payload: Any, source: str, to: str) -> str | None:
    """What to say of fields that are in no conversation, such as settings, and so are not written."""
    carried = _CHOICES if to != OWN and forbids_calls(payload) and tools_of(payload) else set[str]()
    read = READ.get(source, set()) | carried
    fields = {name: value for name, value in fields_of(payload).items() if name not in read}
    config = fields_of(fields.pop("config", None)) if source == "gemini" else {}
    fields |= {f"config.{name}": value for name, value in config.items() if name not in read}
    names = [cut(name) for name, value in fields.items() if value is not None]
    if to == OWN and tools_of(payload):
        names.append("tools")
    more = [f"and {len(names) - _MOST} more"] if len(names) > _MOST else []
    return f"not written: {', '.join([*names[:_MOST], *more])}" if names else None


def tools_of(payload: Any) -> list[Any]:
    """The tool definitions in a payload, of whichever format."""
    fields = fields_of(payload)
    tools = fields.get("tools") or fields_of(fields.get("config")).get("tools")
    return [tools] if fields_of(tools) else list_of(tools)


def model_of(payload: Any) -> str | None:
    """The model that a payload is for, if it says."""
    model = fields_of(payload).get("model")
    return model if isinstance(model, str) and model else None


def _spelled(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    """The fields of what stands under one of several names."""
    return fields_of(next((fields[name] for name in names if name in fields), None))


def _known(name: str) -> str:
    if name not in FORMATS:
        raise InvalidValue(f"no format {name!r}; there are {', '.join(FORMATS)}")
    return name


def _messages(payload: Any) -> list[dict[str, Any]]:
    found = list_of(fields_of(payload).get("messages") if isinstance(payload, dict) else payload)
    return [fields_of(message) for message in found]


def _has_anthropic_blocks(payload: Any) -> bool:
    kinds = ("tool_use", "tool_result", "thinking", "redacted_thinking")
    blocks = (block for message in _messages(payload) for block in list_of(message.get("content")))
    return any(fields_of(block).get("type") in kinds for block in blocks)


def _by_items(payload: Any) -> str:
    for message in _messages(payload):
        if "kind" in message:
            return OWN
        if "parts" in message:
            return "gemini"
        kind = message.get("type")
        if isinstance(kind, str) and kind.startswith(("function_call", "reasoning")):
            return "openai-responses"
    return "openai"
