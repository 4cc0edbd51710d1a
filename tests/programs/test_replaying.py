"""Calls that were made stay made: later programs of the same answer are given what they gave."""

import asyncio
from functools import partial
from itertools import count
from typing import Any

import pytest
from pydantic import BaseModel, Field, SecretStr

from quire import Message, ToolCall, ToolResult
from quire.agent import Tool, tool
from quire.models import Scripted
from quire.programs import Event, Gave, ProgramFailed, Task
from quire.programs.replaying import REPLAYED
from tests.programs.coding import assert_whole, coder_of, fenced, run, said

BROKEN = "r = await pay(invoice='17')\noutput = {'id': r['receipt_id']}"
WORKS = "r = await pay('17', currency='EUR')\noutput = {'id': r['receipt']}"


class Till:
    """Where invoices are paid, and what was paid."""

    def __init__(self, **options: Any) -> None:
        self.paid: list[str] = []
        self.tool: Tool = tool(name="pay", **options)(self.pay)

    async def pay(self, invoice: str, currency: str = "EUR") -> dict[str, str]:
        """Pay an invoice."""
        self.paid.append(invoice)
        if invoice == "none":
            raise ValueError("there is no such invoice")
        if invoice == "slow":
            await asyncio.sleep(60)
        return {"receipt": f"r-{len(self.paid)}"}

    @property
    def task(self) -> Task:
        return Task("settle", "Pay 17.", input={"x": int}, output=dict[str, str], tools=[self.tool])


def test_the_next_candidate_is_given_what_the_same_call_gave_before() -> None:
    async def work() -> None:
        till, events = Till(), list[Event]()
        coder = coder_of(BROKEN, BROKEN, WORKS, candidates=3, rounds=1)
        answer = await coder.answer(till.task, x=1, tell=events.append)
        assert till.paid == ["17"] and answer.value == {"id": "r-1"}
        call, result = coder.session.view()[1:3]
        assert isinstance(call, ToolCall) and isinstance(result, ToolResult)
        first = next(item for item in coder.session.view("attempt_a") if isinstance(item, ToolCall))
        assert result.extras == {REPLAYED: first.call_id} and call.call_id != first.call_id
        gave = [event.result for event in events if isinstance(event, Gave)]
        assert [REPLAYED in one.extras for one in gave] == [False, True, True]
        assert [dict(tried.calls) for tried in answer.attempts] == [{"pay": 1}, {}, {}]
        for name in ("main", "attempt_a", "attempt_b", "attempt_c"):
            assert_whole(coder.session, name)

    run(work)


def test_the_next_round_is_told_what_was_called_and_what_it_gave() -> None:
    async def work() -> None:
        till = Till()
        coder = coder_of(BROKEN, WORKS, rounds=2)
        assert (await coder.answer(till.task, x=1)).value == {"id": "r-1"} and till.paid == ["17"]
        model = coder.model
        assert isinstance(model, Scripted)
        told = str(model.requests[1].payload["messages"][-1])
        assert "pay" in told and "r-1" in told and "17" in told
        assert "r-1" not in str(model.requests[0].payload)

    run(work)


def test_a_round_is_told_of_the_calls_of_other_attempts_too() -> None:
    async def work() -> None:
        other = BROKEN.replace("17", "18")
        coder = coder_of(BROKEN, other, WORKS, WORKS, candidates=2, rounds=2)
        till = Till()
        await coder.answer(till.task, x=1)
        assert till.paid == ["17", "18"]
        for name in ("attempt_a", "attempt_b"):
            shown = "\n".join(text for kind, text in said(coder.session, name) if kind == "user")
            assert shown.count('"receipt": "r-1"') == shown.count('"receipt": "r-2"') == 1, shown

    run(work)


def test_what_is_told_of_calls_is_bounded() -> None:
    async def work() -> None:
        many = "for n in range(200):\n    await pay('x' * 5000 + str(n))\noutput = {}['no']"
        coder = coder_of(many, WORKS, rounds=2)
        await coder.answer(Till().task, x=1)
        texts = [text for kind, text in said(coder.session, "attempt_a") if kind == "user" and "xxx" in text]
        assert len(texts) == 1 and len(texts[0]) < 6_000 and "200" in texts[0]

    run(work)


def test_calls_that_are_made_more_often_than_before_are_run() -> None:
    async def work() -> None:
        till = Till()
        twice = "a = await pay('17')\nb = await pay('17')\noutput = {'id': a['receipt'] + b['receipt']}"
        answer = await coder_of(BROKEN, twice, rounds=2).answer(till.task, x=1)
        assert answer.value == {"id": "r-1r-2"} and till.paid == ["17", "17"]
        assert [dict(tried.calls) for tried in answer.attempts] == [{"pay": 2}]

    run(work)


def test_what_is_idempotent_is_run_again() -> None:
    async def work() -> None:
        till = Till(idempotent=True)
        answer = await coder_of(BROKEN, WORKS, rounds=2).answer(till.task, x=1)
        assert answer.value == {"id": "r-2"} and till.paid == ["17", "17"]

    run(work)


def test_what_a_tool_itself_refused_may_be_tried_again() -> None:
    async def work() -> None:
        till = Till()
        await coder_of("await pay('none')\noutput = {}", WORKS, rounds=2).answer(till.task, x=1)
        failing = coder_of("await pay('none')\noutput = {}", "await pay('none')\noutput = {}", rounds=2)
        with pytest.raises(ProgramFailed):
            await failing.answer(till.task, x=1)
        assert till.paid == ["none", "17", "none", "none"]

    run(work)


def test_what_may_yet_be_done_is_not_done_again() -> None:
    async def work() -> None:
        till = Till(timeout=0.05)
        caught = (
            "try:\n    await pay('slow')\n    output = {}\nexcept TimeoutError:\n    output = {'id': 'late'}"
        )
        answer = await coder_of("await pay('slow')\noutput = {}", caught, rounds=2).answer(till.task, x=1)
        assert answer.value == {"id": "late"} and till.paid == ["slow"]

    run(work)


def test_what_was_broken_off_with_its_program_is_not_done_again() -> None:
    async def work() -> None:
        till = Till()
        both = "import asyncio\nawait asyncio.gather(pay('slow'), pay('none'))\noutput = {}"
        caught = "try:\n    await pay('slow')\nexcept RuntimeError as fault:\n    output = {'id': str(fault)}"
        answer = await coder_of(both, caught, rounds=2).answer(till.task, x=1)
        assert "uncertain" in answer.value["id"] and till.paid == ["slow", "none"]
        assert [dict(tried.calls) for tried in answer.attempts] == [{"pay": 2}]

    run(work)


def test_a_call_that_hands_over_much_is_not_made_again_either() -> None:
    async def work() -> None:
        till = Till()
        broken = "r = await pay(invoice='17' * 20_000)\noutput = {'id': r['receipt_id']}"
        works = "r = await pay(currency='EUR', invoice='17' * 20_000)\noutput = {'id': r['receipt']}"
        other = "r = await pay('17' * 20_001)\noutput = {'id': r['receipt']}"
        assert (await coder_of(broken, works, rounds=2).answer(till.task, x=1)).value == {"id": "r-1"}
        assert (await coder_of(broken, other, rounds=2).answer(till.task, x=1)).value == {"id": "r-3"}

    run(work)


def test_the_error_names_the_calls_that_were_made_and_nothing_of_what_they_said() -> None:
    async def work() -> None:
        till = Till()
        with pytest.raises(ProgramFailed) as failed:
            await coder_of(BROKEN, BROKEN, rounds=2).answer(till.task, x=1)
        assert till.paid == ["17"] and dict(failed.value.attempts[0].calls) == {"pay": 1}
        assert "pay (1)" in str(failed.value) and "r-1" not in str(failed.value)

    run(work)


def test_a_record_that_draws_an_id_is_the_same_call_and_another_secret_is_another() -> None:
    class Order(BaseModel):
        amount: int
        pin: SecretStr
        id: int = Field(default_factory=partial(next, count()))

    async def work() -> None:
        paid: list[str] = []

        @tool
        async def pay(order: Order) -> str:
            """Pay."""
            paid.append(order.pin.get_secret_value())
            return "paid"

        task = Task("settle", input={"x": int}, output=str, tools=[pay])
        first = "await pay({'amount': 5, 'pin': '1'})\noutput = [''][x]"
        again = "await pay({'pin': '1', 'amount': 5})\noutput = await pay({'amount': 5, 'pin': '2'})"
        await coder_of(first, again, rounds=2).answer(task, x=1)
        assert paid == ["1", "2"]

    run(work)


def test_a_draft_beside_the_program_costs_a_round_and_nothing_else() -> None:
    async def work() -> None:
        till = Till()
        draft = Message("assistant", f"First:\n{fenced(BROKEN)}\nNo, rather:\n{fenced(WORKS)}")
        coder = coder_of(draft, WORKS, rounds=2)
        assert (await coder.answer(till.task, x=1)).value == {"id": "r-1"} and till.paid == ["17"]
        told = [text for kind, text in said(coder.session, "attempt_a") if kind == "user"]
        assert any("none of them was run: write the whole program in one" in text for text in told)

    run(work)


def test_another_answer_makes_its_own_calls() -> None:
    async def work() -> None:
        till = Till()
        coder = coder_of(WORKS, WORKS)
        await coder.answer(till.task, x=1)
        await coder.answer(till.task, x=1)
        assert till.paid == ["17", "17"]

    run(work)


def test_a_kept_program_that_paid_before_it_failed_is_not_run_again() -> None:
    async def work() -> None:
        till = Till()
        inner = Task("settle_one", "Settle it.", input={"invoice": str}, output=str, tools=[till.tool])
        kept = await coder_of("r = await pay(invoice=invoice)\noutput = r['receipt_id']").keep(inner)
        outer = Task("settle_all", "Settle all.", input={"x": int}, output=str, tools=[kept])
        again = "output = await settle_one(invoice='17')"
        with pytest.raises(ProgramFailed):
            await coder_of(again, again, rounds=2).answer(outer, x=1)
        assert till.paid == ["17"]

    run(work)
