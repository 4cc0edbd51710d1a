"""The pytest plugin: a fixture for each provider that asserts a payload valid."""

from collections.abc import Callable

import pytest

from quire.providers.checking import asserting

Assertion = Callable[..., None]


@pytest.fixture(scope="session")
def assert_valid_openai() -> Assertion:
    """Assert that OpenAI's chat completions would take a payload."""
    return asserting.assert_valid_openai


@pytest.fixture(scope="session")
def assert_valid_openai_responses() -> Assertion:
    """Assert that OpenAI's responses would take a payload."""
    return asserting.assert_valid_openai_responses


@pytest.fixture(scope="session")
def assert_valid_anthropic() -> Assertion:
    """Assert that Anthropic's messages would take a payload."""
    return asserting.assert_valid_anthropic


@pytest.fixture(scope="session")
def assert_valid_gemini() -> Assertion:
    """Assert that Gemini's content generation would take a payload."""
    return asserting.assert_valid_gemini
