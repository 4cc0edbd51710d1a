"""What came in one answer goes back as one: thoughts between calls, and pictures that were thought."""

import pytest

from quire.items import Item, Message, Reasoning
from tests.providers.gemini.test_signatures import ASKED, CALLS, RESULTS, answered
from tests.providers.gemini.wire import GEMINI, NEW, PNG64, Json, changes, contents, model, rendered, user

HM: Json = {"text": "hm", "thought": True}
PICTURE: Json = {"inlineData": {"mimeType": "image/png", "data": PNG64}, "thought": True}
SIGNED: Json = {**PICTURE, "thoughtSignature": "QUJD"}
SAID: Json = {"text": "Done.", "thoughtSignature": "REVG"}
MORE = Message("user", "More")


def streamed(*parts: Json) -> list[Item]:
    stream = GEMINI.stream(sent=GEMINI.render(ASKED, model=NEW), model=NEW)
    for part in parts:
        stream.feed({"candidates": [{"content": {"role": "model", "parts": [part]}}]})
    stream.feed({"candidates": [{"finishReason": "STOP"}]})
    return list(stream.close().items)


def test_calls_with_thoughts_between_them_are_one_step() -> None:
    for read in (answered, streamed):
        made = rendered([*ASKED, *read(HM, CALLS[0], HM, CALLS[1]), *RESULTS], NEW)
        assert made.payload["contents"][1] == model(*CALLS)
        assert len(made.payload["contents"]) == 3
        assert changes(made) == ["thoughts_left_out"] * 2


def test_a_picture_that_was_thought_and_signed_goes_back_whole() -> None:
    for read in (answered, streamed):
        made = rendered([*ASKED, *read(SIGNED, SAID), MORE], NEW, strict=True)
        assert made.payload["contents"][1] == model(SIGNED, SAID)
    history = [user("Go"), model(SIGNED, SAID), user("More")]
    assert contents(GEMINI.read_history(history, model=NEW), NEW) == history


@pytest.mark.parametrize(
    "picture", [PICTURE, {**SIGNED, "thoughtSignature": "@@"}, {**SIGNED, "inlineData": {"data": PNG64}}]
)
def test_one_that_cannot_go_back_is_left_out_and_that_is_noted(picture: Json) -> None:
    for read in (answered, streamed):
        made = rendered([*ASKED, *read(picture, SAID), MORE], NEW)
        assert made.payload["contents"][1] == model(SAID)
        assert {"thoughts_left_out", "reasoning_left_out"} & set(changes(made))


def test_it_goes_to_no_other_model_and_not_after_something_else() -> None:
    items = answered(SIGNED, SAID)
    assert isinstance(items[0], Reasoning)
    for name, asked in (("gemini-3-flash", ASKED), (NEW, [Message("user", "Stop")])):
        assert "inlineData" not in str(rendered([*asked, *items, MORE], name).payload)


def test_a_signature_on_no_words_after_a_picture_is_of_a_thought() -> None:
    sign: Json = {"text": "", "thought": True, "thoughtSignature": "R0hJ"}
    made = rendered([*ASKED, *answered(PICTURE, sign, SAID), MORE], NEW)
    assert made.payload["contents"][1] == model(sign, SAID)
