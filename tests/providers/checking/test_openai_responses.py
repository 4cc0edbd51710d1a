"""Responses: inputs that break in practice, each named by one rule, and inputs that do not."""

from typing import Any

import pytest

from quire.providers import RULES, check
from tests.providers.checking.openai_responses_cases import ALL_BAD, GOOD, call, output


@pytest.mark.parametrize("name", GOOD)
def test_a_good_input_has_no_fault(name: str) -> None:
    assert check(GOOD[name]) == []


@pytest.mark.parametrize("name", ALL_BAD)
def test_a_bad_input_is_named_by_its_rules_and_places_and_by_no_other(name: str) -> None:
    payload, expected = ALL_BAD[name]
    assert [(fault.place, fault.rule) for fault in check(payload)] == expected


def test_every_rule_is_broken_by_some_input_and_told_in_a_sentence() -> None:
    broken = {rule for _, expected in ALL_BAD.values() for _, rule in expected}
    assert broken == set(RULES)
    assert all(sentence.rstrip('"').endswith(".") for sentence in RULES.values())


@pytest.mark.parametrize("payload", [None, 7, "hello", True])
def test_what_is_no_request_is_a_fault_and_no_exception(payload: Any) -> None:
    assert [(fault.place, fault.rule) for fault in check(payload)] == [("payload", "shape")]


def test_a_request_that_goes_on_still_answers_its_own_calls() -> None:
    payload = {"input": [call("a"), output("b"), output("b")], "previous_response_id": "resp_1"}
    places = [(fault.place, fault.rule) for fault in check(payload)]
    assert places == [("input[0].call_id", "unanswered_call"), ("input[2].call_id", "duplicate_output")]
