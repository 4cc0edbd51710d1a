"""The official clients send what we render to servers on this machine, and we read what they answer."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from quire.items import Message, ToolCall
from quire.models import Model
from quire.providers import PROVIDERS, Parsed, Rendered
from tests.clients.histories import HISTORIES, TOOLS
from tests.clients.servers import missing, mock_server, model_server, weights

openai: Any = pytest.importorskip("openai", reason="the openai client is not installed")
anthropic: Any = pytest.importorskip("anthropic", reason="the anthropic client is not installed")
genai: Any = pytest.importorskip("google.genai", reason="the google-genai client is not installed")

pytestmark = [
    pytest.mark.xdist_group("servers"),
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::pydantic.warnings.PydanticDeprecatedSince20"
    ),
]
NAMES = ("gpt-5.6", "gpt-5.6", "claude-sonnet-4-5", "gemini-2.5-pro")
MODELS: dict[str, str] = dict(zip(("openai", "openai-responses", "anthropic", "gemini"), NAMES, strict=True))
QUESTION = HISTORIES["a question"]
CLIENTS: list[Any] = []


@pytest.fixture(autouse=True)
def _closed_clients() -> Iterator[None]:
    """Clients are held until the test ends, for a stream ends with its client, and closed then."""
    yield
    while CLIENTS:
        CLIENTS.pop().close()


@pytest.fixture(scope="module")
def mock() -> Iterator[str]:
    pytest.importorskip("llmock", reason="llmock is not installed")
    with mock_server() as address:
        yield address


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    path = weights()
    if path is None or missing():
        pytest.skip(str(missing()))
    with model_server(path) as address:
        yield address


def asked(wire: str, base: str, payload: dict[str, Any], **more: Any) -> Any:
    """What the official client of a wire gets for a payload."""
    name = MODELS[wire]
    if wire == "gemini":
        options = {"base_url": f"{base}/gemini", "api_version": "v1beta"}
        client = genai.Client(api_key="k", http_options=options)
        CLIENTS.append(client)
        models = client.models
        ask = models.generate_content_stream if more.pop("stream", False) else models.generate_content
        return ask(model=name, **payload)
    if wire == "anthropic":
        client = anthropic.Anthropic(base_url=base, api_key="k", max_retries=0, timeout=300)
        CLIENTS.append(client)
        return client.messages.create(model=name, max_tokens=32, **payload, **more)
    client = openai.OpenAI(base_url=f"{base}/v1", api_key="k", max_retries=0, timeout=300)
    CLIENTS.append(client)
    if wire == "openai":
        return client.chat.completions.create(model=name, max_tokens=32, **payload, **more)
    return client.responses.create(model=name, max_output_tokens=32, **payload, **more)


def read(wire: str, base: str, sent: Rendered) -> Parsed:
    return PROVIDERS[wire].parse(asked(wire, base, sent.payload), sent=sent, model=MODELS[wire])


def heard(wire: str, base: str, sent: Rendered) -> tuple[str, Parsed]:
    reader = PROVIDERS[wire].stream(sent=sent, model=MODELS[wire])
    words = "".join(reader.feed(event) for event in asked(wire, base, sent.payload, stream=True))
    return words, reader.close()


async def both(model: Model, **asking: Any) -> list[Parsed]:
    async with model:
        whole = await model.ask(QUESTION, max_tokens=16, **asking)
        return [whole, await model.stream(QUESTION, max_tokens=16, **asking).whole()]


@pytest.mark.parametrize("wire", PROVIDERS)
def test_the_client_sends_it_and_the_answer_is_read(wire: str, mock: str) -> None:
    provider, base = PROVIDERS[wire], f"{mock}/anthropic" if wire == "anthropic" else mock
    for name, history in HISTORIES.items():
        parsed = read(wire, base, provider.render(history, model=MODELS[wire]))
        (answer,) = parsed.items
        assert isinstance(answer, Message) and answer.role == "assistant" and answer.text, name
        assert parsed.finish == "stop"
        assert parsed.usage is not None and parsed.usage.input > 0
        again = provider.render([*history, *parsed.items, Message("user", "go on")], model=MODELS[wire])
        assert provider.check(again.payload, MODELS[wire]) == []
    words, parsed = heard(wire, base, provider.render(QUESTION, model=MODELS[wire]))
    (answer,) = parsed.items
    assert isinstance(answer, Message) and not answer.interrupted
    assert (words, parsed.finish) == (answer.text, "stop")
    sent = provider.render(QUESTION, model=MODELS[wire], tools=TOOLS)
    for parsed in (read(wire, base, sent), heard(wire, base, sent)[1]):
        calls = [item.name for item in parsed.items if isinstance(item, ToolCall)]
        assert (calls, parsed.finish) == (["look_up"], "calls")


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_model_by_name_asks_the_mock(wire: str, mock: str) -> None:
    base = f"{mock}{ {'anthropic': '/anthropic', 'gemini': '/gemini/v1beta'}.get(wire, '/v1') }"
    name = f"{'google' if wire == 'gemini' else wire}:{MODELS[wire]}"
    for parsed in asyncio.run(both(Model(name, base_url=base, timeout=300))):
        assert parsed.finish == "stop" and any(isinstance(item, Message) for item in parsed.items)
    for parsed in asyncio.run(both(Model(name, base_url=base, timeout=300), tools=TOOLS)):
        assert parsed.finish == "calls"


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic"])
def test_a_real_model_answers(wire: str, model: str) -> None:
    provider = PROVIDERS[wire]
    parsed = read(wire, model, provider.render(HISTORIES["parallel calls"], model=MODELS[wire]))
    assert any(isinstance(item, Message) and item.text for item in parsed.items)
    words, parsed = heard(wire, model, provider.render(QUESTION, model=MODELS[wire]))
    (answer,) = parsed.items
    assert isinstance(answer, Message) and answer.text == words != ""
    base = model if wire == "anthropic" else f"{model}/v1"
    for parsed in asyncio.run(both(Model(f"{wire}:{MODELS[wire]}", base_url=base, timeout=300))):
        assert any(isinstance(item, Message) and item.text for item in parsed.items)
