"""Models by name ask servers that others wrote: a mock of all providers, and a real model on this machine."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from quire.items import Message, ToolCall
from quire.models import Model
from quire.providers import PROVIDERS, Parsed
from tests.clients.histories import HISTORIES, TOOLS
from tests.clients.servers import mock_server, model_server
from tests.models.answerers import NEEDS_LOCAL, each_wire, text_of, weights

pytestmark = [
    pytest.mark.xdist_group("servers"),
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::pydantic.warnings.PydanticDeprecatedSince20"
    ),
]
NAMES = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}


@pytest.fixture(scope="module")
def mock() -> Iterator[str]:
    pytest.importorskip("llmock", reason="llmock is not installed")
    with mock_server() as address:
        yield address


@pytest.fixture(scope="module")
def real() -> Iterator[str]:
    path = weights()
    assert path is not None
    with model_server(path) as address:
        yield address


def answers(wire: str, base_url: str, histories: list[Any], **asking: Any) -> list[Parsed]:
    """The answers to histories, each asked for whole and as a stream."""
    name = f"{'google' if wire == 'gemini' else wire}:{NAMES.get(wire, 'gpt-5.6')}"

    async def run() -> list[Parsed]:
        found: list[Parsed] = []
        async with Model(name, base_url=base_url, timeout=300) as model:
            for history in histories:
                found.append(await model.ask(history, **asking))
                found.append(await model.stream(history, **asking).whole())
        return found

    return asyncio.run(run())


@each_wire
def test_a_mock_of_the_provider_takes_every_history(wire: str, mock: str) -> None:
    base_url = f"{mock}{ {'anthropic': '/anthropic', 'gemini': '/gemini/v1beta'}.get(wire, '/v1') }"
    for parsed in answers(wire, base_url, [*HISTORIES.values()], max_tokens=99):
        (answer,) = parsed.items
        assert isinstance(answer, Message) and answer.role == "assistant" and answer.text
        assert parsed.finish == "stop" and not answer.interrupted
        assert parsed.usage is not None and parsed.usage.input > 0
        again = PROVIDERS[wire].render([*HISTORIES["a question"], answer, Message("user", "go on")])
        assert PROVIDERS[wire].check(again.payload) == []
    for parsed in answers(wire, base_url, [HISTORIES["a question"]], tools=TOOLS):
        calls = [item.name for item in parsed.items if isinstance(item, ToolCall)]
        assert (calls, parsed.finish) == (["look_up"], "calls")


@pytest.mark.parametrize(
    "wire", [pytest.param(wire, marks=NEEDS_LOCAL) for wire in ("openai", "openai-responses", "anthropic")]
)
def test_a_real_model_answers(wire: str, real: str) -> None:
    base_url = real if wire == "anthropic" else f"{real}/v1"
    asked = [HISTORIES["a question"], HISTORIES["parallel calls"]]
    for parsed in answers(wire, base_url, asked, max_tokens=16):
        assert text_of(parsed)
