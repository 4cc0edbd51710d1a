"""The key of a prompt cache: who is sent one, and that it tells nothing of a conversation."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.items import Message
from quire.providers import PROVIDERS, CachePlan, Rendered

ASKED = [Message("user", "Hi.")]
ADDRESS = "ana@example.com/q3"
WIRES = ["openai", "openai-responses"]
on_both = pytest.mark.parametrize("wire", WIRES)


def rendered(wire: str, model: str | None, key: str = ADDRESS) -> Rendered:
    return PROVIDERS[wire].render(ASKED, model=model, plan=CachePlan(key=key))


def key_in(wire: str, model: str | None, key: str = ADDRESS) -> Any:
    return rendered(wire, model, key).payload.get("prompt_cache_key")


@on_both
@pytest.mark.parametrize("model", ["gpt-5.6", "openai/gpt-4o-mini", "o3", "gpt-5.9", "gpt-6-sol-2027-01-01"])
def test_openais_models_that_keep_prefixes_get_one(wire: str, model: str) -> None:
    assert key_in(wire, model) is not None
    assert PROVIDERS[wire].check(rendered(wire, model).payload, model) == []


@on_both
@pytest.mark.parametrize(
    "model",
    [
        *("llama-3.3-70b-versatile", "mistral-large-latest", "deepseek-chat", "openai/gpt-oss-120b"),
        *("gemini-3-pro", "claude-opus-5", "gpt-4", "x", None),
    ],
)
def test_no_other_gets_one(wire: str, model: str | None) -> None:
    assert key_in(wire, model) is None


@pytest.mark.laws
@given(st.sampled_from(WIRES), st.text(min_size=1), st.text(min_size=1))
def test_it_is_a_digest_and_the_same_for_the_same_conversation(wire: str, one: str, other: str) -> None:
    keys = [key_in(wire, "gpt-5.6", key) for key in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)
    assert all(len(key) == 32 and set(key) <= set("0123456789abcdef") for key in keys)


@on_both
def test_of_an_address_nothing_can_be_read(wire: str) -> None:
    assert "ana" not in str(rendered(wire, "gpt-5.6").payload)
    assert key_in(wire, "gpt-5.6") != key_in(wire, "gpt-5.6", f"{ADDRESS}4")
    assert key_in(wire, "gpt-5.6", "half \ud800") != key_in(wire, "gpt-5.6", "half \ud801")
