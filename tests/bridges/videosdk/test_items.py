"""Items: their fields, and that they are frozen."""

from typing import Any

import pytest

from quire.bridges.videosdk import ChatContext, ChatMessage, ImageContent
from quire.errors import InvalidValue
from quire.items import Message, Summary

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


def message(content: Any = "hello", role: Any = "user", **fields: Any) -> ChatMessage:
    return ChatMessage(role=role, content=content, **fields)


@pytest.mark.parametrize("content", ["words", ["words"], ["two", "texts"], [ImageContent("https://x/a.png")]])
def test_content_keeps_the_form_in_which_it_was_given(content: Any) -> None:
    given = message(content)
    (shown,) = ChatContext([given]).messages()
    assert shown == given and shown.content == content


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
    with pytest.raises(InvalidValue, match="image of a known kind"):
        ImageContent(b"no image")
