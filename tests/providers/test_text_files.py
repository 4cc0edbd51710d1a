"""A file of text is said as text on every wire, whatever its type is called; what is lost of it is noted."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from quire.items import File, Image, Item, Message, ToolCall, ToolResult
from quire.providers import PROVIDERS
from quire.tokens import counter_for

MODELS = {
    "openai": "gpt-5.6",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-opus-4-8",
    "gemini": "gemini-3-pro",
}
_KINDS = (
    *("xml", "yaml", "x-yaml", "toml", "javascript", "sql", "x-ndjson", "ld+json", "atom+xml"),
    "JSON; charset=utf-8",
)
_NAMES = ("a.json", "A.YML", "dir/a.py", "Makefile", "a.log")
TEXTS = [
    *(File(data=b"total: 41", media_type=f"application/{kind}") for kind in _KINDS),
    *(File(data=b"total: 41", name=name) for name in _NAMES),
    File(data=b"total: 41", name="a.md", media_type="application/octet-stream"),
]
OTHERS = [
    File(data=b"total: 41"),
    File(data=b"total: 41", name="a.zip"),
    File(data=b"total \xff", name="a.json"),
    File(data=b"total: 41", name="a.json", media_type="application/zip"),
]


def rendered(wire: str, part: Any) -> tuple[str, list[str]]:
    sent = PROVIDERS[wire].render([Message("user", ("Sum it.", part))], model=MODELS[wire])
    assert PROVIDERS[wire].check(sent.payload, MODELS[wire]) == []
    return json.dumps(sent.payload), [note.change for note in sent.downgrades]


@pytest.mark.parametrize("wire", MODELS)
@pytest.mark.parametrize("file", TEXTS, ids=lambda file: str(file.name or file.media_type))
def test_it_is_said(wire: str, file: File) -> None:
    if wire == "openai-responses" and (file.media_type or "").startswith("application/JSON"):
        return  # there it is carried as the file it is, see below
    payload, changes = rendered(wire, file)
    assert "total: 41" in payload and changes == []


def test_responses_carries_json_as_the_file_that_it_is() -> None:
    payload, changes = rendered(
        "openai-responses", File(data=b'{"a": 1}', media_type="application/json", name="a.json")
    )
    assert "input_file" in payload and changes == []


@pytest.mark.parametrize("wire", MODELS)
@pytest.mark.parametrize("file", OTHERS, ids=lambda file: str(file.name))
def test_what_only_might_be_text_is_not_taken_for_it(wire: str, file: File) -> None:
    payload, changes = rendered(wire, file)
    assert "total" not in payload and changes == ["media_as_text"]


@pytest.mark.parametrize("wire", MODELS)
def test_letters_that_are_replaced_are_noted(wire: str) -> None:
    file = File(data="Größe: 41".encode("latin-1"), media_type="text/plain")
    payload, changes = rendered(wire, file)
    assert ": 41" in payload and changes == ["media_as_text"]
    call, result = ToolCall("c1", "look"), ToolResult("c1", "look", ("Here:", file))
    items: list[Item] = [Message("user", "Look."), call, result]
    notes = PROVIDERS[wire].render(items, model=MODELS[wire], tools=[{"name": "look"}]).downgrades
    assert [note.change for note in notes if note.item_id == result.id] == ["media_as_text"]


@pytest.mark.parametrize(("brand", "kind"), [(b"heic", "image/heic"), (b"mif1", "image/heif")])
def test_a_picture_of_a_telephone_is_known_by_its_bytes(brand: bytes, kind: str) -> None:
    payload, changes = rendered("gemini", Image(data=b"\0\0\0\x18ftyp" + brand + b"\0" * 12))
    assert kind in payload and changes == []


@pytest.mark.parametrize("part", [*TEXTS, *OTHERS], ids=repr)
def test_it_is_counted_as_what_it_is_told_as(part: File) -> None:
    """Three thousand words are no page of a document."""
    long = replace(part, data=(part.data or b"") * 1_000)
    counter = counter_for("gpt-5.6")
    counted = counter.count(Message("user", (long,)))
    text = (long.data or b"").decode("utf-8", "replace")
    as_words = counter.count(Message("user", (f"[{part.name}]\n{text}" if part.name else text,)))
    assert (counted == as_words) is (part in TEXTS)


def test_a_csv_is_one_also_where_a_browser_calls_it_a_spreadsheet() -> None:
    file = File(data=b"total: 41", name="a.csv", media_type="application/vnd.ms-excel")
    for wire in MODELS:
        payload, changes = rendered(wire, file)
        assert "total: 41" in payload and changes == []
    sheet = File(data=b"total: 41", name="a.xls", media_type="application/vnd.ms-excel")
    assert "total: 41" not in rendered("openai", sheet)[0]


QUARTERS = (
    File(data=b"margin 7", media_type="text/csv", name="q2.csv"),
    File(data=b"margin 9", media_type="text/csv", name="q3\n \ud800.csv"),
)


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "gemini"])
def test_each_has_its_name_on_a_line_before_it(wire: str) -> None:
    call, result = ToolCall("c1", "look"), ToolResult("c1", "look", QUARTERS)
    items: list[Item] = [Message("user", ("Compare.", *QUARTERS)), call, result]
    sent = PROVIDERS[wire].render(items, model=MODELS[wire], tools=[{"name": "look"}])
    assert PROVIDERS[wire].check(sent.payload, MODELS[wire]) == []
    said = json.dumps(sent.payload)
    assert said.count(r"[q2.csv]\nmargin 7") == said.count(r"[q3 \ufffd.csv]\nmargin 9") == 2


def test_anthropic_has_a_field_for_it() -> None:
    payload, _ = rendered("anthropic", QUARTERS[0])
    assert '"title": "q2.csv"' in payload and "[q2.csv]" not in payload


def test_one_without_a_name_is_its_text_alone() -> None:
    assert '"total: 41"' in rendered("openai", File(data=b"total: 41", media_type="text/plain"))[0]
