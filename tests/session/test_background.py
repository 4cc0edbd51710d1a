"""Compaction beside the conversation: never in its way, never half, found again after a crash."""

import asyncio
from typing import Any

from quire import Budget, Template
from quire.compactors import Summarize, TruncateOldest
from quire.errors import ModelFailed
from quire.items import EDITS, Message, Summary, use_clock
from quire.models import Scripted
from quire.sections import History, Instructions
from quire.session import Compacted, Compacting, Session, hook
from quire.stores import MemoryStore
from quire.stores.streams import PLANS
from tests.session.opened import PLACE, Twin, apart, plans, said, session, texts

SUMMARIZE = Summarize(floor=4, ceiling=8)
TEMPLATE = Template(Instructions("Be brief."), History(), budget=Budget(window=8_000))


class Slow:
    """A model that answers when it is told to."""

    name = "slow"

    def __init__(self, words: str | Exception = "They talked.") -> None:
        self.go = asyncio.Event()
        self.begun = asyncio.Event()
        self._model = Scripted([words], repeat=True)

    async def ask(self, items: Any, **options: Any) -> Any:
        self.begun.set()
        await self.go.wait()
        return await self._model.ask(items, **options)

    def stream(self, items: Any, **options: Any) -> Any:
        raise NotImplementedError


def talk(one: Session, turns: int, name: str = "x") -> None:
    for n in range(turns):
        one.user(f"{name} question {n}")
        one.assistant(f"{name} answer {n}")


async def begun(store: MemoryStore, model: Slow) -> Session:
    """A session whose model has been asked for a summary."""
    one = session(store, compactor=SUMMARIZE, model=model)
    talk(one, 6)
    await one.build(TEMPLATE)
    await model.begun.wait()
    return one


def has_summary(one: Session) -> bool:
    return any(isinstance(item, Summary) for item in one.view())


def test_a_turn_does_not_wait_for_a_summary() -> None:
    async def conversation() -> None:
        model = Slow()
        one = await begun(MemoryStore(), model)
        talk(one, 1, "meanwhile")
        await one.build(TEMPLATE)
        assert not has_summary(one)
        assert one.compaction is not None and one.compaction.metrics.pending == 1
        model.go.set()
        await one.close()
        assert has_summary(one) and texts(one.view())[-1] == "meanwhile answer 0"
        metrics = one.compaction.metrics
        assert (metrics.started, metrics.completed, metrics.failed, metrics.pending) == (1, 1, 0, 0)
        assert one.version and not plans(one)

    asyncio.run(conversation())


def test_a_late_summary_is_discarded_if_its_range_was_edited() -> None:
    async def conversation() -> None:
        model = Slow()
        one = await begun(MemoryStore(), model)
        one.pin(one.view()[1].id)
        model.go.set()
        await one.close()
        assert not has_summary(one)
        assert one.compaction is not None and one.compaction.metrics.discarded == 1
        assert not plans(one)

    asyncio.run(conversation())


def test_failures_are_counted_and_backed_off() -> None:
    time = [1_000_000.0]

    async def conversation() -> None:
        model = Scripted([ModelFailed("busy")], repeat=True)
        one = session(compactor=SUMMARIZE, model=model)
        talk(one, 6)
        for _ in range(3):
            await one.build(TEMPLATE)
            await one.close()
        assert one.compaction is not None
        metrics = one.compaction.metrics
        assert (metrics.started, metrics.failed) == (1, 1) and metrics.fault == "busy"
        time[0] += 6
        await one.build(TEMPLATE)
        await one.close()
        time[0] += 6
        await one.build(TEMPLATE)
        assert metrics.failed == 2, "the second pause is longer"
        assert not has_summary(one) and not plans(one)

    with use_clock(lambda: time[0]):
        asyncio.run(conversation())


def test_plans_without_words_are_carried_out_at_once() -> None:
    small = Template(Instructions("Be brief."), History(), budget=Budget(window=200))

    async def conversation() -> None:
        one = session(compactor=TruncateOldest())
        talk(one, 30)
        shown = len(one.view())
        await one.build(small)
        await one.close()
        assert len(one.view()) < shown
        assert one.compaction is not None and one.compaction.metrics.completed == 1
        assert one.compaction.metrics.misses == 1
        await one.build(small)
        assert one.compaction.metrics.hits == 1

    asyncio.run(conversation())


def test_a_plan_can_be_handed_over() -> None:
    store = MemoryStore()

    async def stopped() -> None:
        one = await begun(store, Slow())
        await one.close("hand over")
        assert len(plans(one)) == 1

    async def going_on() -> None:
        again = apart(Twin(store), compactor=SUMMARIZE, model=Scripted(["They talked."]))
        await again.build(TEMPLATE)
        await again.close()
        assert has_summary(again) and not plans(again)

    asyncio.run(stopped())
    asyncio.run(going_on())


def test_never_a_half_state() -> None:
    """Whatever entry of the log a process dies after, the view has the whole summary or none of it."""

    async def conversation(store: MemoryStore) -> Session:
        one = session(store, compactor=SUMMARIZE, model=Scripted(["They talked."], repeat=True))
        for n in range(12):
            talk(one, 1, str(n))
            await one.build(TEMPLATE)
            await one.close()
        return one

    store = MemoryStore()
    one = asyncio.run(conversation(store))
    assert has_summary(one) and any(entry.stream == PLANS for entry in store.read(PLACE))
    for version in range(one.version + 1):
        view = one.at(version)["main"]
        said = [item.id for item in one.recorded()[: view.revision] if type(item) not in EDITS]
        shown = [item.id for item in view if not isinstance(item, Summary)]
        summaries = len(view) - len(shown)
        assert summaries <= 1 and shown == said[len(said) - len(shown) :]
        assert (summaries == 1) == (len(shown) < len(said)), "what is not shown is told, all of it"


heard: list[Any] = []


@hook(Compacting, Compacted)
def hear_compaction(event: Any) -> None:
    heard.append(event)


@hook(Compacting)
def refuse_compaction(event: Any) -> None:
    raise PermissionError("not now")


def test_compaction_is_heard_and_may_be_refused() -> None:
    async def conversation(*hooks: Any) -> Session:
        one = session(compactor=SUMMARIZE, model=Scripted(["They talked."]), hooks=hooks)
        one.append(*said(*(f"{n}" for n in range(12))))
        await one.build(TEMPLATE)
        await one.close()
        return one

    heard.clear()
    assert has_summary(asyncio.run(conversation(hear_compaction)))
    assert [type(event) for event in heard] == [Compacting, Compacted] and heard[1].outcome.fate == "kept"
    refused = asyncio.run(conversation(refuse_compaction))
    assert not has_summary(refused)
    assert refused.compaction is not None and refused.compaction.metrics.fault == "PermissionError"


def test_leaving_a_session_waits_for_it() -> None:
    async def conversation() -> Session:
        async with session(compactor=SUMMARIZE, model=Scripted(["They talked."])) as one:
            one.append(*said(*(f"{n}" for n in range(12))), Message("user", "last"))
            await one.build(TEMPLATE)
        return one

    assert has_summary(asyncio.run(conversation()))


def test_a_summary_of_what_was_forgotten_meanwhile_is_not_kept() -> None:
    async def conversation() -> None:
        model = Slow("They said the secret.")
        one = await begun(MemoryStore(), model)
        one.forget(one.view()[0].id)
        model.go.set()
        await one.close()
        assert not has_summary(one) and not plans(one)

    asyncio.run(conversation())


def test_two_sessions_ask_for_one_summary() -> None:
    async def conversation() -> None:
        store = MemoryStore()
        models = [Slow(), Slow()]
        sessions = [apart(store, compactor=SUMMARIZE, model=model) for model in models]
        talk(sessions[0], 6)
        sessions[1].refresh()
        await asyncio.gather(*(one.build(TEMPLATE) for one in sessions))
        await asyncio.sleep(0.2)
        assert sum(model.begun.is_set() for model in models) == 1
        for model in models:
            model.go.set()
        for one in sessions:
            await one.close()

    asyncio.run(conversation())


def test_closing_does_not_wait_for_ever() -> None:
    async def conversation() -> None:
        one = session(compactor=SUMMARIZE, model=Slow())
        talk(one, 6)
        await one.build(TEMPLATE)
        await asyncio.sleep(0.1)
        await one.close(timeout=0.05)
        assert len(plans(one)) == 1

    asyncio.run(conversation())
