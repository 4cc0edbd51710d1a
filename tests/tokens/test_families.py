"""Model names find their family, and families share their counter."""

from typing import Any

import pytest

from quire.errors import InvalidValue, WrongType
from quire.items import Message
from quire.tokens import FAMILIES, FRAMINGS, MEDIA, counter_for, family_of


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("gpt-5.6", "o200k_base/openai/gpt-5.6"),
        ("gpt-5.6-2026-08-01", "o200k_base/openai/gpt-5.6"),
        ("gpt-6-astra", "o200k_base/openai/gpt-5.6"),
        ("gpt-7", "o200k_base/openai/gpt-5.6"),
        ("gpt-5-mini", "o200k_base/openai/patches-1.62"),
        ("gpt-4o", "o200k_base/openai/gpt-4o"),
        ("gpt-4.1-nano-2025-04-14", "o200k_base/openai/patches-2.46"),
        ("o3", "o200k_base/openai/o1"),
        ("o4-mini", "o200k_base/openai/patches-1.72"),
        ("gpt-4", "cl100k_base/openai-gpt-4/gpt-4o"),
        ("gpt-4-turbo", "cl100k_base/openai-gpt-4/gpt-4o"),
        ("gpt-3.5-turbo", "cl100k_base/openai-gpt-4/gpt-4o"),
        ("openai:gpt-5", "o200k_base/openai/gpt-5"),
        ("azure/openai/GPT-4o", "o200k_base/openai/gpt-4o"),
        ("ft:gpt-4o:someone::id", "o200k_base/openai/gpt-4o"),
        ("claude-3-5-sonnet-latest", "estimate-3x1.15/anthropic/claude"),
        ("claude-sonnet-4-5", "estimate-3x1.15/anthropic/claude"),
        ("claude-opus-4-7", "estimate-3x1.45/anthropic/claude-high"),
        ("anthropic:claude-sonnet-5", "estimate-3x1.45/anthropic/claude-high"),
        ("us.anthropic.claude-3-haiku-v1:0", "estimate-3x1.15/anthropic/claude"),
        ("gemini-2.5-pro", "estimate-3x1.05/google/gemini-2"),
        ("google/gemini-3-pro", "estimate-3x1.05/google/gemini-3"),
        ("mistral-large", "estimate-3x1/plain/claude"),
        ("local", "estimate-3x1/plain/claude"),
    ],
)
def test_names_and_their_counters(model: str, key: str) -> None:
    assert counter_for(model).key == key


def test_models_that_count_alike_share_one_counter() -> None:
    assert counter_for("gpt-4o") is counter_for("openai:gpt-4o-2024-08-06")
    assert counter_for("claude-3-opus") is counter_for("claude-sonnet-4")
    assert counter_for("gpt-4o") is not counter_for("gpt-4")


@pytest.mark.parametrize("model", ["", "   ", "ft:"])
def test_an_empty_name_is_refused(model: str) -> None:
    with pytest.raises(InvalidValue, match="empty"):
        counter_for(model)


@pytest.mark.parametrize("model", [None, 4, b"gpt-4", ["gpt-4"]])
def test_a_name_that_is_no_text_is_refused(model: Any) -> None:
    with pytest.raises(WrongType, match="text"):
        counter_for(model)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.prefix)
def test_every_row_of_the_table_works(family: Any) -> None:
    assert family.framing in FRAMINGS
    assert family.media in MEDIA
    assert family_of(family.prefix) == family
    assert counter_for(family.prefix).count(Message(role="user", content="hello")) > 0


def test_no_prefix_stands_twice() -> None:
    assert len({family.prefix for family in FAMILIES}) == len(FAMILIES)
