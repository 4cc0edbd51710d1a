"""The table of models holds together, names find their rows, and a usage has its price."""

import re
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidLimit, InvalidValue, WrongType
from quire.tokens import (
    AS_OF,
    FAMILIES,
    MODELS,
    UNKNOWN,
    ImageLimits,
    ModelFacts,
    Prices,
    Usage,
    cost,
    facts_for,
    family_of,
)
from quire.tokens.facts import Feature

PROVIDER_OF_FRAMING = {
    **{"openai": "openai", "openai-gpt-4": "openai", "anthropic": "anthropic"},
    **{"google": "gemini", "plain": None},
}
ONLY_AT: dict[Feature, str] = {
    **{"developer_role": "openai", "no_instructions": "openai", "cache_breakpoints": "openai"},
    **{"mid_instructions": "anthropic", "no_prefill": "anthropic", "bound_thinking": "anthropic"},
    **{"thought_signatures": "gemini"},
}

each_row = pytest.mark.parametrize("row", MODELS, ids=lambda row: row.prefix)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    read, written, fresh, reasoning, said = draw(st.tuples(*[st.integers(0, 10**9)] * 5))
    return Usage(read + written + fresh, reasoning + said, read, written, reasoning)


@pytest.mark.parametrize(
    ("model", "window", "output", "prices"),
    [
        ("gpt-4o", 128_000, 16_384, Prices(2.5, 10, 1.25)),
        ("gpt-4o-2024-08-06", 128_000, 16_384, Prices(2.5, 10, 1.25)),
        ("openai:gpt-5.6-sol", 1_050_000, 128_000, Prices(4, 20, 0.4, 5)),
        ("azure/openai/GPT-5", 400_000, 128_000, Prices(1.25, 10, 0.125)),
        ("claude-sonnet-4-5-20250929", 200_000, 64_000, Prices(3, 15, 0.3, 3.75, 6)),
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", 200_000, 32_000, Prices(15, 75, 1.5, 18.75, 30)),
        ("anthropic/claude-opus-4.8", 1_000_000, 128_000, Prices(5, 25, 0.5, 6.25, 10)),
        ("claude-fable-5-1", 1_000_000, 128_000, Prices(10, 50, 0.25, 12.5, 20)),
        ("google/gemini-2.5-pro", 1_048_576, 65_536, Prices(1.25, 10, 0.125)),
        ("gemini-3.8-flash", 1_048_576, 65_536, Prices(0.75, 3.75, 0.075)),
    ],
)
def test_well_known_models(model: str, window: int, output: int, prices: Prices) -> None:
    facts = facts_for(model)
    assert (facts.window, facts.output, facts.prices) == (window, output, prices)


@pytest.mark.parametrize(
    ("model", "prefix"),
    [
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5-codex", "gpt-5"),
        ("gpt-6-nova", "gpt-6"),
        ("o1-2024-12-17", "o1"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("claude-opus-5-5", "claude-opus-5-5"),
        ("claude-3.5-sonnet", "claude-3-5-sonnet"),
        ("claude-someday", "claude"),
        ("gemini-3.1-flash-lite-preview", "gemini-3.1-flash-lite"),
        ("gemini-5", "gemini"),
        ("mistral-large", "mistral"),
        ("llama-3.3-70b", "llama-3"),
        ("falcon-180b", ""),
    ],
)
def test_the_longest_prefix_wins(model: str, prefix: str) -> None:
    assert facts_for(model).prefix == prefix


@pytest.mark.parametrize(
    ("model", "has", "has_not"),
    [
        ("o3", {"developer_role", "image_input"}, {"no_instructions", "cache_breakpoints"}),
        ("o1-mini", {"no_instructions"}, {"developer_role"}),
        ("gpt-4o", {"image_input", "pdf_input"}, {"developer_role", "audio_input"}),
        ("gpt-4o-audio-preview", {"audio_input"}, {"image_input"}),
        ("gpt-5.5", {"developer_role"}, {"cache_breakpoints"}),
        ("gpt-5.6", {"developer_role", "cache_breakpoints"}, {"audio_input"}),
        ("claude-sonnet-4-5", {"pdf_input"}, {"no_prefill", "mid_instructions"}),
        ("claude-opus-4-7", {"no_prefill"}, {"mid_instructions", "bound_thinking"}),
        ("claude-opus-4-8", {"no_prefill", "mid_instructions"}, {"bound_thinking"}),
        ("claude-fable-5", {"mid_instructions"}, {"bound_thinking"}),
        ("claude-fable-5-1", {"mid_instructions", "bound_thinking"}, {"audio_input"}),
        ("gemini-2.5-flash", {"audio_input", "pdf_input"}, {"thought_signatures"}),
        ("gemini-3-pro-preview", {"audio_input", "thought_signatures"}, set[str]()),
    ],
)
def test_what_models_take(model: str, has: set[str], has_not: set[str]) -> None:
    features = facts_for(model).features
    assert has <= features
    assert not has_not & features


@pytest.mark.parametrize(
    ("model", "prefix"),
    [
        ("mistralai/mistral-small-4-119b-2603", "mistral-small-4"),
        ("openrouter/mistralai/Devstral-Small:free", "devstral"),
        ("publishers/mistralai/models/codestral-2501", "codestral"),
        ("us.mistral.pixtral-large-2502-v1:0", "pixtral"),
        ("us.mistral.mistral-7b-instruct-v0:2", "mistral"),
        ("labs-devstral-small-2512", "devstral-small-2512"),
        ("labs-mistral-small-creative", "mistral"),
        ("us.meta.llama3-1-70b-instruct-v1:0", "llama3"),
        ("qwen.qwen3-32b-v1:0", "qwen"),
        ("moonshotai/kimi-k2.5", "kimi-k2.5"),
        ("moonshot.kimi-k2-thinking", "kimi-k2-thinking"),
        ("xiaomi-mimo-v2.5-pro", "mimo-v2.5-pro"),
        ("XiaomiMiMo/MiMo-V2-Flash", "mimo-v2"),
        ("accounts/fireworks/models/minimax-m2p5", "minimax-m2"),
        ("zai-org/GLM-4.7", "glm"),
        ("oci/xai.grok-4", "grok"),
        ("deepseek-ai/DeepSeek-V3", "deepseek"),
        ("anthropic/deepseek-like", "deepseek"),
        ("ollama/gpt-oss:20b", "gpt-oss"),
        ("someone/kimi-k2:gpt-4o", "kimi"),
        ("gpt-4o:kimi", "gpt-4o"),
    ],
)
def test_models_of_others_are_found_whatever_is_around_their_names(model: str, prefix: str) -> None:
    assert facts_for(model).prefix == prefix


@pytest.mark.parametrize(
    "model",
    [
        *(
            "qwen-vl-max",
            "qwen-omni-turbo",
            "qwen2.5-vl-72b-instruct",
            "qwen2-5-vl-7b-instruct",
            "qwen3-vl:8b",
        ),
        *("qwen2.5vl:7b", "qwen3-omni-flash", "qvq-max", "Qwen/Qwen3.5-397B-A17B", "qwen3.5-plus-02-15"),
        *(
            "qwen3.5-flash",
            "qwen3.6-plus",
            "qwen3.6:27b",
            "qwen3p6-plus",
            "qwen3.7-flash",
            "qwen/qwen3.7-plus",
        ),
        *(
            "qwen3.8-max",
            "qwen3.8-max-preview",
            "mimo-v2.5",
            "xiaomi/mimo-v2-omni",
            "mimo-v2.6-pro",
            "mimo-v3",
        ),
        *("kimi-k2.5", "moonshot-v1-8k-vision-preview", "accounts/fireworks/models/glm-4p6v"),
        *("accounts/fireworks/models/kimi-k2p5", "accounts/fireworks/models/llama-v3p2-11b-vision-instruct"),
        *("databricks-claude-sonnet-4-5", "databricks-llama-4-maverick"),
    ],
)
def test_lines_that_are_known_to_see(model: str) -> None:
    assert "image_input" in facts_for(model).features


@pytest.mark.parametrize(
    "model",
    [
        *("qwen3.7-max", "qwen/qwen3.7-max", "qwen3p7-max", "qwen3.6-max-preview", "qwen3.5-max-preview"),
        *(
            "qwen-plus",
            "qwen-plus-latest",
            "qwen-plus-2025-12-01",
            "qwen-flash",
            "qwen-coder-plus",
            "qwen-long",
        ),
        *("qwen-max", "qwen-turbo", "qwen-mt-plus", "qwen3-max", "qwen3-coder-plus", "qwen3-8b", "qwq-32b"),
        *("MiniMax-M2", "minimax/minimax-m2.5", "MiniMax-M2.7-highspeed", "minimax-m2.1:cloud", "MiniMax-M1"),
        *(
            "minimax.minimax-m2",
            "accounts/fireworks/models/glm-4p6",
            "databricks-meta-llama-3-3-70b-instruct",
        ),
        *(
            "mimo-v2-flash",
            "xiaomi/mimo-v2-pro",
            "mimo-v2.5-pro",
            "mimo-v2.5-pro-ultraspeed",
            "moonshot-v1-8k",
        ),
    ],
)
def test_lines_of_words_alone(model: str) -> None:
    assert facts_for(model) is not UNKNOWN
    assert "image_input" not in facts_for(model).features


@pytest.mark.parametrize(
    ("model", "keeps"),
    [
        *(
            (name, True)
            for name in ("kimi-k2.5", "kimi-k2p6", "moonshot.kimi-k2-thinking", "kimi-k3", "kimi-k4")
        ),
        *((name, True) for name in ("deepseek-reasoner", "deepseek-v4-pro", "deepseek-ai/DeepSeek-V4-Flash")),
        *(
            (name, True)
            for name in ("mimo-v2-flash", "mimo-v2.5", "xiaomi/mimo-v2.5-pro", "ollama:kimi-k2.5")
        ),
        *(
            (name, False)
            for name in ("kimi-k2", "kimi-k2-0905-preview", "deepseek-chat", "deepseek-v3.2", "glm-5")
        ),
    ],
)
def test_who_wants_thoughts_with_calls(model: str, keeps: bool) -> None:
    assert ("thoughts_with_calls" in facts_for(model).features) is keeps


@pytest.mark.parametrize(
    ("model", "keeps"),
    [
        *((name, True) for name in ("deepseek-v4-pro", "deepseek-flash", "deepseek-ai/DeepSeek-V4-Flash")),
        *((name, False) for name in ("deepseek-reasoner", "deepseek-v3.2", "kimi-k2.6", "mimo-v2.5")),
    ],
)
def test_who_wants_thoughts_with_plain_answers(model: str, keeps: bool) -> None:
    assert ("thoughts_with_answers" in facts_for(model).features) is keeps


def test_databricks_is_not_sent_what_openai_and_google_take() -> None:
    assert facts_for("databricks-claude-sonnet-4-5") is facts_for("claude-sonnet-4-5")
    for model in ("databricks-gpt-5", "databricks-gemini-3-pro", "databricks-gpt-oss-120b"):
        assert facts_for(model) is UNKNOWN


@each_row
def test_every_row_is_found_by_its_own_prefix(row: ModelFacts) -> None:
    assert facts_for(row.prefix) is row


def test_no_prefix_stands_twice() -> None:
    assert len({row.prefix for row in MODELS}) == len(MODELS)


@each_row
def test_figures_are_possible(row: ModelFacts) -> None:
    figures = [row.window, row.output, row.cache_minimum, row.flat_until]
    figures += [getattr(row.images, name) for name in ImageLimits.__struct_fields__]
    assert all(figure > 0 for figure in figures if figure is not None)
    if row.window is not None:
        assert row.window >= (row.output or 0)
        assert row.window > (row.cache_minimum or 0)
        assert row.window > (row.flat_until or 0)


@each_row
def test_prices_stand_in_their_usual_order(row: ModelFacts) -> None:
    prices = msgspec.structs.asdict(row.prices)
    assert (prices["input"] is None) == (prices["output"] is None)
    order = ("cache_read", "input", "cache_write", "cache_write_long")
    known = [prices[name] for name in order if prices[name] is not None]
    assert known == sorted(known)
    assert all(price > 0 for price in known)


@each_row
def test_features_belong_to_the_provider(row: ModelFacts) -> None:
    assert row.features <= set(get_args(Feature))
    assert all(ONLY_AT.get(feature, row.provider) == row.provider for feature in row.features)
    assert "audio_input" not in row.features or row.provider != "anthropic"
    assert "image_input" in row.features or row.images == ImageLimits()
    assert not {"developer_role", "no_instructions"} <= row.features


@each_row
def test_rows_and_families_name_the_same_provider(row: ModelFacts) -> None:
    assert PROVIDER_OF_FRAMING[family_of(row.prefix).framing] == row.provider


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.prefix)
def test_families_and_rows_name_the_same_provider(family: Any) -> None:
    assert facts_for(family.prefix).provider == PROVIDER_OF_FRAMING[family.framing]


def test_an_unknown_model_has_facts_that_say_nothing() -> None:
    assert facts_for("local-model") is UNKNOWN
    assert ModelFacts(prefix="") == UNKNOWN
    assert UNKNOWN.provider is None
    assert UNKNOWN.window is None
    assert not UNKNOWN.features
    assert cost(UNKNOWN, Usage()) == 0
    assert cost(UNKNOWN, Usage(input=1)) is None


def test_the_month_is_a_month() -> None:
    assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", AS_OF)


def test_each_sort_of_token_has_its_price() -> None:
    facts = ModelFacts(prefix="mine", prices=Prices(2, 10, 0.2, 2.5, 4))
    million = 1_000_000
    usage = Usage(3 * million, million, cache_read=million, cache_write=million, reasoning=million)
    assert cost(facts, usage) == pytest.approx(2 + 0.2 + 2.5 + 10)
    assert cost(facts, usage, long_cache=True) == pytest.approx(2 + 0.2 + 4 + 10)
    assert usage.fresh == million


def test_a_price_is_needed_only_for_what_was_used() -> None:
    facts = facts_for("gpt-4o")
    assert facts.prices.cache_write is None
    assert cost(facts, Usage(1000, 100, cache_read=500)) == pytest.approx(0.002875)
    assert cost(facts, Usage(1000, 100, cache_write=500)) is None


def test_cached_input_can_be_priced_as_all_input() -> None:
    assert Prices(3, 15).for_all_input() == Prices(3, 15, 3, 3)
    assert Prices(3, 15, 0.3, 4, 6).for_all_input() == Prices(3, 15, 0.3, 4, 6)
    assert Prices(output=15).for_all_input() == Prices(output=15)


@given(usages(), usages(), st.sampled_from([*MODELS, UNKNOWN]), st.booleans())
def test_the_cost_of_a_sum_is_the_sum_of_the_costs(
    one: Usage, two: Usage, row: ModelFacts, long: bool
) -> None:
    both = cost(row, one + two, long_cache=long)
    first, second = cost(row, one, long_cache=long), cost(row, two, long_cache=long)
    if first is None or second is None:
        assert both is None
    else:
        assert both is not None
        assert both == pytest.approx(first + second)


@given(usages(), usages(), usages())
def test_usages_add_up(one: Usage, two: Usage, three: Usage) -> None:
    assert one + Usage() == one
    assert one + two == two + one
    assert (one + two) + three == one + (two + three) == sum([one, two, three], Usage())
    assert (one + two).fresh == one.fresh + two.fresh


@pytest.mark.parametrize("wrong", [1.5, "7", None, True])
@pytest.mark.parametrize("field", Usage.__struct_fields__)
def test_tokens_are_whole_numbers(field: str, wrong: Any) -> None:
    with pytest.raises(WrongType, match=field):
        Usage(**{field: wrong})


@pytest.mark.parametrize("field", Usage.__struct_fields__)
def test_tokens_are_not_negative(field: str) -> None:
    with pytest.raises(InvalidLimit, match=field):
        Usage(**{field: -1})


@pytest.mark.parametrize(
    "parts", [{"cache_read": 11}, {"cache_read": 6, "cache_write": 5}, {"reasoning": 11}]
)
def test_a_part_is_not_above_its_whole(parts: dict[str, int]) -> None:
    with pytest.raises(InvalidValue, match="part"):
        Usage(input=10, output=10, **parts)


def test_usages_are_values_and_survive_json() -> None:
    usage = Usage(10, 5, cache_read=3)
    assert msgspec.json.decode(msgspec.json.encode(usage), type=Usage) == usage
    assert hash(usage) == hash(Usage(10, 5, cache_read=3))
    with pytest.raises(AttributeError):
        usage.input = 1  # type: ignore[misc]


@pytest.mark.parametrize("wrong", [3, None, "usage", (1, 2)])
def test_wrong_types_are_refused(wrong: Any) -> None:
    with pytest.raises(WrongType):
        _ = Usage() + wrong
    with pytest.raises(WrongType):
        cost(UNKNOWN, wrong)
    with pytest.raises(WrongType):
        cost(wrong, Usage())


@pytest.mark.parametrize("wrong", [None, 4, b"gpt-4", ["gpt-4"]])
def test_a_name_that_is_no_text_is_refused(wrong: Any) -> None:
    with pytest.raises(WrongType, match="text"):
        facts_for(wrong)


@pytest.mark.parametrize("model", ["", "   ", "ft:"])
def test_an_empty_name_is_refused(model: str) -> None:
    with pytest.raises(InvalidValue, match="empty"):
        facts_for(model)


@pytest.mark.parametrize("price", [-1, float("nan"), float("inf"), 10**400])
def test_a_price_that_cannot_be_is_refused(price: Any) -> None:
    with pytest.raises(InvalidLimit, match=r"Prices\.output"):
        Prices(output=price)


@pytest.mark.parametrize("price", ["1", True, [1]])
def test_a_price_is_a_number(price: Any) -> None:
    with pytest.raises(WrongType, match=r"Prices\.input"):
        Prices(price)


@pytest.mark.parametrize(
    ("field", "wrong", "error"),
    [
        ("prefix", 3, WrongType),
        ("window", "8k", WrongType),
        ("output", -1, InvalidLimit),
        ("prices", (1, 2), WrongType),
        ("features", {"image_input"}, WrongType),
        ("features", frozenset({"smell"}), InvalidValue),
        ("provider", "nobody", InvalidValue),
        ("images", 5, WrongType),
    ],
)
def test_facts_of_your_own_are_checked(field: str, wrong: Any, error: type[Exception]) -> None:
    given_facts: dict[str, Any] = {"prefix": "mine", field: wrong}
    with pytest.raises(error):
        ModelFacts(**given_facts)
    with pytest.raises(WrongType):
        ImageLimits(count="many")  # type: ignore[arg-type]
