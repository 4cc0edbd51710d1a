"""What is learnt of the window of a model: what it states, else a guess; nothing of what is badly counted."""

from typing import Any

import pytest

from quire import Agent, Session
from quire.agent.window import window_of
from quire.errors import WindowExceeded
from quire.items import Message, now, use_clock
from quire.models import Scripted
from quire.providers import Parsed, Rendered
from quire.tokens import Usage, counter_for
from tests.agent.answering import run

COUNTER = counter_for("scripted")
FILM = 900_000
"""Tokens of a film, of which nobody here knows how long it is."""


class Reader:
    """A model with a window, which it states or does not, by a count of its own."""

    def __init__(self, window: int, *, states: bool = True, rate: float = 1.0) -> None:
        self.window, self.states, self.rate = window, states, rate
        self.sent: list[int] = []
        self.model = Scripted(self._answer)

    def _answer(self, sent: Rendered) -> Any:
        words = " ".join(str(one.get("content")) for one in sent.payload["messages"])
        size = int(COUNTER.count(Message("user", words)) * self.rate) + FILM * words.count("<film>")
        self.sent.append(size)
        if size > self.window:
            return (
                WindowExceeded("too long", size - self.window, limit=self.window)
                if self.states
                else WindowExceeded("too long")
            )
        return Parsed((Message("assistant", "word " * 60),), usage=Usage(size, 60), model="scripted")


def reply_of(read: int) -> Parsed:
    """An answer to so many tokens, as the model counts them."""
    return Parsed((Message("assistant", "Fine."),), usage=Usage(read, 1), model="scripted")


def filled(turns: int, *, first: str = "Hello.") -> Session:
    session = Session.open(store="memory:")
    session.user(first)
    for number in range(turns):
        session.assistant(f"answer {number} " + "word " * 50)
        session.user(f"question {number} " + "word " * 50)
    session.assistant("So it is.")
    return session


@pytest.mark.parametrize("rate", [0.6, 1.0, 1.6])
def test_a_window_that_is_stated_is_what_is_learnt(rate: float) -> None:
    async def talk() -> None:
        reader = Reader(4_096, rate=rate)
        agent = Agent(filled(100), model=reader.model)
        for number in range(30):
            assert (await agent.ask(f"question {number} " + "word " * 40)).stop == "done"
        assert window_of(reader.model).tokens == 4_096
        assert sum(size > reader.window for size in reader.sent) <= 4
        assert max(reader.sent[-10:]) > reader.window // 2

    run(talk)


@pytest.mark.parametrize("window", [1_000_000, 20_000], ids=["as thought", "less than thought"])
def test_a_long_film_of_one_leaves_the_others_their_window(window: int) -> None:
    async def talk() -> None:
        reader = Reader(window)
        others = Agent(filled(80), model=reader.model)
        await others.ask("hello")
        before = reader.sent[-1]
        films = "<film> <film>" if window > FILM else "<film>"
        agent = Agent(filled(30, first=f"Look: {films}"), model=reader.model)
        assert (await agent.ask("And this?")).stop == "done"
        assert max(reader.sent) > reader.window and window_of(reader.model).tokens is None
        await others.ask("and now?")
        assert reader.sent[-1] > before

    run(talk)


def test_a_guess_is_no_less_than_what_was_read_before() -> None:
    async def talk() -> None:
        reader = Reader(FILM + 100_000, states=False)
        await Agent(filled(80), model=reader.model).ask("hello")
        read = max(reader.sent)
        short = Agent(filled(30, first="Look: <film> <film>"), model=reader.model)
        assert (await short.ask("And this?")).stop == "done"
        assert window_of(reader.model).tokens is None  # fewer were too many than went through
        long = Agent(filled(100, first="Look: <film> <film>"), model=reader.model)
        assert (await long.ask("And this?")).stop == "done"
        found = window_of(reader.model).tokens
        assert found is not None and found >= read

    run(talk)


def test_a_guess_is_made_anew_now_and_then() -> None:
    async def talk() -> None:
        reader = Reader(4_000, states=False)
        agent = Agent(filled(100), model=reader.model)
        await agent.ask("hello")
        found = window_of(reader.model).tokens
        assert found is not None and found < reader.window * 2
        reader.window = 100_000
        later = now() + 3_601
        with use_clock(lambda: later):
            assert window_of(reader.model).tokens is None
            await agent.ask("and now?")
        assert reader.sent[-1] > 10_000

    run(talk)


def test_what_is_stated_is_kept() -> None:
    async def talk() -> None:
        reader = Reader(4_000)
        await Agent(filled(100), model=reader.model).ask("hello")
        later = now() + 100_000
        with use_clock(lambda: later):
            assert window_of(reader.model).tokens == 4_000

    run(talk)


def test_more_that_goes_through_raises_what_was_found_out() -> None:
    async def talk() -> None:
        reader = Reader(4_000, states=False)
        agent = Agent(filled(100), model=reader.model)
        await agent.ask("hello")
        found = window_of(reader.model).tokens
        assert found is not None
        reader.window = 100_000
        await agent.ask("word " * (found // 2))
        reader.rate = 4.0
        await agent.ask("hello")
        assert window_of(reader.model).tokens == reader.sent[-1] > found

    run(talk)


def test_a_window_that_is_stated_later_is_believed() -> None:
    async def talk() -> None:
        reader = Reader(9_000, states=False)
        agent = Agent(filled(100), model=reader.model)
        await agent.ask("hello")
        reader.states, reader.rate = True, 3.0
        await agent.ask("hello")
        assert window_of(reader.model).tokens == 9_000

    run(talk)


@pytest.mark.parametrize("limit", [400, 4_000])
def test_no_window_is_believed_that_is_less_than_was_read(limit: int) -> None:
    async def talk() -> None:
        fault = WindowExceeded("too long", 100, limit=limit)
        model = Scripted([reply_of(5_000), fault, reply_of(5_100)])
        agent = Agent(filled(100), model=model)
        await agent.ask("hello")
        await agent.ask("and now?")
        found = window_of(model).tokens
        assert found is None or found >= 5_100
        later = now() + 3_601
        with use_clock(lambda: later):
            assert window_of(model).tokens is None  # and what is guessed in its place is a guess

    run(talk)


def test_nor_one_that_is_less_than_what_went_through_then() -> None:
    async def talk() -> None:
        model = Scripted([WindowExceeded("too long", 100, limit=400), reply_of(3_000)])
        await Agent(filled(60), model=model).ask("hello")
        found = window_of(model).tokens
        assert found is None or found >= 3_000

    run(talk)


def test_a_window_of_which_all_was_read_is_believed() -> None:
    async def talk() -> None:
        model = Scripted([WindowExceeded("too long", 100, limit=4_000), reply_of(4_000)])
        await Agent(filled(60), model=model).ask("hello")
        assert window_of(model).tokens == 4_000

    run(talk)


def test_of_two_numbers_the_smaller_is_a_guess() -> None:
    async def talk() -> None:
        fault = WindowExceeded("prompt is too long", 808)
        model = Scripted([fault, reply_of(7_000)])
        await Agent(filled(100), model=model).ask("hello")
        found = window_of(model).tokens
        assert found is not None and found >= 7_000
        later = now() + 3_601
        with use_clock(lambda: later):
            assert window_of(model).tokens is None

    run(talk)


def test_by_how_much_it_was_exceeded_is_not_the_window() -> None:
    async def talk() -> None:
        model = Scripted([WindowExceeded("too many tokens", 350, limit=9_000), reply_of(7_000)])
        await Agent(filled(100), model=model).ask("hello")
        assert window_of(model).tokens == 9_000

    run(talk)
