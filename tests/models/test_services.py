"""Services that speak somebody's wire: what they are sent of a shape, and when they are asked once more."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from quire import Agent, tool
from quire.errors import ModelFailed
from quire.items import Message
from quire.models import Model
from quire.models.failing import Told, failure_of
from tests.clients.scenes import Exchange, Scene, Stage, Step, stage
from tests.clients.speaking import error, fails, is_streamed, says, send
from tests.models.answerers import NEEDS_SDK

QUESTION = [Message("user", "Offer a pen.")]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"price": {"type": "number"}},
    "required": ["price"],
    "additionalProperties": False,
}
ANSWER = '{"price": 3.5}'
OTHERS = "the key 'price' was asked for, and no such article is known"


@dataclass
class Offer:
    price: float


@pytest.fixture(scope="module")
def server() -> Iterator[Stage]:
    with stage() as open_stage:
        yield open_stage


def service_at(scene: Scene, name: str = "qwen3:30b", **options: Any) -> Model:
    return Model(f"openai:{name}@{scene.base_url}/v1", **options)


def shapes_in(scene: Scene) -> list[str | None]:
    return [shape_in(sent) for sent in scene.requests]


def shape_in(sent: Exchange) -> str | None:
    asked: dict[str, Any] = sent.body.get("response_format") or {}
    return asked.get("type")


def refuses_a_shape(words: str, then: Step, status: int = 400) -> Step:
    def step(exchange: Exchange) -> None:
        shaped = shape_in(exchange) == "json_schema"
        refusal = fails(status, error("openai", status, "invalid_request_error", words))
        (refusal if shaped else then)(exchange)

    return step


@NEEDS_SDK["openai"]
def test_a_service_that_writes_the_shape_where_one_is_sent_still_calls_its_tools(server: Stage) -> None:
    async def run() -> None:
        ran: list[str] = []

        @tool
        async def price_of(article: str) -> float:
            """The price of an article."""
            ran.append(article)
            return 3.5

        def play(exchange: Exchange) -> None:
            shaped = "response_format" in exchange.body
            has_called = any(message["role"] == "tool" for message in exchange.body["messages"])
            calls = () if shaped or has_called else [("price_of", {"article": "pen"})]
            says("openai", *(() if calls else (ANSWER,)), calls=calls)(exchange)

        scene = server.scene(play)
        async with service_at(scene) as model:
            reply = await Agent("Look up.", model=model, tools=[price_of]).ask("A pen.", output=Offer)
        assert reply.output == Offer(3.5) and ran == ["pen"]
        assert shapes_in(scene) == [None, None]
        assert all("fits this schema" in str(sent.body["messages"]) for sent in scene.requests)

    asyncio.run(run())


@NEEDS_SDK["openai"]
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "This response_format type is unavailable now"),
        (422, "'json_schema' is not one of ['text', 'json_object']"),
        (400, "json mode cannot be combined with tool/function calling"),
        (400, "Structured outputs are not supported by this model"),
    ],
)
def test_who_refuses_a_shape_is_asked_once_more_without_it_and_never_with_it_again(
    server: Stage, status: int, words: str, stream: bool
) -> None:
    async def ask(model: Model) -> str:
        if not stream:
            return str((await model.ask(QUESTION, output=SCHEMA)).items[0].text)  # type: ignore[union-attr]
        async with model.stream(QUESTION, output=SCHEMA) as answer:
            return "".join([piece async for piece in answer])

    async def run() -> None:
        scene = server.scene(refuses_a_shape(words, says("openai", ANSWER), status))
        async with service_at(scene, retries=0) as model:
            assert [await ask(model), await ask(model)] == [ANSWER, ANSWER]
        assert shapes_in(scene) == ["json_schema", None, None]

    asyncio.run(run())


@NEEDS_SDK["openai"]
@pytest.mark.parametrize(
    ("name", "status", "words", "options"),
    [
        ("qwen3:30b", 400, OTHERS, {}),
        ("qwen3:30b", 403, "no response_format for this key", {}),
        ("gpt-5.6", 400, "Invalid schema for response_format 'answer'", {}),
        ("qwen3:30b", 400, "no response_format", {"answer_schema": True}),
    ],
    ids=["of something else", "not allowed", "held", "said to be held"],
)
def test_what_is_refused_otherwise_is_a_failure(
    server: Stage, name: str, status: int, words: str, options: Any
) -> None:
    async def run() -> None:
        scene = server.scene(refuses_a_shape(words, says("openai", ANSWER), status))
        async with service_at(scene, name, **options) as model:
            with pytest.raises(ModelFailed):
                await model.ask(QUESTION, output=SCHEMA)
        assert shapes_in(scene) == ["json_schema"]

    asyncio.run(run())


@NEEDS_SDK["openai"]
def test_a_shape_that_options_ask_for_is_not_taken_back(server: Stage) -> None:
    async def run() -> None:
        own = {"response_format": {"type": "json_object"}}
        scene = server.scene(fails(400, error("openai", 400, "invalid_request_error", "no response_format")))
        async with service_at(scene, options=own) as model:
            with pytest.raises(ModelFailed):
                await model.ask(QUESTION, output=SCHEMA)
        assert shapes_in(scene) == ["json_object"]

    asyncio.run(run())


@NEEDS_SDK["openai"]
@pytest.mark.parametrize(("takes", "sent"), [(True, "json_schema"), (False, None)])
def test_who_knows_better_says_whether_a_model_takes_a_schema(
    server: Stage, takes: bool, sent: str | None
) -> None:
    async def run() -> None:
        scene = server.scene(says("openai", ANSWER))
        look: dict[str, Any] = {
            "name": "look",
            "description": "",
            "parameters": {"type": "object", "properties": {}},
        }
        async with service_at(scene, "deepseek-chat", answer_schema=takes) as model:
            await model.ask(QUESTION, tools=[look], output=SCHEMA)
        assert shapes_in(scene) == [sent]
        assert ("fits this schema" in str(scene.requests[0].body)) is not takes

    asyncio.run(run())


def gone_wrong(reason: str, parts: list[Any]) -> Step:
    candidate = {"finishReason": reason, "finishMessage": "Malformed.", "index": 0}
    said = {"content": {"role": "model", "parts": parts}} if parts else {}
    body = {"candidates": [{**candidate, **said}], "usageMetadata": {"promptTokenCount": 9}}

    def step(exchange: Exchange) -> None:
        send("gemini", exchange, [body]) if is_streamed("gemini", exchange) else exchange.answer(body)

    return step


@NEEDS_SDK["gemini"]
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("reason", "parts", "retries", "asked"),
    [
        ("MALFORMED_FUNCTION_CALL", [], 3, 2),
        ("UNEXPECTED_TOOL_CALL", [], 3, 2),
        ("MALFORMED_FUNCTION_CALL", [], 0, 1),
        ("MALFORMED_FUNCTION_CALL", [{"text": "I look"}], 3, 1),
        ("TOO_MANY_TOOL_CALLS", [], 3, 1),
    ],
)
def test_a_call_that_came_to_nothing_is_asked_for_once_more(
    server: Stage, reason: str, parts: list[Any], retries: int, asked: int, stream: bool
) -> None:
    async def run() -> None:
        wrong = gone_wrong(reason, parts)
        for steps, works in (([wrong, says("gemini", "Here.")], asked == 2), ([wrong], False)):
            scene = server.scene(*steps)
            model = Model("google:gemini-2.5-flash", base_url=scene.base_url, retries=retries)
            asking = model.stream(QUESTION).whole() if stream else model.ask(QUESTION)
            if works:
                assert [item.text for item in (await asking).items if isinstance(item, Message)] == ["Here."]
            else:
                with pytest.raises(ModelFailed):
                    await asking
            assert len(scene.requests) == asked
            await model.close()

    asyncio.run(run())


def test_what_is_said_of_a_shape_is_told_apart() -> None:
    assert failure_of("m", Told(400, "invalid_request_error", "no response_format here")).of_shape
    assert not failure_of("m", Told(400, "invalid_request_error", OTHERS)).of_shape
    assert not failure_of("m", Told(500, "server_error", "response_format")).of_shape
