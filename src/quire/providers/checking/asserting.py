"""For tests: payloads of any framework are valid, or the assertion says what is not."""

from typing import Any

from quire.providers.checking import check

_MOST = 20  # faults that an assertion lists


def assert_valid_openai(payload: Any, *, model: str | None = None) -> None:
    """A list of chat messages, or the arguments of a chat completion, has no fault."""
    _assert_valid(payload, "openai", model)


def assert_valid_openai_responses(payload: Any, *, model: str | None = None) -> None:
    """A list of input items, or the arguments of a response, has no fault."""
    _assert_valid(payload, "openai-responses", model)


def assert_valid_anthropic(payload: Any, *, model: str | None = None) -> None:
    """A list of messages, or the arguments of a message, has no fault."""
    _assert_valid(payload, "anthropic", model)


def assert_valid_gemini(payload: Any, *, model: str | None = None) -> None:
    """A list of contents, or the arguments of a generation, has no fault."""
    _assert_valid(payload, "gemini", model)


def _assert_valid(payload: Any, provider: str, model: str | None) -> None:
    __tracebackhide__ = True  # pytest then shows the test, not this function
    faults = check(payload, provider, model=model)
    if faults:
        lines = [str(fault) for fault in faults[:_MOST]]
        if len(faults) > _MOST:
            lines.append(f"and {len(faults) - _MOST} more")
        raise AssertionError("\n  ".join([f"{provider} would refuse this:", *lines]))
