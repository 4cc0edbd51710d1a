"""How it is spoken: four wires, each a pure two-way codec, and what they would refuse."""

from quire.errors import InvalidValue, WrongType, cut
from quire.providers.anthropic import Anthropic
from quire.providers.caching import CachePlan
from quire.providers.checking import RULES, Fault, check
from quire.providers.checking.asserting import (
    assert_valid_anthropic,
    assert_valid_gemini,
    assert_valid_openai,
    assert_valid_openai_responses,
)
from quire.providers.downgrades import Downgrade
from quire.providers.gemini import Gemini
from quire.providers.openai_chat import OpenAIChat
from quire.providers.openai_responses import OpenAIResponses
from quire.providers.provider import Parsed, Provider, StreamReader
from quire.providers.rendering import Rendered

__all__ = [
    "PROVIDERS",
    "RULES",
    "Anthropic",
    "CachePlan",
    "Downgrade",
    "Fault",
    "Gemini",
    "OpenAIChat",
    "OpenAIResponses",
    "Parsed",
    "Provider",
    "Rendered",
    "StreamReader",
    "assert_valid_anthropic",
    "assert_valid_gemini",
    "assert_valid_openai",
    "assert_valid_openai_responses",
    "check",
    "provider_for",
]

PROVIDERS: dict[str, Provider] = {
    provider.name: provider for provider in (OpenAIChat(), OpenAIResponses(), Anthropic(), Gemini())
}
"""The wires by name. A new one is added here, and every law of speaking runs on it."""


def provider_for(name: str | Provider) -> Provider:
    """The wire of this name; one that was made already is given back."""
    if not isinstance(name, str):
        if not callable(getattr(name, "render", None)):
            raise WrongType(f"a provider is named by a text, or can `render`: not {type(name).__name__}")
        return name
    if name not in PROVIDERS:
        raise InvalidValue(f"no provider {cut(name)!r}; there are {', '.join(PROVIDERS)}")
    return PROVIDERS[name]
