"""A window that is exceeded in the middle of a reply: what had come of it is not run, then or later."""

from collections.abc import AsyncGenerator
from typing import Any

from quire import Agent, Session
from quire.agent import tool
from quire.errors import WindowExceeded
from quire.models import Answering, Delta, Scripted
from tests.agent.answering import assert_whole, call, results, run


class Breaking(Scripted):
    """A model whose first reply breaks off once all of it was told."""

    def send(self, *args: Any, **terms: Any) -> Answering:
        answering = super().send(*args, **terms)
        if len(self.requests) > 1:
            return answering
        return Answering(_broken(answering), lambda: answering.parsed)


async def _broken(answering: Answering) -> AsyncGenerator[Delta, None]:
    async for delta in answering.deltas():
        yield delta
    raise WindowExceeded("Context size has been exceeded.", 0)


def filled() -> Session:
    session = Session.open(store="memory:")
    for number in range(60):
        session.user(f"question {number} " + "word " * 50)
        session.assistant(f"answer {number} " + "word " * 50)
    return session


class Payments:
    """A tool that pays, and what was paid."""

    def __init__(self, *, approve: bool) -> None:
        self.made: list[int] = []
        self.tool = tool(name="pay", approve=approve)(self._pay)

    async def _pay(self, amount: int) -> str:
        """Pay."""
        self.made.append(amount)
        return f"paid {amount}"


def test_calls_of_a_broken_reply_are_closed_before_it_is_asked_again() -> None:
    async def talk() -> None:
        payments = Payments(approve=False)
        model = Breaking([call("pay", '{"amount": 5}', "one"), call("pay", '{"amount": 5}', "two"), "Paid."])
        agent = Agent(filled(), model=model, tools=[payments.tool])
        [*_, last] = [delta async for delta in agent.stream("pay five")]
        assert payments.made == [5] and not agent.session.view().pending()
        assert [result.is_error for result in results(agent)] == [True, False]
        assert "broke off" in results(agent)[0].text
        assert (await agent.resume()).text == "Paid." and payments.made == [5] and last is not None
        assert_whole(agent)

    run(talk)


def test_who_approves_of_one_approves_of_nothing_else() -> None:
    async def talk() -> None:
        payments = Payments(approve=True)
        model = Breaking([call("pay", '{"amount": 5}', "one"), call("pay", '{"amount": 5}', "two"), "Paid."])
        agent = Agent(filled(), model=model, tools=[payments.tool])
        async for _ in agent.stream("pay five"):
            pass
        assert [one.call_id for one in agent.session.view().pending()] == ["two"]
        assert (await agent.decide({"two": True})).text == "Paid." and payments.made == [5]
        assert_whole(agent)

    run(talk)
