"""Messages: images, documents and recordings, wherever they come from."""

from base64 import b64encode
from typing import Any

import pytest

from quire.items import Audio, File, Image, Item, Message, Part, ToolCall, ToolResult
from quire.providers import Rendered
from tests.providers.anthropic.histories import BOUND, OLDER, PNG
from tests.providers.anthropic.test_writing import HI, WIRE, assistant, messages, rendered, result, text, use

PICTURE = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
LINKED = Image(url="https://example.com/a.png")
JPEG = b"\xff\xd8\xff"


def encoded(data: bytes) -> str:
    return b64encode(data).decode()


def inline(data: bytes, kind: str) -> dict[str, Any]:
    return {"type": "base64", "media_type": kind, "data": encoded(data)}


def wide_png(side: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + side.to_bytes(4, "big") + (5).to_bytes(4, "big")


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (LINKED, PICTURE),
        (Image(data=PNG), {"type": "image", "source": inline(PNG, "image/png")}),
        (Image(data=PNG, media_type="image/gif"), {"type": "image", "source": inline(PNG, "image/png")}),
        (Image(data=JPEG, media_type="image/JPG"), {"type": "image", "source": inline(JPEG, "image/jpeg")}),
        (
            Image(url="data:image/gif;base64,R0lGODlh"),
            {"type": "image", "source": inline(b"GIF89a", "image/gif")},
        ),
        (
            File(data=b"%PDF-1", name="a.pdf"),
            {"type": "document", "source": inline(b"%PDF-1", "application/pdf"), "title": "a.pdf"},
        ),
        (
            File(url="https://example.com/a.PDF?x=1"),
            {"type": "document", "source": {"type": "url", "url": "https://example.com/a.PDF?x=1"}},
        ),
        (
            File(data="né".encode(), media_type="text/markdown", name="a.md"),
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "né"},
                "title": "a.md",
            },
        ),
    ],
)
def test_media_of_the_user_are_blocks(part: Part, block: dict[str, Any]) -> None:
    assert messages(Message("user", ("See:", part))) == [{"role": "user", "content": [text("See:"), block]}]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (Image(data=b"BM"), "[image]"),
        (Image(url="file:///a.png"), "[image at file:///a.png]"),
        (
            Image(url="https://example.com/a.svg", media_type="image/svg+xml"),
            "[image at https://example.com/a.svg]",
        ),
        (Image(url="data:image/png;base64,!!"), "[image]"),
        (Image(data=wide_png(8001)), "[image]"),
        (Image(data=PNG + b"\0" * 5_000_000), "[image]"),
        (File(data=b"PK", name="a.zip"), "[file a.zip]"),
        (File(url="https://example.com/a"), "[file at https://example.com/a]"),
        (Audio(data=b"ID3", seconds=2.0), "[audio, 2 s]"),
        (Audio(data=b"ID3", transcript="they said"), "they said"),
        (Audio(data=b"ID3", transcript=" "), "[audio]"),
    ],
)
def test_what_cannot_be_carried_is_put_in_words(part: Part, words: str) -> None:
    made = rendered(Message("user", (part,)), model=OLDER)
    assert made.payload["messages"][0]["content"] == [text(words)]
    assert [each.change for each in made.downgrades] == ["media_as_text"]


def test_a_model_that_reads_no_pdf_has_words_for_it_and_text_files_as_text() -> None:
    parts = (File(data=b"%PDF-1"), File(data=b"words", media_type="text/plain"), File(data=b"a", name="a.md"))
    made = rendered(Message("user", parts), model="claude-3-haiku")
    assert made.payload["messages"][0]["content"] == [text("[file]"), text("words"), text("[a.md]\na")]


BLIND = [
    *("deepseek-v4-pro", "glm-5.2:cloud", "glm-4.6", "kimi-k2-0905-preview", "qwen3-coder-plus"),
    *("openai/gpt-oss-120b", "MiniMax-M2.7", "mimo-v2.5-pro", "qwen3.7-max"),
]


@pytest.mark.parametrize("model", BLIND)
def test_a_model_of_others_that_takes_words_alone_has_words_for_all_media(model: str) -> None:
    seen: list[Item] = [HI, ToolCall("a", "look"), ToolResult("a", "look", ("There:", Image(data=PNG)))]
    made = rendered(*seen, Message("user", (LINKED, File(data=b"%PDF-1", name="a.pdf"))), model=model)
    assert made.payload["messages"][-1]["content"] == [
        result("a", [text("There:"), text("[image]")]),
        text("[image at https://example.com/a.png]"),
        text("[file a.pdf]"),
    ]
    assert [each.change for each in made.downgrades] == ["media_as_text"] * 3


@pytest.mark.parametrize("model", ["kimi-k2.5", "glm-4.6v", "qwen3.7-plus"])
def test_a_model_of_others_that_sees_has_images_and_words_for_files(model: str) -> None:
    made = rendered(Message("user", (LINKED, File(data=b"%PDF-1", name="a.pdf"))), model=model)
    assert made.payload["messages"][0]["content"] == [PICTURE, text("[file a.pdf]")]


@pytest.mark.parametrize("model", ["my-proxy", "gemini-3-pro", "gpt-5.6", None])
def test_one_that_reads_or_is_not_known_has_all_media(model: str | None) -> None:
    made = rendered(Message("user", (LINKED, File(data=b"%PDF-1", name="a.pdf"))), model=model)
    assert [block["type"] for block in made.payload["messages"][0]["content"]] == ["image", "document"]


def test_media_of_a_tool_stay_in_its_result() -> None:
    said = messages(HI, ToolCall("a", "look"), ToolResult("a", "look", ("There:", LINKED)))
    assert said[2]["content"] == [result("a", [text("There:"), PICTURE])]


def test_media_of_a_tool_that_failed_come_after_all_results() -> None:
    history: list[Item] = [HI, ToolCall("a", "look"), ToolCall("b", "look")]
    history += [ToolResult("a", "look", ("Oh:", LINKED), is_error=True), ToolResult("b", "look", "B")]
    made = rendered(*history)
    assert made.payload["messages"][2]["content"] == [
        result("a", "Oh:", failed=True),
        result("b", "B"),
        text("[from look]"),
        PICTURE,
    ]
    assert [each.change for each in made.downgrades] == ["media_moved"]


def test_media_of_the_model_are_in_the_turn_after_it() -> None:
    drawn = Message("assistant", ("Here.", LINKED))
    made = rendered(HI, drawn, Message("user", "Nice."))
    after = [text("[from the assistant]"), PICTURE, text("Nice.")]
    assert made.payload["messages"][1:] == [assistant("Here."), {"role": "user", "content": after}]
    assert [each.change for each in made.downgrades] == ["media_moved"]
    called = messages(HI, drawn, ToolCall("a", "look"), ToolResult("a", "look", "A"))
    assert called[1] == assistant("Here.", use("a"))
    assert called[2]["content"] == [result("a", "A"), *after[:2]]


def many(count: int, side: int, model: str = OLDER) -> Rendered:
    large = Message("user", (Image(data=wide_png(side)),))
    return rendered(large, *[Message("user", (LINKED,)) for _ in range(count - 1)], model=model)


def pictures(made: Rendered) -> list[bool]:
    return [block["type"] == "image" for block in made.payload["messages"][0]["content"]]


def test_large_images_are_put_in_words_once_there_are_many() -> None:
    assert pictures(many(20, 2001)) == [True] * 20
    assert pictures(many(21, 2001)) == [False] + [True] * 20
    assert pictures(many(21, 2000)) == [True] * 21


def test_of_too_many_images_the_oldest_go_some_at_a_time() -> None:
    assert all(pictures(many(100, 10)))
    for count in (101, 120):
        shown = pictures(many(count, 10))
        assert shown == [False] * 20 + [True] * (count - 20)
    made = many(101, 10)
    assert {each.change for each in made.downgrades} == {"media_as_text"}
    assert len({each.item_id for each in made.downgrades} - {None}) == 20, "each item that lost one is named"


def screens(count: int, side: int, model: str = OLDER) -> list[bool]:
    """Of so many screenshots in a row, one in each result, which are sent."""
    items: list[Item] = [HI]
    for number in range(count):
        shot = Image(data=wide_png(side))
        items += [ToolCall(f"c{number}", "look"), ToolResult(f"c{number}", "look", (shot,))]
    made = rendered(*items, model=model)
    return [said["content"][0]["content"][0]["type"] == "image" for said in made.payload["messages"][2::2]]


def test_of_many_large_images_the_oldest_go_and_the_newest_never() -> None:
    assert screens(20, 2001) == [True] * 20
    for count in (21, 24):
        assert screens(count, 2001) == [False] * 4 + [True] * (count - 4)
    assert screens(25, 2001) == [False] * 8 + [True] * 17
    assert screens(25, 2000) == [True] * 25


def test_what_went_stays_gone() -> None:
    before: list[bool] = []
    for count in range(20, 60):
        shown = screens(count, 3000)
        assert sum(shown) <= 20 and shown[-1]
        assert not any(now and not then for now, then in zip(shown, before, strict=False))
        before = shown


def test_thinking_that_is_bound_to_images_that_had_to_go_goes_too() -> None:
    first: list[Item] = [Message("user", (Image(data=wide_png(2001)),))]
    sent = WIRE.render(first, model=BOUND)
    content = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "So."}]
    answer = WIRE.parse({"content": content, "model": BOUND}, sent=sent, model=BOUND)
    few = WIRE.render([*first, *answer.items, Message("user", (LINKED,) * 19)], model=BOUND)
    lots = WIRE.render([*first, *answer.items, Message("user", (LINKED,) * 20)], model=BOUND)
    assert few.payload["messages"][1]["content"] == content
    assert lots.payload["messages"][1]["content"] == content[1:]
    assert [each.change for each in lots.downgrades] == ["media_as_text", "state_stale"]
