"""Thoughts that a provider gives to read and takes back from nobody are no loss when they are not sent."""

from typing import Any

import pytest

from quire.errors import Downgraded
from quire.items import Item, Message, Reasoning
from quire.providers import PROVIDERS

PARTS = [{"text": "hm", "thought": True}, {"text": "a", "thoughtSignature": "QUJD"}]
ANSWERS: dict[str, tuple[str, Any]] = {
    "gemini": (
        "gemini-3-pro",
        {"candidates": [{"content": {"role": "model", "parts": PARTS}, "finishReason": "STOP"}]},
    ),
    "openai": (
        "deepseek-reasoner",
        {"choices": [{"message": {"content": "a", "reasoning_content": "hm"}, "finish_reason": "stop"}]},
    ),
}
ASKED = Message("user", "q")


def answered(wire: str) -> list[Item]:
    model, answer = ANSWERS[wire]
    provider = PROVIDERS[wire]
    parsed = provider.parse(answer, sent=provider.render([ASKED], model=model))
    assert isinstance(parsed.items[0], Reasoning) and parsed.items[0].text == "hm"
    return [ASKED, *parsed.items, Message("user", "And?")]


@pytest.mark.parametrize("wire", ANSWERS)
def test_they_are_noted_and_no_error_when_strict(wire: str) -> None:
    rendered = PROVIDERS[wire].render(answered(wire), model=ANSWERS[wire][0], strict=True)
    assert [note.change for note in rendered.downgrades] == ["thoughts_left_out"]
    assert "hm" not in str(rendered.payload)


@pytest.mark.parametrize("wire", ANSWERS)
@pytest.mark.parametrize("model", ["another-model"])
def test_those_of_another_model_are_a_loss(wire: str, model: str) -> None:
    with pytest.raises(Downgraded):
        PROVIDERS[wire].render(answered(wire), model=model, strict=True)


@pytest.mark.parametrize("wire", PROVIDERS)
def test_those_of_nobody_are_a_loss(wire: str) -> None:
    items: list[Item] = [ASKED, Reasoning("hm"), Message("assistant", "a"), Message("user", "And?")]
    with pytest.raises(Downgraded, match="reasoning_left_out"):
        PROVIDERS[wire].render(items, model="m", strict=True)
