"""What the official SDKs send for a request of ours, and what comes back, read at a server of ours."""

import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quire import Agent, Session
from quire.errors import NotAuthorized
from quire.items import Message, Reasoning, ToolCall
from quire.models import Delta, Model, Scripted
from quire.providers import provider_for
from quire.stores import Store
from quire.tokens import Usage
from tests.clients.scenes import Exchange, Scene, Stage
from tests.clients.speaking import NAMES, breaks_off, fails, says
from tests.models.answerers import NEEDS_SDK, QUESTION, asked, each_row, each_wire, in_loop, model_at, text_of
from tests.providers.replies import CACHED, READ, WRITTEN

Json = dict[str, Any]

KEYS = (
    *("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"),
    *("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "NOVA_API_KEY"),
)
CACHE_KEY, BREAKPOINT = "prompt_cache_key", "prompt_cache_breakpoint"
TOOLS: list[Json] = [
    {"name": name, "description": f"{name}s.", "parameters": {"type": "object", "properties": {}}}
    for name in ("look up", "wait")
]
SCHEMA: Json = {
    "type": "object",
    "properties": {"town": {"type": "string", "maxLength": 40}},
    "required": ["town"],
    "additionalProperties": False,
}
USAGE = Usage(READ, WRITTEN, cache_read=CACHED)


class Town(msgspec.Struct, frozen=True):
    """A type of an answer."""

    town: str


def _look(q: str) -> str:
    """Looks something up."""
    return q


def sent(server: Stage, wire: str, **asking: Any) -> Any:
    """The body of the request that asks so."""
    scene = server.scene(says(wire, "{}"))
    asked(scene, wire, asking=asking)
    return scene.requests[-1].body


# --- terms -----------------------------------------------------------------------------------------------


STRICT = {"name": "answer", "schema": SCHEMA, "strict": True}
UNLIMITED = {**SCHEMA, "properties": {"town": {"type": "string"}}}
TERMS: dict[str, list[tuple[Json, Json]]] = {
    "openai": [
        ({"max_tokens": 9}, {"max_completion_tokens": 9}),
        ({"output": SCHEMA}, {"response_format": {"type": "json_schema", "json_schema": STRICT}}),
    ],
    "openai-responses": [
        (
            {"max_tokens": 9},
            {"max_output_tokens": 9, "store": False, "include": ["reasoning.encrypted_content"]},
        ),
        ({"output": SCHEMA}, {"text": {"format": {"type": "json_schema", **STRICT}}}),
    ],
    "anthropic": [
        ({}, {"max_tokens": 16_384}),
        ({"max_tokens": 128_000}, {"max_tokens": 128_000}),
        ({"output": SCHEMA}, {"output_config": {"format": {"type": "json_schema", "schema": UNLIMITED}}}),
    ],
    "gemini": [
        ({"max_tokens": 9}, {"generationConfig": {"maxOutputTokens": 9}}),
        (
            {"output": SCHEMA},
            {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}},
        ),
    ],
}


@each_wire
def test_terms_in_the_words_of_each_wire(server: Stage, wire: str) -> None:
    for asking, expected in TERMS[wire]:
        body = sent(server, wire, **asking)
        assert {name: body.get(name) for name in expected} == expected, asking


@each_wire
def test_options_of_the_model_and_of_the_request(server: Stage, wire: str) -> None:
    scene = server.scene(says(wire, "Yes."))
    of_request: Json = {"top_p": 0.75}
    if wire != "gemini":
        of_request |= {"of_another_service": [1], "extra_headers": {"x-who": "ana"}}
    options = {"temperature": 0.25, "top_p": 0.5}
    asked(scene, wire, asking={"max_tokens": 3, "options": of_request}, name="my-own-model", options=options)
    body = scene.requests[0].body
    values = str(body.get("generationConfig", body))
    assert "0.25" in values and "0.75" in values and "0.5," not in values
    if wire != "gemini":
        assert (body["model"], body["of_another_service"]) == ("my-own-model", [1])
        assert scene.requests[0].headers["x-who"] == "ana"
    assert wire != "openai" or body["max_tokens"] == 3


@NEEDS_SDK["openai"]
@each_row("wire", "openai", "openai-responses")
@in_loop
async def test_fields_of_the_cache_go_to_openai_or_to_who_asks_for_them(server: Stage, wire: str) -> None:
    for cache in (None, False, True):
        scene = server.scene(says(wire, "Hello."))
        async with Model(f"{wire}:gpt-5.6@{scene.base_url}/v1", api_key="k", cache=cache) as model:
            session = Session.open("ana@example.com/q3", store="memory:")
            agent = Agent(session, model=model, instructions="Be brief. " * 800)
            assert str(await agent.ask("Hi.")) == "Hello."
        body, kept = scene.requests[0].body, session.receipts[0]
        assert (CACHE_KEY in body, BREAKPOINT in str(body)) == (bool(cache), bool(cache))
        assert kept.request() == body and kept.payload()["messages" if wire == "openai" else "input"]
        assert "ana@example" not in str(body)


# --- receipts --------------------------------------------------------------------------------------------

REFUSAL = {"error": {"type": "invalid_request_error", "message": "response_format is not supported"}}


@NEEDS_SDK["openai"]
@NEEDS_SDK["anthropic"]
@each_row("wire", "openai", "openai-responses", "anthropic")
@each_row("how", "whole", "stream", "schema", "options")
@in_loop
async def test_a_receipt_is_the_body_that_was_sent(server: Stage, wire: str, how: str) -> None:
    scene = server.scene(says(wire, '{"town": "Oslo"}'))
    options = {"temperature": 0.5, "of_another_service": [1]} if how == "options" else {}
    async with model_at(scene, wire, api_key="k", options=options) as model:
        agent = Agent(
            Session.open("ana/q3", store="memory:"), model=model, instructions="Brief.", tools=[_look]
        )
        if how == "stream":
            async for _ in agent.stream("Where?"):
                pass
        else:
            await agent.ask("Where?", output=Town if how == "schema" else None)
    ((kept,), (request,)) = agent.session.receipts, scene.requests
    assert kept.request() == request.body and kept.parameters is not None
    assert kept.payload().payload.items() <= request.body.items() and kept.model == request.body["model"]


@NEEDS_SDK["openai"]
async def test_a_request_without_the_schema_that_was_refused_has_a_receipt_of_its_own(server: Stage) -> None:
    scene = server.scene(fails(400, REFUSAL), fails(429, {}), says("openai", '{"town": "Oslo"}'))
    async with model_at(scene, "openai", name="my-own-model", api_key="k") as model:
        agent = Agent(Session.open("ana/q3", store="memory:"), model=model)
        assert (await agent.ask("Where?", output=Town)).output == Town(town="Oslo")
    refused, busy, answered = [request.body for request in scene.requests]
    assert "response_format" in refused and "response_format" not in answered == busy
    assert [kept.request() for kept in agent.session.receipts] == [refused, answered]


LISTENER = """
import asyncio, sys
from quire import Agent, Session
from quire.models import Model

async def listen(name, address, path):
    session = Session.open("ana/q3", store=path)
    async with Model(name, base_url=address, api_key="k") as model:
        async for delta in Agent(session, model=model).stream("Where?"):
            print("heard", flush=True)

asyncio.run(listen(*sys.argv[1:]))
"""


@NEEDS_SDK["openai"]
def test_a_process_that_is_killed_in_an_answer_leaves_a_receipt(server: Stage, tmp_path: Path) -> None:
    scene, path = server.scene(breaks_off("openai", "Well", then=Exchange.wait)), tmp_path / "kept.db"
    command = [sys.executable, "-c", LISTENER, f"openai:{NAMES['openai']}", f"{scene.base_url}/v1", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "heard\n"
        process.kill()
    with Store.open(path) as store:
        session = Session.open("ana/q3", store=store)
        (receipt,) = session.receipts
        assert receipt.request() == scene.requests[0].body
        assert Agent(session, model=Scripted(["Here."])).resume_sync().text == "Here."


# --- answers ---------------------------------------------------------------------------------------------


@each_wire
async def test_thinking_text_and_calls_come_whole_and_in_pieces(server: Stage, wire: str) -> None:
    wire_name = next(iter(provider_for(wire).render(QUESTION, tools=TOOLS[:1]).names))
    scene = server.scene(says(wire, "I ", "look.", calls=[(wire_name, {"q": "x"})], thought="Hm."))
    async with model_at(scene, wire) as model:
        whole = await model.ask(QUESTION, tools=TOOLS)
        answer = model.stream(QUESTION, tools=TOOLS)
        deltas = [delta async for delta in answer.deltas()]
    text = [Delta("text", "I "), Delta("text", "look.")]
    assert deltas == [Delta("thinking", "Hm."), *text, Delta("call", "look up")]
    for parsed in (whole, answer.parsed):
        thought, said, call = parsed.items
        assert isinstance(thought, Reasoning) and thought.text == "Hm."
        assert isinstance(said, Message) and said.text == "I look."
        assert isinstance(call, ToolCall) and call.name == "look up"
        assert json.loads(call.arguments) == {"q": "x"}
        assert (parsed.usage, parsed.finish, parsed.model) == (USAGE, "calls", NAMES[wire])


# --- clients and keys ------------------------------------------------------------------------------------


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
async def test_a_client_of_the_caller_is_used_and_left_open(server: Stage, wire: str) -> None:
    scene = server.scene(fails(500, {}), says(wire, "Yes", "."))
    client = _client(wire, scene)
    model = model_at(scene, wire, client=client)
    async with model:
        assert text_of(await model.ask(QUESTION)) == "Yes."
    assert text_of(await model.stream(QUESTION).whole()) == "Yes."
    await (client.aio.aclose() if wire == "gemini" else client.close())
    assert len(scene.requests) == 3


def _client(wire: str, scene: Scene) -> Any:
    if wire == "gemini":
        genai: Any = pytest.importorskip("google.genai")
        # Where aiohttp is installed, the SDK would use it, and not await what it says of errors.
        http = {"transport": pytest.importorskip("httpx2").AsyncHTTPTransport()}
        return genai.Client(api_key="k", http_options={"base_url": scene.base_url, "async_client_args": http})
    if wire == "anthropic":
        return pytest.importorskip("anthropic").AsyncAnthropic(api_key="k", base_url=scene.base_url)
    return pytest.importorskip("openai").AsyncOpenAI(api_key="k", base_url=f"{scene.base_url}/v1")


@each_wire
def test_a_key_of_the_environment_goes_to_no_other_address(
    server: Stage, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in KEYS:
        if "USE" not in name and "PROFILE" not in name:
            monkeypatch.setenv(name, "secret-key")
    scene = server.scene(says(wire, "Yes."))
    asked(scene, wire)
    assert "secret-key" not in str(scene.requests[0].headers) + scene.requests[0].path
    asked(scene, wire, api_key="my-key")
    assert "my-key" in str(scene.requests[1].headers)


@each_row(
    "name variable sdk",
    ("gpt-5.6", "OPENAI_API_KEY", "openai"),
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
