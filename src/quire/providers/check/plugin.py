"""The pytest plugin: a fixture for each provider that asserts that a payload is valid."""

from collections.abc import Callable

import pytest

from quire.providers import check

Assertion = Callable[..., None]


@pytest.fixture(scope="session")
def assert_valid_openai() -> Assertion:
    """Assert that the Chat Completions accept a payload."""
    return check.assert_valid_openai


@pytest.fixture(scope="session")
def assert_valid_openai_responses() -> Assertion:
    """Assert that the Responses accept a payload."""
    return check.assert_valid_openai_responses


@pytest.fixture(scope="session")
def assert_valid_anthropic() -> Assertion:
    """Assert that the Messages API accepts a payload."""
    return check.assert_valid_anthropic


@pytest.fixture(scope="session")
def assert_valid_gemini() -> Assertion:
    """Assert that generateContent accepts a payload."""
    return check.assert_valid_gemini
