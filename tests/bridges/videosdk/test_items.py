"""Items under VideoSDK's names: what they hold, what they refuse, and what the engine keeps."""

import json
from typing import Any

import pytest

from quire.bridges.videosdk import (
    AgentConfigUpdate,
    AgentHandoff,
    ChatContext,
    ChatMessage,
    ChatRole,
    FunctionCall,
    FunctionCallOutput,
    ImageContent,
)
from quire.errors import InvalidValue, WrongType
from quire.items import Message, Summary
from tests.bridges.videosdk.talks import talk, words

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def test_items_know_their_type() -> None:
    assert ChatMessage(role=ChatRole.USER, content="hi").type == "message"
    assert FunctionCall(name="f", arguments="{}", call_id="1").type == "function_call"
    assert FunctionCallOutput(name="f", output="x", call_id="1").type == "function_call_output"
    assert AgentHandoff(to_agent="b").type == "agent_handoff"
    assert AgentConfigUpdate().type == "agent_config_update"


def test_a_message_keeps_all_its_fields() -> None:
    message = ChatMessage(
        role="assistant",
        content=["one", "two"],
        id="m",
        created_at=5.0,
        agent_id="a",
        interrupted=True,
        extra={"lang": "de"},
        confidence=0.9,
        metrics={"ttft": 0.2},
        audio_instructions="say it",
        text_instructions="write it",
    )
    assert message.role is ChatRole.ASSISTANT and message.content == ["one", "two"]
    assert (message.id, message.created_at, message.agent_id, message.interrupted) == ("m", 5.0, "a", True)
    assert (message.extra, message.confidence, message.metrics) == ({"lang": "de"}, 0.9, {"ttft": 0.2})
    assert (message.audio_instructions, message.text_instructions) == ("say it", "write it")


@pytest.mark.parametrize(
    "content", ["text", ["text"], [], "", ["a", ""], [ImageContent("https://x.io/a.png")]]
)
def test_content_comes_back_in_the_form_it_was_given(content: Any) -> None:
    message = ChatMessage(role=ChatRole.USER, content=content)
    context = ChatContext([message])
    assert context.messages()[0].content == content
    assert ChatContext.from_dict(context.to_dict()).messages()[0].content == content


def test_a_message_has_words_for_each_modality() -> None:
    message = ChatMessage(role=ChatRole.SYSTEM, content="Be brief.", audio_instructions="Speak slowly.")
    assert message.instructions_for_modality("audio") == "Speak slowly."
    assert message.instructions_for_modality("text") == "Be brief."


def test_times_that_are_given_are_kept_even_zero() -> None:
    context = ChatContext()
    assert context.add_message(ChatRole.USER, "hi", created_at=0).created_at == 0.0
    assert context.items[0].created_at == 0.0


def test_an_item_cannot_change_and_a_copy_can_differ() -> None:
    message = ChatMessage(role=ChatRole.USER, content="hi", id="m", extra={"a": 1})
    with pytest.raises(AttributeError):
        message.content = "ho"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(WrongType):
        message.extra["a"] = 2
    other = message.model_copy(update={"content": "ho", "role": ChatRole.ASSISTANT})
    assert (other.id, other.content, other.role) == ("m", "ho", ChatRole.ASSISTANT)
    assert message.content == "hi" and message.model_copy(deep=True) == message


def test_items_are_equal_by_what_they_say() -> None:
    fields: dict[str, Any] = {"name": "f", "arguments": "{}", "call_id": "1", "id": "x", "created_at": 1.0}
    call = FunctionCall(**fields)
    assert call == FunctionCall(**fields) and hash(call) == hash(FunctionCall(**fields))
    fields["name"] = "g"
    assert FunctionCall(**fields) != call


def test_the_engine_keeps_what_it_has_no_field_for_beside_the_item() -> None:
    item = ChatMessage(role=ChatRole.USER, content=["hi"], confidence=0.5).item
    assert isinstance(item, Message) and item.content == "hi"
    assert item.extras == {"videosdk": {"confidence": 0.5}}


def test_a_message_that_says_so_is_a_summary_for_the_engine() -> None:
    message = ChatMessage(role=ChatRole.ASSISTANT, content=["They met."], extra={"summary": True, "by": "x"})
    assert isinstance(message.item, Summary) and message.item.text == "They met."
    assert message.content == ["They met."] and message.extra == {"summary": True, "by": "x"}
    assert message.role is ChatRole.ASSISTANT


@pytest.mark.parametrize("label", ["[Conversation Summary]\n", "[Sub-agent Summary]\n"])
def test_the_heading_of_a_summary_is_not_part_of_its_text(label: str) -> None:
    message = ChatMessage(role=ChatRole.ASSISTANT, content=[label + "They met."], extra={"summary": True})
    assert isinstance(message.item, Summary) and message.item.text == "They met."
    assert words(message) == label + "They met."


def test_instructions_are_never_a_summary() -> None:
    context = ChatContext()
    context.add_message(ChatRole.USER, "hi")
    context.insert(ChatMessage(role=ChatRole.SYSTEM, content="Be brief.", extra={"summary": True}))
    assert context.active_config_at() == ("Be brief.", None)


def test_an_empty_or_pictured_summary_stays_a_message() -> None:
    for content in ("  ", [ImageContent("https://x.io/a.png")]):
        message = ChatMessage(role=ChatRole.ASSISTANT, content=content, extra={"summary": True})
        assert isinstance(message.item, Message) and message.extra == {"summary": True}


def test_tools_are_given_as_names_objects_functions_or_definitions() -> None:
    class Info:
        name = "decorated"

    class Tool:
        name = "object"

    def function() -> None: ...

    def wrapped() -> None: ...

    wrapped._tool_info = Info()  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]
    definition = {"type": "function", "function": {"name": "nested"}}
    update = AgentConfigUpdate(tools=["name", Tool(), function, wrapped, {"name": "flat"}, definition])
    assert update.tools == ["name", "object", "function", "decorated", "flat", "nested"]


def test_an_image_is_an_address_or_bytes() -> None:
    image = ImageContent("https://x.io/a.png", inference_detail="low")
    assert (image.image, image.inference_detail, image.type) == ("https://x.io/a.png", "low", "image")
    assert ImageContent(PNG).to_data_url().startswith("data:image/png;base64,")
    assert ImageContent(PNG) == ImageContent(PNG) != image


def test_a_signature_in_bytes_is_kept_as_text() -> None:
    call = FunctionCall(name="f", arguments="{}", call_id="1", metadata={"thought_signature": b"abc", "n": 1})
    assert call.metadata == {"thought_signature": "YWJj", "n": 1}
    assert json.dumps(call.model_dump())


@pytest.mark.parametrize(
    "make",
    [
        lambda: ChatMessage(role="robot", content="hi"),
        lambda: ImageContent(b"who knows"),
        lambda: ChatMessage(role="user", content="hi", created_at=1e13),
        lambda: FunctionCall(name="", arguments="{}", call_id="1"),
        lambda: FunctionCallOutput(name="f", output="x", call_id=""),
        lambda: AgentHandoff(to_agent=""),
        lambda: ChatMessage(role="user", content=[{"type": "video"}]),
    ],
)
def test_values_that_cannot_be_are_refused(make: Any) -> None:
    with pytest.raises(InvalidValue):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: ChatMessage(role="user", content=None),  # type: ignore[arg-type]  # pyright: ignore
        lambda: ChatMessage(role="user", content=[7]),  # type: ignore[list-item]  # pyright: ignore
        lambda: ImageContent(object()),  # type: ignore[arg-type]  # pyright: ignore
        lambda: FunctionCall(name="f", arguments={}, call_id="1"),  # type: ignore[arg-type]  # pyright: ignore
        lambda: FunctionCall(name="f", arguments="", call_id="1", metadata=7),  # type: ignore[arg-type]  # pyright: ignore
        lambda: FunctionCallOutput(name="f", output=7, call_id="1"),  # type: ignore[arg-type]  # pyright: ignore
        lambda: AgentConfigUpdate(tools="search"),
        lambda: AgentConfigUpdate(tools=[7]),
        lambda: AgentConfigUpdate(tools=7),  # type: ignore[arg-type]  # pyright: ignore
        lambda: ChatContext(["hi"]),  # type: ignore[list-item]  # pyright: ignore
        lambda: talk().insert("hi"),  # type: ignore[type-var]  # pyright: ignore
    ],
)
def test_types_that_cannot_be_are_refused(make: Any) -> None:
    with pytest.raises(WrongType):
        make()
