"""What a person decides of calls that wait: about what, told as it comes, and that nothing else is run."""

import asyncio
from typing import Any

import pytest

from quire import Session, ToolCall
from quire.agent import Agent, Began, Done, Ended, Words, tool
from quire.agent.builtin import ask_user
from quire.errors import InvalidValue, WrongType
from quire.models import Scripted
from quire.stores import MemoryStore
from tests.agent.answering import agent_of, assert_whole, call, results, run

PAY = call("pay", "{}", "c1")


class Payments:
    """A tool that a person has to approve of, and that counts how often it was run."""

    def __init__(self, **options: Any) -> None:
        self.made = 0
        self.tool = tool(name="pay", **options)(self._pay)

    async def _pay(self) -> str:
        """Pay."""
        self.made += 1
        return "paid"


def saying(verdict: Any) -> Any:
    """An approver who says the same of every call."""

    def approver(_: ToolCall) -> Any:
        return verdict

    return approver


def test_a_question_to_the_user_is_answered_and_not_decided() -> None:
    async def talk() -> None:
        agent = agent_of(call("ask_user", '{"question": "Who?"}', "c1"), "Ana it is.", tools=[ask_user])
        await agent.ask("hi")
        for decision in (True, False, "Ana"):
            with pytest.raises(InvalidValue, match="`ask`"):
                await agent.decide({"c1": decision})
        assert (await agent.ask("Ana")).text == "Ana it is."
        assert_whole(agent)

    run(talk)


def test_a_call_that_needs_no_approval_can_be_refused_all_the_same() -> None:
    async def talk() -> None:
        store = MemoryStore()
        one = Session.open("ana/one", store=store)
        one.user("pay")
        one.append(PAY)  # and the process ended before it was begun
        payments = Payments()
        agent = Agent(Session.open("ana/one", store=store), model=Scripted(["Well."]), tools=[payments.tool])
        await agent.decide({"c1": False})
        assert payments.made == 0 and results(agent)[0].is_error
        assert_whole(agent)

    run(talk)


def test_a_decision_is_about_one_call_also_where_its_id_comes_again() -> None:
    async def talk() -> None:
        payments = Payments(approve=True)
        agent = agent_of(PAY, call("pay", "{}", "c1"), "Paid.", tools=[payments.tool])
        await agent.ask("pay")
        reply = await agent.decide({"c1": True})
        assert reply.stop == "waiting" and payments.made == 1
        assert (await agent.decide({"c1": False})).text == "Paid."
        assert payments.made == 1

    run(talk)


@pytest.mark.parametrize("odd", [0, 1, [], {"approved": False}])
def test_what_is_neither_yes_nor_no_nor_a_reason_runs_nothing(odd: Any) -> None:
    async def talk() -> None:
        payments = Payments(approve=True)
        agent = agent_of(PAY, "Paid.", tools=[payments.tool])
        await agent.ask("pay")
        with pytest.raises(WrongType):
            await agent.decide({"c1": odd})
        assert (await agent.decide({"c1": True})).text == "Paid."
        asked = agent_of(PAY, tools=[payments.tool], approver=saying(odd))
        with pytest.raises(WrongType):
            await asked.ask("pay")
        assert payments.made == 1
        assert_whole(asked)

    run(talk)


def test_an_empty_reason_is_a_refusal() -> None:
    async def talk() -> None:
        payments = Payments(approve=True)
        agent = agent_of(PAY, "Well.", tools=[payments.tool], approver=saying(""))
        await agent.ask("pay")
        assert payments.made == 0 and "not approved" in results(agent)[0].text

    run(talk)


def test_a_decision_is_told_as_it_comes() -> None:
    async def talk() -> None:
        agent = agent_of(PAY, "It is paid.", tools=[Payments(approve=True).tool])
        await agent.ask("pay")
        told = [delta async for delta in agent.decide_stream({"c1": True})]
        assert isinstance(told[0], Began) and isinstance(told[1], Ended)
        assert "".join(one.text for one in told if isinstance(one, Words)) == "It is paid."
        assert isinstance(told[-1], Done) and told[-1].reply.text == "It is paid."

    run(talk)


def test_what_was_left_is_gone_on_with_as_it_comes() -> None:
    async def talk() -> None:
        agent = agent_of("Here I am.")
        agent.session.user("are you there?")
        told = [delta async for delta in agent.resume_stream()]
        assert isinstance(told[-1], Done) and told[-1].reply.text == "Here I am."

    run(talk)


def test_words_as_a_value() -> None:
    async def talk() -> None:
        agent = agent_of("Hello.", "[1, 2]")
        reply = await agent.ask("hi", output=str)
        assert reply.output == "Hello." and agent.model.terms[0].get("output") is None  # type: ignore[attr-defined]
        assert (await agent.ask("hi", output=str)).output == "[1, 2]"

    run(talk)


def test_a_whole_answer_that_is_gone_on_with_has_its_value() -> None:
    async def talk() -> None:
        agent = agent_of('{"value": 3}')
        await agent.ask("how many?")
        assert (await agent.resume(output=int)).output == 3
        told = [delta async for delta in agent.resume_stream(output=int)]
        assert told[0] == Words('{"value": 3}') and isinstance(told[-1], Done) and told[-1].reply.output == 3

    run(talk)


def test_an_agent_that_is_asked_from_its_own_tool_says_so_and_goes_on() -> None:
    async def talk() -> None:
        asked: list[Agent] = []

        @tool
        async def again() -> str:
            """Ask the agent whose tool this is."""
            return str(await asked[0].ask("and again?"))

        @tool
        async def listen() -> str:
            """Listen to it."""
            return str([delta async for delta in asked[0].stream("and again?")])

        agent = agent_of([call("again"), call("listen")], "Well.", tools=[again, listen])
        asked.append(agent)
        assert (await agent.ask("go")).text == "Well."
        assert all(one.is_error and "whose turn it runs in" in one.text for one in results(agent))
        assert_whole(agent)

    run(talk)


def test_nor_is_another_agent_of_the_same_conversation() -> None:
    async def talk() -> None:
        session = Session.open("ana/one", store=MemoryStore())

        @tool
        async def aside() -> str:
            """Ask another agent, in the very conversation."""
            return str(await Agent(session, model=Scripted(["x"])).ask("and you?"))

        agent = Agent(session, model=Scripted([call("aside"), "Well."]), tools=[aside])
        assert (await agent.ask("go")).text == "Well."
        assert "whose turn it runs in" in results(agent)[0].text
        assert_whole(agent)

    run(talk)


def test_cancelling_a_decision_tidies_up() -> None:
    async def talk() -> None:
        begun = asyncio.Event()

        @tool(approve=True)
        async def hang() -> str:
            """Hang."""
            begun.set()
            await asyncio.sleep(600)
            return "never"

        agent = agent_of(call("hang", "{}", "c1"), "Well.", tools=[hang])
        await agent.ask("go")
        stream = agent.decide_stream({"c1": True})
        await anext(stream)
        await begun.wait()
        await stream.aclose()
        assert results(agent)[0].extras["uncertain"] is True
        assert_whole(agent)

    run(talk)


@pytest.mark.parametrize("is_asked_first", [True, False])
def test_the_approver_of_whoever_speaks_is_asked(is_asked_first: bool) -> None:
    async def talk() -> None:
        payments, session = Payments(approve=True), Session.open("ana/one", store=MemoryStore())
        bills = Agent(
            session,
            model=Scripted([PAY, "Well."]),
            name="bills",
            tools=[payments.tool],
            approver=saying("never") if is_asked_first else None,
        )
        front = Agent(
            session,
            model=Scripted([call("hand_over_to_bills")]),
            handoffs=[bills],
            approver=saying(True),
        )
        reply = await front.ask("pay")
        assert payments.made == 0
        if is_asked_first:
            assert reply.text == "Well." and "never" in results(front)[-1].text
        else:
            assert reply.stop == "waiting" and reply.agent == "bills"
            assert (await front.decide({"c1": True})).text == "Well." and payments.made == 1
        assert_whole(front)

    run(talk)
