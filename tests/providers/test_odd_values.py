"""Whatever stands in a history, an answer or an event: it is refused by an error of the library, or sent."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from quire.errors import Damaged, QuireError
from quire.items import Item, Message
from quire.providers import PROVIDERS
from tests.providers.odd_values import (
    ANSWERS,
    BESIDE,
    EVENTS,
    HISTORIES,
    REQUESTS,
    changed,
    deep,
    each_replaced,
)

pytestmark = pytest.mark.laws

MODELS = {
    "openai": "gpt-5.6",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-fable-5-1",
    "gemini": "gemini-3-pro",
}
WIRES = st.sampled_from(list(PROVIDERS))
SEEDS = st.integers(0, 2**32)
DEEP: Any = deep(3_000)
ANYWHERE: list[Any] = [[], ["text"], {}, 5, None, {"a": 1}, {5: "a"}, True]
MANY = settings(max_examples=max(500, 3 * settings().max_examples))


def read(reader: Callable[[], Any]) -> Any:
    """What is read, or nothing where it is refused."""
    try:
        return reader()
    except QuireError:
        return None


def streamed(wire: str, events: list[Any]) -> Any:
    """What is read of events, one after the other."""
    reader = PROVIDERS[wire].stream(model=MODELS[wire])
    for event in events:
        reader.feed(event)
    return reader.close()


def hold(items: list[Item]) -> None:
    """What was read can be sent on every wire."""
    for wire, provider in PROVIDERS.items():
        for model in (MODELS[wire], None):
            payload = provider.render(items, model=model).payload
            assert provider.check(payload, model) == []
            json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()


@MANY
@given(WIRES, SEEDS)
def test_a_history_is_read_or_refused(wire: str, seed: int) -> None:
    history = changed(HISTORIES[wire], seed)
    PROVIDERS[wire].check(history)
    items = read(lambda: PROVIDERS[wire].read_history(history, model=MODELS[wire]))
    if items:
        hold(items)


@MANY
@given(WIRES, SEEDS)
def test_an_answer_is_read_or_refused(wire: str, seed: int) -> None:
    provider, model = PROVIDERS[wire], MODELS[wire]
    sent = provider.render([Message("user", "q")], model=model)
    parsed = read(lambda: provider.parse(changed(ANSWERS[wire], seed), sent=sent, model=model))
    if parsed:
        hold([Message("user", "q"), *parsed.items, Message("user", "z")])


@MANY
@given(WIRES, SEEDS)
def test_a_stream_is_read_or_refused(wire: str, seed: int) -> None:
    parsed = read(lambda: streamed(wire, changed(EVENTS[wire], seed)))
    if parsed:
        hold([Message("user", "q"), *parsed.items, Message("user", "z")])


@pytest.mark.parametrize("odd", ANYWHERE, ids=repr)
@pytest.mark.parametrize("wire", PROVIDERS)
def test_one_odd_value_is_read_or_refused_wherever_it_stands(wire: str, odd: Any) -> None:
    everywhere(wire, odd)


@pytest.mark.parametrize("wire", PROVIDERS)
def test_what_nests_deeply_is_refused_wherever_it_stands(wire: str) -> None:
    everywhere(wire, DEEP)


def everywhere(wire: str, odd: Any) -> None:
    """Read and check all that there is with an odd value in one place after the other."""
    provider, model = PROVIDERS[wire], MODELS[wire]
    sent = provider.render([Message("user", "q")], model=model)
    for history in each_replaced(HISTORIES[wire], odd):
        provider.check(history)
        read(partial(provider.read_history, history, model=model))
    for request in each_replaced(REQUESTS[wire], odd):
        provider.check(request)
    for whole in (ANSWERS[wire], *BESIDE[wire]):
        for answer in each_replaced(whole, odd):
            read(partial(provider.parse, answer, sent=sent, model=model))
    for events in each_replaced(EVENTS[wire], odd):
        read(partial(streamed, wire, events))


@pytest.mark.parametrize("wire", PROVIDERS)
def test_what_was_not_changed_is_read(wire: str) -> None:
    hold(PROVIDERS[wire].read_history(HISTORIES[wire], model=MODELS[wire]))
    assert PROVIDERS[wire].check(REQUESTS[wire]) == []
    for whole in (ANSWERS[wire], *BESIDE[wire]):
        assert PROVIDERS[wire].parse(whole).items
    assert streamed(wire, EVENTS[wire]).items


NESTED = [
    (
        "anthropic",
        [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": DEEP}]}],
    ),
    ("anthropic", [{"role": "assistant", "content": [{"type": "new", "x": DEEP}]}]),
    ("anthropic", [{"role": "user", "content": [{"type": "new", "x": DEEP}]}]),
    ("gemini", [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": DEEP}}]}]),
    ("gemini", [{"role": "model", "parts": [{"new": DEEP}]}]),
    ("gemini", [{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": DEEP}}]}]),
    ("openai-responses", [{"type": "web_search_call", "id": "ws_1", "action": DEEP}]),
    ("openai", [{"role": "user", "content": [{"type": "new", "x": DEEP}]}]),
]


@pytest.mark.parametrize(("wire", "history"), NESTED)
def test_what_nests_too_deeply_is_refused(wire: str, history: Any) -> None:
    with pytest.raises(QuireError, match="nested deeper than 100 levels"):
        PROVIDERS[wire].read_history(history)


@pytest.mark.parametrize(
    "audio", [{5: "x"}, {"id": None, "more": {5: "x"}}, {"id": None, "more": [{5: "x"}]}]
)
def test_a_name_that_is_no_text_is_refused(audio: Any) -> None:
    message = {"role": "assistant", "content": "a", "audio": audio}
    with pytest.raises(Damaged, match="a name of a field is text, not int"):
        PROVIDERS["openai"].parse({"choices": [{"message": message, "finish_reason": "stop"}]})
