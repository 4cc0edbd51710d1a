"""Streams through the official SDKs: what came is kept, nothing is told twice, nothing stays open."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest

from quire.errors import ModelFailed, ModelTimeout, Overloaded
from quire.items import Message
from quire.models import Delta, Retries, Timeouts
from quire.providers import Parsed
from tests.clients.scenes import PATIENCE, Exchange, Scene, Stage, Step
from tests.clients.speaking import (
    answers,
    begun,
    breaks_off,
    error,
    events,
    fails,
    said,
    says,
    send,
    sends,
    whole,
)
from tests.models.answerers import (
    NEEDS_SDK,
    QUESTION,
    answered,
    asked,
    both_ways,
    each_row,
    each_wire,
    in_loop,
    model_at,
    text_of,
)

SECRET = "the words of a person"
SAID = {
    "words": said("Hello", " there."),
    "thought": said("Hello", " there.", thought="Greet them."),
    "call": said(calls=[("look_up", {"q": "pens"})]),
}


def hold_interrupted(parsed: Parsed, words: str) -> None:
    (message,) = parsed.items
    assert isinstance(message, Message) and message.interrupted and message.text == words


def sends_lines(*lines: str) -> Step:
    """A stream of these lines, as they are."""

    def step(exchange: Exchange) -> None:
        exchange.begin()
        for line in lines:
            exchange.chunk(f"{line}\n")
        exchange.end()

    return step


@asynccontextmanager
async def hurried(scene: Scene) -> AsyncGenerator[None]:
    """While a server keeps the event loop waiting, hours pass for it: no test waits for a limit of time."""
    loop, hours = asyncio.get_running_loop(), 0
    time = loop.time

    async def hurry() -> None:
        nonlocal hours
        pause = 0.01
        while True:
            is_waiting = scene.keeps_waiting.is_set() and not scene.left.is_set()
            await asyncio.sleep(pause)  # what was sent before is read first
            hours += is_waiting
            pause = 2 * pause if is_waiting else 0.01  # a busy server sees late that the client has left

    setattr(loop, "time", lambda: time() + 3_600 * hours)  # noqa: B010
    hurrying = asyncio.create_task(hurry())
    try:
        yield
    finally:
        hurrying.cancel()


# --- connections that hang, break or are left ------------------------------------------------------------


@each_wire
@both_ways
@in_loop
async def test_a_hung_connection_ends_in_time(server: Stage, wire: str, how: str) -> None:
    scene = server.scene(Exchange.wait)
    async with model_at(scene, wire) as model, hurried(scene):
        with pytest.raises(ModelTimeout) as caught:
            await answered(model, how)
    assert isinstance(caught.value, TimeoutError)
    assert scene.left.wait(PATIENCE), "the connection was not closed"


@each_wire
@each_row(
    "end kind", (Exchange.hang_up, ModelFailed), (Exchange.end, ModelFailed), (Exchange.wait, ModelTimeout)
)
@in_loop
async def test_a_stream_that_breaks_off_leaves_what_came(
    server: Stage, wire: str, end: Callable[[Exchange], None], kind: type[ModelFailed]
) -> None:
    scene, pieces = server.scene(breaks_off(wire, "Hello", " there", then=end)), list[str]()
    async with model_at(scene, wire, timeout=Timeouts(total=None)) as model, hurried(scene):
        answer = model.stream(QUESTION)
        with pytest.raises(kind):
            async for piece in answer:
                pieces.append(piece)
    assert pieces == ["Hello", " there"]
    hold_interrupted(answer.parsed, "Hello there")
    assert len(scene.requests) == 1, "pieces were handed on, so it is not sent again"
    assert end is not Exchange.wait or scene.left.wait(PATIENCE)


@each_wire
async def test_a_connection_that_hangs_at_once_is_tried_again(server: Stage, wire: str) -> None:
    scene = server.scene(Exchange.wait, says(wire, "Here", " I am."))
    patient: Any = {"timeout": Timeouts(total=None), "retries": Retries(times=20, first=0.0)}
    async with model_at(scene, wire, **patient) as model, hurried(scene):
        assert text_of(await answered(model, "streamed")) == "Here I am."


@each_wire
@both_ways
def test_a_connection_that_is_lost_at_once_is_tried_again(server: Stage, wire: str, how: str) -> None:
    scene = server.scene(Exchange.hang_up, says(wire, "Here", " I am."))
    assert text_of(asked(scene, wire, how)) == "Here I am."
    assert len(scene.requests) == 2
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = Scene(f"http://127.0.0.1:{free.getsockname()[1]}", ())
        with pytest.raises(ModelFailed, match=r"the connection to .* failed") as caught:
            asked(nobody, wire, how)
    assert caught.value.__cause__ is not None


@each_wire
@both_ways
@in_loop
async def test_cancelling_or_leaving_closes_the_connection(server: Stage, wire: str, how: str) -> None:
    scene = server.scene(Exchange.wait)
    async with model_at(scene, wire) as model:
        task = asyncio.ensure_future(answered(model, how))
        while not scene.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(scene.left.wait, PATIENCE), "it was still open"
    scene = server.scene(breaks_off(wire, "Hello", " there", then=Exchange.wait))
    async with model_at(scene, wire) as model:
        async with model.stream(QUESTION) as answer:
            assert await anext(answer) == "Hello"
        assert await asyncio.to_thread(scene.left.wait, PATIENCE), "it was still open"


# --- asked again before the first piece, and never after -------------------------------------------------


@each_wire
@each_row("kind end", *((kind, Exchange.hang_up) for kind in SAID), ("words", Exchange.end))
@in_loop
async def test_wherever_a_stream_breaks_off_nothing_is_told_twice(
    server: Stage, wire: str, kind: str, end: Callable[[Exchange], None]
) -> None:
    async def told(scene: Scene) -> tuple[list[Delta], bool]:
        """What a listener is told, and whether it came to its end."""
        deltas: list[Delta] = []
        async with model_at(scene, wire) as model:
            with suppress(ModelFailed):
                async for delta in model.stream(QUESTION).deltas():
                    deltas.append(delta)
                return deltas, True
        return deltas, False

    opening = events(wire, SAID[kind])
    complete = answers(wire, whole(wire, SAID[kind]), opening)
    everything, _ = await told(server.scene(complete))
    for length in range(len(opening)):
        scene = server.scene(partial(send, wire, told=opening[:length], then=end), complete)
        deltas, is_whole = await told(scene)
        assert deltas == everything[: len(deltas)]
        if len(scene.requests) == 2:
            assert is_whole and deltas == everything
        else:
            assert deltas, f"nothing had come after {length} events, and it was not sent again"


@each_wire
async def test_an_error_inside_a_stream(server: Stage, wire: str) -> None:
    told: dict[str, Any] = error(wire, 503, "overloaded_error", f"busy with {SECRET}")
    fault = {**told["error"], "type": "error"} if wire == "openai-responses" else {"type": "error", **told}
    pieces = begun(wire, ["Hello", " there"])
    scene = server.scene(lambda exchange: send(wire, exchange, [*pieces, fault]))
    async with model_at(scene, wire) as model:
        answer = model.stream(QUESTION)
        with pytest.raises(Overloaded) as caught:
            await answer.whole()
    assert SECRET not in str(caught.value) and SECRET in "".join(caught.value.__notes__)
    hold_interrupted(answer.parsed, "Hello there")
    assert len(scene.requests) == 1
    first = pieces[:1] if wire == "anthropic" else []  # the opening of an answer, without a piece of it
    early = server.scene(lambda exchange: send(wire, exchange, [*first, fault]), says(wire, "Here."))
    async with model_at(early, wire) as model:
        assert text_of(await answered(model, "streamed")) == "Here."


# --- bodies with a good status that are something else ---------------------------------------------------


@each_wire
@both_ways
def test_what_is_no_answer_is_told_and_asked_again(server: Stage, wire: str, how: str) -> None:
    blocked = "Blocked by the gateway"
    page = f"<html><head><title>{blocked}</title></head></html>".encode()
    told: list[tuple[Step, str]] = [
        (sends(page, "text/html"), blocked),
        (sends(blocked.encode(), "text/plain"), blocked),
        (sends({"detail": [{"loc": ["body"], "msg": "Not Found"}]}), "Not Found"),
        *((sends(body), "") for body in (b"", b'{"id": "1", "cho', b"null", b"[]", b"{}")),
    ]
    for step, words in told:
        scene = server.scene(step, says(wire, "Here", " I am."))
        assert text_of(asked(scene, wire, how)) == "Here I am.", words
        assert len(scene.requests) == 2
        with pytest.raises(ModelFailed) as caught:
            asked(server.scene(step), wire, how, retries=0)
        assert words in "".join(getattr(caught.value, "__notes__", ()))


@each_wire
def test_an_answer_in_one_piece_is_no_stream(server: Stage, wire: str) -> None:
    answer = {**whole(wire, SAID["words"]), "detail": "served from afar", "message": "all is well"}
    assert text_of(asked(server.scene(sends(answer)), wire, "whole")) == "Hello there."
    with pytest.raises(ModelFailed) as caught:
        asked(server.scene(sends(answer)), wire, "streamed")
    assert "came in one piece" in "".join(caught.value.__notes__)


@each_wire
def test_what_cannot_be_read_is_a_failure(server: Stage, wire: str) -> None:
    odd: list[Any] = [{"type": "content_block_delta", "choices": "none", "index": "x", "output_index": "y"}]
    garbled = sends_lines("event: message_start", "data: {not json", "")
    steps: list[Step] = [garbled, lambda exchange: send(wire, exchange, odd)]
    for step in steps:
        with pytest.raises(ModelFailed):
            asked(server.scene(step), wire, "streamed")
    wrong = b'{"choices": "none", "output": 3, "content": "no", "candidates": 7}'
    with pytest.raises(ModelFailed):
        asked(server.scene(fails(200, wrong)), wire, "whole")


@NEEDS_SDK["gemini"]
@each_row("beside", [": PROCESSING", ""], [":", ""], ["event: message", "id: 7"], ["retry: 9"])
@each_row("before", "data: ", "data:")
def test_lines_of_a_gemini_stream_that_its_sdk_does_not_know(
    server: Stage, beside: list[str], before: str
) -> None:
    told: list[str] = []
    for event in events("gemini", said("Here", " I am.")):
        told += [*beside, f"{before}{json.dumps(event)}", ""]
    scene = server.scene(sends_lines(*told, *beside))
    assert text_of(asked(scene, "gemini", "streamed")) == "Here I am."
    assert len(scene.requests) == 1
