"""The laws of a provider, for our four wires; and that no payload of any history has a fault."""

import os
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from quire.providers import HISTORY, PROVIDERS
from quire.testing import ProviderLaws
from quire.testing.answers import answer
from quire.testing.conversations import MODELS, STEPS, TOOLSETS, Step, view_after
from quire.testing.providers import PLANS, check_rendering
from tests.providers.replies import FULL, Reply, drawn_replies, events, whole

pytestmark = pytest.mark.laws

STRICT_MODELS = {"openai": ("mistral-large-latest", "qwen3.6-27b"), "openai-responses": ("qwen3.6-27b",)}
"""Models whose services take less than OpenAI does."""
ALL_MODELS = {wire: [*models, *STRICT_MODELS.get(wire, ())] for wire, models in MODELS.items()}
SHARES = 20 if "QUIRE_HISTORIES" in os.environ else 4
MANY = settings(max_examples=int(os.environ.get("QUIRE_HISTORIES", "240")) // SHARES)
"""`make fuzz` sets how many histories, in shares small enough to keep all cores at work."""


@pytest.mark.parametrize("share", range(SHARES))
@MANY
@given(STEPS, st.integers(0, 2**32))
def test_check_finds_no_fault_in_any_payload(share: int, steps: list[Step], seed: int) -> None:
    view, draw = view_after(steps), Random(seed + share)
    for wire, provider in PROVIDERS.items():
        model, plan, tools = draw.choice(ALL_MODELS[wire]), draw.choice(PLANS), draw.choice(TOOLSETS)
        check_rendering(provider, view, model, tools, plan)


def replies(wire: str) -> list[Any]:
    """Answers of the first model with and without a thought, words and calls."""
    return [answer(wire, MODELS[wire][0] or "", 1, 1, code, 1) for code in range(10)]


class Laws(ProviderLaws):
    def drawn_streams(self) -> st.SearchStrategy[tuple[list[Any], Any]]:
        """A reply with its texts cut into pieces of any size."""
        wire = self.provider.name

        def streamed(reply: Reply, size: int) -> tuple[list[Any], Any]:
            return events(wire, reply, size), whole(wire, reply)

        return st.builds(streamed, st.one_of(st.just(FULL), drawn_replies), st.integers(1, 9))


class TestOpenAIChat(Laws):
    provider = PROVIDERS["openai"]
    models = ALL_MODELS["openai"]
    replies = replies("openai")


class TestOpenAIResponses(Laws):
    provider = PROVIDERS["openai-responses"]
    models = ALL_MODELS["openai-responses"]
    history = HISTORY["openai-responses"]
    replies = replies("openai-responses")


class TestAnthropic(Laws):
    provider = PROVIDERS["anthropic"]
    models = ALL_MODELS["anthropic"]
    replies = replies("anthropic")


class TestGemini(Laws):
    provider = PROVIDERS["gemini"]
    models = ALL_MODELS["gemini"]
    history = HISTORY["gemini"]
    replies = replies("gemini")
