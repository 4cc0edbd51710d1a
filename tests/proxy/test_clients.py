"""The official clients through the proxy: they and their providers see what they would see without it."""

import asyncio
import importlib
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import httpx2
import pytest

from tests.clients.scenes import Exchange, Scene, Stage, Step, stage
from tests.clients.speaking import NAMES, breaks_off, error, fails, says
from tests.proxy.serving import Proxied

WIRES = tuple(NAMES)
_TOOL: dict[str, Any] = {
    "name": "look_up",
    "description": "Looks up.",
    "parameters": {"type": "object", "properties": {}},
}


@pytest.fixture(scope="module")
def server() -> Iterator[Stage]:
    with stage() as served:
        yield served


@pytest.fixture(scope="module")
def through(server: Stage, proxy: Proxied) -> Proxied:
    proxy.relay.upstreams["clients"] = server.scene().base_url.rpartition("/")[0]
    return proxy


class Asked(NamedTuple):
    """How a client is asked."""

    wire: str
    is_async: bool
    is_streamed: bool
    question: str = "Say hi."
    has_tools: bool = False
    retries: int = 0


def base_of(scene: Scene, proxy: Proxied) -> str:
    """The base URL of a client that goes through a proxy."""
    return f"{proxy.url}/clients/{scene.base_url.rpartition('/')[2]}"


def ask(base: str, asked: Asked) -> Any:
    """What the client returns: the events of a stream, or the response, or its error."""
    return asyncio.run(_ask(base, asked))


async def _ask(base: str, asked: Asked) -> Any:
    call, close = await asyncio.to_thread(_CALLS[asked.wire], base, asked)
    try:
        if asked.is_async:
            made = await call()
            return [_plain(one) async for one in made] if asked.is_streamed else _plain(made)
        made = await asyncio.to_thread(call)
        return [_plain(one) for one in made] if asked.is_streamed else _plain(made)
    except Exception as fault:
        return type(fault), getattr(fault, "status_code", getattr(fault, "code", None)), str(fault)
    finally:
        made = close()
        if asyncio.iscoroutine(made):
            await made


def _plain(value: Any) -> Any:
    plain = json.loads(value.model_dump_json(exclude={"sdk_http_response"}))
    return plain


def _openai(base: str, asked: Asked) -> tuple[Callable[..., Any], Callable[[], Any]]:
    import openai

    kind: Any = openai.AsyncOpenAI if asked.is_async else openai.OpenAI
    client = kind(base_url=f"{base}/v1", api_key="sk-secret", max_retries=asked.retries)
    given: Any = {"model": NAMES[asked.wire], "stream": asked.is_streamed}
    if asked.wire == "openai":
        tools = [{"type": "function", "function": _TOOL}] if asked.has_tools else openai.omit
        messages = [{"role": "user", "content": asked.question}]
        return lambda: client.chat.completions.create(messages=messages, tools=tools, **given), client.close
    flat = [{"type": "function", **_TOOL}] if asked.has_tools else openai.omit
    return lambda: client.responses.create(input=asked.question, tools=flat, **given), client.close


def _anthropic(base: str, asked: Asked) -> tuple[Callable[..., Any], Callable[[], Any]]:
    import anthropic

    kind: Any = anthropic.AsyncAnthropic if asked.is_async else anthropic.Anthropic
    client = kind(base_url=base, api_key="sk-secret", max_retries=asked.retries)
    schema = {"name": "look_up", "description": "Looks up.", "input_schema": _TOOL["parameters"]}
    tools = [schema] if asked.has_tools else anthropic.omit
    messages = [{"role": "user", "content": asked.question}]
    given: Any = {"model": NAMES["anthropic"], "max_tokens": 99, "messages": messages, "tools": tools}
    return lambda: client.messages.create(stream=asked.is_streamed, **given), client.close


def _gemini(base: str, asked: Asked) -> tuple[Callable[..., Any], Callable[[], Any]]:
    genai: Any = importlib.import_module("google.genai")
    retry = genai.types.HttpRetryOptions(attempts=asked.retries + 1, initial_delay=0.01)
    options = genai.types.HttpOptions(
        base_url=base,
        retry_options=retry if asked.retries else None,
        # Where aiohttp is installed, the client would use it; in that, importing it is a warning.
        async_client_args={"transport": httpx2.AsyncHTTPTransport()},
    )
    client = genai.Client(api_key="sk-secret", http_options=options)
    models: Any = client.aio.models if asked.is_async else client.models
    tool = genai.types.FunctionDeclaration(
        name="look_up", description="Looks up.", parameters_json_schema=_TOOL["parameters"]
    )
    tools: Any = [genai.types.Tool(function_declarations=[tool])] if asked.has_tools else None
    config = genai.types.GenerateContentConfig(tools=tools) if tools else None
    ask_model = models.generate_content_stream if asked.is_streamed else models.generate_content
    given: Any = {"model": NAMES["gemini"], "contents": asked.question, "config": config}
    return lambda: ask_model(**given), client.aio.aclose if asked.is_async else client.close


_CALLS: dict[str, Callable[[str, Asked], tuple[Callable[..., Any], Callable[[], Any]]]] = {
    "openai": _openai,
    "openai-responses": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
}

ANSWERS: dict[str, Callable[[str], list[Step]]] = {
    "words": lambda wire: [says(wire, "Hel", "lo.")],
    "a thought": lambda wire: [says(wire, "Hello.", thought="Greet them.")],
    "calls": lambda wire: [says(wire, calls=[("look_up", {"q": "pens"}), ("look_up", {"q": "ink"})])],
    "an error": lambda wire: [fails(400, error(wire, 400, "invalid_request_error", "no"))],
    "another try": lambda wire: [
        fails(503, error(wire, 503, "overloaded_error", "busy")),
        says(wire, "Hel", "lo."),
    ],
    "a break": lambda wire: [breaks_off(wire, "Hel", "lo")],
}


@pytest.mark.parametrize(
    ("is_streamed", "is_async"),
    [
        pytest.param(False, False, id="whole-sync"),
        pytest.param(True, True, id="streamed-async"),
        pytest.param(False, True, id="whole-async", marks=pytest.mark.fuzz),
        pytest.param(True, False, id="streamed-sync", marks=pytest.mark.fuzz),
    ],
)
@pytest.mark.parametrize("wire", WIRES)
def test_both_sides_see_the_same(
    server: Stage, through: Proxied, wire: str, is_streamed: bool, is_async: bool
) -> None:
    for name, steps in ANSWERS.items():
        if name in ("a thought", "calls", "a break") and not is_streamed:  # bytes like any other
            continue
        question = f"{name}: {wire} {is_streamed} {is_async}"
        asked = Asked(wire, is_async, is_streamed, question, name == "calls", int(name == "another try"))
        scenes = [server.scene(*steps(wire)) for _ in range(2)]
        direct = ask(scenes[0].base_url, asked)
        proxied_answer = ask(base_of(scenes[1], through), asked)
        assert proxied_answer == direct, name
        seen = [[_seen(one) for one in scene.requests] for scene in scenes]
        assert seen[0] == seen[1], name
        assert len(scenes[0].requests) == (2 if name == "another try" else 1)


def _seen(exchange: Exchange) -> Any:
    names = ("host", "connection", "user-agent", "x-stainless-read-timeout", "accept-encoding")
    headers = {name: value for name, value in exchange.headers.items() if name not in names}
    return exchange.path.partition("/")[2].partition("/")[2], headers, exchange.body
