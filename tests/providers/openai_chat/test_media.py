"""Media by what is known of a model, on both wires of OpenAI."""

import pytest

from quire.items import File, Image, Message
from quire.providers.openai_chat import OpenAIChat
from quire.providers.openai_responses import OpenAIResponses
from tests.providers.openai_chat.laws import PNG, Wire

IMAGE, FILE = Image(data=PNG), File(data=b"%PDF-1.7", name="a.pdf")


@pytest.mark.parametrize("wire", [OpenAIChat(), OpenAIResponses()])
@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (None, 0),
        ("a-model-nobody-knows", 0),
        ("gpt-4o", 0),
        ("gpt-4-turbo", 1),
        ("gpt-3.5-turbo", 2),
        ("openai/o3-mini", 2),
    ],
)
def test_a_model_is_shown_only_what_it_can_see(wire: Wire, model: str | None, changes: int) -> None:
    rendered = wire.render([Message("user", ("look", IMAGE, FILE))], model=model)
    assert [downgrade.change for downgrade in rendered.downgrades] == ["media_as_text"] * changes
    assert str(rendered.payload).count("[file a.pdf]") == (changes > 0)
    assert str(rendered.payload).count("[image]") == (changes > 1)
