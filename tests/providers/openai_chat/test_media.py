"""Media by what is known of a model, on both wires of OpenAI."""

import pytest

from quire.items import File, Image, Message
from quire.providers import OpenAIChat, OpenAIResponses
from tests.providers.openai_chat.laws import PNG, Wire

IMAGE, FILE = Image(data=PNG), File(data=b"%PDF-1.7", name="a.pdf")


@pytest.mark.parametrize("wire", [OpenAIChat(), OpenAIResponses()])
@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (None, 0),
        ("a-model-nobody-knows", 1),
        ("gpt-9", 0),
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


SEE = [
    *("pixtral-12b", "us.mistral.pixtral-large-2502-v1:0", "mistral-small-latest", "mistral-large-2512"),
    *("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral-medium-3.5", "magistral-medium-2509"),
    *(
        "labs-devstral-small-2512",
        "kimi-k2.5",
        "kimi-for-coding",
        "zai-org/GLM-4.6V",
        "glm-5v-turbo",
        "grok-4",
    ),
    *("qwen3-vl-plus", "qwen2.5vl:7b", "qwen3.6-27b", "qwen-vl-max", "llama3.2-vision:11b", "grok-2-vision"),
    *("meta-llama/llama-4-scout", "us.meta.llama3-2-90b-instruct-v1:0", "deepseek-vl2", "in-house"),
]
BLIND = [
    *(
        "deepseek-chat",
        "deepseek-v4-pro",
        "deepseek-ai/DeepSeek-R1",
        "mistral-large-2411",
        "codestral-latest",
    ),
    *(
        "mistral-small-2501",
        "devstral-2512",
        "magistral-medium-2507",
        "ministral-8b-2410",
        "open-mixtral-8x7b",
    ),
    *("kimi-k2", "moonshotai/Kimi-K2-Instruct", "kimi-k2-thinking", "glm-4.6", "zai-org/GLM-4.7", "grok-3"),
    *("qwen3", "qwen3:8b", "qwen/qwen3-32b", "qwen2.5-coder", "groq/llama-3.3-70b-versatile", "llama3.2"),
]


@pytest.mark.parametrize("wire", [OpenAIChat(), OpenAIResponses()])
@pytest.mark.parametrize(("model", "sees"), [*((one, True) for one in SEE), *((one, False) for one in BLIND)])
def test_models_of_others_get_images_where_they_see_and_files_never(
    wire: Wire, model: str, sees: bool
) -> None:
    sent = str(wire.render([Message("user", ("look", IMAGE, FILE))], model=model).payload)
    assert ("image_url" in sent) is sees and ("[image]" in sent) is not sees
    assert "[file a.pdf]" in sent and "file_data" not in sent
