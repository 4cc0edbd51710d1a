"""Chat Completions: thoughts and words in chunks of the content, as Mistral's reasoning models give them."""

from typing import Any

import pytest

from quire.errors import QuireError
from quire.items import Item, Message, Note, Reasoning, ToolCall, ToolResult
from quire.providers import PROVIDERS, OpenAIChat, Parsed

WIRE, MODEL = OpenAIChat(), "magistral-medium-latest"
Json = dict[str, Any]
ASKED, AGAIN = Message("user", "The capital of Norway?"), Message("user", "And of Sweden?")
CALL: Json = {"id": "abcdefgh1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
PIECES: list[Json] = [
    {"role": "assistant", "content": ""},
    {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "A capital "}]}]},
    {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "is wanted."}], "closed": True}]},
    {"content": [{"type": "text", "text": "It is "}]},
    {"content": "Oslo."},
]


def thinking(text: str, **beside: Any) -> Json:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **beside}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def whole(content: Any, reason: str = "stop", **beside: Any) -> Parsed:
    message: Json = {"role": "assistant", "content": content, **beside}
    return WIRE.parse({"model": MODEL, "choices": [{"finish_reason": reason, "message": message}]})


def streamed(*deltas: Json, reason: str | None = "stop") -> tuple[Parsed, str]:
    reader, words = WIRE.stream(model=MODEL), ""
    for delta in deltas:
        words += reader.feed({"model": MODEL, "choices": [{"index": 0, "delta": delta}]})
    reader.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    return reader.close(), words


def sent(items: list[Item], model: str | None = MODEL, wire: str = "openai") -> list[Json]:
    payload = PROVIDERS[wire].render(items, model=model).payload
    assert PROVIDERS[wire].check(payload, model) == []
    (history,) = payload.keys() & {"messages", "input", "contents"}
    messages: list[Json] = payload[history]
    return messages


def told(items: tuple[Item, ...]) -> list[tuple[type[Item], str]]:
    return [(type(item), item.text) for item in items if isinstance(item, Message | Reasoning)]


def test_a_whole_answer_is_a_thought_and_words_and_goes_back_as_it_came() -> None:
    content = [thinking("A capital is wanted."), text("It is Oslo.")]
    items = whole(content).items
    assert told(items) == [(Reasoning, "A capital is wanted."), (Message, "It is Oslo.")]
    assert sent([ASKED, *items, AGAIN])[1] == {"role": "assistant", "content": content}
    assert WIRE.render([ASKED, *items, AGAIN], model=MODEL, strict=True).downgrades == ()


def test_a_stream_is_what_the_whole_answer_is() -> None:
    parsed, words = streamed(*PIECES)
    assert words == "It is Oslo."
    content = [thinking("A capital is wanted.", closed=True), text("It is Oslo.")]
    assert told(parsed.items) == told(whole(content).items)
    assert sent([ASKED, *parsed.items, AGAIN])[1]["content"] == content


def test_thoughts_beside_calls_go_back_in_the_content() -> None:
    content = [thinking("I look it up.")]
    items = whole(content, "tool_calls", tool_calls=[CALL]).items
    assert [type(item) for item in items] == [Reasoning, ToolCall]
    result = ToolResult("abcdefgh1", "look", "Oslo")
    assert sent([ASKED, *items, result])[1] == {
        **{"role": "assistant", "content": content, "tool_calls": [CALL]},
    }


def test_a_history_is_read_the_same_way() -> None:
    content = [thinking("A capital is wanted."), text("It is Oslo.")]
    messages: list[Json] = [{"role": "user", "content": "q"}, {"role": "assistant", "content": content}]
    items = WIRE.read_history({"model": MODEL, "messages": messages})
    assert sent([*items, AGAIN])[:2] == messages


@pytest.mark.parametrize("wire", list(PROVIDERS))
def test_others_get_the_words_alone_with_a_note(wire: str) -> None:
    model = {"openai": "gpt-5.6", "anthropic": "claude-opus-4-8", "gemini": "gemini-3-pro"}.get(
        wire, "gpt-5.6"
    )
    items: list[Item] = [ASKED, *whole([thinking("A secret."), text("It is Oslo.")]).items, AGAIN]
    messages = str(sent(items, model, wire))
    assert "A secret." not in messages and "It is Oslo." in messages
    changes = {note.change for note in PROVIDERS[wire].render(items, model=model).downgrades}
    assert changes & {"state_foreign", "reasoning_left_out"}


def test_openais_own_models_are_not_to_be_sent_such_chunks() -> None:
    asked = {"role": "user", "content": "q"}
    messages = [asked, {"role": "assistant", "content": [thinking("hm")]}, asked]
    found = [WIRE.check({"messages": messages}, model) for model in ("gpt-5.6", "azure/gpt-5.6", MODEL)]
    assert [[fault.rule for fault in faults] for faults in found] == [["unknown_part"], ["unknown_part"], []]


def test_a_chunk_of_an_unknown_kind_is_kept_as_it_is_in_a_whole_answer() -> None:
    strange: Json = {"type": "reference", "reference_ids": [1]}
    parsed, words = streamed({"content": ["It is ", strange, text("Oslo.")]})
    as_whole = whole([text("It is "), strange, text("Oslo.")])
    assert words == "It is Oslo."
    assert [type(item) for item in parsed.items] == [type(item) for item in as_whole.items]
    assert [item.content for item in parsed.items if isinstance(item, Note)] == [strange]


@pytest.mark.parametrize("content", [{"type": "text"}, 7, [7], [{"text": "no kind"}], [{"type": "text"}]])
def test_what_is_no_content_is_an_error_when_it_comes(content: Any) -> None:
    reader = WIRE.stream(model=MODEL)
    reader.feed({"choices": [{"index": 0, "delta": {"content": "It is "}}]})
    with pytest.raises(QuireError):
        reader.feed({"choices": [{"index": 0, "delta": {"content": content}}]})
    assert told(reader.close().items) == [(Message, "It is ")]
