"""Names of models as clouds, routers and frameworks write them, and the name that tables know them by."""

import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidValue
from quire.tokens import FAMILIES, MODELS, UNKNOWN, Family, bare_name, counter_for, facts_for, family_of

NAMES = [
    # as they are
    ("gpt-5.6", "gpt-5.6"),
    ("o3", "o3"),
    ("gemini-2.5-pro", "gemini-2.5-pro"),
    ("claude-opus-4.8", "claude-opus-4-8"),
    ("claude-sonnet-4@20250514", "claude-sonnet-4@20250514"),
    (" GPT-4o ", "gpt-4o"),
    # a provider before a colon
    ("openai:gpt-5.6", "gpt-5.6"),
    ("google_genai:gemini-2.5-pro", "gemini-2.5-pro"),
    ("gemini:gemini-2.5-pro", "gemini-2.5-pro"),
    ("claude:claude-3-opus", "claude-3-opus"),
    ("bedrock:us.anthropic.claude-3-haiku-v1:0", "claude-3-haiku-v1"),
    ("gemini: gemini-2.5-pro", "gemini-2.5-pro"),
    ("my-gateway:o4-mini", "o4-mini"),
    # what comes after a colon is a tag
    ("gpt-oss:20b", "gpt-oss"),
    ("anthropic/claude-3.7-sonnet:thinking", "claude-3-7-sonnet"),
    ("gpt-4o:o1-preview-of-mine", "gpt-4o"),
    # routers, and paths of clouds
    ("openrouter/openai/gpt-4o", "gpt-4o"),
    ("openrouter:openai/gpt-4o", "gpt-4o"),
    ("azure/openai/GPT-4o", "gpt-4o"),
    ("gemini/gemini-2.5-pro", "gemini-2.5-pro"),
    ("models/gemini-2.5-pro", "gemini-2.5-pro"),
    ("publishers/google/models/gemini-2.5-flash", "gemini-2.5-flash"),
    ("projects/p/locations/us-central1/publishers/google/models/gemini-3-pro", "gemini-3-pro"),
    ("publishers/anthropic/models/claude-sonnet-4@20250514", "claude-sonnet-4@20250514"),
    ("openai/deployments/gpt-4o/chat", "gpt-4o"),
    # Bedrock, and others that join by dots
    ("anthropic.claude-3-haiku", "claude-3-haiku"),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5-20250929-v1"),
    ("us-gov.anthropic.claude-3-haiku-20240307-v1:0", "claude-3-haiku-20240307-v1"),
    ("global.anthropic.claude-opus-4-8", "claude-opus-4-8"),
    ("bedrock/converse/apac.anthropic.claude-3-haiku", "claude-3-haiku"),
    ("bedrock/us-east-1.anthropic.claude-3-haiku", "claude-3-haiku"),
    ("arn:aws:bedrock:eu-west-1::foundation-model/anthropic.claude-3-haiku-v1:0", "claude-3-haiku-v1"),
    ("openai.gpt-oss-120b-1:0", "gpt-oss-120b-1"),
    ("azure.gpt-4o", "gpt-4o"),
    # fine-tuned ones
    ("ft:gpt-4o-mini:org::id", "gpt-4o-mini"),
    ("ft:gpt-4o-mini-2024-07-18:o1-labs:o3:id", "gpt-4o-mini-2024-07-18"),
    ("ft:gpt-4o:a/o1-b::id", "gpt-4o"),
    ("openai:ft:gpt-4.1:org::id", "gpt-4.1"),
    ("openai/ft:gpt-4.1:org::id", "gpt-4.1"),
    # not known, and left as they are
    ("mistral/x.o3", "mistral/x.o3"),
    ("x.o3", "x.o3"),
    ("my.claude-like", "my.claude-like"),
    ("mistral.o1-large", "mistral.o1-large"),
    ("llama-3.o3", "llama-3.o3"),
    ("openai.x.o3", "openai.x.o3"),
    ("meta.llama3-70b-instruct-v1:0", "meta.llama3-70b-instruct-v1:0"),
    ("us.amazon.nova-pro-v1:0", "us.amazon.nova-pro-v1:0"),
    ("ft:babbage-002:org::id", "babbage-002"),
    ("local", "local"),
]


@pytest.mark.parametrize(("model", "name"), NAMES, ids=[model.strip() for model, _ in NAMES])
def test_the_name_without_what_comes_before_it(model: str, name: str) -> None:
    assert bare_name(model) == name


@pytest.mark.parametrize("model", ["mistral/x.o3", "x.gpt-4o", "my.claude-like", "llama-3.o3"])
def test_a_dot_in_a_name_does_not_make_it_somebody_elses(model: str) -> None:
    assert family_of(model) == UNKNOWN
    assert facts_for(model).provider is None
    assert counter_for(model).key == "estimate-3x1/plain/claude"


@pytest.mark.parametrize(
    "model", ["gpt-realtime", "codex-mini-latest", "computer-use-preview", "chatgpt-5-latest"]
)
def test_models_of_openai_by_other_names_are_counted_exactly(model: str) -> None:
    assert counter_for(model).key.startswith("o200k_base/openai/")


@pytest.mark.parametrize("model", ["gpt-audio", "gpt-audio-mini", "openai/gpt-audio-2025-08-28"])
def test_models_that_hear_count_as_the_line_they_continue(model: str) -> None:
    assert counter_for(model) is counter_for("gpt-4o-audio-preview")


BEFORE = st.sampled_from(
    ["", "openai:", "azure/openai/", "us.anthropic.", "models/", "a/b.c/", "gemini/", "claude/"]
)
AFTER = st.sampled_from(["", "-dated-2026-01-01", ":0", ":o1", ":latest", "@1"])


@pytest.mark.laws
@given(BEFORE, st.sampled_from(FAMILIES), AFTER)
def test_a_family_is_found_whatever_is_around_its_name(before: str, family: Family, after: str) -> None:
    assert family_of(f"{before}{family.prefix}{after}") == family_of(family.prefix + after) == family


@pytest.mark.laws
@given(BEFORE, st.sampled_from([row.prefix for row in MODELS]), AFTER)
def test_facts_are_found_whatever_is_around_a_name(before: str, prefix: str, after: str) -> None:
    assert facts_for(f"{before}{prefix}{after}") is facts_for(prefix + after)


@pytest.mark.laws
@given(st.lists(st.sampled_from(["gpt-4", "o1", "claude", "x", "us", "openai", "ft", *".:/- "]), max_size=9))
def test_a_bare_name_is_its_own_bare_name(pieces: list[str]) -> None:
    try:
        name = bare_name("".join(pieces))
    except InvalidValue:  # nothing was left of it
        return
    assert bare_name(name) == name
