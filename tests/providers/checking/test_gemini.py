"""Conversations that Gemini refuses, each with the rule and the place, and such as it takes."""

import pytest

from quire.providers import RULES, check
from tests.providers.checking.gemini_bad import ASK, BAD, NEWEST, OLD, Json, call, model, response, user
from tests.providers.checking.gemini_good import GOOD


@pytest.mark.parametrize("case", BAD)
def test_each_fault_is_named_at_its_place(case: str) -> None:
    payload, name, expected = BAD[case]
    assert [(fault.place, fault.rule) for fault in check(payload, name)] == expected


@pytest.mark.parametrize("case", GOOD)
def test_what_is_accepted_has_no_fault(case: str) -> None:
    payload, name = GOOD[case]
    assert check(payload, name) == []


def test_every_rule_is_shown_by_a_case() -> None:
    assert {rule for _, _, expected in BAD.values() for _, rule in expected} == set(RULES)


def test_the_model_is_read_from_the_payload() -> None:
    contents = [ASK, model("So")]
    assert [fault.rule for fault in check({"model": NEWEST, "contents": contents})] == ["ends_with_model"]
    assert check({"model": NEWEST, "contents": contents}, OLD) == []


def test_a_fault_does_not_quote_content() -> None:
    secret = "the password is swordfish"
    payload = [
        user(secret, ""),
        model(call("search", args=secret)),
        user(response("search", response=secret)),
    ]
    faults = check(payload)
    assert faults
    assert not any("swordfish" in str(fault) for fault in faults)


def test_one_fault_among_thousands_is_the_only_one() -> None:
    contents: list[Json] = []
    for _ in range(2000):
        contents += [ASK, model(call("search")), user(response("search")), model("So.")]
    contents.append(ASK)
    assert check(contents, NEWEST) == []
    del contents[4002]
    assert [(fault.place, fault.rule) for fault in check(contents, NEWEST)] == [
        ("contents[4001]", "unanswered_call")
    ]
