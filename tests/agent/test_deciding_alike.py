"""Calls of one reply under one id: each is decided by itself, and what each gave is its own."""

from typing import Any

import pytest

from quire import ToolCall
from quire.agent import Agent, Limits, tool
from quire.agent.builtin import ask_user
from quire.errors import InvalidValue
from tests.agent.answering import agent_of, assert_whole, call, results, run


class Payments:
    """A tool that a person has to approve of, and the amounts that were paid."""

    def __init__(self, approve: Any = True) -> None:
        self.made: list[int] = []
        self.tool = tool(name="pay", approve=approve)(self._pay)

    async def _pay(self, amount: int) -> str:
        """Pay."""
        self.made.append(amount)
        return f"paid {amount}"


def pays(amount: int) -> ToolCall:
    return call("pay", f'{{"amount": {amount}}}', "c")


def is_much(given: Any) -> bool:
    return bool(given["amount"] > 100)


def asked_first(*others: ToolCall) -> list[ToolCall]:
    return [call("ask_user", '{"question": "Who?"}', "q"), *others]


def texts(agent: Agent) -> list[str]:
    return [result.text for result in results(agent)]


def test_a_decision_by_an_id_that_two_calls_have_runs_neither() -> None:
    async def talk() -> None:
        payments = Payments()
        agent = agent_of([pays(1), pays(1_000_000)], "Paid.", tools=[payments.tool])
        one, other = (await agent.ask("pay")).waiting
        with pytest.raises(InvalidValue, match=f"2 calls .*{one.id}, {other.id}"):
            await agent.decide({"c": True})
        assert payments.made == [] and len(agent.session.steps.standing()) == 2

    run(talk)


def test_each_is_decided_by_the_id_of_its_item() -> None:
    async def talk() -> None:
        payments = Payments()
        agent = agent_of([pays(1), pays(1_000_000)], "Paid.", tools=[payments.tool])
        one, other = (await agent.ask("pay")).waiting
        reply = await agent.decide({one.id: True, other.id: "too much"})
        assert reply.text == "Paid." and payments.made == [1]
        assert texts(agent)[0] == "paid 1" and "too much" in texts(agent)[1]
        assert_whole(agent)

    run(talk)


def test_the_first_can_be_decided_before_the_other() -> None:
    async def talk() -> None:
        payments = Payments()
        agent = agent_of([pays(1), pays(1_000_000)], "Well.", tools=[payments.tool])
        one, other = (await agent.ask("pay")).waiting
        reply = await agent.decide({one.id: True})
        assert reply.waiting == (other,) and payments.made == [1]
        assert (await agent.decide({"c": False})).text == "Well."
        assert payments.made == [1]
        assert_whole(agent)

    run(talk)


@pytest.mark.parametrize("decision", [True, False])
def test_the_other_is_not_decided_before_the_first(decision: bool) -> None:
    async def talk() -> None:
        payments = Payments()
        agent = agent_of([pays(1), pays(1_000_000)], "Well.", tools=[payments.tool])
        one, other = (await agent.ask("pay")).waiting
        with pytest.raises(InvalidValue, match="decide that too"):
            await agent.decide({other.id: decision})
        assert payments.made == []
        await agent.decide({other.id: decision, one.id: True})
        assert payments.made == ([1, 1_000_000] if decision else [1])
        assert_whole(agent)

    run(talk)


def test_a_call_is_decided_by_one_of_its_ids() -> None:
    async def talk() -> None:
        payments = Payments()
        agent = agent_of(pays(1), "Paid.", tools=[payments.tool])
        [one] = (await agent.ask("pay")).waiting
        with pytest.raises(InvalidValue, match="twice"):
            await agent.decide({one.id: True, "c": False})
        assert (await agent.decide({one.id: True})).text == "Paid." and payments.made == [1]

    run(talk)


def test_a_call_of_a_tool_that_is_not_there_is_not_decided_by_its_item_either() -> None:
    async def talk() -> None:
        agent = agent_of(pays(1), "Paid.", tools=[Payments().tool])
        [one] = (await agent.ask("pay")).waiting
        other = Agent(agent.session, model=agent.model)
        with pytest.raises(InvalidValue, match="does not have"):
            await other.decide({one.id: True})

    run(talk)


def test_one_that_needs_no_approval_waits_behind_one_that_does() -> None:
    async def talk() -> None:
        payments = Payments(is_much)
        agent = agent_of([pays(1000), pays(1)], "Paid.", tools=[payments.tool])
        much, little = (await agent.ask("pay")).waiting
        assert payments.made == []
        assert (await agent.decide({much.id: False})).text == "Paid."
        assert payments.made == [1] and "not run" in texts(agent)[0] and texts(agent)[1] == "paid 1"
        assert little.arguments == '{"amount": 1}'
        assert_whole(agent)

    run(talk)


def test_one_before_it_is_run_at_once() -> None:
    async def talk() -> None:
        payments = Payments(is_much)
        agent = agent_of([pays(1), pays(1000)], "Paid.", tools=[payments.tool])
        [much] = (await agent.ask("pay")).waiting
        assert payments.made == [1] and much.arguments == '{"amount": 1000}'
        await agent.decide({"c": True})
        assert payments.made == [1, 1000] and texts(agent) == ["paid 1", "paid 1000"]

    run(talk)


def test_an_answer_of_the_user_and_a_limit_leave_those_behind_waiting() -> None:
    async def talk() -> None:
        payments = Payments(is_much)
        tools = [payments.tool, ask_user]
        agent = agent_of(asked_first(pays(1000), pays(1)), "Paid.", tools=tools)
        await agent.ask("pay")
        much, _ = (await agent.ask("Ana")).waiting
        await agent.decide({much.id: False})
        assert payments.made == [1] and texts(agent)[2] == "paid 1"
        limited = agent_of([pays(1000), pays(1)], "Paid.", tools=[payments.tool], limits=Limits(calls=1))
        [much] = (await limited.ask("pay")).waiting
        assert much.arguments == '{"amount": 1000}' and texts(limited) == []

    run(talk)
