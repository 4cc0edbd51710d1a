"""Messages as other libraries keep them: calls and results are read, or it is said which form they have."""

from typing import Any

import pytest

from quire.errors import Damaged
from quire.items import Audio, File, Image, Item, Message, Note, Reasoning, ToolCall, ToolResult
from quire.providers import OpenAIChat, OpenAIResponses, check

WIRE = OpenAIChat()
PNG, PDF = b"\x89PNG\r\n\x1a\n", b"%PDF-"
ADDRESS = "data:image/png;base64,iVBORw0KGgo="
ASKED = {"role": "user", "content": "Rain?"}
CALLED = {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {"q": 1}}


def read(*messages: dict[str, Any]) -> list[Item]:
    return WIRE.read_history([ASKED, *messages])[1:]


def fixed(*messages: dict[str, Any]) -> list[Any]:
    """What was faulty, as it goes again: nothing in it is lost, and nothing is put in words."""
    history = [ASKED, *messages]
    assert check(history, "openai")
    rendering = WIRE.render(WIRE.read_history(history))
    assert check(rendering.payload, "openai") == [] and rendering.downgrades == ()
    written: list[Any] = rendering.payload["messages"]
    return written[1:]


def result(output: Any, **beside: Any) -> dict[str, Any]:
    part = {"type": "tool-result", "toolCallId": "c1", "toolName": "look", "output": output, **beside}
    return {"role": "tool", "content": [part]}


def test_a_call_in_one_object() -> None:
    call = {"name": "look", "args": {"q": 1}, "id": "c1", "type": "tool_call"}
    called, given = fixed(
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    )
    assert called["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q":1}'}}
    ]
    assert given == {"role": "tool", "tool_call_id": "c1", "content": "rain"}


@pytest.mark.parametrize("arguments", [{"args": "{}"}, {"arguments": "{}"}, {"args": {}}, {}])
def test_the_arguments_of_such_a_call(arguments: dict[str, Any]) -> None:
    (call,) = read({"role": "assistant", "tool_calls": [{"id": "c1", "name": "look", **arguments}]})
    assert isinstance(call, ToolCall) and (call.name, call.arguments) == ("look", "{}")


def test_calls_and_results_as_parts() -> None:
    said, given = fixed(
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, CALLED]},
        result({"type": "text", "value": "rain"}),
    )
    assert said["content"] == "I look." and said["tool_calls"][0]["function"]["arguments"] == '{"q":1}'
    assert given == {"role": "tool", "tool_call_id": "c1", "content": "rain"}


@pytest.mark.parametrize(
    ("told", "content", "is_error"),
    [
        (result({"type": "json", "value": {"sky": "grey"}}), '{"sky":"grey"}', False),
        (result({"type": "json", "value": [1, 2]}), "[1,2]", False),
        (result({"type": "error-text", "value": "no such place"}), "no such place", True),
        (result({"type": "error-json", "value": {"code": 4}}), '{"code":4}', True),
        (result({"type": "execution-denied", "reason": "not now"}), "not now", True),
        (result({"type": "execution-denied"}), "the call was denied", True),
        (
            result(
                {
                    "type": "content",
                    "value": [
                        {"type": "text", "text": "see"},
                        {"type": "media", "data": "iVBORw0KGgo=", "mediaType": "image/png"},
                    ],
                }
            ),
            ("see", Image(data=PNG, media_type="image/png")),
            False,
        ),
        (result(None, result="rain"), "rain", False),
        (result(None, result=[{"type": "rain"}]), '[{"type":"rain"}]', False),
        (result(None, result={"code": 4}, isError=True), '{"code":4}', True),
    ],
)
def test_what_such_a_result_gave(told: dict[str, Any], content: Any, is_error: bool) -> None:
    _, given = read({"role": "assistant", "content": [CALLED]}, told)
    assert isinstance(given, ToolResult)
    assert (given.call_id, given.name) == ("c1", "look")
    assert (given.content, given.is_error) == (content, is_error)


def test_several_results_are_in_one_message() -> None:
    second = {**CALLED, "toolCallId": "c2", "input": {}}
    both = [
        *result({"type": "text", "value": "rain"})["content"],
        *result({"type": "text", "value": "sun"}, toolCallId="c2")["content"],
        {"type": "tool-approval-response", "approvalId": "a1", "approved": True},
    ]
    items = read({"role": "assistant", "content": [CALLED, second]}, {"role": "tool", "content": both})
    assert [type(item) for item in items] == [ToolCall, ToolCall, ToolResult, ToolResult, Note]
    assert [item.content for item in items if isinstance(item, ToolResult)] == ["rain", "sun"]


def test_a_result_in_the_same_message() -> None:
    own = result({"type": "text", "value": "rain"})["content"]
    items = read(
        {"role": "assistant", "content": [CALLED, *own]}, {"role": "assistant", "content": "It rains."}
    )
    assert [type(item) for item in items] == [ToolCall, ToolResult, Message]


def test_thoughts_and_media_as_parts() -> None:
    shown = [
        {"type": "image", "image": "https://example.com/a.png"},
        {"type": "image", "image": "iVBORw0KGgo=", "mediaType": "image/png"},
        {"type": "file", "data": "JVBERi0=", "mediaType": "application/pdf", "filename": "a.pdf"},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "file", "data": "aGk=", "mediaType": "audio/wav"},
        {"type": "file", "data": "https://example.com/a", "mediaType": "application/pdf"},
        {"type": "file", "url": ADDRESS, "mediaType": "image/*"},
    ]
    said, thought, answer = read(
        {"role": "user", "content": shown},
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "Yes."}],
        },
    )
    assert isinstance(said, Message) and said.parts == (
        Image(url="https://example.com/a.png"),
        Image(data=PNG, media_type="image/png"),
        File(data=PDF, media_type="application/pdf", name="a.pdf"),
        File(url="file-id:openai/file-1"),
        Audio(data=b"hi", media_type="audio/wav"),
        File(url="https://example.com/a", media_type="application/pdf"),
        Image(data=PNG, media_type="image/png"),
    )
    assert isinstance(thought, Reasoning) and thought.text == "hm"
    assert isinstance(answer, Message) and answer.content == "Yes."


@pytest.mark.parametrize("content", ["What is it?", "", [{"type": "text", "text": "What is it?"}]])
def test_what_is_attached_is_read(content: Any) -> None:
    attachments = [
        {"name": "a.png", "contentType": "image/png", "url": "https://example.com/a"},
        {"name": "a.pdf", "contentType": "application/pdf", "url": "data:application/pdf;base64,JVBERi0="},
        {"url": ADDRESS},
    ]
    (said,) = read({"role": "user", "content": content, "experimental_attachments": attachments})
    assert isinstance(said, Message) and said.parts == (
        *(["What is it?"] if content else []),
        Image(url="https://example.com/a", media_type="image/png"),
        File(data=PDF, media_type="application/pdf", name="a.pdf"),
        Image(data=PNG, media_type="image/png"),
    )
    with pytest.raises(Damaged) as found:
        read({"role": "user", "content": content, "experimental_attachments": [{"name": "a"}]})
    assert found.value.path == "messages[1].experimental_attachments[0].url"


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("/api/files/42", "nobody else can open this address"),
        ("/uploads/cat.png", "nobody else can open this address"),
        ("blob:https://example.com/1", "nobody else can open this address"),
        ("data:image/png;base64,aGk=", "its bytes are not what it says"),
    ],
)
def test_an_attachment_that_nobody_can_open_is_refused_where_it_stands(url: str, fault: str) -> None:
    attachment = {"name": "cat.png", "contentType": "image/png", "url": url}
    with pytest.raises(Damaged, match=fault) as found:
        read({"role": "user", "content": "What is it?", "experimental_attachments": [attachment]})
    assert found.value.path == "messages[1].experimental_attachments[0].url"


@pytest.mark.parametrize("kind", ["file", "tool-look", "tool-invocation", "dynamic-tool"])
@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize("wire", [OpenAIChat(), OpenAIResponses()])
def test_what_only_the_parts_have_is_refused_beside_words(wire: Any, role: str, kind: str) -> None:
    said = {
        "role": role,
        "content": "Hi.",
        "parts": [{"type": "step-start"}, {"type": "text", "text": "Hi."}],
    }
    assert len(wire.read_history([ASKED, said])) == 2
    with pytest.raises(Damaged, match="parts"):
        wire.read_history([ASKED, {**said, "parts": [{"type": kind}]}])


def test_attachments_that_nobody_reads_are_refused() -> None:
    with pytest.raises(Damaged, match="experimental_attachments"):
        OpenAIResponses().read_history([{**ASKED, "experimental_attachments": [{"url": ADDRESS}]}])


def test_a_part_that_cannot_be_read_is_named() -> None:
    with pytest.raises(Damaged) as found:
        read({"role": "assistant", "content": [{"type": "tool-call", "toolName": "look"}]})
    assert found.value.path == "messages[1].content[0].toolCallId"


def test_thoughts_of_ollama() -> None:
    call = {"function": {"name": "look", "arguments": {"q": 1}}}
    thought, called = read({"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [call]})
    assert isinstance(thought, Reasoning) and thought.text == "hm" and isinstance(called, ToolCall)
    (alone,) = read({"role": "assistant", "content": "", "thinking": "hm"})
    assert isinstance(alone, Reasoning)


@pytest.mark.parametrize("content", ["", None, []])
@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize("wire", [OpenAIChat(), OpenAIResponses()])
def test_an_empty_content_beside_words_of_another_form_is_refused(wire: Any, role: str, content: Any) -> None:
    message = {"id": "1", "role": role, "content": content, "parts": [{"type": "text", "text": "hi"}]}
    with pytest.raises(Damaged, match="its words may be under 'parts'"):
        wire.read_history([ASKED, message])
    assert wire.read_history([ASKED, {**message, "parts": [], "mood": "good"}])


@pytest.mark.parametrize("content", ["", "It rains."])
@pytest.mark.parametrize("wire", [OpenAIChat(), OpenAIResponses()])
def test_calls_that_nobody_reads_are_refused_beside_words_too(wire: Any, content: str) -> None:
    calls: list[Any] = [
        {"toolCallId": "c", "toolName": "look", "args": {}, "state": "result", "result": "rain"}
    ]
    with pytest.raises(Damaged, match="toolInvocations"):
        wire.read_history([ASKED, {"role": "assistant", "content": content, "toolInvocations": calls}])
