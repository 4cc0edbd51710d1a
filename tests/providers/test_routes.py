"""Opaque state and the ways to a model: what one service or account made is never sent to another."""

import json

import pytest

from quire.items import Item, Message, ToolResult
from quire.providers import PROVIDERS
from quire.providers.binding import same_model
from tests.providers.answers import answer, seal

SAME = [
    ("gpt-5.6", "openai/gpt-5.6"),
    ("claude-sonnet-4-5", "anthropic:claude-sonnet-4-5-20250929"),
    ("models/gemini-3-pro", "gemini-3-pro"),
    ("GPT-5.6", "gpt-5.6"),
    ("azure/gpt-5.6", "azure/gpt-5.6-2026-05-01"),
    ("openrouter/anthropic/claude-opus-4.8", "openrouter/anthropic/claude-opus-4-8"),
    ("in-house", "in-house"),
]
OTHERS = [
    ("azure/gpt-5.6", "openai/gpt-5.6"),
    ("azure/gpt-5.6", "gpt-5.6"),
    ("azure/team-a/gpt-5.6", "azure/team-b/gpt-5.6"),
    ("team-a/gpt-5.6", "gpt-5.6"),
    ("vertex_ai/gemini-3-pro", "gemini/gemini-3-pro"),
    ("openrouter/openai/gpt-5.6", "gpt-5.6"),
    ("us.anthropic.claude-opus-4-8", "claude-opus-4-8"),
    ("anthropic.claude-opus-4-8", "anthropic/claude-opus-4-8"),
    ("us.anthropic.claude-opus-4-8-v1:0", "eu.anthropic.claude-opus-4-8-v1:0"),
    ("ft:gpt-4o:acme::1", "gpt-4o"),
    ("ft:gpt-4o:acme::1", "ft:gpt-4o:acme::2"),
    ("gpt-5.6:free", "gpt-5.6"),
    ("team-a/in-house", "team-b/in-house"),
    ("gpt-5.6-2026-05-01", "gpt-5.6-2026-06-01"),
    ("", "gpt-5.6"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_names_of_one_model_on_one_route(one: str, other: str) -> None:
    assert same_model(one, other) and same_model(other, one)


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_another_route_or_account_is_another_model(one: str, other: str) -> None:
    assert not same_model(one, other) and not same_model(other, one)


ROUTES = {
    "openai-responses": ("azure/gpt-5.6", "openai/gpt-5.6", "gpt-5.6", "azure/team-a/gpt-5.6"),
    "anthropic": ("claude-opus-4-8", "us.anthropic.claude-opus-4-8", "team-a/claude-opus-4-8"),
    "gemini": ("vertex_ai/gemini-3-pro", "gemini/gemini-3-pro", "team-a/gemini-3-pro"),
}


def asked(wire: str, model: str, then: str, told: str | None) -> tuple[str, set[str]]:
    """What is sent to a second model after the answer of a first, and what was changed."""
    provider, items = PROVIDERS[wire], list[Item]([Message("user", "q")])
    sent = provider.render(items, model=model, tools=[{"name": "look_up"}])
    response = answer(wire, model.rpartition("/")[2], 1, 1, 7)
    items += provider.parse(response, sent=sent, model=told).items
    items += [ToolResult("k1_1_0", "look_up", "r"), Message("user", "go")]
    rendered = provider.render(items, model=then, tools=[{"name": "look_up"}])
    return json.dumps(rendered.payload), {note.change for note in rendered.downgrades}


@pytest.mark.parametrize(
    ("wire", "model", "then"), [(wire, a, b) for wire, names in ROUTES.items() for a in names for b in names]
)
def test_state_goes_back_by_the_way_it_came_and_by_no_other(wire: str, model: str, then: str) -> None:
    made = seal(wire, model.rpartition("/")[2], 0)
    for told in (None, model):
        sent, changes = asked(wire, model, then, told)
        assert (made in sent) == same_model(model, then)
        assert ("state_foreign" in changes) != same_model(model, then)
