"""The pytest plugin under its former name, until the package is installed again."""

from quire.providers.check.plugin import (
    assert_valid_anthropic as assert_valid_anthropic,
    assert_valid_gemini as assert_valid_gemini,
    assert_valid_openai as assert_valid_openai,
    assert_valid_openai_responses as assert_valid_openai_responses,
)
