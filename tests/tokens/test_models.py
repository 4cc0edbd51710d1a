"""Names of models find their facts and their counter; usages add up and have a price."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidLimit, InvalidValue, WrongType
from quire.tokens import AS_OF, UNKNOWN, Prices, Usage, bare_name, cost, counter_for, facts_for, known_models

NAMES = [
    *((" GPT-4o ", "gpt-4o"), ("claude-opus-4.8", "claude-opus-4-8"), ("local", "local")),
    # a provider before a colon, and a tag after one
    *(("openai:gpt-5.6", "gpt-5.6"), ("gemini:gemini-2.5-pro", "gemini-2.5-pro"), ("gpt-oss:20b", "gpt-oss")),
    *(("my-gateway:o4-mini", "o4-mini"), ("gpt-4o:o1-preview-of-mine", "gpt-4o")),
    ("anthropic/claude-3.7-sonnet:thinking", "claude-3-7-sonnet"),
    # routers, and paths of clouds
    *(("openrouter/openai/gpt-4o", "gpt-4o"), ("azure/openai/GPT-4o", "gpt-4o")),
    ("projects/p/locations/us-central1/publishers/google/models/gemini-3-pro", "gemini-3-pro"),
    ("publishers/anthropic/models/claude-sonnet-4@20250514", "claude-sonnet-4@20250514"),
    # Bedrock, and others that join by dots
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5-20250929-v1"),
    ("bedrock/us-east-1.anthropic.claude-3-haiku", "claude-3-haiku"),
    ("arn:aws:bedrock:eu-west-1::foundation-model/anthropic.claude-3-haiku-v1:0", "claude-3-haiku-v1"),
    # fine-tuned ones
    ("ft:gpt-4o-mini-2024-07-18:o1-labs:o3:id", "gpt-4o-mini-2024-07-18"),
    ("openai/ft:gpt-4.1:org::id", "gpt-4.1"),
    # unknown ones stay as they are
    *((name, name) for name in ("falcon-180b", "someone/x.y:z", "openai")),
    ("meta.llama3-70b-v1:0", "llama3-70b-v1"),
]


def test_a_name_is_found_inside_what_surrounds_it() -> None:
    assert [bare_name(model) for model, _ in NAMES] == [name for _, name in NAMES]


@given(
    st.sampled_from(["", "openai:", "azure/openai/", "us.anthropic.", "models/", "a/b.c/", "gemini/"]),
    st.sampled_from([row.prefix for row in known_models()]),
    st.sampled_from(["", "-dated-2026-01-01", ":0", ":latest", "@1"]),
)
def test_facts_are_found_inside_what_surrounds_a_name(before: str, prefix: str, after: str) -> None:
    assert facts_for(f"{before}{prefix}{after}") is facts_for(prefix + after)


def test_a_name_without_a_row_has_no_facts() -> None:
    assert facts_for("falcon-180b") is UNKNOWN and not UNKNOWN.features and UNKNOWN.window is None


def test_a_new_claude_has_the_row_of_models_that_are_not_known_yet() -> None:
    for name in ("claude-opus-4-9", "claude-opus-5-6", "claude-mythos-5-2-20270101", "claude-sonnet-7"):
        assert "thinking_bound_to_prefix" in facts_for(name).features and facts_for(name).prices == Prices()
    assert facts_for("gemini-10-pro").prefix == "gemini"


def test_the_rows_of_the_table_are_sound() -> None:
    rows = known_models()
    assert len({row.prefix for row in rows}) == len(rows) > 250
    for row in rows:
        assert facts_for(row.prefix) is row
        assert counter_for(row.prefix).total(0) >= 0
        prices = [price for price in msgspec.structs.astuple(row.prices) if price is not None]
        assert all(0 < price < 1000 for price in prices)
        if row.prices.input and row.prices.output:
            assert row.prices.input < row.prices.output and (row.prices.cache_read or 0) < row.prices.input
        assert row.window is None or (row.output or 0) <= row.window <= 3_000_000
        assert not {"output_schema", "no_output_schema"} <= row.features
        assert (row.provider == "openai") == (row.vocabulary is not None)
    year, month = map(int, AS_OF.split("-"))
    assert year > 2025 and 1 <= month <= 12


# Usage and cost


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    read, written, fresh, reasoning, spoken = draw(st.tuples(*[st.integers(0, 10**9)] * 5))
    return Usage(read + written + fresh, reasoning + spoken, read, written, reasoning)


@given(usages(), usages())
def test_the_cost_of_a_sum_is_the_sum_of_the_costs(one: Usage, other: Usage) -> None:
    facts = facts_for("claude-sonnet-5")
    both = cost(facts, one), cost(facts, other)
    total = cost(facts, one + other)
    assert total is not None and both[0] is not None and both[1] is not None
    assert total == pytest.approx(both[0] + both[1])
    assert (one + other).fresh == one.fresh + other.fresh and one + Usage() == one


def test_each_sort_of_token_has_its_price_and_only_used_ones_need_it() -> None:
    facts = msgspec.structs.replace(facts_for("gpt-4o"), prices=Prices(1, 10, 0.1, 2))
    usage = Usage(input=3_000_000, output=1_000_000, cache_read=1_000_000, cache_write=1_000_000)
    assert cost(facts, usage) == pytest.approx(1 + 0.1 + 2 + 10)
    plain = msgspec.structs.replace(facts, prices=Prices(1, 10))
    assert (
        cost(plain, Usage(1_000_000)) == 1 and cost(plain, usage) is None and cost(UNKNOWN, Usage(1)) is None
    )
    assert Prices(1, 10).for_all_input() == Prices(1, 10, 1, 1)


USAGES: list[tuple[dict[str, Any], type[Exception]]] = [
    *(({"input": wrong}, WrongType) for wrong in (1.5, "1", None, True)),
    *(({"output": wrong}, InvalidLimit) for wrong in (-1, 2**60)),
    *(({"cache_read": 1}, InvalidValue), ({"input": 1, "cache_write": 2}, InvalidValue)),
    ({"reasoning": 1}, InvalidValue),
]


def test_a_usage_holds_counts_and_a_part_is_not_above_its_whole() -> None:
    for fields, error in USAGES:
        with pytest.raises(error, match="Usage"):
            Usage(**fields)
    usage = Usage(10, 5, 3, 2, 1)
    assert msgspec.json.decode(msgspec.json.encode(usage), type=Usage) == usage
