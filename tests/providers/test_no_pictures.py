"""Bytes that are said to be a picture or a PDF and are none: no service is sent them, and nothing is lost."""

import json
from base64 import b64encode
from typing import Any

import pytest

from quire.errors import Downgraded
from quire.items import File, Image, Item, Message, Part, ToolCall, ToolResult
from quire.providers import PROVIDERS
from tests.providers.test_broken_media import shown

MODELS = {
    "openai": "gpt-5.6",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-3-pro",
}
PAGE = b"<!DOCTYPE html><html>403 Forbidden</html>"
PNG, PDF = b"\x89PNG\r\n\x1a\n" + bytes(8), b"%PDF-1.7"
NONE: list[Part] = [
    Image(data=PAGE, media_type="image/png"),
    Image(data=b"Warning: device offline\n" + PNG, media_type="image/jpg"),
    Image(url=f"data:image/webp;base64,{b64encode(PAGE).decode()}"),
    Image(data=PDF, media_type="image/gif"),
    File(data=PAGE, media_type="application/pdf", name="a.pdf"),
    File(data=bytes(1024) + PDF, media_type="application/pdf"),
]
USED: list[Item] = [Message("user", "Go."), ToolCall("c1", "look", "{}")]
TOOL: dict[str, Any] = {
    "name": "look",
    "description": "Looks.",
    "parameters": {"type": "object", "properties": {}},
}


def placed(place: str, part: Part) -> list[Item]:
    if place == "the user":
        return [Message("user", ("See:", part))]
    if place == "the model":
        return [USED[0], Message("assistant", ("Here:", part)), USED[0]]
    return [*USED, ToolResult("c1", "look", ("done", part) if place == "a result" else (part,))]


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("place", ["the user", "the model", "a result", "a result alone"])
@pytest.mark.parametrize("part", NONE)
def test_words_stand_for_bytes_that_are_none(wire: str, place: str, part: Image | File) -> None:
    provider, model, items = PROVIDERS[wire], MODELS[wire], placed(place, part)
    made = provider.render(items, model=model, tools=[TOOL])
    assert provider.check(made.payload, model) == []
    assert "media_as_text" in {downgrade.change for downgrade in made.downgrades}
    assert b64encode(PAGE).decode()[:20] not in json.dumps(made.payload)
    if wire != "anthropic" or place != "the model":  # where no media of the model go, they are only named
        assert "which are no p" in json.dumps(made.payload).lower()
    with pytest.raises(Downgraded):
        provider.render(items, model=model, tools=[TOOL], strict=True)


@pytest.mark.parametrize("wire", PROVIDERS)
def test_it_is_told_what_they_were_said_to_be(wire: str) -> None:
    made = PROVIDERS[wire].render([Message("user", (NONE[0], NONE[4]))], model=MODELS[wire])
    text = json.dumps(made.payload)
    assert "[image: 41 bytes said to be image/png, which are no picture]" in text
    assert "[file a.pdf: 41 bytes said to be application/pdf, which are no PDF]" in text
    assert [one.reason for one in made.downgrades] == [
        "Image (image/png) cannot be carried: its 41 bytes are no picture",
        "File (application/pdf) cannot be carried: its 41 bytes are no PDF",
    ]


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize(
    "part",
    [
        Image(data=PNG, media_type="image/png"),
        Image(data=PNG, media_type="image/jpeg"),
        Image(data=b"RIFF\0\0\0\0WEBP", media_type="image/webp"),
        File(data=b"\xef\xbb\xbf\n" + PDF, media_type="application/pdf", name="a.pdf"),
    ],
)
def test_what_may_be_one_is_sent(wire: str, part: Image | File) -> None:
    made = PROVIDERS[wire].render([Message("user", ("See:", part))], model=MODELS[wire], strict=True)
    assert b64encode(part.data or b"").decode() in json.dumps(made.payload)
    assert PROVIDERS[wire].check(made.payload, MODELS[wire]) == []


@pytest.mark.parametrize("kind", ["image/heic", "audio/wav", "video/mp4"])
def test_of_other_types_nothing_is_known(kind: str) -> None:
    part = File(data=b"who knows", media_type=kind)
    assert PROVIDERS["gemini"].render([Message("user", ("See:", part))], strict=True).downgrades == ()


def test_a_photo_of_a_telephone_goes_as_what_it_is_where_it_may() -> None:
    photo = Image(data=b"\0\0\0\x18ftypheic" + bytes(12), media_type="image/jpeg")
    items: list[Item] = [Message("user", ("See:", photo))]
    (content,) = PROVIDERS["gemini"].render(items, strict=True).payload["contents"]
    assert content["parts"][1]["inlineData"]["mimeType"] == "image/heic"
    (downgrade,) = PROVIDERS["anthropic"].render(items).downgrades
    assert downgrade.reason == "Image (image/heic) cannot be carried"


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("data", [b64encode(PAGE).decode(), "redacted"])
def test_check_names_it_in_a_history_and_rendering_mends_it(wire: str, data: str) -> None:
    provider = PROVIDERS[wire]
    faults = provider.check(shown(wire, data), MODELS[wire])
    assert [fault.rule for fault in faults] == ["image_type" if "openai" in wire else "media_type"]
    items = provider.read_history(shown(wire, data))
    assert isinstance(items[0], Message) and isinstance(items[0].parts[0], Image)
    assert provider.check(provider.render(items, model=MODELS[wire]).payload, MODELS[wire]) == []


def test_a_picture_in_the_answer_to_a_call_is_looked_at_too() -> None:
    held = {"inlineData": {"mimeType": "image/png", "data": b64encode(PAGE).decode()}}
    answer = {"name": "look", "response": {"output": "done"}, "parts": [held]}
    payload: list[Any] = [
        {"role": "user", "parts": [{"text": "Go."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": answer}]},
    ]
    (fault,) = PROVIDERS["gemini"].check(payload, "gemini-2.5-pro")
    assert (fault.place, fault.rule) == (
        "contents[2].parts[0].functionResponse.parts[0].inlineData.data",
        "media_type",
    )


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b64encode(PAGE).decode(), "[image: 41 bytes said to be image/png, which are no picture]"),
        ("!!!", "[image]"),
    ],
)
@pytest.mark.parametrize("is_result", [False, True])
def test_one_in_a_document_costs_none_of_its_words(data: str, told: str, is_result: bool) -> None:
    words = {"type": "text", "text": "It rains."}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    document = {"type": "document", "source": {"type": "content", "content": [words, image]}}
    asked: list[Any] = [{"role": "user", "content": [document]}]
    if is_result:
        result = {"type": "tool_result", "tool_use_id": "t1", "content": [document]}
        call: Any = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
        asked = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    provider = PROVIDERS["anthropic"]
    made = provider.render(provider.read_history(asked), model=MODELS["anthropic"], tools=[TOOL])
    (shown,) = made.payload["messages"][-1]["content"]
    written = shown["content"][0] if is_result else shown
    assert written["source"]["content"] == [words, {"type": "text", "text": told}]
    assert [one.change for one in made.downgrades if one.change != "turn_added"] == ["media_as_text"]
    assert provider.check(made.payload, MODELS["anthropic"]) == []
