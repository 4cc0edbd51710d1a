"""Checks whether a provider would refuse a payload. The messages may come from any framework."""

from collections.abc import Callable, Mapping
from typing import Any

from quire.errors import InvalidValue, WrongType
from quire.providers.check import anthropic, gemini, openai_chat, openai_responses
from quire.providers.check.core import Fields, Findings, to_json
from quire.providers.rules import RULES, Rule
from quire.providers.types import HISTORY, Fault

__all__ = ["RULES", "Rule", "assert_valid", "check"]

_MAX_LISTED = 20  # faults in the text of an `AssertionError`

_CHECKS: dict[str, Callable[[Fields, str], None]] = {
    "openai": openai_chat.check_request,
    "openai-responses": openai_responses.check_request,
    "anthropic": anthropic.check_request,
    "gemini": gemini.check_request,
}


def check(payload: Any, provider: str, *, model: str | None = None) -> list[Fault]:
    """Find everything in a payload that a provider refuses or misreads, sorted by place.

    `payload` is a list of messages, the arguments of the provider's client, or a JSON body. It may contain
    objects of the client. Rules of single models apply only if `model` or the payload names the model.
    """
    if provider not in _CHECKS:
        raise InvalidValue(f"no provider {provider!r}; there are {', '.join(_CHECKS)}")
    if not isinstance(model, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a model must be named by a text, not by {type(model).__name__}")
    takes_text = provider in ("openai-responses", "gemini")
    if not isinstance(payload, Mapping | list | tuple) and not (isinstance(payload, str) and takes_text):
        raise WrongType(f"a payload must be a mapping or a list of messages, not {type(payload).__name__}")
    values = to_json(payload if isinstance(payload, Mapping) else {HISTORY[provider]: payload})
    body = Fields(Findings(provider), "", values)
    if body.has("model") and not isinstance(body.get("model"), str):
        body.must_be("model", "a string")
    name = body.get("model") if model is None else model
    _CHECKS[provider](body, name.lower() if isinstance(name, str) else "")
    return body.findings.in_order()


def assert_valid(payload: Any, provider: str, *, model: str | None = None) -> None:
    """Assert that a provider accepts a list of messages, or the arguments of a request."""
    __tracebackhide__ = True  # pytest shows the test instead of this function
    faults = check(payload, provider, model=model)
    if faults:
        lines = [str(fault) for fault in faults[:_MAX_LISTED]]
        more = [f"and {len(faults) - _MAX_LISTED} more"] if len(faults) > _MAX_LISTED else []
        raise AssertionError("\n  ".join([f"{provider} would refuse this:", *lines, *more]))
