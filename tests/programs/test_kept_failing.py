"""Kept programs that fail as tools: what they had called is on the record, and told to who called them."""

import asyncio
from typing import Any

import pytest

from quire import Session, ToolCall
from quire.agent import Agent, tool
from quire.models import Scripted
from quire.programs import KeptProgram, ProgramFault, Task
from quire.programs.faults import LONGEST
from quire.session import Adding, hook
from quire.stores import MemoryStore
from tests.programs.coding import assert_whole, coder_of, run, said


@tool
async def pay(invoice: str) -> dict[str, str]:
    """Pay an invoice."""
    if invoice == "nobody's":
        raise ValueError("nobody is owed that")
    if invoice == "slow":
        await asyncio.sleep(60)
    return {"receipt": f"r-{invoice}"}


FAILING = "r = await pay(invoice=invoice)\noutput = r['receipt_id']"
PAID = [("call", 'pay {"invoice": "17"}'), ("result", '{"receipt": "r-17"}')]


async def settling(program: str = FAILING) -> KeptProgram:
    task = Task("settle", "Settle an invoice.", input={"invoice": str}, output=str, tools=[pay])
    return await coder_of(program).keep(task)


def opened(**options: Any) -> Session:
    return Session.open("bo/two", store=MemoryStore(), **options)


def test_an_agent_finds_what_was_called_in_its_own_conversation_and_in_the_result() -> None:
    async def work() -> None:
        session, kept = opened(), await settling()
        model = Scripted([ToolCall("c1", "settle", '{"invoice": "17"}'), "It failed."])
        await Agent(session, model=model, tools=[kept]).ask("Settle 17")
        assert session.transcripts == ("main", "attempt_a")
        attempt = said(session, "attempt_a")
        assert attempt[0] == ("user", '{"invoice": "17"}') and FAILING in attempt[1][1]
        assert attempt[3:5] == PAID and "KeyError" in attempt[5][1]
        kind, words = said(session)[2]
        assert kind == "error" and "KeyError" in words and "pay (1 done)" in words
        assert_whole(session)
        assert_whole(session, "attempt_a")

    run(work)


def test_a_run_says_it_too_and_one_that_called_nothing_says_nothing() -> None:
    async def work() -> None:
        session = opened()
        for called in (await settling()).within(session), (await settling()).within(session).run:
            with pytest.raises(ProgramFault, match=r"KeyError(.|\n)*pay \(1 done\)"):
                await called(invoice="17")
        nothing = (await settling("output = str(1 // (len(invoice) - len(invoice)))")).within(session)
        with pytest.raises(ProgramFault) as failed:
            await nothing(invoice="17")
        assert "called" not in str(failed.value)
        assert session.transcripts == ("main", "attempt_a", "attempt_b") and said(session) == []
        assert said(session, "attempt_b")[3:5] == PAID

    run(work)


def test_what_failed_and_what_is_uncertain_is_told_apart() -> None:
    several = """
import asyncio
try:
    await pay(invoice="nobody's")
except ValueError:
    pass
async def fail():
    await pay(invoice=invoice)
    raise KeyError(invoice)
await asyncio.gather(pay(invoice='slow'), fail())
output = ''
"""

    async def work() -> None:
        session = opened()
        with pytest.raises(ProgramFault, match=r"pay \(1 failed, 1 uncertain, 1 done\)"):
            await (await settling(several)).within(session)(invoice="17")
        assert [kind for kind, _ in said(session, "attempt_a")].count("call") == 3
        assert_whole(session, "attempt_a")

    run(work)


def test_one_that_is_cancelled_leaves_what_it_called() -> None:
    async def work() -> None:
        session = opened()
        kept = (await settling(f"await pay(invoice='slow')\n{FAILING}")).within(session)
        task = asyncio.ensure_future(kept(invoice="17"))
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        call, result, last = said(session, "attempt_a")[3:]
        assert call == ("call", 'pay {"invoice": "slow"}') and result[0] == "error"
        assert "CancelledError" in last[1]
        assert_whole(session, "attempt_a")

    run(work)


def test_however_long_a_program_complains_what_it_called_is_told() -> None:
    async def work() -> None:
        kept = await settling("output = ''\nawait pay(invoice=invoice)\nraise ValueError('x' * 5000)")
        with pytest.raises(ProgramFault) as failed:
            await kept(invoice="17")
        assert "pay (1 done)" in str(failed.value) and len(str(failed.value)) <= LONGEST + 1

    run(work)


def test_where_it_cannot_be_recorded_the_fault_is_what_comes_out() -> None:
    @hook(Adding)
    async def refuse_attempts(_: Adding) -> None:
        raise ValueError("no room")

    async def work() -> None:
        with pytest.raises(ProgramFault, match="KeyError"):
            await (await settling()).within(opened(hooks=[refuse_attempts]))(invoice="17")

    run(work)


def test_on_success_nothing_is_recorded() -> None:
    async def work() -> None:
        session = opened()
        kept = (await settling("output = (await pay(invoice=invoice))['receipt']")).within(session)
        assert await kept(invoice="17") == "r-17" and session.transcripts == ("main",)

    run(work)
