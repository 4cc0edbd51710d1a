"""Conversations that Anthropic refuses, each with the rule and the place, and such as it takes."""

import pytest

from quire.providers import RULES, Anthropic, check
from tests.providers.checking.anthropic_bad import (
    ASK,
    BAD,
    GO_ON,
    HAIKU,
    NEWEST,
    OPUS,
    Json,
    assistant,
    call,
    result,
    text,
    thinking,
    user,
)
from tests.providers.checking.anthropic_fields import FOREIGN, TAKEN_FIELDS
from tests.providers.checking.anthropic_good import GOOD
from tests.providers.checking.anthropic_pictures import PICTURES, TAKEN
from tests.providers.checking.anthropic_programs import PROGRAMS, WAITING
from tests.providers.checking.test_anthropic_request import REQUESTS

REFUSED = {**BAD, **PICTURES, **PROGRAMS, **FOREIGN}
ACCEPTED = {**GOOD, **TAKEN, **WAITING, **TAKEN_FIELDS}


@pytest.mark.parametrize("case", REFUSED)
def test_each_fault_is_named_at_its_place(case: str) -> None:
    payload, model, expected = REFUSED[case]
    assert [(fault.place, fault.rule) for fault in check(payload, model)] == expected


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_is_accepted_has_no_fault(case: str) -> None:
    payload, model = ACCEPTED[case]
    assert check(payload, model) == []


def test_every_rule_is_shown_by_a_case() -> None:
    shown = {rule for _, _, expected in REFUSED.values() for _, rule in expected}
    assert shown | {rule for _, expected in REQUESTS.values() for _, rule in expected} == set(RULES)


def test_the_model_is_read_from_the_payload() -> None:
    messages = [ASK, assistant("{")]
    refused = check({"model": NEWEST, "max_tokens": 5, "messages": messages})
    assert [fault.rule for fault in refused] == ["prefill"]
    assert check({"model": NEWEST, "max_tokens": 5, "messages": messages}, HAIKU) == []


def test_a_fault_does_not_quote_content() -> None:
    secret = "the password is swordfish"
    payload = [user(secret), assistant(text(secret + " "), call("a", input=secret)), user(secret, " ")]
    faults = check(payload)
    assert faults
    assert not any("swordfish" in str(fault) for fault in faults)


def test_one_fault_among_thousands_is_the_only_one() -> None:
    messages: list[Json] = []
    for number in range(2000):
        messages += [
            ASK,
            assistant(thinking(), call(f"c{number}")),
            user(result(f"c{number}")),
            assistant("So."),
        ]
    messages.append(GO_ON)
    assert check(messages, OPUS) == []
    del messages[4002]
    assert [(fault.place, fault.rule) for fault in check(messages, OPUS)] == [
        ("messages[4001].content[1]", "unanswered_call")
    ]


@pytest.mark.parametrize("case", [case for case in FOREIGN if isinstance(FOREIGN[case][0], list)])
def test_fields_that_are_not_the_apis_are_gone_once_a_history_is_written_anew(case: str) -> None:
    history, _, faults = FOREIGN[case]
    if all(rule == "unknown_field" for _, rule in faults):
        made = Anthropic().render(Anthropic().read_history(history, model=OPUS), model=OPUS)
        assert check(made.payload, OPUS) == []


def test_an_input_that_stands_in_pieces_alone_is_written_as_one() -> None:
    history = [ASK, assistant(call("a", input={}, partial_json='{"q":1}', index=0)), user(result("a"))]
    made = Anthropic().render(Anthropic().read_history(history, model=OPUS), model=OPUS)
    assert made.payload["messages"][1]["content"][0]["input"] == {"q": 1}
