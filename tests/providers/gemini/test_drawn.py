"""Models that draw, from Gemini 3 on, take what was said and drawn only with signatures."""

import pytest

from quire.items import Image, Item, Message, Opaque, ToolCall, ToolResult
from quire.providers.gemini.signing import PLACEHOLDER
from tests.providers.gemini.wire import (
    GEMINI,
    NEW,
    PNG,
    PNG64,
    Json,
    changes,
    contents,
    model,
    rendered,
    user,
)

DRAWS = "gemini-3-pro-image-preview"
PICTURE: Json = {"inlineData": {"mimeType": "image/png", "data": PNG64}}
DRAWN = Image(data=PNG, media_type="image/png")
STAND_IN: Json = {"thoughtSignature": PLACEHOLDER}
PARTS: list[Json] = [
    {"text": "Here:", "thoughtSignature": "dGV4dA=="},
    {**PICTURE, "thoughtSignature": "cGlj"},
    {"text": "And so."},
]


def drawn(asked: list[Item], parts: list[Json] = PARTS, name: str = DRAWS) -> list[Item]:
    response = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
    return list(GEMINI.parse(response, sent=GEMINI.render(asked, model=name), model=name).items)


def test_what_came_signed_goes_back_signed() -> None:
    asked: list[Item] = [Message("user", "Draw.")]
    made = rendered([*asked, *drawn(asked), Message("user", "Redder.")], DRAWS)
    assert made.payload["contents"][1] == model(*PARTS) and made.downgrades == ()


@pytest.mark.parametrize("unsigned", [None, Opaque("openai", "gpt-5.6", "x")])
def test_a_placeholder_stands_on_the_first_part_and_on_each_image(unsigned: Opaque | None) -> None:
    said = Message("assistant", ("Here:", DRAWN, "And:", DRAWN), state=unsigned)
    made = rendered([Message("user", "Draw."), said, Message("user", "Redder.")], DRAWS)
    picture = {**PICTURE, **STAND_IN}
    assert made.payload["contents"][1] == model({"text": "Here:", **STAND_IN}, picture, "And:", picture)
    assert changes(made)[-1:] == ["state_foreign"] and len(changes(made)) == (2 if unsigned else 1)


def test_what_was_drawn_before_an_edit_goes_with_placeholders() -> None:
    asked: list[Item] = [Message("user", "Draw.")]
    made = rendered([Message("user", "Draw it."), *drawn(asked), Message("user", "Redder.")], DRAWS)
    first, picture, rest = PARTS
    assert made.payload["contents"][1] == model({**first, **STAND_IN}, {**picture, **STAND_IN}, rest)
    assert changes(made) == ["state_stale", "state_foreign"]


def test_what_an_older_model_drew() -> None:
    asked: list[Item] = [Message("user", "Draw.")]
    items = [*asked, *drawn(asked, [PICTURE], "gemini-2.5-flash-image"), Message("user", "Redder.")]
    assert contents(items, DRAWS)[1] == model({**PICTURE, **STAND_IN})
    for other in (NEW, "gemini-2.5-flash-image", f"vertex_ai/{DRAWS}", None):
        assert contents(items, other)[1] == model(PICTURE)


def test_words_alone_are_signed_too_and_stay_so() -> None:
    items: list[Item] = [Message("user", "Hi"), Message("assistant", "Hello."), Message("user", "Draw.")]
    expected = [user("Hi"), model({"text": "Hello.", **STAND_IN}), user("Draw.")]
    assert contents(items, DRAWS) == expected
    later = contents([*items, *drawn(items), Message("user", "Redder.")], DRAWS)
    assert later == [*expected, model(*PARTS), user("Redder.")]


def test_words_before_a_call_are_signed_and_so_is_the_call() -> None:
    call = ToolCall("c1", "look")
    items: list[Item] = [Message("user", "Go"), Message("assistant", "I look."), call]
    said, called = contents([*items, ToolResult("c1", "look", "x")], DRAWS)[1]["parts"]
    assert said == {"text": "I look.", **STAND_IN} and called["thoughtSignature"] == PLACEHOLDER


def test_what_was_refused_is_mended() -> None:
    history = {"model": DRAWS, "contents": [user("Draw."), model("Here:", PICTURE), user("Redder.")]}
    assert {fault.rule for fault in GEMINI.check(history)} == {"words_signature"}
    assert contents(GEMINI.read_history(history), DRAWS)[1] == model(
        {"text": "Here:", **STAND_IN}, {**PICTURE, **STAND_IN}
    )
