"""A provider's reader takes the events of OpenAI's own streams, and loses no answer in silence."""

from typing import Any

import pytest

from quire.items import Message, ToolCall
from quire.providers import PROVIDERS, Parsed
from tests.clients.said import Said
from tests.clients.scenes import Stage
from tests.clients.speaking import events, says

openai: Any = pytest.importorskip("openai", reason="the openai client is not installed")

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
TOOL: dict[str, Any] = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}


def test_the_events_of_the_clients_own_stream_are_the_answer(server: Stage) -> None:
    scene = server.scene(says("openai", "It ", "rains.", calls=[("look", {"at": "sky"})], thought="Hm."))
    reader, words = PROVIDERS["openai"].stream(model="gpt-5.6"), ""
    with openai.OpenAI(base_url=f"{scene.base_url}/v1", api_key="k", max_retries=0) as client:
        asked: dict[str, Any] = {
            "model": "gpt-5.6",
            "messages": [{"role": "user", "content": "Rain?"}],
            "tools": [TOOL],
        }
        with client.chat.completions.stream(**asked) as stream:
            for event in stream:
                words += reader.feed(event)
    hold(reader.close(), words)


@pytest.mark.parametrize("wrapped", [True, False])
def test_chunks_in_events_are_read_as_chunks(wrapped: bool) -> None:
    reader, words = PROVIDERS["openai"].stream(model="gpt-5.6"), ""
    for chunk in events("openai", Said(["It ", "rains."], [("look", {"at": "sky"})], "Hm.")):
        words += reader.feed({"type": "chunk", "chunk": chunk} if wrapped else chunk)
        assert reader.feed({"type": "content.delta", "delta": "It ", "snapshot": "It "}) == ""
    hold(reader.close(), words)


def hold(parsed: Parsed, words: str) -> None:
    said, call = (item for item in parsed.items if isinstance(item, Message | ToolCall))
    assert isinstance(said, Message) and said.text == words == "It rains."
    assert isinstance(call, ToolCall) and call.arguments == '{"at": "sky"}'
    assert (parsed.finish, parsed.error) == ("calls", None)


def test_a_stream_of_something_else_is_an_error_and_no_silence() -> None:
    reader = PROVIDERS["openai"].stream()
    for event in events("anthropic", Said(["It rains."])):
        reader.feed(event)
    parsed = reader.close()
    assert parsed.items == () and parsed.error and "no event was a chunk" in parsed.error


def test_strange_events_among_chunks_are_passed_over() -> None:
    reader = PROVIDERS["openai"].stream()
    for event in ({"type": "ping"}, *events("openai", Said(["It rains."]))):
        reader.feed(event)
    assert (reader.close().finish, reader.close().error) == ("stop", None)
