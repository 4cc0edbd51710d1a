"""Laws of every checker: any JSON is read without an exception, the same each time, and never quoted."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, cast

import pytest
from hypothesis import given, strategies as st

from quire.providers import HISTORY, RULES, check
from quire.testing.items import json_values
from tests.providers.check.corpus import ROWS

pytestmark = pytest.mark.laws

SECRET = "the user's own words"
QUOTED = ("text", "content", "arguments", "output", "thinking", "refusal")
"""Fields whose texts are content."""
MODELS = st.sampled_from(
    [
        *(None, "", "gpt-5.6", "gpt-4o", "mistral-large-latest", "deepseek-v4-pro", "groq/llama-3"),
        *("claude-", "claude-opus-4-8", "us.anthropic.claude-opus-4-7-v1:0"),
        *("gemini-3.8-flash", "gemini-3-pro-image"),
    ]
)
ACCEPTED = {
    wire: [case.payload for case in rows if not case.faults and not isinstance(case.payload, str)]
    for wire, rows in ROWS.items()
}


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container within a value, with every key of it."""
    if isinstance(value, dict | list):
        container = cast("Any", value)
        for key in list(container) if isinstance(value, dict) else range(len(container)):
            yield container, key
            yield from places(container[key])


WORDS = {
    wire: sorted({key for payload in payloads for _, key in places(payload) if isinstance(key, str)})
    for wire, payloads in ACCEPTED.items()
}


def worded(wire: str) -> st.SearchStrategy[Any]:
    """JSON in the words of a wire."""
    words = st.sampled_from(
        [*WORDS[wire], "user", "assistant", "model", "tool", "function", "object", "base64"]
    )
    leaves = words | st.none() | st.booleans() | st.integers()
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=5),
        max_leaves=16,
    )


@st.composite
def damaged(draw: st.DrawFn, wire: str) -> Any:
    """A valid payload with some values replaced or removed, or none at all."""
    if draw(st.booleans()):
        value, role = (
            draw(json_values() | worded(wire)),
            draw(st.sampled_from(["user", "assistant", "model"])),
        )
        settings = dict.fromkeys(("tools", "system", "config", "tool_choice", "thinking"), value)
        history = {"content": value, "parts": value, "role": role}
        return draw(st.sampled_from([[value], [history], {HISTORY[wire]: value, **settings}]))
    payload = deepcopy(draw(st.sampled_from(ACCEPTED[wire])))
    for container, key in list(places(payload)):
        if key in QUOTED and isinstance(container[key], str):
            container[key] = SECRET
    for _ in range(draw(st.integers(1, 3))):
        spots = list(places(payload))
        if not spots:
            break
        container, key = spots[draw(st.integers(0, len(spots) - 1))]
        if draw(st.booleans()):
            container[key] = draw(worded(wire))
        else:
            del container[key]
    return payload


@pytest.mark.parametrize("wire", RULES)
@given(data=st.data())
def test_damaged_payloads_are_read_the_same_each_time(wire: str, data: st.DataObject) -> None:
    payload, model = data.draw(damaged(wire)), data.draw(MODELS)
    before = deepcopy(payload)
    faults = check(payload, wire, model=model)
    for fault in faults:
        assert fault.rule in RULES[wire] and fault.place and fault.text
        assert SECRET not in str(fault)
    assert faults == check(payload, wire, model=model)
    assert len(faults) == len(set(faults))
    assert repr(payload) == repr(before)
