"""Media: in messages of the user, in results, and in what the model said."""

import pytest

from quire.items import Audio, File, Image, Item, Message, Part, ToolCall, ToolResult
from tests.providers.gemini.wire import (
    NEW,
    OLD,
    PNG,
    PNG64,
    Json,
    answer,
    call,
    changes,
    contents,
    model,
    rendered,
    user,
)

PICTURE: Json = {"inlineData": {"mimeType": "image/png", "data": PNG64}}


@pytest.mark.parametrize(
    ("part", "written"),
    [
        (Image(data=PNG), PICTURE),
        (
            Image(data=b"\xff\xd8\xff", media_type="image/jpg"),
            {"inlineData": {"mimeType": "image/jpeg", "data": "/9j/"}},
        ),
        (Image(url=f"data:image/png;base64,{PNG64}"), PICTURE),
        (
            Image(url="https://example.com/a.PNG?size=1.gif"),
            {"fileData": {"fileUri": "https://example.com/a.PNG?size=1.gif", "mimeType": "image/png"}},
        ),
        (Image(url="https://example.com/a"), {"fileData": {"fileUri": "https://example.com/a"}}),
        (
            File(url="gs://bucket/a", media_type="video/mp4"),
            {"fileData": {"fileUri": "gs://bucket/a", "mimeType": "video/mp4"}},
        ),
        (
            Audio(data=b"RIFF\0\0\0\0WAVE"),
            {"inlineData": {"mimeType": "audio/wav", "data": "UklGRgAAAABXQVZF"}},
        ),
        (Audio(data=b"ID3"), {"inlineData": {"mimeType": "audio/mp3", "data": "SUQz"}}),
        (File(data=b"%PDF-"), {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0="}}),
        (File(data=b"some words", media_type="text/plain"), {"text": "some words"}),
    ],
)
def test_media_of_the_user(part: Part, written: Json) -> None:
    made = rendered([Message("user", ("See:", part))])
    assert made.payload["contents"] == [user("See:", written)]
    assert made.downgrades == ()


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (Image(data=b"GIF89a"), "[image]"),
        (Image(url="data:image/png;base64,?"), "[image]"),
        (Image(url="http://example.com/a.png"), "[image at http://example.com/a.png]"),
        (Image(url="https://example.com/a.gif"), "[image at https://example.com/a.gif]"),
        (Audio(data=b"????", transcript="they said"), "they said"),
        (File(url="file:///a.pdf", name="a.pdf"), "[file a.pdf at file:///a.pdf]"),
        (File(data=b"PK\3\4", name="a.zip"), "[file a.zip]"),
    ],
)
def test_what_cannot_be_carried_is_put_in_words(part: Part, words: str) -> None:
    made = rendered([Message("user", (part,))])
    assert made.payload["contents"] == [user(words)]
    assert changes(made) == ["media_as_text"]


def test_old_models_fetch_nothing_from_the_web() -> None:
    made = rendered([Message("user", (Image(url="https://example.com/a.png"),))], "gemini-2.0-flash")
    assert made.payload["contents"] == [user("[image at https://example.com/a.png]")]


def test_media_in_results_are_nested_where_the_model_takes_them_so() -> None:
    items: list[Item] = [
        Message("user", "Draw"),
        ToolCall("c1", "draw"),
        ToolResult("c1", "draw", ("Done.", Image(data=PNG), Audio(data=b"ID3"))),
    ]
    made = rendered(items, NEW)
    assert made.payload["contents"][2:] == [
        user(answer("c1", "draw", {"output": "Done."}, parts=[PICTURE])),
        user("[from draw]", {"inlineData": {"mimeType": "audio/mp3", "data": "SUQz"}}),
    ]
    assert changes(made) == ["state_foreign", "media_moved"]
    assert contents(items, OLD)[2:] == [
        user(answer("c1", "draw", {"output": "Done."})),
        user("[from draw]", PICTURE, {"inlineData": {"mimeType": "audio/mp3", "data": "SUQz"}}),
    ]


def test_a_result_of_media_alone_has_no_words() -> None:
    items: list[Item] = [
        Message("user", "Draw"),
        ToolCall("c1", "draw"),
        ToolResult("c1", "draw", (Image(data=PNG),)),
    ]
    assert contents(items, NEW)[2] == user(answer("c1", "draw", {"output": ""}, parts=[PICTURE]))


def test_pictures_of_the_model_stay_its_own_and_other_media_are_moved() -> None:
    items: list[Item] = [
        Message("user", "Draw"),
        Message("assistant", ("Here:", Image(data=PNG), Audio(data=b"ID3"))),
        ToolCall("c1", "look"),
        ToolResult("c1", "look", "x"),
    ]
    made = rendered(items)
    assert made.payload["contents"][1:] == [
        model("Here:", PICTURE, call("c1", "look")),
        user(answer("c1", "look", {"output": "x"})),
        user("[from the assistant]", {"inlineData": {"mimeType": "audio/mp3", "data": "SUQz"}}),
    ]
    assert changes(made) == ["media_moved"]


def test_a_reply_of_moved_media_alone() -> None:
    made = rendered([Message("user", "Speak"), Message("assistant", (Audio(data=b"ID3"),))])
    assert [turn["role"] for turn in made.payload["contents"]] == ["user", "user"]


def test_instructions_tell_of_their_media() -> None:
    made = rendered(
        [Message("system", ("Like this:", Image(url="https://e.com/a.png"))), Message("user", "Go")]
    )
    parts = [{"text": "Like this:\n[image at https://e.com/a.png]"}]
    assert made.payload["config"] == {"system_instruction": {"parts": parts}}
    assert changes(made) == ["media_as_text"]
