"""Requests that are changed: only where they must be, as little as may be, and on the record."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.providers import check
from quire.proxy import AllowedChanges
from quire.proxy.exchange import Answer, Exchange
from tests.proxy.programs import Json, Watched, calls, result, said, system, user

FIT = AllowedChanges(tokens=2_000)
WORDS = "The third shipment of the order was moved to the warehouse at the harbour, and waits there. "


def changed(watched: Watched, messages: list[Json], answer: Json | None = None, **fields: Any) -> Any:
    """The payload that is sent in place of a request; None if it is sent as it is. It is answered."""
    number = watched.begin(messages, **fields)
    choice = {"index": 0, "finish_reason": "stop", "message": answer or said("Fine.")}
    data = json.dumps({"model": "gpt-5.6", "choices": [choice]}).encode()
    watched.observer.end(Answer(number, 200, data, is_changed=watched.sent is not None))
    return None if watched.sent is None else json.loads(watched.sent)


def grown(turns: int) -> list[Json]:
    """A history with calls; its last message waits for an answer."""
    messages = [system("Be brief."), user("Never use the word red in a report.")]
    for turn in range(turns):
        messages += [calls(f"call_{turn:06}"), result(f"call_{turn:06}", f"{turn}: {WORDS * 3}")]
        messages += [said(f"Done with {turn}."), user(f"{turn}: {WORDS}")]
    return messages


def requests_of(history: list[Json]) -> list[tuple[list[Json], Json]]:
    """The requests by which a history came about, with their answers."""
    places = [n for n, one in enumerate(history) if one["role"] == "assistant"]
    return [(history[:place], history[place]) for place in places]


def test_below_the_budget_nothing_is_touched() -> None:
    watched = Watched(allowed=AllowedChanges(repairs=True, tokens=100_000, recalls=True))
    asked = requests_of(grown(4))
    assert all(changed(watched, messages, answer) is None for messages, answer in asked)
    ((_, session),) = watched.sessions().items()
    assert len(session.receipts) == len(asked)


@pytest.mark.parametrize("recalls", [False, True])
def test_above_it_the_beginning_stays_and_calls_keep_their_results(recalls: bool) -> None:
    watched, before = Watched(allowed=FIT._replace(recalls=recalls)), list[Json]()
    asked, cuts, sent = requests_of(grown(24)), 0, list[Json]()
    for messages, answer in asked:
        payload = changed(watched, messages, answer)
        sent = messages if payload is None else payload["messages"]
        assert check({"model": "gpt-5.6", "messages": sent}, "openai") == []
        assert sent[0] == messages[0] and messages[-1] in sent[-2:]
        own = [one for one in sent if one in messages]
        assert len(own) >= len(sent) - 12, "what is shown whole is sent as the program wrote it"
        same = next((n for n, (a, b) in enumerate(zip(before, sent, strict=False)) if a != b), len(before))
        cuts += same < len(before) - 3
        before = sent
    assert 0 < cuts < len(asked) / 8, "the window is cut seldom"
    assert len(sent) < len(asked[-1][0]) and any("Never use the word red" in str(one) for one in sent)
    ((_, session),) = watched.sessions().items()
    last = session.receipts[-1]
    assert last.tokens <= 2_000 and len(session.view()) == len(asked[-1][0])
    assert any("items left out" in one for one in last.advice)
    assert "left out" in {entry.fate for entry in last.entries}


def test_a_message_that_is_larger_than_the_budget_goes_through() -> None:
    watched = Watched(allowed=FIT)
    assert changed(watched, [user(WORDS * 400)]) is None
    assert any("not cut" in one for one in watched.warnings)


def test_a_large_result_that_was_just_returned_is_shortened() -> None:
    watched = Watched(allowed=FIT)
    messages = [system("Be brief."), user("look"), calls("call_000001"), result("call_000001", WORDS * 400)]
    payload = changed(watched, messages)
    assert payload["messages"][:3] == messages[:3]
    assert payload["messages"][3]["tool_call_id"] == "call_000001"
    assert len(payload["messages"][3]["content"]) < len(WORDS * 200)


BROKEN: dict[str, list[Json]] = {
    "an orphan": [user("hi"), result("gone", "late"), user("go on")],
    "no result": [user("look"), calls("call_000001"), user("never mind")],
    "a wrong order": [user("look"), calls("c1"), user("wait"), result("c1", "7"), user("so?")],
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_history_that_would_be_refused_is_repaired(name: str) -> None:
    watched, messages = Watched(allowed=AllowedChanges(repairs=True)), BROKEN[name]
    assert check({"messages": messages}, "openai")
    payload = changed(watched, messages, temperature=0.5)
    assert payload["temperature"] == 0.5 and check(payload, "openai") == []
    ((_, session),) = watched.sessions().items()
    assert any("will refuse" in one for one in session.receipts[-1].advice)
    assert any(one.startswith("repaired: ") for one in session.receipts[-1].advice)
    (note,) = session.view("exchanges")
    assert "repaired" in str(note)
    only_watched = Watched()
    assert changed(only_watched, messages) is None
    assert any("will refuse" in one for one in only_watched.warnings)


WIRES = {
    "/v1/messages": ("anthropic", "messages"),
    "/v1/responses": ("openai-responses", "input"),
    "/v1beta/models/gemini-3-pro:generateContent": ("gemini", "contents"),
}


@pytest.mark.laws
@given(
    path=st.sampled_from(sorted(WIRES)),
    sizes=st.lists(st.integers(1, 60), min_size=2, max_size=14),
    tokens=st.sampled_from([1_000, 2_000]),
)
def test_what_is_cut_is_accepted_by_every_provider(path: str, sizes: list[int], tokens: int) -> None:
    wire, field = WIRES[path]
    watched = Watched(allowed=AllowedChanges(repairs=True, tokens=tokens))
    messages: list[Json] = [_message(wire, "user", "begin")]
    for n, size in enumerate(sizes):
        answer = _message(wire, "assistant", f"{n} {WORDS * size}")
        messages += [answer, _message(wire, "user", f"{n} {WORDS}")]
    settings: dict[str, Json] = {"anthropic": {"model": "claude-sonnet-5", "max_tokens": 99}, "gemini": {}}
    given_payload = {**settings.get(wire, {"model": "gpt-5.6"}), field: messages}
    begun = watched.observer.begin(Exchange(1, wire, path, json.dumps(given_payload).encode(), 0.0))
    if begun.body is not None:
        payload = json.loads(begun.body)
        assert payload[field][-1] == messages[-1] and len(str(payload)) < len(str(given_payload))
        assert check(payload, wire, model="gemini-3-pro" if wire == "gemini" else None) == []


def _message(wire: str, role: str, text: str) -> Json:
    if wire == "gemini":
        return {"role": "model" if role == "assistant" else role, "parts": [{"text": text}]}
    return {"role": role, "content": text}


def test_a_change_that_came_too_late_is_not_on_the_record() -> None:
    watched, messages = Watched(allowed=FIT), grown(30)
    number = watched.begin(messages)
    assert watched.sent is not None
    watched.observer.end(Answer(number, 500, b"{}", is_changed=False))
    ((_, session),) = watched.sessions().items()
    (kept,) = session.receipts
    assert kept.tokens > 2_000 and len(kept.items) == len(messages)
