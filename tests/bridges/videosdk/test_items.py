"""Items: their fields, that they are frozen, and their dictionaries."""

import json
from copy import deepcopy
from typing import Any

import pytest

from quire.bridges.videosdk import (
    AgentConfigUpdate,
    AgentHandoff,
    ChatContext,
    ChatItem,
    ChatMessage,
    FunctionCall,
    FunctionCallOutput,
    ImageContent,
)
from quire.errors import Damaged, InvalidValue
from quire.items import Message, Summary
from tests.bridges.videosdk.shop import talk

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


def message(content: Any = "hello", role: Any = "user", **fields: Any) -> ChatMessage:
    return ChatMessage(role=role, content=content, **fields)


@pytest.mark.parametrize("content", ["words", ["words"], ["two", "texts"], [ImageContent("https://x/a.png")]])
def test_content_keeps_the_form_in_which_it_was_given(content: Any) -> None:
    given = message(content)
    (shown,) = ChatContext([given]).messages()
    assert shown == given and shown.content == content


@pytest.mark.parametrize("extra", [{}, {"table": 4}, {"summary": True}])
def test_an_item_refuses_every_change(extra: dict[str, Any]) -> None:
    context = ChatContext([message(["hello"], "assistant", extra=extra)])
    context.add_function_call("stock", "{}", metadata={"trace": {"id": 7}})
    for item in (message(["hello"], extra=extra), context.messages()[0]):
        with pytest.raises(TypeError, match="cannot change"):
            item.extra["k"] = 1
        with pytest.raises(TypeError, match="cannot change"):
            item.content.append("k")  # type: ignore[union-attr]  # pyright: ignore
        with pytest.raises(AttributeError):
            item.content = "other"  # type: ignore[misc]  # pyright: ignore
    call = context.items[1]
    assert isinstance(call, FunctionCall) and call.metadata is not None
    with pytest.raises(TypeError, match="cannot change"):
        call.metadata["trace"]["id"] = 8


def test_a_copy_of_an_item_may_differ() -> None:
    given = message(extra={"table": 4})
    other = given.model_copy(update={"extra": {"table": 5}})
    assert (other.extra, other.id, given.extra) == ({"table": 5}, given.id, {"table": 4})
    assert given.model_copy(deep=True) == given == deepcopy(given) != other


def test_a_message_that_says_so_is_a_summary_of_the_engine() -> None:
    given = message(["[Conversation Summary]\nIt rained."], "assistant", extra={"summary": True})
    others = [message(extra={"summary": True}), message("", "assistant", extra={"summary": True})]
    context = ChatContext([given, *others])
    assert context.items == [given, *others]
    kinds = [type(context.transcript.get(item.id)) for item in context.items]
    assert kinds == [Summary, Message, Message]


def test_an_image_is_an_address_or_the_bytes_of_a_file() -> None:
    image = ImageContent(PNG, "low").image
    assert isinstance(image, str) and image.startswith("data:image/png;base64,iVBOR")
    with pytest.raises(InvalidValue, match="kind of image"):
        ImageContent(b"no image")


class Tool:
    name = "fry"


def decorated() -> None: ...


decorated._tool_info = Tool()  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]


def fry() -> None: ...


@pytest.mark.parametrize("tool", ["fry", fry, Tool(), decorated])
def test_tools_are_names_functions_or_objects_with_a_name(tool: Any) -> None:
    context = talk(1)
    assert context.add_config_update(tools=[tool]).tools == ["fry"] == context.active_config_at()[1]
    assert len(context.copy(tools=[tool]).items) == 4


# Dictionaries

ITEMS: list[ChatItem] = [
    message(["look", ImageContent(PNG)], "user", id="m", created_at=1.0),
    FunctionCall(name="f", arguments="{}", call_id="c", metadata={"thought_signature": b"sig"}),
    FunctionCallOutput(name="f", output="done", call_id="c", is_error=True),
    AgentHandoff(to_agent="cook", from_agent="waiter", reason="hungry"),
    AgentConfigUpdate(instructions="Cook.", tools=["fry"]),
]


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.type)
def test_an_item_survives_its_dictionary(item: ChatItem) -> None:
    written = json.loads(json.dumps(ChatContext([item]).to_dict()))
    assert written["items"][0]["type"] == item.type
    assert ChatContext.from_dict(written).items == [item]


@pytest.mark.parametrize(
    ("items", "path"),
    [
        ("none", "$.items"),
        (["text"], "$.items[0]"),
        ([{"type": "message", "role": "user", "content": "x"}], "$.items[0].id"),
        ([{"type": "melody", "id": "m"}], "$.items[0].type"),
        ([{"type": "message", "id": "m", "role": "king", "content": "x"}], "$.items[0]"),
        ([{"type": "message", "id": "m", "role": "user", "content": 7}], "$.items[0]"),
        ([{"type": "function_call", "id": "m", "name": "f"}], "$.items[0]"),
        ([ITEMS[1].model_dump() | {"metadata": 7}], "$.items[0]"),
        ([{"type": "message", "id": "m", "role": "user", "content": "x", "mood": 1}], "$.items[0]"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_place(items: Any, path: str) -> None:
    with pytest.raises(Damaged) as caught:
        ChatContext.from_dict({"items": items})
    assert caught.value.path == path
