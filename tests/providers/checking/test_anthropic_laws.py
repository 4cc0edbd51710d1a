"""Whatever the check of Anthropic's wire is handed, it answers with faults of its table and does not fail."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.providers import RULES, Fault, check
from quire.providers.checking.reading import as_list
from tests.items.strategies import json_leaves, json_values
from tests.providers.checking.anthropic_bad import HAIKU, OPUS
from tests.providers.checking.anthropic_good import GOOD
from tests.providers.checking.test_anthropic_request import ACCEPTED

pytestmark = pytest.mark.laws

WORDS = [
    *(
        "role",
        "content",
        "type",
        "text",
        "id",
        "name",
        "input",
        "tool_use_id",
        "thinking",
        "signature",
        "source",
    ),
    *("messages", "system", "tools", "tool_choice", "cache_control", "ttl", "model", "data", "media_type"),
    *(
        "user",
        "assistant",
        "tool_use",
        "tool_result",
        "image",
        "document",
        "base64",
        "url",
        "ephemeral",
        "1h",
    ),
    *("server_tool_use", "web_search_tool_result", "redacted_thinking", "object", "input_schema", "custom"),
]
PAYLOADS = [payload for payload, _ in GOOD.values()] + list(ACCEPTED.values())
MODELS = st.sampled_from([None, HAIKU, OPUS, "", "claude-", "gpt-9"])


def worded(words: list[str]) -> st.SearchStrategy[Any]:
    """JSON made of the words that a wire has a meaning for."""
    leaves = st.sampled_from(words) | json_leaves()
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(words), inner, max_size=5)
        ),
        max_leaves=20,
    )


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container within a value, with every key or index of it."""
    items = as_list(value)
    keys: Sequence[Any] = list(value) if items is None else range(len(items))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def damaged(draw: Callable[[st.SearchStrategy[Any]], Any], payloads: list[Any], words: list[str]) -> Any:
    """A good payload in which something was replaced or taken out."""
    payload = deepcopy(draw(st.sampled_from(payloads)))
    for _ in range(draw(st.integers(1, 3))):
        spots = list(places(payload))
        if not spots:
            break
        number: int = draw(st.integers(0, len(spots) - 1))
        container, key = spots[number]
        if draw(st.booleans()):
            container[key] = draw(worded(words))
        else:
            del container[key]
    return payload


def sound(faults: list[Fault], rules: dict[str, str]) -> bool:
    """Whether every fault has a rule of the table and words."""
    return all(fault.rule in rules and fault.text for fault in faults)


@given(json_values(), MODELS)
def test_any_json_is_answered(value: Any, model: str | None) -> None:
    assert sound(check(value, model), RULES)
    assert sound(check([value], model), RULES)
    assert sound(check({"messages": value, "system": value, "tools": value}, model), RULES)


@given(worded(WORDS), MODELS)
def test_any_json_in_the_words_of_the_wire_is_answered(value: Any, model: str | None) -> None:
    assert sound(check(value, model), RULES)
    assert sound(check({"messages": value, "tools": value, "tool_choice": value}, model), RULES)
    assert sound(check([{"role": "assistant", "content": value}, {"role": "user", "content": value}]), RULES)


@given(st.data(), MODELS)
def test_damaged_payloads_are_answered(data: st.DataObject, model: str | None) -> None:
    assert sound(check(damaged(data.draw, PAYLOADS, WORDS), model), RULES)


@given(st.data())
def test_the_answer_is_the_same_each_time_and_leaves_the_payload_alone(data: st.DataObject) -> None:
    payload = damaged(data.draw, PAYLOADS, WORDS)
    before = deepcopy(payload)
    assert check(payload) == check(payload)
    assert repr(payload) == repr(before)
