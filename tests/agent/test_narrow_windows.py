"""Models that read less at once than was thought: how they are asked all the same, and what is learnt."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from quire import Agent, Message, Session, Template
from quire.agent.window import window_of
from quire.compactors import Summarize
from quire.errors import ModelFailed, WindowExceeded
from quire.models import Scripted
from quire.providers import Parsed, Rendered
from quire.sections import History
from quire.tokens import Budget, Share, Usage, counter_for
from tests.agent.answering import run

WINDOW = 4_000
COUNTER = counter_for("scripted")


class Narrow:
    """A model with a window of its own, by a count that may be off; it keeps how much it was sent."""

    def __init__(self, *, says_over: bool, rate: float = 1.0) -> None:
        self.sent: list[int] = []
        self._rate = rate
        self._says_over = says_over
        self.model = Scripted(self._answer)

    def _answer(self, sent: Rendered) -> Any:
        words = " ".join(str(one.get("content")) for one in sent.payload["messages"])
        size = int(COUNTER.count(Message("user", words)) * self._rate)
        self.sent.append(size)
        if size > WINDOW:
            return WindowExceeded("too long", size - WINDOW if self._says_over else 0)
        return Parsed((Message("assistant", "word " * 60),), usage=Usage(size, 60), model="scripted")

    @property
    def refused(self) -> int:
        """How often it was sent too much."""
        return sum(size > WINDOW for size in self.sent)


def filled(turns: int) -> Session:
    session = Session.open(store="memory:")
    for number in range(turns):
        session.user(f"question {number} " + "word " * 50)
        session.assistant(f"answer {number} " + "word " * 50)
    return session


@pytest.mark.parametrize("rate", [0.8, 1.0, 1.6])
@pytest.mark.parametrize("says_over", [True, False])
def test_a_conversation_goes_on_in_a_window_that_nobody_knew(says_over: bool, rate: float) -> None:
    async def talk() -> None:
        narrow = Narrow(says_over=says_over, rate=rate)
        agent = Agent("Be brief.", model=narrow.model)
        for number in range(80):
            assert (await agent.ask(f"question {number} " + "word " * 40)).stop == "done"
        assert 0 < narrow.refused <= 6
        assert max(narrow.sent[-20:]) > WINDOW // 3  # and no less is sent than can be

    run(talk)


@pytest.mark.parametrize("says_over", [True, False])
def test_a_long_past_that_is_opened_with_it_is_asked_in_few_tries(says_over: bool) -> None:
    async def talk() -> None:
        narrow = Narrow(says_over=says_over)
        agent = Agent(filled(200), model=narrow.model)
        assert (await agent.ask("hello")).stop == "done"
        assert 0 < narrow.refused <= 5
        if says_over:
            assert narrow.refused <= 2

    run(talk)


def test_what_was_found_out_is_for_all_conversations_of_the_model() -> None:
    async def talk() -> None:
        narrow = Narrow(says_over=True)
        await Agent(filled(100), model=narrow.model).ask("hello")
        refused = narrow.refused
        other = Agent(filled(100), model=narrow.model)
        assert (await other.preview()).receipt.tokens <= WINDOW
        await other.ask("hello")
        assert narrow.refused == refused
        assert window_of(Scripted([])).tokens is None

    run(talk)


def test_many_at_once_find_it_out() -> None:
    async def talk() -> None:
        narrow = Narrow(says_over=False)
        agents = [Agent(filled(100), model=narrow.model) for _ in range(4)]
        replies = await asyncio.gather(*(agent.ask("hello") for agent in agents))
        assert {reply.stop for reply in replies} == {"done"}

    run(talk)


def test_it_is_cut_in_the_same_place_from_question_to_question() -> None:
    async def talk() -> None:
        narrow = Narrow(says_over=True)
        agent = Agent(filled(100), model=narrow.model)
        for question in ("hello", "and now?", "and then?"):
            await agent.ask(question)
        first, second = (one.payload["messages"] for one in narrow.model.requests[-2:])
        assert second[: len(first)] == first

    run(talk)


def test_a_history_that_is_summarized_by_the_same_model_is_told_in_parts() -> None:
    async def talk() -> None:
        narrow = Narrow(says_over=False)
        agent = Agent(filled(100), model=narrow.model, compactor=Summarize(floor=4, ceiling=1_000))
        assert (await agent.ask("hello")).stop == "done"

    run(talk)


@pytest.mark.parametrize(
    "fault",
    [
        lambda: ModelFailed("broken"),
        lambda: WindowExceeded("Request exceeds the maximum size", in_bytes=True),
    ],
)
def test_nothing_is_learnt_of_what_is_not_about_the_window(fault: Callable[[], Exception]) -> None:
    async def talk() -> None:
        model = Scripted([fault(), "Fine.", "Fine."])
        agent = Agent(filled(100), model=model)
        if type(fault()) is ModelFailed:
            with pytest.raises(ModelFailed):
                await agent.ask("hello")
        await agent.ask("hello")
        assert window_of(model).tokens is None

    run(talk)


def test_nothing_is_learnt_where_less_does_not_help() -> None:
    async def talk() -> None:
        model = Scripted(lambda _: WindowExceeded("too long"))
        agent = Agent(filled(100), model=model)
        with pytest.raises(WindowExceeded):
            await agent.ask("hello")
        assert len(model.requests) <= 6 and window_of(model).tokens is None

    run(talk)


def test_what_was_found_out_is_taken_back_where_the_model_reads_more() -> None:
    async def talk() -> None:
        model = Scripted([WindowExceeded("too long"), "Fine.", "Fine.", "Fine."])
        session = filled(10)
        agent = Agent(session, model=model)
        await agent.ask("hello")
        found = window_of(model).tokens
        assert found is not None
        assert (await agent.ask("word " * 2 * found)).text == "Fine."
        assert window_of(model).tokens is None

    run(talk)


def test_nothing_is_learnt_of_numbers_that_cannot_be() -> None:
    async def talk() -> None:
        model = Scripted([WindowExceeded("too long", 90_000), "Fine."])
        assert (await Agent(filled(100), model=model).ask("hello")).text == "Fine."
        assert window_of(model).tokens is None

    run(talk)


def test_what_sections_are_promised_stays_theirs() -> None:
    async def talk() -> None:
        model = Scripted([WindowExceeded("too long", 9_000), "Fine."])
        shares = {"history": Share(minimum=5_000)}
        template = Template(History(), budget=Budget(window=10_000, reserve=500, shares=shares))
        assert (await Agent(filled(100), template, model=model).ask("hello")).text == "Fine."

    run(talk)
