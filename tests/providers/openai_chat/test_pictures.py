"""Images beside a content: those that a model drew over a gateway, and those that Ollama is shown."""

from base64 import b64encode
from typing import Any

import pytest

from quire.errors import Damaged
from quire.items import Image, Item, Message, Note, ToolCall, ToolResult
from quire.providers import OpenAIChat, check, provider_for

WIRE = OpenAIChat()
MODEL = "google/gemini-2.5-flash-image"
PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"
ADDRESS = f"data:image/png;base64,{b64encode(PNG).decode()}"
NO_BYTES = {"url": "data:image/png;base64,"}
DRAWN = {"type": "image_url", "image_url": {"url": ADDRESS}, "index": 0}
PICTURE = Image(data=PNG, media_type="image/png")
WIRES = ("openai", "openai-responses", "anthropic", "gemini")


def answered(**message: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    return {"object": "chat.completion", "model": MODEL, "choices": [choice]}


@pytest.mark.parametrize("content", ["Here it is.", "", None])
def test_what_a_model_drew_is_in_its_answer(content: str | None) -> None:
    parsed = WIRE.parse(answered(content=content, images=[DRAWN]), model=MODEL)
    (said,) = parsed.items
    assert isinstance(said, Message) and said.parts == (*([content] if content else ()), PICTURE)
    assert (parsed.finish, parsed.error) == ("stop", None)


def test_images_come_in_streams() -> None:
    stream = WIRE.stream(model=MODEL)
    for delta in ({"content": "Two: "}, {"content": "", "images": [DRAWN]}, {"images": [DRAWN]}):
        stream.feed({"choices": [{"index": 0, "delta": delta}]})
    stream.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    (said,) = stream.close().items
    assert isinstance(said, Message) and said.parts == ("Two: ", PICTURE, PICTURE)


def test_images_stand_beside_calls() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    said, called = WIRE.parse(answered(content=None, images=[DRAWN], tool_calls=[call])).items
    assert isinstance(said, Message) and said.parts == (PICTURE,) and isinstance(called, ToolCall)


@pytest.mark.parametrize("wire", WIRES)
def test_what_was_drawn_is_shown_to_every_service(wire: str) -> None:
    history = [
        {"role": "user", "content": "Draw."},
        {"role": "assistant", "content": "", "images": [DRAWN]},
        {"role": "user", "content": "Redder."},
    ]
    assert check(history, "openai", model=MODEL) == []
    items = WIRE.read_history(history, model=MODEL)
    rendering = provider_for(wire).render(items)
    assert check(rendering.payload, wire) == []
    assert b64encode(PNG).decode() in str(rendering.payload) or repr(PNG) in str(rendering.payload)


def test_a_message_of_images_alone_is_no_fault_but_at_openai() -> None:
    history = [
        {"role": "user", "content": "Draw."},
        {"role": "assistant", "content": None, "images": [DRAWN]},
    ]
    assert check(history, "openai", model=MODEL) == []
    assert [fault.rule for fault in check(history, "openai", model="gpt-5.6")] == ["content_missing"]


@pytest.mark.parametrize("content", ["What is it?", "", None])
def test_ollama_is_shown_images_as_bare_base64(content: str | None) -> None:
    images = [b64encode(PNG).decode(), ADDRESS, "https://example.com/a.png"]
    (said,) = WIRE.read_history([{"role": "user", "content": content, "images": images}])
    shown = (PICTURE, PICTURE, Image(url="https://example.com/a.png"))
    assert isinstance(said, Message) and said.parts == (*([content] if content else ()), *shown)


@pytest.mark.parametrize(
    "bad",
    [None, 1, "", "no base64!", {"image_url": None}, {"image_url": {"url": ""}}, {"image_url": NO_BYTES}],
)
def test_an_image_that_cannot_be_read_costs_no_answer(bad: Any) -> None:
    drawn = [bad, DRAWN]
    said, note = WIRE.parse(answered(content="Here.", images=drawn)).items
    assert isinstance(said, Message) and said.parts == ("Here.", PICTURE)
    assert isinstance(note, Note)
    stream = WIRE.stream(model=MODEL)
    stream.feed({"choices": [{"index": 0, "delta": {"content": "Here.", "images": drawn}}]})
    assert [type(item) for item in stream.close().items] == [Message, Note]


@pytest.mark.parametrize("block", [{"b64_json": b64encode(PNG).decode()}, {"type": "image", "url": ADDRESS}])
def test_images_of_other_shapes(block: Any) -> None:
    (said,) = WIRE.parse(answered(content=None, images=[block])).items
    assert isinstance(said, Message) and said.parts == (PICTURE,)


def test_what_was_drawn_beside_calls_is_shown_after_the_results() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    drawn = WIRE.parse(answered(content="Here.", images=[DRAWN], tool_calls=[call])).items
    items: list[Item] = [Message("user", "Draw."), *drawn, ToolResult("c1", "look", "done")]
    rendering = WIRE.render(items, model="gpt-5.6")
    assert check(rendering.payload, "openai", model="gpt-5.6") == []
    _, said, given, shown = rendering.payload["messages"]
    assert said["content"] == "Here." and said["tool_calls"] and given["content"] == "done"
    assert shown["role"] == "user" and shown["content"][1]["image_url"]["url"] == ADDRESS
    assert [note.change for note in rendering.downgrades] == ["media_moved"]


def test_what_is_no_image_is_kept_or_named() -> None:
    said, note = WIRE.parse(answered(content="Here.", images=[{"hologram": 1}])).items
    assert isinstance(said, Message) and said.content == "Here."
    assert isinstance(note, Note) and note.content == {"hologram": 1}
    with pytest.raises(Damaged) as found:
        WIRE.read_history([{"role": "user", "content": "", "images": ["no base64!"]}])
    assert found.value.path == "messages[0].images[0]"
