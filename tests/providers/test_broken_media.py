"""Media whose address cannot be read are put in words, on every wire alike."""

import json

import pytest

from quire.errors import Downgraded
from quire.items import Audio, File, Image, Message
from quire.providers import PROVIDERS

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
