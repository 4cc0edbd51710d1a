"""Connections that hang, break or are left, through the three official SDKs."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

from quire.errors import ModelFailed, ModelTimeout, Overloaded
from quire.models import Patience, Retries
from tests.clients.asking import (
    AT_ONCE,
    SECRET,
    WAYS,
    asked,
    both_ways,
    each_row,
    each_wire,
    hold_interrupted,
)
from tests.clients.scenes import PATIENCE, Exchange, Scene, Stage, Step
from tests.clients.speaking import begun, breaks_off, error, fails, says, send
from tests.models.answerers import QUESTION, model_at, text_of


@each_wire
@both_ways
def test_a_hung_connection_ends_in_time(server: Stage, wire: str, how: str) -> None:
    scene = server.scene(Exchange.wait)
    with pytest.raises(ModelTimeout) as caught:
        asked(scene, wire, how, timeout=1.0)
    assert isinstance(caught.value, TimeoutError)
    if scene.requests:  # on a machine that is busy, the time may be over before the server has heard of it
        assert scene.left.wait(PATIENCE), "the connection was not closed"


@each_wire
def test_a_stream_that_falls_silent_ends_in_time(server: Stage, wire: str) -> None:
    scene = server.scene(breaks_off(wire, "Hello", " there", then=Exchange.wait))
    patience = Patience(idle=2.0)

    async def run() -> None:
        async with model_at(scene, wire, timeout=patience, retries=AT_ONCE) as model:
            answer = model.stream(QUESTION)
            with pytest.raises(ModelTimeout):
                await answer.whole()
            hold_interrupted(answer.parsed, "Hello there")

    asyncio.run(run())
    assert scene.left.wait(PATIENCE)
    assert len(scene.requests) == 1


@each_wire
@each_row("end", Exchange.hang_up, Exchange.end)
def test_a_stream_that_breaks_off_leaves_what_came(
    server: Stage, wire: str, end: Callable[[Exchange], None]
) -> None:
    scene = server.scene(breaks_off(wire, "Hello", " there", then=end))

    async def run() -> None:
        async with model_at(scene, wire, retries=AT_ONCE) as model:
            answer = model.stream(QUESTION)
            pieces: list[str] = []
            with pytest.raises(ModelFailed):
                async for piece in answer:
                    pieces.append(piece)
            assert pieces == ["Hello", " there"]
            hold_interrupted(answer.parsed, "Hello there")

    asyncio.run(run())
    assert len(scene.requests) == 1, "what came was handed on, so it is not asked again"


@each_wire
@both_ways
def test_a_connection_that_is_lost_or_hangs_at_once_is_tried_again(
    server: Stage, wire: str, how: str
) -> None:
    scene = server.scene(Exchange.hang_up, says(wire, "Here", " I am."))
    assert text_of(asked(scene, wire, how)) == "Here I am."
    assert len(scene.requests) == 2
    hung = server.scene(Exchange.wait, says(wire, "Here", " I am."))
    patient: Any = {"timeout": Patience(idle=1.0), "retries": Retries(times=9, first=0.0)}
    assert text_of(asked(hung, wire, "streamed", **patient)) == "Here I am."


@each_wire
def test_an_error_inside_of_a_stream(server: Stage, wire: str) -> None:
    def step(exchange: Exchange) -> None:
        told: dict[str, Any] = error(wire, 503, "overloaded_error", f"busy with {SECRET}")
        event = {
            "type": "error",
            **(told if wire != "openai-responses" else {**told["error"], "type": "error"}),
        }
        send(wire, exchange, [*begun(wire, ["Hello", " there"]), event])

    scene = server.scene(step)

    async def run() -> None:
        async with model_at(scene, wire, retries=AT_ONCE) as model:
            answer = model.stream(QUESTION)
            # Google's SDK drops what it does not expect: there the answer merely breaks off.
            with pytest.raises(Overloaded if wire != "gemini" else ModelFailed) as caught:
                await answer.whole()
            assert SECRET not in str(caught.value)
            assert wire == "gemini" or SECRET in "".join(caught.value.__notes__)
            hold_interrupted(answer.parsed, "Hello there")

    asyncio.run(run())
    assert len(scene.requests) == 1


@each_wire
def test_what_is_no_answer_is_a_failure(server: Stage, wire: str) -> None:
    def garbled(exchange: Exchange) -> None:
        exchange.begin()
        exchange.chunk("event: message_start\ndata: {not json\n\n")
        exchange.end()

    odd: list[Any] = [{"type": "content_block_delta", "choices": "none", "index": "x", "output_index": "y"}]
    steps: list[Step] = [garbled, lambda exchange: send(wire, exchange, odd)]
    for step in steps:
        with pytest.raises(ModelFailed):
            asked(server.scene(step), wire, "streamed")
    wrong = b'{"choices": "none", "output": 3, "content": "no", "candidates": 7}'
    for body in (b"{not json", b"<html>Sign in first</html>", b"{}", wrong):
        with pytest.raises(ModelFailed):
            asked(server.scene(fails(200, body)), wire, "whole")


@each_wire
@both_ways
def test_nobody_there(wire: str, how: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        scene = Scene(f"http://127.0.0.1:{free.getsockname()[1]}", ())
        with pytest.raises(ModelFailed, match=r"the connection to .* failed") as caught:
            asked(scene, wire, how)
    assert caught.value.__cause__ is not None


@each_wire
@both_ways
def test_cancelling_closes_the_connection(server: Stage, wire: str, how: str) -> None:
    scene = server.scene(Exchange.wait)

    async def run() -> None:
        async with model_at(scene, wire) as model:
            task = asyncio.ensure_future(WAYS[how](model))
            while not scene.requests:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(scene.left.wait, PATIENCE), "it was still open"

    asyncio.run(run())


@each_wire
def test_leaving_a_stream_closes_the_connection(server: Stage, wire: str) -> None:
    scene = server.scene(breaks_off(wire, "Hello", " there", then=Exchange.wait))

    async def run() -> None:
        async with model_at(scene, wire) as model:
            async with model.stream(QUESTION) as answer:
                assert await anext(answer) == "Hello"
            assert await asyncio.to_thread(scene.left.wait, PATIENCE), "it was still open"

    asyncio.run(run())
