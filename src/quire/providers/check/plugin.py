"""The pytest plugin: a fixture for each provider that asserts that a payload is valid."""

from collections.abc import Callable

import pytest

from quire.providers.check import (
    assert_valid_anthropic as valid_anthropic,
    assert_valid_gemini as valid_gemini,
    assert_valid_openai as valid_openai,
    assert_valid_openai_responses as valid_openai_responses,
)

Assertion = Callable[..., None]


@pytest.fixture(scope="session")
def assert_valid_openai() -> Assertion:
    """Assert that the Chat Completions accept a payload."""
    return valid_openai


@pytest.fixture(scope="session")
def assert_valid_openai_responses() -> Assertion:
    """Assert that the Responses accept a payload."""
    return valid_openai_responses


@pytest.fixture(scope="session")
def assert_valid_anthropic() -> Assertion:
    """Assert that the Messages API accepts a payload."""
    return valid_anthropic


@pytest.fixture(scope="session")
def assert_valid_gemini() -> Assertion:
    """Assert that generateContent accepts a payload."""
    return valid_gemini
