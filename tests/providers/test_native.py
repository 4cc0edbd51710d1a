"""What one wire has and no item stands for goes back to that wire as it came, and elsewhere is noted."""

import json
from typing import Any

import pytest

from quire.errors import Downgraded
from quire.items import JSON, Mask
from quire.providers import PROVIDERS
from quire.state import Transcript

SEARCH = {
    "type": "search_result",
    "source": "s",
    "title": "t",
    "content": [{"type": "text", "text": "Rain."}],
}
CITED = {**SEARCH, "citations": {"enabled": True}}
DOCUMENT: dict[str, Any] = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "Rain."},
    "title": "Weather",
    "citations": {"enabled": True},
    "context": "of today",
}
USE: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}


def asked(*blocks: Any) -> list[Any]:
    return [{"role": "user", "content": [{"type": "text", "text": "Read it."}, *blocks]}]


def spoken(*blocks: Any) -> list[Any]:
    return [{"role": "user", "content": [{"type": "input_text", "text": "Read it."}, *blocks]}]


def shown(part: Any) -> list[Any]:
    return [{"role": "user", "parts": [{"text": "Watch it."}, part]}]


PIECES: list[Any] = [
    {"type": "text", "text": "Rain."},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
]
VIDEO = {"fileData": {"fileUri": "https://example.com/files/abc", "mimeType": "video/mp4"}}

FILES: dict[str, tuple[str, list[Any]]] = {
    "a file of Chat": ("openai", asked({"type": "file", "file": {"file_id": "file-1"}})),
    "a file of Responses": ("openai-responses", spoken({"type": "input_file", "file_id": "file-1"})),
    "an image of Responses": (
        "openai-responses",
        spoken({"type": "input_image", "file_id": "file-1", "detail": "low"}),
    ),
    "a document of Anthropic": (
        "anthropic",
        asked({"type": "document", "source": {"type": "file", "file_id": "file_1"}, "title": "T"}),
    ),
    "an image of Anthropic": (
        "anthropic",
        asked({"type": "image", "source": {"type": "file", "file_id": "file_1"}}),
    ),
    "a search of Anthropic": ("anthropic", asked(CITED)),
    "a document in pieces": (
        "anthropic",
        asked({"type": "document", "source": {"type": "content", "content": "Rain."}}),
    ),
    "a document of several texts and pictures": (
        "anthropic",
        asked({"type": "document", "title": "T", "source": {"type": "content", "content": PIECES}}),
    ),
    "an item that is kept elsewhere": (
        "openai-responses",
        [{"role": "user", "content": "Go."}, {"type": "item_reference", "id": "msg_1"}],
    ),
    "leave to run a tool": (
        "openai-responses",
        [
            {"type": "item_reference", "id": "mcpr_1"},
            {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
        ],
    ),
    "what was said in sound": (
        "openai",
        [*asked(), {"role": "assistant", "content": "Hm.", "audio": {"id": "audio_1"}}, *asked()],
    ),
}
BESIDE: dict[str, tuple[str, list[Any]]] = {
    "a speaker": ("openai", [{"role": "user", "name": "ana", "content": "Hi."}]),
    "a stretch of a video": ("gemini", shown({**VIDEO, "videoMetadata": {"startOffset": "10s"}})),
    "settings of a document": ("anthropic", asked(DOCUMENT)),
    "a search in a result": (
        "anthropic",
        [
            *asked(),
            {"role": "assistant", "content": [USE]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [SEARCH]}]},
        ],
    ),
}
ALL = FILES | BESIDE
_FIELD = {"openai": "messages", "openai-responses": "input", "anthropic": "messages", "gemini": "contents"}


def as_sent(wire: str, history: list[Any]) -> list[Any]:
    """A history with the texts that may be written in two ways written in one."""
    if wire != "openai":
        return history
    words = [{"type": "text", "text": "Read it."}]
    return [{**turn, "content": "Read it."} if turn["content"] == words else turn for turn in history]


@pytest.mark.parametrize("name", ALL)
def test_it_goes_back_as_it_came_also_through_the_codec(name: str) -> None:
    wire, history = ALL[name]
    items = PROVIDERS[wire].read_history(history)
    for read in (items, JSON.decode(JSON.encode(items)), Transcript(items).view):
        rendered = PROVIDERS[wire].render(read, strict=True)
        assert rendered.payload[_FIELD[wire]] == as_sent(wire, history)
        assert PROVIDERS[wire].check(rendered.payload) == []


@pytest.mark.parametrize("name", FILES)
def test_on_another_wire_a_file_or_a_block_is_put_in_words_and_that_is_said(name: str) -> None:
    wire, history = FILES[name]
    items = PROVIDERS[wire].read_history(history)
    for other, provider in PROVIDERS.items():
        if other == wire or {other, wire} == {"openai", "openai-responses"}:
            continue
        rendered = provider.render(items)
        assert "media_as_text" in {downgrade.change for downgrade in rendered.downgrades}
        assert provider.check(rendered.payload) == []
        with pytest.raises(Downgraded):
            provider.render(items, strict=True)


@pytest.mark.parametrize("name", BESIDE)
def test_on_another_wire_a_field_is_left_out_and_that_is_said(name: str) -> None:
    wire, history = BESIDE[name]
    items = PROVIDERS[wire].read_history(history)
    for other, provider in PROVIDERS.items():
        changes = {downgrade.change for downgrade in provider.render(items).downgrades}
        assert ("fields_left_out" in changes) == (other != wire)


def test_files_of_openai_are_known_to_both_of_its_wires() -> None:
    items = PROVIDERS["openai"].read_history(FILES["a file of Chat"][1])
    rendered = PROVIDERS["openai-responses"].render(items, strict=True)
    assert {"type": "input_file", "file_id": "file-1"} in rendered.payload["input"][0]["content"]


@pytest.mark.parametrize(
    ("wire", "history"),
    [
        ("openai", asked({"type": "hologram", "x": 1})),
        ("openai-responses", [*spoken(), {"type": "hologram", "id": "msg_1"}]),
        ("openai-responses", [*spoken(), *[{"type": "item_reference", "id": "msg_1"}] * 2]),
        (
            "anthropic",
            asked({"type": "document", "source": {"type": "content", "content": [{"type": "audio"}]}}),
        ),
        ("anthropic", asked({**SEARCH, "content": []})),
        ("gemini", shown({"hologram": {}})),
    ],
)
def test_what_is_of_no_known_kind_is_put_in_words_and_that_is_said(wire: str, history: list[Any]) -> None:
    items = PROVIDERS[wire].read_history(history)
    assert PROVIDERS[wire].check(PROVIDERS[wire].render(items).payload) == []
    with pytest.raises(Downgraded, match="put in words"):
        PROVIDERS[wire].render(items, strict=True)


def test_a_result_that_was_masked_does_not_come_back() -> None:
    wire, history = BESIDE["a search in a result"]
    transcript = Transcript(PROVIDERS[wire].read_history(history))
    transcript.append(Mask(transcript.view[-1].id, "[cleared]"))
    assert "Rain." not in json.dumps(PROVIDERS[wire].render(transcript.view).payload)


def test_citations_of_an_answer_are_kept_and_not_sent() -> None:
    anthropic = PROVIDERS["anthropic"]
    cited = {"type": "text", "text": "Rain.", "citations": [{"type": "char_location", "cited_text": "Rain."}]}
    (message,) = anthropic.parse({"content": [cited], "stop_reason": "end_turn"}).items
    assert message.extras["beside"]["citations"] == [cited["citations"]]
    rendered = anthropic.render([message], strict=True)
    assert "char_location" not in json.dumps(rendered.payload)
    assert "fields_left_out" in {downgrade.change for downgrade in rendered.downgrades}
