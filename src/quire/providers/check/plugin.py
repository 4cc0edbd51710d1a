"""The pytest plugin: a fixture for each provider that asserts that a payload is valid."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.providers.check import (
    assert_valid_anthropic as anthropic,
    assert_valid_gemini as gemini,
    assert_valid_openai as openai,
    assert_valid_openai_responses as openai_responses,
)


def _fixture(assertion: Callable[..., None]) -> Any:
    return pytest.fixture(scope="session", name=assertion.__name__)(lambda: assertion)


assert_valid_openai = _fixture(openai)
assert_valid_openai_responses = _fixture(openai_responses)
assert_valid_anthropic = _fixture(anthropic)
assert_valid_gemini = _fixture(gemini)
