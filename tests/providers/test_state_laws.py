"""Law 15: state goes back only to the model that made it, and only after what it was made after."""

import json
import re
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.items import Hide, Message, Span, ToolResult
from quire.providers import HISTORY, PROVIDERS
from quire.state import Transcript
from quire.testing.answers import OPENAIS_OWN, answer, owner_of
from quire.testing.conversations import MODELS, STEPS, TOOLS, Step, Talk

pytestmark = pytest.mark.laws

NAMED = [(wire, model) for wire, models in MODELS.items() for model in models if model]
WITH_STATE = [(wire, model) for wire, model in NAMED if wire != "openai" or model not in OPENAIS_OWN]
_SEAL = re.compile(
    r'"(?:signature|encrypted_content|thoughtSignature|reasoning_content|thought_signature)": "([^"]*)"'
)


def seals(wire: str, payload: dict[str, Any]) -> list[tuple[int, str]]:
    """The state of answers in a payload, with the places of the messages that hold it."""
    found = [
        (place, sealed)
        for place, message in enumerate(payload[HISTORY[wire]])
        for sealed in _SEAL.findall(json.dumps(message))
    ]
    return [
        (place, sealed)
        for place, sealed in found
        if sealed not in ("s", " ", "skip_thought_signature_validator")
    ]


def framed(payload: dict[str, Any], model: str) -> tuple[Any, Any]:
    """What precedes all messages: instructions, and tools where state is bound to them."""
    system = payload.get("system") or payload.get("config", {}).get("system_instruction")
    return system, payload.get("tools") if model == "claude-fable-5-1" else None


@given(STEPS, st.sampled_from(NAMED))
def test_state_goes_only_to_the_model_that_made_it_after_what_it_was_made_after(
    steps: list[Step], asked: tuple[str, str]
) -> None:
    wire, model = asked
    talk = Talk()
    talk.play(steps)
    payload = PROVIDERS[wire].render(talk.transcript.view, model=model, tools=TOOLS).payload
    for place, sealed in seals(wire, payload):
        made_on, made_by, number = owner_of(sealed)
        assert (made_on, made_by) == (wire, model)
        assert framed(talk.payloads[number - 1], model) == framed(payload, model)
        before = talk.payloads[number - 1][HISTORY[wire]]
        assert payload[HISTORY[wire]][: min(place, len(before))] == before[:place], "the past was changed"


@given(
    st.sampled_from(WITH_STATE), st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=6)
)
def test_while_nothing_is_edited_all_state_goes_back(
    asked: tuple[str, str], turns: list[tuple[int, bool]]
) -> None:
    wire, model = asked
    provider, transcript, made = PROVIDERS[wire], Transcript([Message("system", "Be brief.")]), set[str]()
    for number, (code, _) in enumerate(turns, 1):
        transcript.append(Message("user", f"question {number}"))
        sent = provider.render(transcript.view, model=model, tools=TOOLS)
        response = answer(wire, model, number, 0, code, number)
        made.update(_SEAL.findall(json.dumps(response)))
        for item in provider.parse(response, sent=sent, model=model).items:
            transcript.append(item)
        for call in transcript.view.pending():
            transcript.append(ToolResult(call.call_id, call.name, "found"))
    rendered = provider.render(transcript.view, model=model, tools=TOOLS)
    assert {sealed for _, sealed in seals(wire, rendered.payload)} == made


def only_thought(wire: str, response: dict[str, Any]) -> dict[str, Any]:
    """The response, had it broken off after its first thought."""
    whole = deepcopy(response)
    if wire == "gemini":
        del whole["candidates"][0]["content"]["parts"][1:]
    elif wire == "openai":
        whole["choices"][0]["message"] |= {"content": None, "tool_calls": None}
    else:
        del whole["output" if wire == "openai-responses" else "content"][1:]
    return whole


@pytest.mark.parametrize(("wire", "model"), WITH_STATE)
def test_an_answer_that_broke_off_does_not_join_the_one_that_came_instead(wire: str, model: str) -> None:
    provider, transcript = PROVIDERS[wire], Transcript([Message("user", "Look it up.")])
    for number in (1, 2):
        sent = provider.render(transcript.view, model=model, tools=TOOLS)
        response = answer(wire, model, number, 0, 7, number)
        response = only_thought(wire, response) if number == 1 else response
        transcript.extend(provider.parse(response, sent=sent, model=model).items)
    transcript.append(Message("user", "And now?"))
    rendered = provider.render(transcript.view, model=model, tools=TOOLS)
    assert {owner_of(sealed)[2] for _, sealed in seals(wire, rendered.payload)} == {2}


@pytest.mark.parametrize(("wire", "model"), WITH_STATE)
def test_state_that_was_read_from_a_history_is_left_out_after_an_edit(wire: str, model: str) -> None:
    provider, first = PROVIDERS[wire], Message("user", "Hello.", id="first")
    transcript = Transcript(
        [first, Message("assistant", "Hello.", id="second"), Message("user", "Look it up.")]
    )
    transcript.extend(provider.parse(answer(wire, model, 1, 1, 7, 1), model=model).items)
    transcript.append(Message("user", "And now?"))
    assert seals(wire, provider.render(transcript.view, model=model, tools=TOOLS).payload)
    transcript.append(Hide((Span("first", "second"),)))
    assert seals(wire, provider.render(transcript.view, model=model, tools=TOOLS).payload) == []
