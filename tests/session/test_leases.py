"""A plan that its owner left behind is taken up at once; one that somebody works on is left alone."""

import asyncio
import os
from typing import Any

import pytest
from msgspec.structs import replace

from quire.items import Item, Note, Summary, now, use_clock
from quire.models import Scripted
from quire.session import Session, carrying, leases
from quire.session.leases import lease
from quire.session.workspace import Written
from quire.stores import MemoryStore
from quire.stores.streams import PLANS
from tests.session.opened import apart, plans, session
from tests.session.test_background import SUMMARIZE, TEMPLATE, Slow, begun, has_summary, talk


def left_behind(**content: Any) -> MemoryStore:
    """A conversation in which somebody is said to be at work."""
    store = MemoryStore()
    one = session(store)
    talk(one, 6)
    note = lease({"by": "another", "transcript": "main", "version": 1})
    marker = Note(content={**note.content, **content}, description="plan")
    one._ledger.commit(lambda _: [Written(PLANS, marker)])  # pyright: ignore[reportPrivateUsage]
    return store


async def next_turn(store: MemoryStore) -> Session:
    one = session(store, compactor=SUMMARIZE, model=Scripted(["They talked."], repeat=True))
    await one.build(TEMPLATE)
    await one.close()
    return one


def test_a_plan_of_a_process_that_is_gone_is_taken_up_at_once() -> None:
    process = lease({}).content["process"]
    if process is None:
        pytest.skip("nothing tells processes apart here")
    one = asyncio.run(next_turn(left_behind(process=[*process[:2], "0"])))
    assert has_summary(one) and not plans(one)


@pytest.mark.parametrize("process", ["mine", ["another machine", os.getpid(), "0"], None])
def test_a_plan_that_somebody_may_be_at_work_on_is_left_alone(process: Any) -> None:
    store = left_behind(**({} if process == "mine" else {"process": process}))
    one = asyncio.run(next_turn(store))
    assert not has_summary(one) and len(plans(one)) == 1


def test_a_plan_that_was_not_renewed_is_taken_up_whoever_began_it() -> None:
    store = left_behind(process=None)
    later = now() + leases.LEASE + 1
    with use_clock(lambda: later):
        one = asyncio.run(next_turn(store))
    assert has_summary(one) and not plans(one)


def test_who_works_on_a_plan_says_so_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carrying, "RENEWAL", 0.001)

    async def conversation() -> None:
        model, store = Slow(), MemoryStore()
        one = await begun(store, model)
        first = plans(one)
        while plans(one) == first:
            await asyncio.sleep(0.001)
        assert len(plans(one)) == 1 == len(plans(apart(store)))
        model.go.set()
        await one.close()
        assert has_summary(one) and not plans(one)

    asyncio.run(conversation())


def test_what_takes_longer_is_handed_over_also_where_it_had_not_begun() -> None:
    async def conversation(store: MemoryStore) -> None:
        one = session(store, compactor=SUMMARIZE, model=(model := Slow()))
        talk(one, 6)
        await one.build(TEMPLATE)
        closing = asyncio.create_task(one.close(timeout=0.2))
        await model.begun.wait()
        await closing

    store = MemoryStore()
    asyncio.run(conversation(store))
    assert has_summary(asyncio.run(next_turn(store)))


def test_a_loop_that_ends_holds_no_plan() -> None:
    store = MemoryStore()
    asyncio.run(_abandoned(store))
    assert has_summary(asyncio.run(next_turn(store)))


def test_turns_with_a_loop_of_their_own_come_to_a_summary() -> None:
    store, asked = MemoryStore(), list[int]()

    class Counted(Slow):
        """Takes longer than the turn that it is asked beside."""

        async def ask(self, items: Any, **options: Any) -> Any:
            asked.append(1)
            asyncio.get_running_loop().call_later(0.05, self.go.set)
            return await super().ask(items, **options)

    async def turn(number: int) -> None:
        one = session(store, compactor=SUMMARIZE, model=(model := Counted()))
        one.user(f"turn {number}")
        await one.build(TEMPLATE)
        one.assistant("yes")
        if one.compaction is not None and one.compaction.metrics.pending:
            await asyncio.wait_for(model.begun.wait(), 1)  # it is under way when the loop ends

    one = session(store)
    talk(one, 6)
    for number in range(6):
        asyncio.run(turn(number))
        one.refresh()
    assert has_summary(one) and not plans(one)
    assert len(asked) <= 3, "not once more for each turn"


async def _abandoned(store: MemoryStore) -> None:
    await begun(store, Slow())  # and nobody closes it: the end of the loop cancels what is under way


def test_summaries_are_redacted() -> None:
    def redact(item: Item) -> Item:
        return (
            replace(item, text=item.text.replace("swordfish", "####")) if isinstance(item, Summary) else item
        )

    async def conversation() -> None:
        one = session(redact=redact, compactor=SUMMARIZE, model=Scripted(["The card is swordfish."]))
        talk(one, 6)
        await one.build(TEMPLATE)
        await one.close()
        assert [item.text for item in one.view() if isinstance(item, Summary)] == ["The card is ####."]

    asyncio.run(conversation())
