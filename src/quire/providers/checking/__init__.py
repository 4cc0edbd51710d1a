"""Is this payload one that the provider takes? For message lists of any framework, not only for ours."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from quire.errors import InvalidValue, WrongType
from quire.providers.checking import anthropic, gemini, openai_chat, openai_responses
from quire.providers.checking.faults import HISTORY, Fault
from quire.providers.json_values import dumped

__all__ = ["HISTORY", "RULES", "Fault", "check"]

_CHECKS: dict[str, Callable[[Any, str | None], list[Fault]]] = {
    "openai": openai_chat.check,
    "openai-responses": openai_responses.check,
    "anthropic": anthropic.check,
    "gemini": gemini.check,
}

_OF_WORDS = ("openai-responses", "gemini")
"""Where a text alone is a whole history."""

RULES: Mapping[str, Mapping[str, str]] = {
    "openai": openai_chat.RULES,
    "openai-responses": openai_responses.RULES,
    "anthropic": anthropic.RULES,
    "gemini": gemini.RULES,
}
"""By provider: the names of its rules, and what each of them says."""


def check(payload: Any, provider: str, *, model: str | None = None) -> list[Fault]:
    """All that a provider would refuse in a list of messages, or in a whole payload, in the order of places.

    `payload` is JSON-like: what is handed to the provider's client, or what goes over the wire. Rules that
    only some models have are applied where the model is named.
    """
    if provider not in _CHECKS:
        raise InvalidValue(f"no provider {provider!r}; there are {', '.join(_CHECKS)}")
    if isinstance(payload, str) and provider in _OF_WORDS:
        payload = {HISTORY[provider]: payload}
    if not isinstance(payload, Mapping | list | tuple):
        raise WrongType(f"a payload is a mapping or a list of messages, not {type(payload).__name__}")
    named(model)
    return _CHECKS[provider](_plain(payload), model)


def named(model: object) -> None:
    """Refuse what is no name of a model."""
    if not isinstance(model, str | None):
        raise WrongType(f"a model is named by a text, not by {type(model).__name__}")


def _plain(payload: Any) -> Any:
    """The payload with messages that a client made, which people put back in their lists, as JSON."""
    if isinstance(payload, Mapping):
        fields = cast("Mapping[str, Any]", payload)
        return {name: _plain(value) if name in HISTORY.values() else value for name, value in fields.items()}
    if not isinstance(payload, list | tuple):
        return payload
    return [_dumped(message) for message in cast("list[Any]", payload)]


def _dumped(message: Any) -> Any:
    plain = dumped(message)
    return message if plain is None else plain
