"""Errors that come with a good status, beside what was used: each is the error that it says it is."""

import asyncio
from typing import Any

import pytest

from quire import Agent, Message, Session
from quire.errors import ModelFailed, RateLimited, WindowExceeded
from quire.models import Model
from quire.stores import MemoryStore
from tests.clients.asking import AT_ONCE, asked, both_ways
from tests.clients.openai_words import responses
from tests.clients.said import Said
from tests.clients.scenes import Exchange, Stage, Step
from tests.clients.speaking import is_streamed, says, send
from tests.models.answerers import NEEDS_SDK, model_at, text_of

pytestmark = NEEDS_SDK["openai"]

READ = 11
ANSWER = '{"price": 3.5}'
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"price": {"type": "number"}},
    "required": ["price"],
    "additionalProperties": False,
}
OF_VLLM = {"object": "error", "message": "Internal error", "type": "InternalServerError", "code": 500}


def fails_after_reading(code: str) -> Step:
    """A response that says what it used, and that it failed."""
    usage = {
        "input_tokens": READ,
        "output_tokens": 0,
        "total_tokens": READ,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    failed = {"status": "failed", "error": {"code": code, "message": "not now"}, "usage": usage}
    told = {**responses(Said(()), None), **failed}

    def step(exchange: Exchange) -> None:
        if is_streamed("openai-responses", exchange):
            event = {"type": "response.failed", "sequence_number": 0, "response": told}
            send("openai-responses", exchange, [event])
        else:
            exchange.answer(told)

    return step


def answers(body: Any) -> Step:
    """A body under a good status, in one piece or as an event."""

    def step(exchange: Exchange) -> None:
        if is_streamed("openai", exchange):
            send("openai", exchange, [body])
        else:
            exchange.answer(body)

    return step


async def ask(agent: Agent, how: str) -> str:
    if how == "whole":
        return (await agent.ask("Say hello.")).text
    return [delta async for delta in agent.stream("Say hello.")][-1].reply.text  # type: ignore[union-attr]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


@both_ways
def test_an_error_that_says_what_was_used_is_the_error_and_counts(server: Stage, how: str) -> None:
    async def run() -> None:
        async with model_at(
            server.scene(fails_after_reading("rate_limit_exceeded")), "openai-responses", retries=0
        ) as model:
            session = Session.open("ana/one", store=MemoryStore())
            with pytest.raises(RateLimited):
                await ask(Agent(session, model=model), how)
            assert session.spending.usage.input == READ

    asyncio.run(run())


@both_ways
def test_a_window_that_is_exceeded_is_made_smaller_though_it_says_what_was_used(
    server: Stage, how: str
) -> None:
    async def run() -> None:
        scene = server.scene(fails_after_reading("context_length_exceeded"), says("openai-responses", "Hi."))
        async with model_at(scene, "openai-responses", retries=0) as model:
            agent = Agent("Be brief.", model=model)
            for n in range(9):
                agent.session.user(f"question {n}, with some words")
                agent.session.assistant(f"answer {n}, with some words")
            assert await ask(agent, how) == "Hi." and len(scene.requests) == 2

    asyncio.run(run())


def refuses_a_shape(code: int) -> Step:
    body = {"error": {"message": "response_format is not supported", "code": code}}

    def step(exchange: Exchange) -> None:
        shaped = "response_format" in exchange.body
        (answers(body) if shaped else says("openai", ANSWER))(exchange)

    return step


@both_ways
def test_a_shape_that_is_turned_down_in_an_answer_is_left_out(server: Stage, how: str) -> None:
    async def read(model: Model) -> str:
        question = [Message("user", "Offer a pen.")]
        if how == "whole":
            return text_of(await model.ask(question, output=SCHEMA))
        return text_of(await model.stream(question, output=SCHEMA).whole())

    async def run() -> None:
        scene = server.scene(refuses_a_shape(400))
        async with Model(f"openai:qwen3:30b@{scene.base_url}/v1", retries=0) as model:
            assert [await read(model), await read(model)] == [ANSWER, ANSWER]
        assert ["response_format" in sent.body for sent in scene.requests] == [True, False, False]

    asyncio.run(run())


@both_ways
@pytest.mark.parametrize(
    "body",
    [OF_VLLM, {"error": {"message": "Rate limit exceeded"}}, {"error": {"message": "Too Many Requests."}}],
)
def test_what_is_clear_without_a_status_is_asked_again(server: Stage, how: str, body: Any) -> None:
    scene = server.scene(answers(body), says("openai", "Hello", " there."))
    assert text_of(asked(scene, "openai", how, retries=AT_ONCE)) == "Hello there."
    assert len(scene.requests) == 2


@both_ways
def test_an_error_that_is_the_whole_body_is_told_apart(server: Stage, how: str) -> None:
    told = {**OF_VLLM, "code": 400, "message": "This model's maximum context length is 10 tokens."}
    with pytest.raises(WindowExceeded):
        asked(server.scene(answers(told)), "openai", how)
    with pytest.raises(ModelFailed, match="500"):
        asked(server.scene(answers(OF_VLLM)), "openai", how)


@both_ways
def test_what_only_mentions_a_limit_is_not_asked_again(server: Stage, how: str) -> None:
    scene = server.scene(answers({"error": {"message": "no article: Rate limit exceeded, a novel"}}))
    with pytest.raises(ModelFailed):
        asked(scene, "openai", how)
    assert len(scene.requests) == 1
