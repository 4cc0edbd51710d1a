"""Responses: reasoning that comes with its words goes back with them, to the same model."""

from typing import Any

import pytest

from quire.items import Message, Reasoning, ToolResult
from quire.providers import OpenAIResponses
from quire.state import Transcript

WIRE = OpenAIResponses()
MODEL = "gpt-oss-120b"
Json = dict[str, Any]
WORDS: list[Json] = [{"type": "reasoning_text", "text": "I look."}]
CALL: Json = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}


def talk(thought: Json) -> Transcript:
    spoken = Transcript([Message("user", "Go.")])
    sent = WIRE.render(spoken.view, model=MODEL, tools=[{"name": "look"}])
    body = {"status": "completed", "model": MODEL, "output": [thought, CALL]}
    spoken.extend([*WIRE.parse(body, sent=sent).items, ToolResult("c1", "look", "rain")])
    return spoken


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"signature": "c2ln", "format": "anthropic-claude-v1"},
        {"encrypted_content": "sealed", "format": "openai-responses-v1"},
    ],
)
def test_it_goes_back_as_it_came(more: Json) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "content": WORDS, **more}
    spoken = talk(thought)
    made = WIRE.render(spoken.view, model=MODEL, tools=[{"name": "look"}], strict=True)
    assert made.payload["input"][1] == thought and WIRE.check(made.payload, MODEL) == []
    assert [item.text for item in spoken.view if isinstance(item, Reasoning)] == ["I look."]
    other = WIRE.render(spoken.view, model="gpt-5.6", tools=[{"name": "look"}])
    assert [note.change for note in other.downgrades] == ["state_foreign"]


@pytest.mark.parametrize("content", [None, [], [{"type": "reasoning_text"}], "words", [3]])
def test_without_words_or_a_seal_nothing_goes_back(content: Any) -> None:
    spoken = talk({"type": "reasoning", "id": "rs_1", "summary": [], "content": content})
    made = WIRE.render(spoken.view, model=MODEL, tools=[{"name": "look"}])
    assert [note.change for note in made.downgrades] == ["reasoning_left_out"]
