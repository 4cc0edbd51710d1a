"""Media as other libraries write them: read where they are clear, and kept as they are where they are not."""

from base64 import b64encode
from typing import Any

import pytest

from quire.errors import Damaged
from quire.items import Audio, File, Image, Message, Note, ToolResult
from quire.providers import provider_for
from tests.providers.test_values_as_results import history

WIRES = ["openai", "openai-responses", "anthropic"]
PNG, DATA = b"\x89PNG\r\n\x1a\n", "iVBORw0KGgo="
PLACE, PAPER = "https://example.com/a.png", "https://example.com/a.pdf"
ID, OTHER_ID = "file-8EFBcWHsQxZV7YGezBC1fq", "file_011CNha8iCJcU1wXNR6q4V8w"
PICTURE = Image(data=PNG, media_type="image/png")


def shown(wire: str, block: Any) -> Any:
    text = {"type": "text", "text": "See:"}
    (message,) = provider_for(wire).read_history([{"role": "user", "content": [text, block]}])
    assert isinstance(message, Message)
    return message.parts[1]


def given(wire: str, block: Any) -> Any:
    items = provider_for(wire).read_history(history(wire, [{"type": "text", "text": "See:"}, block]))
    (result,) = (item for item in items if isinstance(item, ToolResult))
    return result.content


BY_ID: list[tuple[Any, Any]] = [
    (
        {"type": "file", "data": ID, "mediaType": "application/pdf"},
        File(url=f"file-id:openai/{ID}", media_type="application/pdf"),
    ),
    ({"type": "image", "image": ID}, Image(url=f"file-id:openai/{ID}")),
    (
        {"type": "file", "data": ID, "mediaType": "image/png"},
        Image(url=f"file-id:openai/{ID}", media_type="image/png"),
    ),
    ({"type": "image", "image": OTHER_ID}, Image(url=f"file-id:anthropic/{OTHER_ID}")),
    ({"type": "file", "file_id": ID}, File(url=f"file-id:openai/{ID}")),
    ({"type": "file", "source_type": "id", "id": ID}, File(url=f"file-id:openai/{ID}")),
]
AT_PLACES: list[tuple[Any, Any]] = [
    ({"type": "image", "url": PLACE}, Image(url=PLACE)),
    ({"type": "image", "source_type": "url", "url": PLACE}, Image(url=PLACE)),
    ({"type": "image", "source_type": "url", "url": PLACE, "id": "1", "metadata": {}}, Image(url=PLACE)),
    ({"type": "image", "url": PLACE, "id": "lc_1"}, Image(url=PLACE)),
    ({"type": "file", "url": PAPER}, File(url=PAPER)),
    ({"type": "file", "source_type": "url", "url": PAPER}, File(url=PAPER)),
    ({"type": "audio", "url": "https://example.com/a"}, Audio(url="https://example.com/a")),
    ({"type": "image", "image": PLACE}, Image(url=PLACE)),
    ({"type": "image", "source": PLACE}, Image(url=PLACE)),
    ({"type": "document", "source": PAPER}, File(url=PAPER)),
]
BYTES: list[tuple[Any, Any]] = [
    ({"type": "image", "source_type": "base64", "data": DATA}, PICTURE),
    ({"type": "image", "base64": DATA}, PICTURE),
    ({"type": "image", "data": DATA, "mimeType": "image/jpeg"}, PICTURE),
    ({"type": "image", "source": DATA}, PICTURE),
    ({"type": "image", "source": f"data:image/png;base64,{DATA}"}, PICTURE),
    ({"type": "image", "data": DATA, "mimeType": "image/png", "annotations": {"a": 1}, "_meta": {}}, PICTURE),
]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("block", "part"), [*BY_ID, *AT_PLACES, *BYTES])
def test_media_are_read_in_a_content_and_in_a_result(wire: str, block: Any, part: Any) -> None:
    assert shown(wire, block) == part
    assert given(wire, block) == ("See:", part)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("beside", [{"id": 41}, {"title": "Tabby"}, {"name": "a"}, {"size": 3, "path": "a"}])
def test_what_stands_beside_an_address_makes_a_record_of_it_in_a_result_alone(wire: str, beside: Any) -> None:
    block = {"type": "image", "url": PLACE, "mimeType": "image/png", **beside}
    assert shown(wire, block) == Image(url=PLACE, media_type="image/png")
    content = given(wire, block)
    assert all(isinstance(part, str) for part in content)
    assert all(f'"{name}"' in str(content) for name in beside)


SAID = {"caption": "the hall", "page": 3}
CAPTIONED: list[tuple[Any, Any]] = [
    ({"type": "image", "data": DATA, "mimeType": "image/png"}, PICTURE),
    ({"type": "image", "base64": DATA, "source_type": "base64", "id": "1"}, PICTURE),
    ({"type": "resource", "resource": {"uri": "x", "blob": DATA}}, PICTURE),
    ({"type": "resource", "resource": {"uri": "x", "text": "words"}}, "words"),
    ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}, PICTURE),
    ({"type": "image", "source": {"type": "url", "url": PLACE}}, Image(url=PLACE)),
]
OF_OPENAI: list[tuple[Any, Any]] = [
    ({"type": "image_url", "image_url": {"url": PLACE}}, Image(url=PLACE)),
    ({"type": "input_image", "image_url": PLACE, "detail": "auto"}, Image(url=PLACE)),
    ({"type": "input_file", "file_url": PAPER, "filename": "a"}, File(url=PAPER, name="a")),
    ({"type": "file", "file": {"file_id": ID}}, File(url=f"file-id:openai/{ID}")),
    ({"type": "input_audio", "input_audio": {"data": "aGk="}}, Audio(data=b"hi")),
]


@pytest.mark.parametrize(
    ("wire", "block", "part"),
    [
        *((wire, *case) for wire in WIRES for case in CAPTIONED),
        *((wire, *case) for wire in WIRES[:2] for case in OF_OPENAI),
    ],
)
def test_what_a_program_put_beside_media_stands_after_them(wire: str, block: Any, part: Any) -> None:
    assert given(wire, block) == ("See:", part)
    assert given(wire, {**block, **SAID}) == ("See:", part, '{"caption":"the hall","page":3}')


@pytest.mark.parametrize("wire", WIRES)
def test_fields_of_a_resource_are_kept_and_long_bytes_beside_media_are_not_put_in_words(wire: str) -> None:
    held = {"uri": "x", "blob": DATA, "_meta": {"a": 1}, "size": 8}
    block = {"type": "resource", "resource": held, "annotations": {"priority": 1}}
    assert given(wire, block) == ("See:", PICTURE, '{"resource":{"size":8}}')
    small = b64encode(PNG + b"a picture" * 900).decode()
    block = {"type": "image", "data": DATA, "mimeType": "image/png", "small": {"data": small}}
    assert given(wire, block) == ("See:", PICTURE, '{"small":{"data":"[image/png, 8108 bytes]"}}')


def test_blocks_of_anthropic_go_back_from_beside_media_with_fields_and_rows() -> None:
    found = {
        "type": "search_result",
        "source": "s",
        "title": "t",
        "content": [{"type": "text", "text": "Rain."}],
    }
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}
    row = {"type": "text", "text": "row", "score": 0.9}
    wire = provider_for("anthropic")
    items = wire.read_history(history("anthropic", [{**picture, "page": 3}, row, found]))
    made = wire.render(items, strict=True)
    assert made.payload["messages"][-1]["content"][0]["content"] == [
        picture,
        {"type": "text", "text": '{"page":3}'},
        {"type": "text", "text": '{"type":"text","text":"row","score":0.9}'},
        found,
    ]


def test_a_source_that_is_neither_an_object_nor_a_text_is_named() -> None:
    with pytest.raises(Damaged, match=r"a source is an object or an address, not int .*content\[1\]\.source"):
        shown("anthropic", {"type": "image", "source": 5})


NO_MEDIA: list[Any] = [
    {"type": "file", "data": "aGk=", "mediaType": "application/pdf"},
    {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    {"type": "file", "data": DATA, "mediaType": "application/pdf"},
    {"type": "image", "base64": "aGk="},
    {"type": "image", "image": "file:///x.png"},
    {"type": "file", "data": "not base64!", "mimeType": "image/png"},
    {"type": "file", "url": "/uploads/cat12", "mediaType": "image/png"},
    {"type": "resource", "resource": {"blob": "!!"}},
    {"type": "file"},
    {"type": "image", "source": "elsewhere"},
    {"type": "document", "source": "The whole text of it."},
]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("block", NO_MEDIA)
def test_what_is_no_media_is_kept_as_it_is(wire: str, block: Any) -> None:
    text = {"type": "text", "text": "See:"}
    message, note = provider_for(wire).read_history([{"role": "user", "content": [text, block]}])
    assert isinstance(message, Message) and message.content == "See:"
    assert isinstance(note, Note) and note.content == block
    assert all(isinstance(part, str) for part in given(wire, block))


@pytest.mark.parametrize("block", [*NO_MEDIA, {"type": "image", "source": 5}])
def test_no_answer_is_lost_by_a_block_in_it(block: Any) -> None:
    spoken = {"role": "assistant", "content": [{"type": "text", "text": "Here."}, block]}
    answer = {"model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": spoken}]}
    message, note = provider_for("openai").parse(answer).items
    assert isinstance(message, Message) and message.content == "Here."
    assert isinstance(note, Note) and note.content == block


@pytest.mark.parametrize("front", [b"", b"\xef\xbb\xbf", b"\r\n" * 9])
def test_a_paper_may_have_bytes_in_front(front: bytes) -> None:
    data = b64encode(front + b"%PDF-1.7").decode()
    block = {"type": "file", "data": data, "mediaType": "application/pdf"}
    assert shown("openai", block) == File(data=front + b"%PDF-1.7", media_type="application/pdf")
