"""Until its first piece has come an answer is asked for again, and never after: nothing is told twice."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from quire.errors import ModelFailed, Overloaded
from quire.models.answering import Delta
from tests.clients.asking import AT_ONCE, asked, each_row, each_wire
from tests.clients.said import Said
from tests.clients.scenes import Exchange, Scene, Stage, Step
from tests.clients.speaking import error, events, says, send
from tests.models.answerers import NEEDS_SDK, QUESTION, model_at, text_of

SAID = {
    "words": Said(["Hello", " there."]),
    "thought": Said(["Hello", " there."], thought="Greet them."),
    "call": Said(calls=[("look_up", {"q": "pens"})]),
}


@each_wire
def test_a_stream_without_an_event_is_asked_for_again(server: Stage, wire: str) -> None:
    def nothing(exchange: Exchange) -> None:
        exchange.begin()
        exchange.end()

    scene = server.scene(nothing, says(wire, "Here", " I am."))
    assert text_of(asked(scene, wire, "streamed")) == "Here I am."
    with pytest.raises(ModelFailed):
        asked(server.scene(nothing), wire, "streamed")


@NEEDS_SDK["anthropic"]
def test_an_error_after_the_opening_of_an_answer_is_asked_again(server: Stage) -> None:
    def overloaded(exchange: Exchange) -> None:
        opening = events("anthropic", SAID["words"])[:2]  # up to a block without words
        send("anthropic", exchange, [*opening, error("anthropic", 529, "overloaded_error", "busy")])

    scene = server.scene(overloaded, says("anthropic", "Here", " I am."))
    assert text_of(asked(scene, "anthropic", "streamed")) == "Here I am."
    with pytest.raises(Overloaded):
        asked(server.scene(overloaded), "anthropic", "streamed")


def cut_off(wire: str, opening: list[Any], end: Callable[[Exchange], None]) -> Step:
    return lambda exchange: send(wire, exchange, opening, end)


def told(scene: Scene, wire: str) -> tuple[list[Delta], bool]:
    """What a listener is told, and whether it came to its end."""

    async def run() -> tuple[list[Delta], bool]:
        deltas: list[Delta] = []
        async with model_at(scene, wire, retries=AT_ONCE) as model:
            try:
                async for delta in model.stream(QUESTION).deltas():
                    deltas.append(delta)
            except ModelFailed:
                return deltas, False
            return deltas, True

    return asyncio.run(run())


@each_wire
@each_row("kind", *SAID)
@each_row("end", Exchange.hang_up, Exchange.end)
def test_wherever_a_stream_breaks_off_nothing_is_told_twice(
    server: Stage, wire: str, kind: str, end: Callable[[Exchange], None]
) -> None:
    whole = says(wire, *SAID[kind].pieces, calls=SAID[kind].calls, thought=SAID[kind].thought)
    everything, _ = told(server.scene(whole), wire)
    opening = events(wire, SAID[kind])
    for length in range(len(opening)):
        scene = server.scene(cut_off(wire, opening[:length], end), whole)
        deltas, is_whole = told(scene, wire)
        assert deltas == everything[: len(deltas)]
        if len(scene.requests) == 2:
            assert is_whole and deltas == everything
        else:
            assert deltas, f"nothing had come after {length} events, and it was not asked again"
