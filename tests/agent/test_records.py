"""What is recorded of calls: hooks that refuse results, crashes, and other processes in the conversation."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from quire import Message, Note, Session, ToolCall
from quire.agent import Agent, running_call, tool
from quire.agent.builtin import ask_user
from quire.errors import Conflict, ModelFailed, TurnBusy
from quire.items import ToolResult
from quire.models import Scripted
from quire.session import Adding, Hook
from quire.stores import MemoryStore, SQLiteStore
from tests.agent.answering import Gate, Payments, agent_of, assert_whole, call, results, said
from tests.stores.keeping import twin

SECRET = "card 4111 1111"


@tool
async def slow() -> str:
    await asyncio.sleep(0.01)
    return "waited"


@tool
async def customer(note: str = "") -> Any:
    """Look up a customer; a note may come with it."""
    return ("found", Note(SECRET, key=note or None)) if note else SECRET


def no_cards(event: Adding) -> None:
    if "4111 1111" in str(event.items):
        raise ValueError(SECRET)


GUARD = Hook(no_cards, (Adding,))
CUSTOMER, SLOW = call("customer", "{}", "c1"), call("slow", "{}", "c2")


@pytest.mark.parametrize(
    "calls",
    [[CUSTOMER], [SLOW, CUSTOMER], [CUSTOMER, SLOW], [SLOW, call("customer", '{"note": "n"}', "c1")]],
    ids=["alone", "early", "late", "with a note"],
)
async def test_nothing_of_a_result_that_a_hook_refuses_is_stored(
    calls: list[ToolCall], tmp_path: Path
) -> None:
    agent = agent_of(
        calls, "Done.", tools=[slow, customer], hooks=[GUARD], store=SQLiteStore(tmp_path / "a.db")
    )
    assert (await agent.ask("go")).text == "Done."
    told = {one.call_id: one.text for one in results(agent)}
    assert told["c1"] == "The result of this call was refused: ValueError."
    assert told.get("c2", "waited") == "waited" and len(agent.session.pool) == 0
    agent.session.close()
    for path in tmp_path.iterdir():
        with suppress(FileNotFoundError):  # files of the log vanish when the store is closed
            assert b"4111 1111" not in path.read_bytes()
    assert_whole(agent)


async def test_hooks_hear_of_each_item_once() -> None:
    heard: list[str] = []
    hook = Hook(lambda event: heard.extend(item.id for item in event.items), (Adding,))
    agent = agent_of([SLOW, CUSTOMER], "Done.", tools=[slow, customer], hooks=[hook])
    await agent.ask("go")
    assert heard == list(dict.fromkeys(heard)) and set(heard) >= {item.id for item in agent.session.view()}


async def test_a_hook_that_refuses_what_the_user_says_refuses_the_question_and_closes_nothing() -> None:
    payments = Payments(approve=True)
    asked = call("ask_user", '{"question": "Which?"}', "c2")
    for made in (call("pay"), asked):
        agent = agent_of(made, "Done.", tools=[payments.tool, ask_user], hooks=[GUARD])
        assert (await agent.ask("go")).stop == "waiting"
        with pytest.raises(ValueError, match="4111"):
            await agent.ask(SECRET)
        assert results(agent) == [] and len(agent.session.calls.list_open()) == 1 and said(agent) == ["go"]


async def test_a_result_that_cannot_be_recorded_stops_nothing() -> None:
    def redact(item: Any) -> Any:
        if getattr(item, "text", "") == "paid 1":
            raise ValueError("no")
        return item

    @tool
    async def odd() -> Note:
        """Return what no store can keep."""
        return Note({"raw": object()})

    session = Session.open("ana/one", store=MemoryStore(), redact=redact)
    script = Scripted([[call("odd"), call("pay"), call("slow")], "Done."])
    agent = Agent(session, model=script, tools=[odd, Payments().tool, slow])
    assert (await agent.ask("go")).text == "Done."
    *refused, kept = results(agent)
    assert all("was refused" in one.text for one in refused) and kept.text == "waited"
    assert_whole(agent)


# After a crash


async def test_a_call_that_is_run_again_has_the_same_id() -> None:
    keys, go = list[str](), asyncio.Event()

    @tool(idempotent=True)
    async def charge() -> str:
        running = running_call()
        assert running is not None
        keys.append(running.id)
        await go.wait()
        return "charged"

    store = MemoryStore()
    agent = agent_of(call("charge"), "Done.", tools=[charge], store=store)
    asking = asyncio.create_task(agent.ask("go"))
    while not keys:
        await asyncio.sleep(0)
    again = agent_of("Done.", tools=[charge], store=twin(store))
    go.set()
    assert (await asking).text == (await again.resume()).text == "Done."
    assert len(keys) == 2 and len(set(keys)) == 1 and running_call() is None


async def test_a_call_of_the_model_that_was_not_begun_is_run_by_resume() -> None:
    payments, store = Payments(), MemoryStore()
    await agent_of(call("pay"), tools=[Gate("pay", approve=True).tool], store=store).ask("Pay.")
    agent = agent_of("Paid.", tools=[payments.tool], store=store)  # here nobody has to approve
    assert agent.waiting() == () and (await agent.resume()).text == "Paid." and payments.paid == [1]


# Calls that no agent of the conversation made


def imported(*replies: Any, payments: Payments, **options: Any) -> Agent:
    """An agent of a conversation whose imported history ends in a call."""
    agent = agent_of(*replies, tools=[payments.tool], **options)
    agent.session.append(Message("user", "Pay ten."), call("pay", '{"amount": 10}', "c1"))
    return agent


@pytest.mark.parametrize("options", [{}, {"idempotent": True}])
async def test_resume_runs_an_imported_call_only_if_it_is_told_to(options: Any) -> None:
    payments = Payments(**options)
    agent = imported("Paid.", payments=payments)
    for reply in (await agent.resume(), await agent.decide({})):
        assert reply.stop == "waiting" and [one.call_id for one in reply.waiting] == ["c1"]
    assert payments.paid == [] and [one.call_id for one in agent.waiting()] == ["c1"]
    assert (await agent.decide({"c1": True})).text == "Paid." and payments.paid == [10]
    assert_whole(agent)


@pytest.mark.parametrize(("verdict", "paid"), [(True, [10]), (False, [])])
async def test_an_approver_decides_imported_calls(verdict: bool, paid: list[int]) -> None:
    def approver(_: ToolCall) -> bool:
        return verdict

    payments = Payments()
    agent = imported("Well.", payments=payments, approver=approver)
    assert (await agent.resume()).text == "Well." and payments.paid == paid
    assert_whole(agent)


async def test_a_message_closes_an_imported_call_as_uncertain() -> None:
    payments = Payments()
    agent = imported("Well.", payments=payments)
    reply = await agent.ask("Did you pay?")
    assert [type(item) for item in reply.items] == [ToolResult, Message]
    assert reply.text == "Well." and payments.paid == []
    assert "no agent of this conversation has run it" in results(agent)[0].text
    assert results(agent)[0].extras["uncertain"] is True
    assert_whole(agent)


async def test_an_imported_call_of_a_tool_that_is_not_there_is_closed_as_uncertain() -> None:
    agent = imported("Well.", payments=Payments("other"))
    assert agent.waiting() == () and (await agent.resume()).text == "Well."
    assert "It is uncertain whether this was done" in results(agent)[0].text
    assert_whole(agent)


# Other processes


def agent_in(folder: Path, *replies: Any, tools: Any, approver: Any = None) -> Agent:
    """An agent with a store of its own over the same file, as another process has it."""
    session = Session.open("ana/one", store=SQLiteStore(folder / "chats.db"))
    return Agent(session, model=Scripted(replies), tools=tools, approver=approver)


async def test_a_call_that_another_process_runs_is_left_to_it(tmp_path: Path) -> None:
    gate = Gate()
    one = agent_in(tmp_path, call("gate"), "Done.", tools=[gate.tool])
    other = agent_in(tmp_path, "Here.", tools=[gate.tool])
    asking = asyncio.create_task(one.ask("first"))
    await gate.begun.wait()
    for verb in (other.ask("second"), other.resume()):
        with pytest.raises(TurnBusy, match="call_gate"):
            await verb
    gate.go.set()
    assert (await asking).text == "Done." and gate.ran == 1
    assert (await other.ask("third")).text == "Here."
    assert said(other) == ["first", "Done.", "third", "Here."]
    assert_whole(other)


@pytest.mark.parametrize("decisions", [{}, {"call_pay": True}])
async def test_of_two_processes_that_go_on_one_runs_the_call(decisions: Any, tmp_path: Path) -> None:
    gate = Gate("pay", approve=bool(decisions))
    await agent_in(tmp_path, call("pay"), tools=[Gate("pay", approve=True).tool]).ask("Pay.")  # it waits
    agents = [agent_in(tmp_path, "Paid.", tools=[gate.tool]) for _ in range(2)]
    tasks = [asyncio.ensure_future(agent.decide(decisions)) for agent in agents]
    await gate.begun.wait()
    (busy,), _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    assert isinstance(busy.exception(), TurnBusy)
    gate.go.set()
    replies = await asyncio.gather(*tasks, return_exceptions=True)
    assert sorted(map(str, replies))[0] == "Paid." and gate.ran == 1
    agents[0].session.refresh()
    assert [one.text for one in results(agents[0])] == ["through"]
    assert_whole(agents[0])


async def test_of_two_processes_that_decide_calls_of_one_reply_one_goes_on(tmp_path: Path) -> None:
    async def wait_for_both(_: ToolCall) -> None:
        asked.append(1)
        while len(asked) < 2:
            await asyncio.sleep(0)

    asked: list[int] = []
    gates = [Gate(name, approve=True) for name in ("one", "two")]
    agent_in(tmp_path, tools=[]).session.append(Message("user", "Pay."), call("one"), call("two"))
    tasks: list[Any] = []
    for gate in gates:
        agent = agent_in(tmp_path, "Paid.", tools=[one.tool for one in gates], approver=wait_for_both)
        tasks.append(asyncio.ensure_future(agent.decide({f"call_{gate.tool.name}": True})))
    for gate in gates:
        await gate.begun.wait()
        gate.go.set()
    assert sorted([reply.stop for reply in await asyncio.gather(*tasks)]) == ["done", "waiting"]
    assert said(agent_in(tmp_path, tools=[])) == ["Pay.", "Paid."]


async def test_a_turn_that_fails_closes_no_call_of_another(tmp_path: Path) -> None:
    gate, asked = Gate("pay"), asyncio.Event()

    async def first(_: Any) -> ToolCall:
        await asked.wait()
        return call("pay")

    async def fails(_: Any) -> Any:
        asked.set()
        await gate.begun.wait()
        raise ModelFailed("down")

    one, other = agent_in(tmp_path, first, "Paid.", tools=[gate.tool]), agent_in(tmp_path, fails, tools=[])
    paying = asyncio.create_task(one.ask("Pay it."))
    await asyncio.sleep(0)
    with pytest.raises(ModelFailed):
        await other.ask("And hurry.")
    gate.go.set()
    assert str(await paying) == "Paid." and [one.text for one in results(one)] == ["through"]
    assert_whole(one)


async def test_the_other_results_are_kept_if_a_call_is_answered_by_hand() -> None:
    gate, other = Gate(), Gate("other")
    agent = agent_of([call("gate"), call("other")], "Never.", tools=[gate.tool, other.tool])
    asking = asyncio.create_task(agent.ask("first"))
    await asyncio.gather(gate.begun.wait(), other.begun.wait())
    agent.session.tool("by hand", call_id="call_gate")
    gate.go.set()
    await asyncio.sleep(0.01)
    other.go.set()
    with pytest.raises(Conflict, match="call_gate"):
        await asking
    assert [one.text for one in results(agent)] == ["by hand", "through"]
    assert_whole(agent)


@pytest.mark.parametrize("made", [call("pay", "{}", "c1"), call("ask_user", '{"question": "?"}', "c1")])
async def test_a_message_is_recorded_though_another_answers_the_call_first(made: ToolCall) -> None:
    store, is_watching = MemoryStore(), False

    def answer_first(_: Adding) -> None:
        nonlocal is_watching
        if is_watching:
            is_watching = False
            Session.open("ana/one", store=store).tool("by hand", call_id="c1")

    tools = [Payments(approve=True).tool, ask_user]
    agent = agent_of(made, "Well.", tools=tools, store=store, hooks=[Hook(answer_first, (Adding,))])
    await agent.ask("go")
    is_watching = True
    assert (await agent.ask("Blue.")).text == "Well."
    assert [one.text for one in results(agent)] == ["by hand"] and "Blue." in said(agent)
    assert isinstance(results(agent)[0], ToolResult)
    assert_whole(agent)
