"""To plain values and back."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.bridges.videosdk import ChatContext, ChatItem, ChatMessage, ChatRole, ImageContent
from quire.errors import Damaged, DuplicateId
from tests.bridges.videosdk.strategies import items
from tests.bridges.videosdk.talks import Streaming, talk, told


def through_json(context: ChatContext) -> ChatContext:
    return ChatContext.from_dict(json.loads(json.dumps(context.to_dict())))


@pytest.mark.laws
@given(st.lists(items(), max_size=8))
def test_every_item_survives_the_round_trip_in_its_place(given_items: list[ChatItem]) -> None:
    context = ChatContext(given_items)
    again = through_json(context)
    assert context.items == given_items == again.items
    assert again.to_dict() == context.to_dict()
    assert [item.id for item in again.items] == [item.id for item in given_items]


@pytest.mark.laws
@given(items())
def test_an_item_is_made_again_from_its_fields(item: ChatItem) -> None:
    fields = {name: value for name, value in item.model_dump().items() if name != "type"}
    assert type(item)(**fields) == item
    assert item.model_copy(update={"agent_id": "z"}).agent_id == "z"


def test_a_dictionary_has_the_fields_of_the_page() -> None:
    context = ChatContext([ChatMessage(role=ChatRole.USER, content=["hi"], id="m", created_at=5.0)])
    assert context.to_dict() == {
        "items": [
            {
                "type": "message",
                "id": "m",
                "created_at": 5.0,
                "agent_id": None,
                "role": "user",
                "content": ["hi"],
                "interrupted": False,
                "extra": {},
                "confidence": None,
                "metrics": None,
                "audio_instructions": None,
                "text_instructions": None,
            }
        ]
    }


def test_images_survive() -> None:
    context = talk(1)
    image = ImageContent("https://x.io/a.png", inference_detail="high")
    context.add_message(ChatRole.USER, ["look", image])
    assert through_json(context).messages()[-1].content == ["look", image]


def test_a_summary_survives_and_is_one() -> None:
    context = talk()
    asyncio.run(context.summarize(Streaming(), keep_recent_turns=2))
    again = through_json(context)
    assert again.items == context.items and again.messages()[1].extra == {"summary": True}
    again.truncate(max_items=3)
    assert told(again)[1] == "[Conversation Summary]\nTHE GIST"


def test_a_context_goes_on_after_the_round_trip() -> None:
    context = talk(1)
    context.add_function_call("slow", "{}", call_id="open")
    again = through_json(context)
    again.add_function_output("slow", "done", call_id="open")
    again.add_message(ChatRole.USER, "thanks")
    assert told(again)[-1] == "thanks" and "done" in str(again.to_openai_messages())


def test_what_may_be_left_out_may_be_left_out() -> None:
    fields: list[dict[str, Any]] = [
        {"type": "message", "id": "1", "role": "user", "content": "hi"},
        {"type": "message", "id": "2", "role": "user", "content": "hi", "extra": None, "created_at": None},
        {"type": "function_call", "id": "3", "name": "f", "arguments": "{}", "call_id": "c"},
        {"type": "function_call_output", "id": "4", "name": "f", "output": "x", "call_id": "c"},
        {"type": "agent_handoff", "id": "5", "to_agent": "b"},
        {"type": "agent_config_update", "id": "6"},
    ]
    assert [item.id for item in ChatContext.from_dict({"items": fields}).items] == list("123456")


MESSAGE: dict[str, Any] = {"type": "message", "id": "1", "role": "user", "content": "hello"}


@pytest.mark.parametrize(
    ("item", "path"),
    [
        ("hi", "$.items[1]"),
        ({}, "$.items[1].type"),
        ({**MESSAGE, "type": "dream"}, "$.items[1].type"),
        ({"type": "message", "role": "user", "content": "hi"}, "$.items[1].id"),
        ({**MESSAGE, "id": 7}, "$.items[1].id"),
        ({"type": "message", "id": "2", "role": "user"}, "$.items[1]"),
        ({**MESSAGE, "role": "robot"}, "$.items[1]"),
        ({**MESSAGE, "content": None}, "$.items[1]"),
        ({**MESSAGE, "content": [{"type": "image"}]}, "$.items[1]"),
        ({**MESSAGE, "created_at": "yesterday"}, "$.items[1]"),
        ({**MESSAGE, "colour": "red"}, "$.items[1]"),
        ({"type": "function_call", "id": "2", "name": "f"}, "$.items[1]"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_place(item: Any, path: str) -> None:
    with pytest.raises(Damaged) as error:
        ChatContext.from_dict({"items": [{**MESSAGE, "id": "0"}, item]})
    assert error.value.path == path and "hello" not in str(error.value) and "__init__" not in str(error.value)


@pytest.mark.parametrize("data", [{}, {"items": "hi"}, {"items": None}, [], None])
def test_what_is_no_context_is_an_error(data: Any) -> None:
    with pytest.raises(Damaged):
        ChatContext.from_dict(data)


def test_an_id_that_comes_twice_is_an_error() -> None:
    with pytest.raises(DuplicateId):
        ChatContext.from_dict({"items": [MESSAGE, MESSAGE]})
