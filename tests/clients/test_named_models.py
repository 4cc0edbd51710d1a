"""Models by name over the official SDKs and a server of ours: what is sent, and what comes back."""

import asyncio
import json
import threading
from typing import Any

import pytest

from quire.errors import NotAuthorized
from quire.items import Message, Reasoning, ToolCall
from quire.models import Delta, Model, Retries
from quire.providers import HISTORY, provider_for
from quire.tokens import Usage
from tests.clients.asking import asked, each_row, each_wire
from tests.clients.said import CLIENTS, NAMES
from tests.clients.scenes import Scene, Stage
from tests.clients.speaking import fails, says
from tests.clients.test_terms import TOOLS
from tests.models.answerers import QUESTION, model_at, text_of
from tests.providers.replies import CACHED, READ, WRITTEN

KEYS = (
    *("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"),
    *("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "NOVA_API_KEY"),
)


@each_wire
def test_thoughts_words_and_calls_come_whole_and_in_pieces(server: Stage, wire: str) -> None:
    wire_name = next(iter(provider_for(wire).render(QUESTION, tools=TOOLS[:1]).names))
    calls = [(wire_name, {"q": "x"})]
    scene = server.scene(says(wire, "I ", "look.", calls=calls, thought="Hm."))

    async def run() -> None:
        async with model_at(scene, wire) as model:
            whole = await model.ask(QUESTION, tools=TOOLS)
            answer = model.stream(QUESTION, tools=TOOLS)
            deltas = [delta async for delta in answer.deltas()]
        assert deltas == [
            Delta("thinking", "Hm."), Delta("text", "I "), Delta("text", "look."), Delta("call", "look up")
        ]  # fmt: skip
        for parsed in (whole, answer.parsed):
            thought, said, call = parsed.items
            assert isinstance(thought, Reasoning) and thought.text == "Hm."
            assert isinstance(said, Message) and said.text == "I look."
            assert isinstance(call, ToolCall) and call.name == "look up"
            assert json.loads(call.arguments) == {"q": "x"}
            assert parsed.usage == Usage(READ, WRITTEN, cache_read=CACHED)
            assert (parsed.finish, parsed.model) == ("calls", NAMES[wire])

    asyncio.run(run())


@each_wire
def test_exactly_what_was_rendered_is_sent(server: Stage, wire: str) -> None:
    scene = server.scene(says(wire, "Yes", "."))
    rendered = provider_for(wire).render(QUESTION, model=NAMES[wire])

    async def run() -> None:
        async with model_at(scene, wire) as model:
            assert (await model.send(rendered).whole()).finish == "stop"
            assert (await model.send(rendered, stream=False).whole()).finish == "stop"

    asyncio.run(run())
    for exchange in scene.requests:
        assert exchange.body[HISTORY[wire]] == rendered.payload[HISTORY[wire]]


@each_wire
def test_chat(server: Stage, wire: str) -> None:
    scene = server.scene(says(wire, "Good ", "day."))
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": {"type": "text", "text": "Say hello."}},
    ]

    async def run() -> None:
        async with model_at(scene, wire) as model:
            reply = await model.complete_chat(messages, max_tokens=5, temperature=0.5)
        assert (str(reply), reply.finish) == ("Good day.", "stop")
        assert reply.usage == Usage(READ, WRITTEN, cache_read=CACHED)
        assert reply.cost is not None and 0 < reply.cost < 0.01

    asyncio.run(run())
    body = json.dumps(scene.requests[0].body)
    assert "Say hello." in body and '"temperature": 0.5' in body


@each_wire
def test_one_model_in_many_loops_and_threads(server: Stage, wire: str) -> None:
    scene = server.scene(says(wire, "Yes", "."))
    model = model_at(scene, wire)

    def in_a_loop() -> None:
        assert text_of(asyncio.run(model.ask(QUESTION))) == "Yes."

    async def after_closing() -> None:
        async with model:
            await model.ask(QUESTION)
        await model.close()
        assert text_of(await model.ask(QUESTION)) == "Yes."

    in_a_loop()
    asyncio.run(after_closing())
    threads = [threading.Thread(target=in_a_loop) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(scene.requests) == 7


@each_wire
def test_a_client_of_somebody_else_is_used_and_left_open(server: Stage, wire: str) -> None:
    scene = server.scene(fails(500, {}), says(wire, "Yes."))

    async def run() -> None:
        client = _client(wire, scene)
        model = Model(f"{CLIENTS[wire]}:{NAMES[wire]}", client=client, retries=Retries(times=1, first=0.0))
        async with model:
            assert text_of(await model.ask(QUESTION)) == "Yes."
        assert text_of(await model.ask(QUESTION)) == "Yes."
        await (client.aio.aclose() if wire == "gemini" else client.close())

    asyncio.run(run())
    assert len(scene.requests) == 3


def _client(wire: str, scene: Scene) -> Any:
    if wire == "gemini":
        genai: Any = pytest.importorskip("google.genai")
        return genai.Client(api_key="k", http_options={"base_url": scene.base_url})
    if wire == "anthropic":
        return pytest.importorskip("anthropic").AsyncAnthropic(api_key="k", base_url=scene.base_url)
    return pytest.importorskip("openai").AsyncOpenAI(api_key="k", base_url=f"{scene.base_url}/v1")


@each_wire
def test_keys(server: Stage, wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        if "USE" not in name and "PROFILE" not in name:
            monkeypatch.setenv(name, "secret-key")
    scene = server.scene(says(wire, "Yes."))
    asked(scene, wire, "whole")
    assert "secret-key" not in str(scene.requests[0].headers) + scene.requests[0].path
    asked(scene, wire, "whole", api_key="my-key")
    assert "my-key" in str(scene.requests[1].headers)


@each_row(
    "name variable sdk",
    ("gpt-5.6", "OPENAI_API_KEY", "openai"),
    ("openai-responses:gpt-5.6", "OPENAI_API_KEY", "openai"),
    ("nova-micro-v1", "NOVA_API_KEY", "openai"),
    ("claude-sonnet-5", "ANTHROPIC_API_KEY", "anthropic"),
    ("google:gemini-3-pro", "GEMINI_API_KEY", "google.genai"),
)
def test_a_missing_key_is_named(
    name: str, variable: str, sdk: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    pytest.importorskip(sdk)
    for key in (*KEYS, "ANTHROPIC_CONFIG_DIR"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for _ in range(2):
        with pytest.raises(NotAuthorized, match=f"set {variable}, or give api_key"):
            asyncio.run(Model(name, timeout=5, retries=0).ask(QUESTION))
        monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))  # one that has no files in it


@each_wire
def test_a_service_by_its_address_and_options_of_the_model(server: Stage, wire: str) -> None:
    scene = server.scene(says(wire, "Yes."))
    base_url = f"{scene.base_url}/v1" if wire.startswith("openai") else scene.base_url

    async def run() -> None:
        options = {"temperature": 0.25, "top_p": 0.5}
        async with Model(f"{CLIENTS[wire]}:my-own-model@{base_url}", options=options) as model:
            assert model.name == "my-own-model"
            await model.ask(QUESTION, max_tokens=3, options={"top_p": 0.75})

    asyncio.run(run())
    body: Any = scene.requests[0].body
    assert wire == "gemini" or body["model"] == "my-own-model"
    assert wire != "openai" or body["max_tokens"] == 3
    values = str(body.get("generationConfig", body))
    assert "0.25" in values and "0.75" in values and "0.5," not in values
