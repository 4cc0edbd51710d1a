"""Media whose address cannot be read are put in words, on every wire alike."""

import json
from base64 import b64encode, encodebytes, urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import pytest

from quire.errors import Damaged, Downgraded
from quire.items import Audio, File, Image, Message, ToolResult
from quire.providers import PROVIDERS
from tests.providers.replies import history

PNG = b"\x89PNG\r\n\x1a\n\xfb\xff"
MODELS = {"openai": "gpt-4o-audio-preview"}
BROKEN = (
    Image(url="data:image/png;base64,@@@"),
    Image(url="data:image/png;base64,"),
    Audio(url="data:audio/wav;base64,@@@"),
    File(url="data:application/pdf;base64,@@@"),
)


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("part", BROKEN)
def test_an_address_that_cannot_be_read_becomes_words(wire: str, part: Image | Audio | File) -> None:
    provider, model = PROVIDERS[wire], MODELS.get(wire)
    items = [Message("user", ("Look:", part))]
    rendered = provider.render(items, model=model)
    assert provider.check(rendered.payload, model) == []
    assert [downgrade.change for downgrade in rendered.downgrades] == ["media_as_text"]
    assert "@@@" not in json.dumps(rendered.payload)
    with pytest.raises(Downgraded):
        provider.render(items, model=model, strict=True)


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("data", ["iVBORw0KGgo=", "iVBO\nRw0K\nGgo=", "iVBORw0KGgo", "iVBORw0KGgo=="])
def test_base64_in_the_forms_that_are_about_is_read(wire: str, data: str) -> None:
    rendered = PROVIDERS[wire].render([Message("user", (Image(url=f"data:image/png;base64,{data}"),))])
    assert "iVBORw0KGgo=" in json.dumps(rendered.payload)
    assert rendered.downgrades == ()


def shown(wire: str, data: str) -> list[Any]:
    """A history with a picture in base64."""
    address = f"data:image/png;base64,{data}"
    blocks: dict[str, Any] = {
        "openai": {"type": "image_url", "image_url": {"url": address}},
        "openai-responses": {"type": "input_image", "image_url": address},
        "anthropic": {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": data},
        },
        "gemini": {"inlineData": {"mimeType": "image/png", "data": data}},
    }
    held = "parts" if wire == "gemini" else "content"
    return [{"role": "user", held: [blocks[wire]]}]


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("picture", [PNG, PNG * 50])
@pytest.mark.parametrize("write", [b64encode, encodebytes, urlsafe_b64encode])
def test_a_history_may_have_them_too_and_sends_none_of_it(
    wire: str, picture: bytes, write: Callable[[bytes], bytes]
) -> None:
    items = PROVIDERS[wire].read_history(shown(wire, write(picture).decode()))
    assert isinstance(items[0], Message)
    assert items[0].content == (Image(data=picture, media_type="image/png"),)
    assert b64encode(picture).decode() in json.dumps(PROVIDERS[wire].render(items).payload)


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("data", ["@@@", "iVBORw0KG", "é", ""])
def test_what_is_no_base64_is_damage(wire: str, data: str) -> None:
    with pytest.raises(Damaged):
        PROVIDERS[wire].read_history(shown(wire, data))


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize(
    "part",
    [
        Image(url="https://example.com/\ud800.png"),
        File(url="https://example.com/\ud800.pdf", media_type="application/pdf"),
        File(data=b"%PDF-1.7", name="half \ud800.pdf"),
    ],
)
def test_names_and_addresses_can_be_written(wire: str, part: Image | File) -> None:
    payload = PROVIDERS[wire].render([Message("user", ("Look:", part))]).payload
    json.dumps(payload, ensure_ascii=False).encode()


BROKEN_BLOCKS: list[Any] = [
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "<redacted>"}},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": 5}},
    {"type": "image", "source": 5},
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": None}},
]


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic"])
@pytest.mark.parametrize("block", BROKEN_BLOCKS)
def test_in_a_result_it_is_json_and_costs_nothing_else(wire: str, block: Any) -> None:
    provider = PROVIDERS[wire]
    items = provider.read_history(history(wire, [block, {"type": "text", "text": "done"}]))
    given = items[-1]
    assert isinstance(given, ToolResult) and "done" in given.text
    assert json.dumps(block, separators=(",", ":")) in given.text
    assert provider.check(provider.render(items).payload) == []


def test_long_data_that_cannot_be_read_is_not_told() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": b64encode(PNG * 500).decode() + "?"}
    items = PROVIDERS["anthropic"].read_history(history("anthropic", [{"type": "image", "source": source}]))
    rendered = json.dumps(PROVIDERS["anthropic"].render(items).payload)
    assert "image/png" in rendered and source["data"][:100] not in rendered


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic"])
def test_fields_that_nest_deeply_beside_a_picture_are_refused(wire: str) -> None:
    deep: Any = {}
    for _ in range(5_000):
        deep = {"a": deep}
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    with pytest.raises(Damaged):
        PROVIDERS[wire].read_history(history(wire, [{"type": "image", "source": source, "more": deep}]))
