"""Chat Completions: an existing list of messages as items."""

from typing import Any

import pytest

from quire.errors import Damaged, WrongType
from quire.items import Audio, File, Image, Message, Note, Reasoning, ToolCall, ToolResult
from quire.providers import OpenAIChat

WIRE = OpenAIChat()


class Answered:
    """A message as a client gives it."""

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {"role": "assistant", "content": "hello"}


def test_a_whole_payload() -> None:
    messages: list[Any] = [
        {"role": "developer", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        Answered(),
    ]
    items = WIRE.read_history({"model": "gpt-5.6", "messages": messages})
    assert [type(item) for item in items] == [Message, Message, Reasoning, ToolCall, ToolResult, Message]
    result = items[4]
    assert isinstance(result, ToolResult) and (result.name, result.content) == ("look", "one")
    assert [type(item) for item in WIRE.read_history(tuple(messages))] == [type(item) for item in items]


def test_media() -> None:
    blocks = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "hologram", "of": "a cat"},
    ]
    message, *notes = WIRE.read_history([{"role": "user", "content": blocks}])
    assert isinstance(message, Message) and message.content == (
        "see",
        Image(data=b"hi", media_type="image/png", detail="low"),
        Image(url="https://example.com/a.png"),
        Audio(data=b"hi", media_type="audio/wav"),
        File(data=b"hi", media_type="application/pdf", name="a.pdf"),
        File(url="file-id:openai/file-1"),
    )
    assert [note.content for note in notes if isinstance(note, Note)] == blocks[-1:]


def test_old_and_odd_forms() -> None:
    items = WIRE.read_history(
        [
            {"role": "assistant", "function_call": {"name": "look", "arguments": "{}"}},
            {"role": "function", "name": "look", "content": "one"},
            {"role": "tool", "tool_call_id": "z", "content": [{"type": "text", "text": "?"}]},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
            {
                "role": "assistant",
                "tool_calls": [{"id": "b", "type": "telepathy"}],
                "audio": {"id": "audio_1"},
            },
        ]
    )
    called, first, orphan, refusal, spoken, *notes = items
    assert isinstance(called, ToolCall) and isinstance(first, ToolResult)
    assert called.call_id == first.call_id and first.name == "look"
    assert isinstance(orphan, ToolResult) and (orphan.name, orphan.content) == ("unknown", "?")
    assert isinstance(refusal, Message) and refusal.content == "no"
    assert isinstance(spoken, Message) and spoken.parts == (Audio(url="file-id:openai/audio_1"),)
    assert [note.content for note in notes if isinstance(note, Note)] == [
        {"id": "b", "type": "telepathy"},
    ]
    assert WIRE.check(WIRE.render(items).payload) == []


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ({"role": "nobody", "content": "hi"}, "messages[0].role"),
        ({"role": "tool", "tool_call_id": 7, "content": "hi"}, "messages[0].tool_call_id"),
        ({"role": "user", "content": [{"type": "text"}]}, "messages[0].content[0].text"),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": ""}}]},
            "messages[0].content[0].image_url",
        ),
        (
            {
                "role": "user",
                "content": [{"type": "input_audio", "input_audio": {"data": "?", "format": "wav"}}],
            },
            "messages[0].content[0].input_audio.data",
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": 7, "function": {"name": "look"}}]},
            "messages[0].tool_calls[0].id",
        ),
    ],
)
def test_what_cannot_be_read_is_named_by_its_place(message: Any, path: str) -> None:
    with pytest.raises(Damaged) as found:
        WIRE.read_history([message])
    assert found.value.path == path


def test_what_is_no_history_is_refused() -> None:
    with pytest.raises(Damaged):
        WIRE.read_history({"input": []})
    for payload in (7, "hi", [7], [{"role": "user", "content": 7}]):
        with pytest.raises(WrongType):
            WIRE.read_history(payload)


def test_reasoning_is_of_the_model_that_is_named() -> None:
    message = {"role": "assistant", "content": "so", "reasoning_content": "hm"}
    for payload, model in (([message], "a"), ({"model": "b", "messages": [message]}, "b")):
        thought = WIRE.read_history(payload, model="a")[0]
        assert isinstance(thought, Reasoning) and thought.state is not None and thought.state.model == model


PARTS = [{"type": "text", "text": "hello"}]
ELSEWHERE: list[tuple[Any, str]] = [
    ({"role": "user", "id": "1", "parts": PARTS}, "it has no content; its words may be under 'parts'"),
    ({"role": "system", "createdAt": "noon", "parts": PARTS}, "under 'parts'"),
    ({"role": "user", "text": "hello"}, "under 'text'"),
    ({"role": "user"}, "it has no content"),
    ({"role": "assistant", "id": "2", "parts": PARTS}, "under 'parts'"),
    ({"role": "assistant", "refusal": None, "tool_calls": [], "message": {"text": "hi"}}, "under 'message'"),
    ({"role": "tool", "tool_call_id": "c1", "result": "rain"}, "under 'result'"),
    ({"role": "user", "content": None, "parts": PARTS}, "under 'parts'"),
    ({"role": "assistant", "content": None, "parts": PARTS}, "under 'parts'"),
]


@pytest.mark.parametrize(("message", "words"), ELSEWHERE)
def test_a_message_whose_words_are_elsewhere_is_refused(message: Any, words: str) -> None:
    with pytest.raises(Damaged, match=words) as found:
        WIRE.read_history([{"role": "user", "content": "hi"}, message])
    assert found.value.path == "messages[1].content"


SILENT: list[Any] = [
    {"role": "user", "content": ""},
    {"role": "user", "content": "hello", "parts": PARTS},
    {"role": "assistant"},
    {"role": "assistant", "id": "x", "annotations": [], "provider_specific_fields": {"refusal": None}},
    {"role": "assistant", "refusal": "no", "parts": PARTS},
    {"role": "assistant", "audio": {"id": "audio_1"}},
    {"role": "assistant", "reasoning_content": "hm", "mood": "calm"},
    {"role": "assistant", "function_call": {"name": "look", "arguments": "{}"}, "parts": PARTS},
    {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "look"}}], "usage": {"a": 1}},
    {"role": "tool", "tool_call_id": "c1", "name": "look", "status": "success"},
]


@pytest.mark.parametrize("message", SILENT)
def test_what_says_nothing_or_says_it_otherwise_is_read(message: Any) -> None:
    WIRE.read_history([{"role": "user", "content": "hi"}, message])
