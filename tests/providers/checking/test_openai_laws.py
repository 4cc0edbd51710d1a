"""Laws of both checks of OpenAI: any JSON is read without an exception, in any order, and never quoted."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.providers import Fault
from quire.providers.checking import openai_chat, openai_responses
from quire.providers.checking.reading import as_list, as_object
from tests.items.strategies import json_values
from tests.providers.checking import openai_chat_cases, openai_responses_cases

Check = Callable[[Any], list[Fault]]
SECRET = "the user's own words"
WIRES: dict[str, tuple[Check, dict[str, str], list[Any]]] = {
    "chat": (openai_chat.check, openai_chat.RULES, list(openai_chat_cases.GOOD.values())),
    "responses": (openai_responses.check, openai_responses.RULES, list(openai_responses_cases.GOOD.values())),
}
CONTENT = ("text", "content", "arguments", "output", "input", "refusal")
KEYS = st.sampled_from(
    [
        *("role", "content", "tool_calls", "tool_call_id", "id", "type", "function", "name", "arguments"),
        *("call_id", "output", "summary", "image_url", "input_audio", "file", "tools", "tool_choice"),
        *("messages", "input", "refusal", "custom", "allowed_tools", "store", "prompt_cache_key", "model"),
    ]
)
WORDS = st.sampled_from(
    [
        *("user", "assistant", "tool", "function", "custom", "text", "image_url", "file", "input_text"),
        *("function_call", "function_call_output", "reasoning", "message", "item_reference", "a", "required"),
    ]
)
LIKELY = st.recursive(
    WORDS | st.none() | st.integers() | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)
VALUES = json_values() | LIKELY


def walked(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything within a value."""
    fields = as_object(value)
    for key, inner in enumerate(as_list(value) or ()) if fields is None else fields.items():
        yield (*path, key)
        yield from walked(inner, (*path, key))


def veiled(value: Any, key: str = "") -> Any:
    """A copy with words of the user for its texts."""
    fields, elements = as_object(value), as_list(value)
    if fields is not None:
        return {name: veiled(inner, name) for name, inner in fields.items()}
    if elements is not None:
        return [veiled(inner) for inner in elements]
    return SECRET if key in CONTENT and isinstance(value, str) else copy.deepcopy(value)


@st.composite
def mutated(draw: st.DrawFn, wire: str) -> Any:
    """A good payload with a few things in it replaced or taken out."""
    payload = veiled(draw(st.sampled_from(WIRES[wire][2])))
    for _ in range(draw(st.integers(1, 3))):
        paths = list(walked(payload))
        if not paths:
            break
        *before, last = draw(st.sampled_from(paths))
        holder = payload
        for step in before:
            holder = holder[step]
        if draw(st.booleans()):
            del holder[last]
        else:
            holder[last] = draw(VALUES)
    return payload


def assert_readable(faults: list[Fault], rules: dict[str, str]) -> None:
    for fault in faults:
        assert fault.rule in rules and fault.place and fault.text and str(fault)
        assert SECRET not in str(fault)


@pytest.mark.laws
@pytest.mark.parametrize("wire", WIRES)
@given(data=st.data())
def test_any_json_is_read_and_left_as_it_was(wire: str, data: st.DataObject) -> None:
    check, rules, _ = WIRES[wire]
    payload = data.draw(VALUES)
    before = copy.deepcopy(payload)
    assert_readable(check(payload), rules)
    assert payload == before


@pytest.mark.laws
@pytest.mark.parametrize("wire", WIRES)
@given(data=st.data())
def test_a_good_payload_with_anything_changed_is_read_and_never_quoted(
    wire: str, data: st.DataObject
) -> None:
    check, rules, _ = WIRES[wire]
    payload = data.draw(mutated(wire))
    faults = check(payload)
    assert_readable(faults, rules)
    assert faults == check(payload)
    assert len(faults) == len(set(faults))


@st.composite
def histories(draw: st.DrawFn, wire: str) -> list[Any]:
    """Turns of a user, of an assistant and of tools that were called together and answered in any order."""
    chat, responses = openai_chat_cases, openai_responses_cases
    history: list[Any] = []
    for turn in range(draw(st.integers(1, 5))):
        history.append({"role": draw(st.sampled_from(["user", "assistant", "developer"])), "content": "x"})
        names = [f"{turn}.{n}" for n in range(draw(st.integers(0, 3)))]
        answers = draw(st.permutations(names))
        if wire == "chat":
            history += [chat.calls(*names)] if names else []
            history += [chat.result(name) for name in answers]
        else:
            thinks = bool(names) and draw(st.booleans())
            history += [responses.thought(f"rs_{turn}")] if thinks else []
            history += [responses.call(name) for name in names] + [responses.output(name) for name in answers]
    return history


@pytest.mark.laws
@pytest.mark.parametrize("wire", WIRES)
@given(data=st.data())
def test_a_whole_history_has_no_fault_and_one_without_a_result_has_one(
    wire: str, data: st.DataObject
) -> None:
    check = WIRES[wire][0]
    history = data.draw(histories(wire))
    assert check(history) == []
    results = [index for index, part in enumerate(history) if "tool_call_id" in part or "output" in part]
    if results:
        lost = history.pop(data.draw(st.sampled_from(results)))
        fault, *others = check(history)
        assert fault.rule in ("unanswered_tool_call", "unanswered_call") and not others
        assert f"'{lost.get('tool_call_id', lost.get('call_id'))}'" in fault.text


def rounds(count: int) -> list[Any]:
    chat, responses = openai_chat_cases, openai_responses_cases
    return [
        [part for n in range(count) for part in (chat.USER, chat.calls(str(n)), chat.result(str(n)))],
        [
            part
            for n in range(count)
            for part in (responses.USER, responses.call(str(n)), responses.output(str(n)))
        ],
    ]


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_one_fault_in_the_middle_of_thousands_is_the_one_that_is_told(wire: str) -> None:
    messages = rounds(3000)[["chat", "responses"].index(wire)]
    check = WIRES[wire][0]
    assert check(messages) == []
    del messages[4501]
    assert [(fault.place.split(".")[0], fault.rule) for fault in check(messages)] in (
        [("messages[4501]", "orphan_tool_message")],
        [("input[4501]", "orphan_output")],
    )
