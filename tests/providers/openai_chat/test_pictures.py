"""Images beside a content: those that a model drew over a gateway, and those that Ollama is shown."""

from base64 import b64encode
from typing import Any

import pytest

from quire.errors import Damaged
from quire.items import Image, Message, Note, ToolCall
from quire.providers import check, provider_for
from quire.providers.openai_chat import OpenAIChat

WIRE = OpenAIChat()
MODEL = "google/gemini-2.5-flash-image"
PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"
ADDRESS = f"data:image/png;base64,{b64encode(PNG).decode()}"
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


def test_what_is_no_image_is_kept_or_named() -> None:
    said, note = WIRE.parse(answered(content="Here.", images=[{"hologram": 1}])).items
    assert isinstance(said, Message) and said.content == "Here."
    assert isinstance(note, Note) and note.content == {"hologram": 1}
    with pytest.raises(Damaged) as found:
        WIRE.read_history([{"role": "user", "content": "", "images": ["no base64!"]}])
    assert found.value.path == "messages[0].images[0]"
