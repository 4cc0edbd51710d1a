"""Is this payload one that the provider takes? For message lists of any framework, not only for ours."""

from collections.abc import Callable, Mapping
from typing import Any

from quire.errors import InvalidValue, WrongType
from quire.providers.checking import anthropic, gemini, openai_chat, openai_responses
from quire.providers.checking.clients import without_objects
from quire.providers.checking.faults import HISTORY, Fault

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

    `payload` is what is handed to the provider's client, with objects of the client in it or without, or what
    goes over the wire. Rules that only some models have are applied where the model is named.
    """
    if provider not in _CHECKS:
        raise InvalidValue(f"no provider {provider!r}; there are {', '.join(_CHECKS)}")
    if isinstance(payload, str) and provider in _OF_WORDS:
        payload = {HISTORY[provider]: payload}
    if not isinstance(payload, Mapping | list | tuple):
        raise WrongType(f"a payload is a mapping or a list of messages, not {type(payload).__name__}")
    if not isinstance(model, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a model is named by a text, not by {type(model).__name__}")
    return _CHECKS[provider](without_objects(payload), model)
