"""Results that are a value of a program, where a text or blocks should be: their JSON is the text."""

from base64 import b64encode, encodebytes
from typing import Any

import pytest

from quire.items import Audio, File, Image, Item, ToolResult
from quire.providers import check, provider_for

PNG = b"\x89PNG\r\n\x1a\n"
ADDRESS = "data:image/png;base64,aGk="
VALUES = [
    ({"city": "Oslo"}, '{"city":"Oslo"}'),
    ([{"city": "Oslo"}], '[{"city":"Oslo"}]'),
    (["a", "b"], '["a","b"]'),
    ([1, None, ["a"]], '[1,null,["a"]]'),
    ([{"type": "text", "text": "a"}, 1], '[{"type":"text","text":"a"},1]'),
    (42, "42"),
    (1.5, "1.5"),
    (True, "true"),
]


def history(wire: str, value: Any) -> list[Any]:
    asked = {"role": "user", "content": "Rain?"}
    if wire == "openai":
        call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        return [
            asked,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": value},
        ]
    if wire == "anthropic":
        used: Any = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
        given = {"type": "tool_result", "tool_use_id": "c1", "content": value}
        return [asked, {"role": "assistant", "content": [used]}, {"role": "user", "content": [given]}]
    return [
        asked,
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": value},
    ]


def result(items: list[Item]) -> ToolResult:
    (found,) = (item for item in items if isinstance(item, ToolResult))
    return found


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic"])
@pytest.mark.parametrize(("value", "text"), VALUES)
def test_a_value_is_its_json(wire: str, value: Any, text: str) -> None:
    provider = provider_for(wire)
    items = provider.read_history(history(wire, value))
    assert result(items).content == text
    faults = check(provider.render(items).payload, wire)
    assert [fault for fault in faults if fault.rule != "tools_missing"] == []


ROWS: list[tuple[list[Any], str]] = [
    ([{"type": "invoice", "amount": 3}], '[{"type":"invoice","amount":3}]'),
    (
        [{"type": "file", "path": "a.md", "url": "https://example.com/a.md"}, {"type": "dir", "path": "b"}],
        '[{"type":"file","path":"a.md","url":"https://example.com/a.md"},{"type":"dir","path":"b"}]',
    ),
    ([{"type": "image", "data": "none"}], '[{"type":"image","data":"none"}]'),
    (
        [{"type": "text", "text": "a"}, {"type": "row", "n": 1}],
        '[{"type":"text","text":"a"},{"type":"row","n":1}]',
    ),
    ([{"type": "text", "text": 1}], '[{"type":"text","text":1}]'),
    ([{"type": "text", "text": "Total", "page": 3}], '[{"type":"text","text":"Total","page":3}]'),
    (
        [
            {
                "type": "image",
                "id": 41,
                "title": "Tabby",
                "url": "https://example.com/41",
                "mimeType": "image/png",
            }
        ],
        '[{"type":"image","id":41,"title":"Tabby","url":"https://example.com/41","mimeType":"image/png"}]',
    ),
    (
        [{"type": "file", "id": 7, "url": "https://example.com/7"}],
        '[{"type":"file","id":7,"url":"https://example.com/7"}]',
    ),
    ([{"type": "file", "file_id": "file-1", "size": 3}], '[{"type":"file","file_id":"file-1","size":3}]'),
    ([{"type": "image", "image": "none"}], '[{"type":"image","image":"none"}]'),
    (
        [{"type": "file", "path": "a", "data": "none", "mimeType": "text/plain"}],
        '[{"type":"file","path":"a","data":"none","mimeType":"text/plain"}]',
    ),
]


SCORED: list[tuple[Any, str]] = [
    (
        [{"type": "text", "id": "doc-42", "text": "a"}, {"type": "text", "id": "doc-43", "text": "b"}],
        '[{"type":"text","id":"doc-42","text":"a"},{"type":"text","id":"doc-43","text":"b"}]',
    ),
    ([{"type": "text", "text": "a", "id": 7}], '[{"type":"text","text":"a","id":7}]'),
    ([{"type": "text", "text": "a", "index": "II"}], '[{"type":"text","text":"a","index":"II"}]'),
    ([{"type": "text", "text": "row", "score": 0.9}], '[{"type":"text","text":"row","score":0.9}]'),
    ({"type": "text", "text": "row", "score": 0.9}, '{"type":"text","text":"row","score":0.9}'),
    (
        [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "score": 0}],
        '[{"type":"text","text":"a"},{"type":"text","text":"b","score":0}]',
    ),
]


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic"])
@pytest.mark.parametrize(("value", "text"), SCORED)
def test_texts_with_fields_of_a_program_are_a_value(wire: str, value: Any, text: str) -> None:
    items = provider_for(wire).read_history(history(wire, value))
    assert result(items).content == text and not result(items).extras


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic"])
def test_texts_with_fields_of_a_program_are_their_json_among_media(wire: str) -> None:
    value = [{"type": "text", "text": "row", "score": 0.9}, MEDIA[0][0]]
    items = provider_for(wire).read_history(history(wire, value))
    assert result(items).content == ('{"type":"text","text":"row","score":0.9}', MEDIA[0][1])


@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
@pytest.mark.parametrize(("value", "text"), ROWS)
def test_records_that_have_a_type_are_a_value(wire: str, value: Any, text: str) -> None:
    provider = provider_for(wire)
    items = provider.read_history(history(wire, value))
    assert result(items).content == text and len(items) == 3
    assert check(provider.render(items).payload, wire) == []


@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
def test_media_among_records_stay_media(wire: str) -> None:
    row, picture = {"type": "row", "n": 1}, {"type": "image_url", "image_url": {"url": ADDRESS}}
    items = provider_for(wire).read_history(history(wire, ["a", row, picture]))
    assert result(items).content == ("a", '{"type":"row","n":1}', Image(data=b"hi", media_type="image/png"))


MEDIA = [
    (
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
        Image(data=PNG, media_type="image/png"),
    ),
    ({"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}, Audio(data=b"hi", media_type="audio/wav")),
    (
        {
            "type": "resource",
            "resource": {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "JVBERi0="},
        },
        File(data=b"%PDF-", media_type="application/pdf", name="a.pdf"),
    ),
    (
        {"type": "resource", "resource": {"uri": "x", "mimeType": "image/png", "blob": "iVBORw0KGgo="}},
        Image(data=PNG, media_type="image/png"),
    ),
    ({"type": "resource", "resource": {"uri": "x", "text": "words"}}, "words"),
    (
        {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"},
        Image(data=PNG, media_type="image/png"),
    ),
    (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
        Image(data=PNG, media_type="image/png"),
    ),
]


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic"])
@pytest.mark.parametrize(("block", "part"), MEDIA)
def test_media_of_protocols_are_media(wire: str, block: Any, part: Any) -> None:
    items = provider_for(wire).read_history(history(wire, [{"type": "text", "text": "taken"}, block]))
    assert result(items).content == ("taken", part) and len(items) == 3


@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
def test_a_lone_picture_is_one(wire: str) -> None:
    items = provider_for(wire).read_history(history(wire, MEDIA[0][0]))
    assert result(items).content == (MEDIA[0][1],)


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic", "gemini"])
@pytest.mark.parametrize("head", ["", "data:image/png;base64,"])
def test_bytes_in_a_block_of_no_known_kind_are_not_put_in_words(wire: str, head: str) -> None:
    picture = b64encode(b"\x89PNG\r\n\x1a\n" + b"a picture" * 900).decode()
    block = {"type": "hologram", "views": [{"data": head + picture, "note": "left"}]}
    items = provider_for("openai").read_history([{"role": "user", "content": ["See:", block]}])
    said = str(provider_for(wire).render(items).payload)
    assert picture[:40] not in said and "left" in said and "[image/png, 8108 bytes]" in said
    words = "word by word " * 200 + "語" * 1200
    again = provider_for("openai").read_history([{"role": "user", "content": [{"type": "x", "t": words}]}])
    assert words in str(provider_for(wire).render(again).payload)


@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
def test_texts_among_blocks_are_texts(wire: str) -> None:
    items = provider_for(wire).read_history(history(wire, ["a", {"type": "text", "text": "b"}]))
    assert result(items).content == ("a", "b")


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic"])
@pytest.mark.parametrize(
    "beside",
    [
        {"annotations": []},
        {"id": "lc_1", "index": 0},
        {"id": "msg_1"},
        {"page": None},
        {"citations": [{"type": "char_location"}], "cache_control": {"type": "ephemeral"}},
    ],
)
def test_what_services_have_in_a_text_makes_no_record_of_it(wire: str, beside: Any) -> None:
    items = provider_for(wire).read_history(history(wire, [{"type": "text", "text": "b", **beside}]))
    assert result(items).content == "b"


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic", "gemini"])
@pytest.mark.parametrize(
    "words", ["\n".join(map(str, range(400))), "\n".join(f"item_{n:04d}" for n in range(200)), "a\tb\n" * 400]
)
def test_lines_of_words_are_no_bytes(wire: str, words: str) -> None:
    items = provider_for("openai").read_history([{"role": "user", "content": [{"type": "x", "t": words}]}])
    said = str(provider_for(wire).render(items).payload)
    assert "bytes]" not in said and said.count(words.split()[-1]) >= words.count(words.split()[-1])


@pytest.mark.parametrize("broken", ["\n", "\r\n"])
def test_bytes_in_lines_are_still_bytes(broken: str) -> None:
    lines = encodebytes(PNG + b"a picture" * 900).decode().replace("\n", broken)
    items = provider_for("openai").read_history([{"role": "user", "content": [{"type": "x", "t": lines}]}])
    assert "[image/png, 8108 bytes]" in str(provider_for("openai").render(items).payload)


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic"])
@pytest.mark.parametrize("value", ["", None, []])
def test_nothing_is_nothing(wire: str, value: Any) -> None:
    assert result(provider_for(wire).read_history(history(wire, value))).content == ""
