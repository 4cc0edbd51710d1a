"""A result without content: words stand for it where a wire wants some, and that is noted on all of them."""

import pytest

from quire.items import Content, Image, Item, Message, ToolCall, ToolResult
from quire.providers import PROVIDERS

LOOK = ToolCall("c1", "look")
HI = Message("user", "Hi.")


def changes(wire: str, content: Content, *, ended: bool) -> list[str]:
    items: list[Item] = [HI, LOOK, ToolResult("c1", "look", content), *([HI] if ended else [])]
    rendered = PROVIDERS[wire].render(items, tools=[{"name": "look"}])
    assert PROVIDERS[wire].check(rendered.payload) == []
    return [downgrade.change for downgrade in rendered.downgrades]


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("content", ["", ()])
@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic"])
def test_that_there_is_no_output_is_noted(wire: str, content: Content, ended: bool) -> None:
    assert changes(wire, content, ended=ended) == ["empty_left_out"]


@pytest.mark.parametrize("content", ["", ()])
def test_gemini_takes_an_empty_text(content: Content) -> None:
    assert changes("gemini", content, ended=True) == []


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_picture_is_content(wire: str) -> None:
    image = Image(data=b"\x89PNG\r\n\x1a\n")
    assert "empty_left_out" not in changes(wire, (image,), ended=True)
