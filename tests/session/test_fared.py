"""How compaction fared is known of a conversation in this process, whichever session of it is asked."""

import asyncio
from collections.abc import Callable

import pytest

from quire.compactors import Cascade, Summarize, TruncateOldest
from quire.errors import InvalidValue, ModelFailed, WindowExceeded
from quire.items import use_clock
from quire.models import AnyModel, Model, Scripted
from quire.providers import Rendered
from quire.session import Session
from quire.session.opening import shared_ledger
from quire.session.resting import Fared, Metrics
from quire.stores import MemoryStore, Place
from tests.session.opened import session, texts
from tests.session.test_background import SUMMARIZE, TEMPLATE, Slow, begun, has_summary, talk

OTHER = Summarize(floor=2, ceiling=6)


def down(name: str = "scripted") -> Scripted:
    return Scripted([ModelFailed("busy")], repeat=True, name=name)


def long(store: MemoryStore) -> None:
    talk(session(store), 6)


def metrics(one: Session) -> Metrics:
    assert one.compaction is not None
    return one.compaction.metrics


async def request(store: MemoryStore, model: AnyModel, compactor: object = SUMMARIZE) -> Session:
    """What a server does for each request."""
    async with session(store, compactor=compactor, model=model) as one:
        await one.build(TEMPLATE)
    return one


def test_a_model_that_is_down_is_not_asked_in_each_request() -> None:
    async def conversation() -> None:
        store, model = MemoryStore(), down()
        long(store)
        for _ in range(4):
            await request(store, model)
        one = await request(store, model)
        assert len(model.requests) == 1
        assert (metrics(one).hits, metrics(one).failed, metrics(one).fault) == (5, 1, "busy")

    asyncio.run(conversation())


def test_it_is_asked_again_when_it_has_rested_and_rests_for_longer() -> None:
    time = [1_000_000.0]

    async def conversation() -> None:
        store, model = MemoryStore(), down()
        long(store)
        for seconds, asked in ((0, 1), (6, 2), (6, 2), (6, 3)):
            time[0] += seconds
            await request(store, model)
            assert len(model.requests) == asked

    with use_clock(lambda: time[0]):
        asyncio.run(conversation())


def test_it_is_known_though_many_others_are_talked_to_meanwhile() -> None:
    async def conversation() -> None:
        store, model = MemoryStore(), down()
        long(store)
        await request(store, model)
        for n in range(100):
            shared_ledger(store, Place("ana", f"other {n}"))
        assert Place("ana", "q3") not in store.attached["session"]
        await request(store, model)
        assert len(model.requests) == 1

    asyncio.run(conversation())


def test_a_compactor_that_is_made_for_each_request() -> None:
    async def conversation() -> None:
        store, model = MemoryStore(), down()
        long(store)
        for _ in range(3):
            await request(store, model, Cascade(Summarize(floor=4, ceiling=8)))
        assert len(model.requests) == 1

    asyncio.run(conversation())


def test_a_compactor_that_is_given_again() -> None:
    async def conversation() -> None:
        model = down()
        one = session()
        talk(one, 6)
        for _ in range(3):
            one.use(SUMMARIZE, model)
            await one.build(TEMPLATE)
            await one.close()
        assert len(model.requests) == 1 and metrics(one).hits == 3

    asyncio.run(conversation())


@pytest.mark.parametrize("compactor", [SUMMARIZE, OTHER])
def test_another_begins_rests_of_its_own(compactor: Summarize) -> None:
    async def conversation() -> None:
        store, first = MemoryStore(), down()
        long(store)
        await request(store, first)
        second = first if compactor is OTHER else Scripted(["They talked."])
        one = await request(store, second, compactor)
        assert len(first.requests) + (0 if second is first else len(second.requests)) == 2
        assert has_summary(one) is (second is not first)

    asyncio.run(conversation())


def test_models_by_name_are_the_same_when_they_are_made_anew() -> None:
    fared = Fared()
    first = fared.course("main", SUMMARIZE, Model("openai:gpt-5.6"))
    assert fared.course("main", Summarize(floor=4, ceiling=8), Model("openai:gpt-5.6")) is first
    others: list[AnyModel | None] = [Model("openai:gpt-5.6-mini"), None, down()]
    for other in others:
        assert fared.course("main", SUMMARIZE, other) is not first


def test_few_are_known() -> None:
    fared = Fared()
    first = fared.course("main", SUMMARIZE, None)
    for n in range(9):
        fared.course("main", TruncateOldest(floor=n + 1), None)
    assert fared.course("main", SUMMARIZE, None) is not first


def test_compacting_by_hand_asks_a_model_that_rests_for_others() -> None:
    async def conversation() -> None:
        store, model = MemoryStore(), Scripted([ModelFailed("busy"), "They talked."])
        long(store)
        await request(store, model)
        one = session(store, compactor=SUMMARIZE, model=model)
        assert await one.compact() and has_summary(one)

    asyncio.run(conversation())


def test_a_draft_is_of_the_same_conversation() -> None:
    async def conversation() -> None:
        store, model = MemoryStore(), down()
        long(store)
        one = await request(store, model)
        async with one.draft() as draft:
            draft.use(SUMMARIZE, model)
            await draft.build(TEMPLATE)
        assert len(model.requests) == 1

    asyncio.run(conversation())


def test_how_much_a_model_reads_is_learnt_once() -> None:
    refused: list[int] = []

    async def narrow(sent: Rendered) -> str:
        size = len(str(sent.payload))
        if size > 4_000:
            refused.append(size)
            raise WindowExceeded("too much")
        return "They talked."

    async def conversation() -> None:
        store, model = MemoryStore(), Scripted(narrow)
        for name in ("first", "later"):
            talk(session(store), 60, name)
            one = await request(store, model)
            assert has_summary(one) and len(one.view()) < 20 and len(refused) == 1

    asyncio.run(conversation())


@pytest.mark.parametrize("again", [SUMMARIZE, OTHER])
def test_the_end_waits_for_what_another_compactor_began(again: Summarize) -> None:
    async def conversation() -> None:
        model = Slow()
        one = await begun(MemoryStore(), model)
        one.use(again, Scripted(["Not asked."]))
        asyncio.get_running_loop().call_later(0.05, model.go.set)
        await one.close()
        assert has_summary(one) and not one._ledger.workspace.plans  # pyright: ignore[reportPrivateUsage]

    asyncio.run(conversation())


def test_what_another_compactor_began_is_handed_over() -> None:
    async def conversation() -> None:
        store, model = MemoryStore(), Slow()
        one = await begun(store, model)
        one.use(OTHER, Scripted(["They talked."]))
        await one.close("hand over")
        await one.build(TEMPLATE)
        await one.close()
        assert texts(one.view())[0] == "Summary"

    asyncio.run(conversation())


WRITERS: dict[str, Callable[[Scripted], Session]] = {
    "opened with": lambda model: session(model=model),
    "opened with a compactor": lambda model: session(compactor=SUMMARIZE, model=model),
}


@pytest.mark.parametrize("how", WRITERS)
@pytest.mark.parametrize("within", ["session", "draft", "fork"])
def test_who_writes_for_a_session_tells_what_a_fork_did(how: str, within: str) -> None:
    async def conversation() -> None:
        model = Scripted(["It was looked up."])
        one = WRITERS[how](model)
        one.user("Look it up.")
        child = one.fork("checker")
        child.assistant("It is in the annex.")
        if within == "draft":
            async with one.draft() as draft:
                await draft.merge(child, keep="summary")
        else:
            into = one if within == "session" else one.fork("other")
            await into.merge(child, keep="summary")
        assert len(model.requests) == 1

    asyncio.run(conversation())


def test_who_was_used_last_tells_what_a_fork_did() -> None:
    async def conversation() -> None:
        first, last, named = Scripted(["First."]), Scripted(["Last."]), Scripted(["Named."])
        one = session(model=first)
        one.use(SUMMARIZE, last)
        one.use(TruncateOldest())
        for n, model in enumerate((None, named)):
            child = one.fork(f"checker {n}")
            child.assistant("It is in the annex.")
            await one.merge(child, keep="summary", model=model)
        assert [len(model.requests) for model in (first, last, named)] == [0, 1, 1]

    asyncio.run(conversation())


def test_nobody_tells_what_a_fork_did_where_nobody_writes() -> None:
    async def conversation() -> None:
        one = session()
        with pytest.raises(InvalidValue, match="a model is needed"):
            await one.merge(one.fork("x"), keep="summary")

    asyncio.run(conversation())
