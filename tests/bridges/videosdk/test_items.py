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
    ChatRole,
    FunctionCall,
    FunctionCallOutput,
    ImageContent,
)
from quire.errors import Damaged, DuplicateId, QuireError
from quire.items import Message, Summary
from tests.bridges.videosdk.shop import talk

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


def message(content: Any = "hello", role: Any = "user", **fields: Any) -> ChatMessage:
    return ChatMessage(role=role, content=content, **fields)


@pytest.mark.parametrize(
    "content", ["words", ["words"], ["two", "texts"], [], [ImageContent("https://x/a.png")]]
)
def test_content_keeps_the_form_in_which_it_was_given(content: Any) -> None:
    given = message(content)
    (shown,) = ChatContext([given]).messages()
    assert shown.content == given.content == content and shown == given


def test_a_message_keeps_all_its_fields_and_the_engine_what_it_has_no_field_for() -> None:
    given = message(
        *("Hi.", ChatRole.ASSISTANT),
        created_at=0.0,
        interrupted=True,
        extra={"table": {"no": 4}},
        confidence=0.5,
        metrics={"ms": 20},
        audio_instructions="Speak up.",
        text_instructions="Be brief.",
    )
    (shown,) = ChatContext([given]).messages()
    assert shown == given and shown.created_at == 0.0 and isinstance(shown.item, Message)
    assert shown.item.extras["videosdk"]["confidence"] == 0.5
    words = [shown.instructions_for_modality(one) for one in ("audio", "text")]
    assert words == ["Speak up.", "Be brief."] and message(["hi"]).instructions_for_modality("audio") == [
        "hi"
    ]


@pytest.mark.parametrize("extra", [{}, {"table": 4}, {"summary": True}])
def test_an_item_refuses_every_change(extra: dict[str, Any]) -> None:
    context = ChatContext([message(role="assistant", extra=extra)])
    call = context.add_function_call("stock", "{}", metadata={"trace": {"id": 7}})
    for item in (message(extra=extra), context.messages()[0]):
        with pytest.raises(TypeError, match=r"cannot change; .*model_copy"):
            item.extra["k"] = 1
        with pytest.raises(AttributeError):
            item.content = "other"  # type: ignore[misc]  # pyright: ignore
    for one in (call, context.items[1]):
        assert isinstance(one, FunctionCall) and one.metadata is not None
        with pytest.raises(TypeError, match="cannot change"):
            one.metadata["trace"]["id"] = 8


def test_a_copy_of_an_item_may_differ() -> None:
    given = message(extra={"table": 4})
    other = given.model_copy(update={"extra": {"table": 5}})
    assert (other.extra, other.id, given.extra) == ({"table": 5}, given.id, {"table": 4})
    assert deepcopy(given).extra == given.extra
    assert given.model_copy(deep=True) == given != other and hash(given) == hash(other)


def test_a_message_that_says_so_is_a_summary_of_the_engine() -> None:
    given = message(["[Conversation Summary]\nIt rained."], "assistant", extra={"summary": True})
    (shown,) = ChatContext([given]).messages()
    assert isinstance(shown.item, Summary) and shown == given and shown.extra == {"summary": True}
    for other in (message(extra={"summary": True}), message("", "assistant", extra={"summary": True})):
        assert isinstance(other.item, Message) and other.extra == {"summary": True}


def test_an_image_is_an_address_or_the_bytes_of_a_file() -> None:
    assert ImageContent("https://x/a.png", "low").to_data_url() == "https://x/a.png"
    assert ImageContent(PNG).to_data_url().startswith("data:image/png;base64,iVBOR")
    assert ImageContent(PNG) == ImageContent(ImageContent(PNG).to_data_url())


class Tool:
    name = "fry"


def decorated() -> None: ...


decorated._tool_info = Tool()  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]


def fry() -> None: ...


@pytest.mark.parametrize(
    "tool", ["fry", fry, Tool(), decorated, {"name": "fry"}, {"function": {"name": "fry"}}]
)
def test_tools_are_names_functions_objects_or_definitions(tool: Any) -> None:
    context = talk(1)
    assert context.add_config_update(tools=[tool]).tools == ["fry"] == context.active_config_at()[1]
    assert len(context.copy(tools=[tool]).items) == 4


@pytest.mark.parametrize(
    "make",
    [
        lambda: message(7),
        lambda: message([7]),
        lambda: message([{"type": "video"}]),
        lambda: message(role="tool"),
        lambda: ImageContent(7),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        lambda: ImageContent(b"no image"),
        lambda: FunctionCall(name="", arguments="{}", call_id="c"),
        lambda: FunctionCall(name="f", arguments="{}", call_id="c", metadata=7),  # type: ignore[arg-type]  # pyright: ignore
        lambda: AgentConfigUpdate(tools="fry"),  # type: ignore[arg-type]  # pyright: ignore
        lambda: AgentConfigUpdate(tools=[object()]),  # type: ignore[list-item]  # pyright: ignore
        lambda: ChatContext(["hello"]),  # type: ignore[list-item]  # pyright: ignore
    ],
)
def test_wrong_values_are_refused(make: Any) -> None:
    with pytest.raises(QuireError):
        make()


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


def test_fields_with_a_default_may_be_left_out() -> None:
    (shown,) = ChatContext.from_dict(
        {"items": [{"type": "message", "id": "m", "role": "user", "content": "x"}]}
    ).items
    assert isinstance(shown, ChatMessage) and shown.extra == {} and shown.agent_id is None


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
        ([{"type": "message", "id": "m", "role": "user", "content": "x", "mood": 1}], "$.items[0]"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_place(items: Any, path: str) -> None:
    with pytest.raises(Damaged) as caught:
        ChatContext.from_dict({"items": items})
    assert caught.value.path == path


def test_an_id_that_comes_twice_is_an_error() -> None:
    with pytest.raises(DuplicateId):
        ChatContext([ITEMS[0], ITEMS[0]])
