"""Where no model is named, the state of the one that answered last goes back: no other was asked for."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.items import Hide, Message, Span, ToolResult
from quire.providers import PROVIDERS
from quire.state import Transcript
from tests.providers.answers import answer, owner
from tests.providers.conversations import TOOLS
from tests.providers.test_state_laws import WITH_STATE, seals

PAIRS = {
    "openai": ("deepseek-v4-pro", "kimi-k2.5"),
    "openai-responses": ("gpt-5.6", "gpt-4o"),
    "anthropic": ("claude-opus-4-8", "claude-sonnet-4-5"),
    "gemini": ("gemini-3-pro", "gemini-2.5-pro"),
}
TURNS = st.lists(st.integers(0, 9), min_size=1, max_size=6)


def ask(transcript: Transcript, wire: str, model: str, number: int, code: int) -> Any:
    """One's own loop: the model is told to the client alone."""
    provider = PROVIDERS[wire]
    sent = provider.render(transcript.view, tools=TOOLS)
    response = answer(wire, model, number, 0, code, number)
    transcript.extend(provider.parse(response, sent=sent).items)
    for call in transcript.view.pending():
        transcript.append(ToolResult(call.call_id, call.name, "found"))
    return response


@pytest.mark.laws
@given(st.sampled_from(WITH_STATE), TURNS)
def test_all_state_goes_back_and_is_taken(asked: tuple[str, str], codes: list[int]) -> None:
    wire, model = asked
    provider, transcript, made = PROVIDERS[wire], Transcript([Message("system", "Be brief.")]), 0
    for number, code in enumerate(codes, 1):
        transcript.append(Message("user", f"question {number}"))
        response = json.dumps(ask(transcript, wire, model, number, code))
        made += "signature" in response.lower() or "encrypted" in response or "reasoning_content" in response
    rendered = provider.render(transcript.view, tools=TOOLS)
    assert len({sealed for _, sealed in seals(wire, rendered.payload)}) == made
    assert not {"state_foreign", "state_stale"} & {note.change for note in rendered.downgrades}
    fresh = provider.render(list(transcript.view), tools=TOOLS)
    assert fresh.payload == rendered.payload


@pytest.mark.laws
@given(st.sampled_from(sorted(PAIRS)), st.lists(st.booleans(), min_size=1, max_size=6))
def test_of_several_models_it_is_that_of_the_last(wire: str, whose: list[bool]) -> None:
    transcript = Transcript([Message("user", "Look it up.")])
    for number, first in enumerate(whose, 1):
        ask(transcript, wire, PAIRS[wire][not first], number, 7)
    rendered = PROVIDERS[wire].render(transcript.view, tools=TOOLS)
    found = {owner(sealed)[1:] for _, sealed in seals(wire, rendered.payload)}
    last = PAIRS[wire][not whose[-1]]
    assert found == {(last, n) for n, first in enumerate(whose, 1) if first is whose[-1]}


@pytest.mark.parametrize(("wire", "model"), WITH_STATE)
def test_it_is_left_out_after_an_edit_and_for_another_that_is_named(wire: str, model: str) -> None:
    provider = PROVIDERS[wire]
    transcript = Transcript(
        [Message("user", "Hello.", id="first"), Message("assistant", "Hello.", id="second")]
    )
    transcript.append(Message("user", "Look it up."))
    ask(transcript, wire, model, 1, 7)
    assert seals(wire, provider.render(transcript.view, tools=TOOLS).payload)
    assert seals(wire, provider.render(transcript.view, model="another-model", tools=TOOLS).payload) == []
    transcript.append(Hide((Span("first", "second"),)))
    assert seals(wire, provider.render(transcript.view, tools=TOOLS).payload) == []


@pytest.mark.parametrize("wire", sorted(PAIRS))
def test_that_of_a_history_without_a_name_stays_beside_it(wire: str) -> None:
    provider, model = PROVIDERS[wire], PAIRS[wire][0]
    old = Transcript([Message("user", "Look it up.")])
    ask(old, wire, model, 1, 7)
    payload = provider.render(old.view, model=model, tools=TOOLS).payload
    transcript = Transcript(provider.read_history(payload))
    transcript.append(Message("user", "And now?"))
    ask(transcript, wire, model, 2, 7)
    rendered = provider.render(transcript.view, tools=TOOLS)
    assert {owner(sealed)[2] for _, sealed in seals(wire, rendered.payload)} == {1, 2}
