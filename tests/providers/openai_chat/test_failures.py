"""Results of calls that failed, on both wires of OpenAI, which have no field to say so."""

from typing import Any

import pytest

from quire.items import Content, Image, Item, Message, ToolCall, ToolResult
from quire.providers import OpenAIChat, OpenAIResponses
from tests.providers.openai_chat.laws import PNG, Wire

WIRES = [OpenAIChat(), OpenAIResponses()]
PLACES = {"openai": ("messages", "content"), "openai-responses": ("input", "output")}
SHOWN = {
    "type": "input_image",
    "image_url": "data:image/png;base64,iVBORw0KGgoAAAAAAAAAAA==",
    "detail": "auto",
}


def history(content: Content, is_error: bool = True) -> list[Item]:
    """A call of a known tool, so that also the fast path may write it."""
    again = ToolResult("b", "look", content, is_error)
    first = (Message("user", "hi"), ToolCall("a", "look"), ToolResult("a", "look", "x"), Message("user", "?"))
    return [*first, ToolCall("b", "look"), again, Message("user", "so?"), Message("user", "?")]


def written(wire: Wire, items: list[Item]) -> list[Any]:
    messages, field = PLACES[wire.name]
    payload = wire.render(items).payload
    assert wire.check(payload) == []
    return [
        message[field] for message in payload[messages] if message.get("tool_call_id") or field in message
    ]


def read(wire: Wire, items: list[Item]) -> ToolResult:
    (_, result) = [
        item for item in wire.read_history(wire.render(items).payload) if isinstance(item, ToolResult)
    ]
    return result


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no such file", "Error: no such file"),
        ("no such café", "Error: no such café"),
        ("", "Error: (no output)"),
        ("ERROR 5", "ERROR 5"),
        ("error: no", "error: no"),
        (("no", "file"), "Error: no\nfile"),
    ],
)
def test_a_failure_is_said_in_words(wire: Wire, text: Content, shown: str) -> None:
    assert shown in written(wire, history(text))
    assert shown in written(wire, history(text)[4:])  # a tool met for the first time is written at length


@pytest.mark.parametrize("wire", WIRES)
def test_a_failure_is_read_as_one(wire: Wire) -> None:
    result = read(wire, history("no such file"))
    assert (result.content, result.is_error) == ("no such file", True)
    fine = read(wire, history("errors: none", is_error=False))
    assert (fine.content, fine.is_error) == ("errors: none", False)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "text", ["Error: ", "Error: error 5", "Error: Error: x", "Error: x", "error", "Error:x"]
)
@pytest.mark.parametrize("is_error", [True, False])
def test_what_was_read_is_written_as_it_was(wire: Wire, text: str, is_error: bool) -> None:
    sent = wire.render(history(text, is_error)).payload
    assert wire.render(wire.read_history(sent)).payload == sent


@pytest.mark.parametrize(
    ("content", "first"),
    [
        (("no", Image(data=PNG)), [{"type": "input_text", "text": "Error: no"}]),
        ((Image(data=PNG),), [{"type": "input_text", "text": "Error: "}]),
        (("Error: ", "error", Image(data=PNG)), [{"type": "input_text", "text": "Error: "}]),
    ],
)
def test_a_failure_with_a_picture(content: Content, first: list[Any]) -> None:
    wire = OpenAIResponses()
    shown = written(wire, history(content))[-1]
    assert shown[:1] == first and shown[-1] == SHOWN
    result = read(wire, history(content))
    assert result.is_error
    sent = wire.render(history(content)).payload
    assert wire.render(wire.read_history(sent)).payload == sent


def test_a_failure_with_a_picture_that_is_moved() -> None:
    messages = OpenAIChat().render(history((Image(data=PNG),))).payload["messages"]
    assert messages[5]["content"] == "Error: (no output)"
    assert messages[6]["content"][0] == {"type": "text", "text": "[from look]"}
