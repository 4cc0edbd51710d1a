"""Chat Completions: histories that break in practice, each named by one rule, and histories that do not."""

from typing import Any

import pytest

from quire.providers import RULES, check
from tests.providers.checking.openai_chat_cases import ALL_BAD, GOOD, USER
from tests.providers.checking.openai_service_cases import (
    OF_SERVICES,
    SAID,
    TAKEN_BY_SERVICES,
    TOOL,
    to,
)

EVERY_BAD = {**ALL_BAD, **OF_SERVICES}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_history_has_no_fault(name: str) -> None:
    assert check(GOOD[name]) == []


@pytest.mark.parametrize("name", EVERY_BAD)
def test_a_bad_history_is_named_by_its_rules_and_places_and_by_no_other(name: str) -> None:
    payload, expected = EVERY_BAD[name]
    assert [(fault.place, fault.rule) for fault in check(payload)] == expected


@pytest.mark.parametrize("name", TAKEN_BY_SERVICES)
def test_what_a_service_takes_has_no_fault(name: str) -> None:
    assert check(TAKEN_BY_SERVICES[name]) == []


def test_every_rule_is_broken_by_some_history_and_told_in_a_sentence() -> None:
    broken = {rule for _, expected in EVERY_BAD.values() for _, rule in expected}
    assert broken == set(RULES)
    assert all(sentence.endswith(".") for sentence in RULES.values())


def test_only_the_models_that_refuse_a_role_are_held_to_it() -> None:
    instructed = [{"role": "system", "content": "x"}, USER]
    assert [fault.rule for fault in check(instructed, model="o1-preview-2024-09-12")] == ["role_for_model"]
    for model in (None, "o1", "o3-mini", "gpt-5.6"):
        assert check(instructed, model=model) == []


@pytest.mark.parametrize("model", [None, "gpt-5.6", "in-house", "ft:", " "])
@pytest.mark.parametrize("name", OF_SERVICES)
def test_who_is_not_known_to_refuse_it_is_not_held_to_it(name: str, model: str | None) -> None:
    messages = OF_SERVICES[name][0]["messages"]
    assert not [fault for fault in check(messages, model=model) if fault.rule.endswith("_for_model")]


@pytest.mark.parametrize("name", OF_SERVICES)
def test_a_model_that_is_named_beside_the_messages_is_held_to_the_same(name: str) -> None:
    payload, expected = OF_SERVICES[name]
    found = check(payload["messages"], model=payload["model"])
    assert [(fault.place, fault.rule) for fault in found] == [
        one for one in expected if "tools[0].t" not in one[0]
    ]


def test_with_tools_deepseek_wants_what_it_thought_beside_a_plain_answer() -> None:
    request = to("deepseek-v4-pro", USER, SAID, USER, tools=[TOOL])
    assert [(fault.place, fault.rule) for fault in check(request)] == [
        ("messages[1].reasoning_content", "thoughts_for_model")
    ]


@pytest.mark.parametrize("payload", [None, 7, "messages", True])
def test_what_is_no_request_is_a_fault_and_no_exception(payload: Any) -> None:
    assert [(fault.place, fault.rule) for fault in check(payload)] == [("payload", "shape")]


def test_faults_come_in_the_order_of_their_places() -> None:
    messages = [{**USER, "name": "a b"} for _ in range(11)]
    assert [fault.place for fault in check(messages)] == [f"messages[{index}].name" for index in range(11)]
