"""From a rendered payload and its terms to the arguments of a client's call, for each wire."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from quire.errors import InvalidValue, cut
from quire.models.answer_shapes import AnswerShape, shape_for
from quire.models.terms import CHOICES, Terms, checked
from quire.providers import Rendered, without_breakpoints
from quire.tokens import Definition, facts_for, single_definitions

_Json = dict[str, Any]

_MOST = 16_384
_UNKNOWN = 8192
_ANSWER = "answer"
"""The name of the shape that an answer has to have: one wire wants a name for it."""

_CONTAINER = "container"
CACHE_KEY = "prompt_cache_key"
_UNASKED = frozenset((CACHE_KEY, "store", "include"))
"""Fields of OpenAI's that nobody asked for, and that others who speak its wires may refuse."""


def request_for(wire: str, rendered: Rendered, name: str, terms: Terms, takes: bool | None = None) -> _Json:
    """The arguments of the call; what `options` say goes before all else.

    `takes` says whether the model is held to a schema, where its facts are not to be asked.
    """
    kept = checked(terms)
    return _WRITERS[wire](rendered, name, kept, _shape(wire, rendered, name, kept, takes))


def spare_request(
    wire: str, rendered: Rendered, name: str, terms: Terms, takes: bool | None = None
) -> _Json | None:
    """The same call without a schema, where one is sent that the model is told in words as well."""
    shape = _shape(wire, rendered, name, checked(terms), takes)
    if shape.sent is None or shape.is_held:
        return None
    plain = request_for(wire, rendered, name, {**terms, "output": None})
    # What `options` say of the shape is in both.
    return plain if plain != request_for(wire, rendered, name, terms, takes) else None


def _chat(rendered: Rendered, name: str, terms: Terms, shape: AnswerShape) -> _Json:
    # OpenAI's own refuse the older name; many who speak its wire know no other.
    limit = "max_completion_tokens" if facts_for(name).provider == "openai" else "max_tokens"
    request = {**rendered.payload, **_limit(terms, limit)}
    if choice := _choice(rendered, terms):
        request["tool_choice"] = (
            choice if choice in CHOICES else {"type": "function", "function": {"name": choice}}
        )
    if shape.sent is not None:
        asked = {"name": _ANSWER, "schema": shape.sent, "strict": shape.is_strict}
        request["response_format"] = {"type": "json_schema", "json_schema": asked}
    return _optioned(request, terms)


def _responses(rendered: Rendered, name: str, terms: Terms, shape: AnswerShape) -> _Json:
    # Reasoning goes back by its encrypted content, so nothing has to be kept by the service.
    request = {**rendered.payload, "store": False, **_limit(terms, "max_output_tokens")}
    if "developer_role" in facts_for(name).features:  # those that reason; others refuse to be asked for it
        request["include"] = ["reasoning.encrypted_content"]
    if choice := _choice(rendered, terms):
        request["tool_choice"] = choice if choice in CHOICES else {"type": "function", "name": choice}
    if shape.sent is not None:
        asked = {"name": _ANSWER, "schema": shape.sent, "strict": shape.is_strict}
        request["text"] = {"format": {"type": "json_schema", **asked}}
    return _optioned(request, terms)


def _anthropic(rendered: Rendered, name: str, terms: Terms, shape: AnswerShape) -> _Json:
    # The wire wants a number. All that a model could write would be taken off its window.
    most = min(facts_for(name).output or _UNKNOWN, _MOST)
    request = {**rendered.payload, "max_tokens": terms.get("max_tokens") or most}
    if choice := _choice(rendered, terms):
        kind = {"auto": "auto", "required": "any", "none": "none"}.get(choice)
        request["tool_choice"] = {"type": kind} if kind else {"type": "tool", "name": choice}
    if shape.sent is not None:
        request["output_config"] = {"format": {"type": "json_schema", "schema": shape.sent}}
    return request | _in_container(request, dict(terms.get("options") or {}))


def _in_container(request: _Json, options: _Json) -> _Json:
    """Options that say more of the container, such as its skills, go with the one that a program waits in."""
    asked = options.get(_CONTAINER)
    if _CONTAINER not in request or not isinstance(asked, Mapping):
        return options
    return options | {_CONTAINER: {"id": request[_CONTAINER], **asked}}


def _gemini(rendered: Rendered, name: str, terms: Terms, shape: AnswerShape) -> _Json:
    config = {**rendered.payload.get("config", {}), **_limit(terms, "max_output_tokens")}
    if choice := _choice(rendered, terms):
        mode = {"auto": "AUTO", "required": "ANY", "none": "NONE"}.get(choice)
        calling = {"mode": mode} if mode else {"mode": "ANY", "allowed_function_names": [choice]}
        config["tool_config"] = {**config.get("tool_config", {}), "function_calling_config": calling}
    if shape.sent is not None:
        config |= {"response_mime_type": "application/json", "response_json_schema": shape.sent}
    config |= dict(terms.get("options") or {})
    return {**rendered.payload, "config": config} if config else dict(rendered.payload)


_WRITERS: dict[str, Callable[[Rendered, str, Terms, AnswerShape], _Json]] = {
    "openai": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}


def _optioned(request: _Json, terms: Terms) -> _Json:
    """A request with what `options` say; None takes a field away that nobody asked for.

    Who is not to have the key of the cache is not to have its marks either.
    """
    options = dict(terms.get("options") or {})
    asked = request | options
    if CACHE_KEY in options and options[CACHE_KEY] is None:
        asked = without_breakpoints(asked)
    return {name: value for name, value in asked.items() if value is not None or name not in _UNASKED}


def _limit(terms: Terms, field: str) -> _Json:
    most = terms.get("max_tokens")
    return {} if most is None else {field: most}


def _shape(wire: str, rendered: Rendered, name: str, terms: Terms, takes: bool | None) -> AnswerShape:
    schema = terms.get("output")
    return shape_for(wire, name, schema, _definitions(rendered.payload), takes) if schema else AnswerShape()


def _choice(rendered: Rendered, terms: Terms) -> str | None:
    """The choice as the wire knows it: one of the three words, or the name that a tool was sent by."""
    choice = terms.get("tool_choice")
    sent = [_name(tool) for tool in _definitions(rendered.payload)]
    if choice is None or choice in ("auto", "none"):
        return (
            choice if sent else None
        )  # without tools there is nothing to choose, and wires refuse the field
    if choice == "required" and sent:
        return choice
    for name in sent:
        if choice == rendered.names.get(name, name):
            return name
    raise InvalidValue(f"tool_choice is {cut(choice)!r}, and no such tool was sent")


def _definitions(payload: Mapping[str, Any]) -> list[Definition]:
    tools: Any = payload.get("tools") or cast("Mapping[str, Any]", payload.get("config") or {}).get("tools")
    return single_definitions(cast("Sequence[Any]", tools or ()))


def _name(tool: Mapping[str, Any]) -> str:
    """The name that a tool is called by; those that a service brings itself may have a type alone."""
    held: Any = tool.get("function") or tool.get("custom") or tool
    return str(held.get("name") or tool.get("type") or "")
