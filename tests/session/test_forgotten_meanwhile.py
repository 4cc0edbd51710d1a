"""What is forgotten while somebody works on what he read before is neither written nor told to a model."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from quire import Budget, Template
from quire.compactors import Offload, Summarize
from quire.errors import Forgotten
from quire.items import Item, Message, ToolResult
from quire.models import Scripted
from quire.sections import History, Instructions
from quire.session import Compacting, Session, hook
from quire.stores import MemoryStore
from tests.session.opened import PLACE, SECRET, Interrupted, apart, plans, session, texts
from tests.session.test_forgetting import kept_bytes

OFFLOAD = Offload(larger_than=20, keep=0, ceiling=0)
Act = Callable[[], Awaitable[object]]


class Slow:
    """A section that takes its time: meanwhile something happens, once."""

    name = "slow"

    def __init__(self, act: Act) -> None:
        self._acts = [act]

    async def items(self, ask: Any) -> list[Item]:
        if self._acts:
            await self._acts.pop()()
        return [Message("system", "looked up")]


def shown_with(act: Act, window: int = 100_000) -> Template:
    return Template(Instructions("Be brief."), History(), Slow(act), budget=Budget(window=window))


def looked_up(one: Session, times: int = 40) -> ToolResult:
    one.user("look")
    return one.tool(f"{SECRET}; " * times, call_id=one.call("read").call_id)


def talked(one: Session) -> list[str]:
    said = [one.user(f"{SECRET}, and again {n}. " * 3) for n in range(8)]
    return [item.id for item in said]


VERBS: dict[str, Callable[[Session, Template], Awaitable[object]]] = {
    "build": lambda one, template: one.build(template),
    "compact": lambda one, template: one.compact(template),
}


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_forgotten_while_sections_are_asked_is_not_moved_to_the_pool(verb: str) -> None:
    async def conversation() -> None:
        store = MemoryStore()
        one = session(store, compactor=OFFLOAD)
        found = looked_up(one)
        await VERBS[verb](one, shown_with(lambda: one.erase(found.id)))
        await one.close()
        assert not list(one.pool)
        assert b"swordfish" not in kept_bytes(store)

    asyncio.run(conversation())


def test_a_context_shows_nothing_that_was_forgotten_while_it_was_built() -> None:
    async def conversation() -> None:
        one = session()
        found = looked_up(one)
        context = await one.build(shown_with(lambda: one.erase(found.id)))
        assert "swordfish" not in str(context.render("openai").payload)

    asyncio.run(conversation())


def test_room_is_made_of_what_is_left() -> None:
    async def conversation() -> None:
        store = MemoryStore()
        one = session(store, compactor=OFFLOAD)
        found = looked_up(one, times=400)
        await one.build(shown_with(lambda: one.erase(found.id), window=3_000))
        assert not list(one.pool)
        assert b"swordfish" not in kept_bytes(store)

    asyncio.run(conversation())


@pytest.mark.parametrize("verb", VERBS)
def test_a_model_is_told_only_what_is_left(verb: str) -> None:
    async def conversation() -> None:
        model = Scripted(["They talked."], repeat=True)
        one = session(compactor=Summarize(floor=2, ceiling=4), model=model)
        ids = talked(one)
        await VERBS[verb](one, shown_with(lambda: one.erase(*ids)))
        await one.close()
        assert model.requests and not any("swordfish" in str(asked.payload) for asked in model.requests)

    asyncio.run(conversation())


def begun_by_another(store: Interrupted, item_id: str) -> None:
    """Somebody notes that an item is forgotten, and dies."""
    store.dies_after(PLACE)
    with pytest.raises(KeyboardInterrupt):
        apart(store).forget(item_id)


FORGETTING: dict[str, Callable[[Session, Interrupted, str], object]] = {
    "done": lambda one, _, item_id: one.forget(item_id),
    "by another": lambda _, store, item_id: apart(store).forget(item_id),
    "begun by another": lambda _, store, item_id: begun_by_another(store, item_id),
}


@pytest.mark.parametrize("how", FORGETTING)
def test_a_plan_of_what_is_forgotten_before_a_model_is_asked_is_discarded(how: str) -> None:
    store, model = Interrupted(), Scripted(["They talked."])

    @hook(Compacting, name=f"forgets: {how}")
    def forgets(_: Compacting) -> None:
        FORGETTING[how](one, store, ids[0])

    one = session(store, compactor=Summarize(floor=2, ceiling=4), model=model, hooks=[forgets])
    ids = talked(one)
    outcome = asyncio.run(one.compact())
    assert outcome is not None and outcome.reason == "something was forgotten meanwhile"
    assert not model.requests and not plans(one)


@pytest.mark.parametrize("how", FORGETTING)
def test_a_plan_of_what_is_forgotten_is_not_recorded(how: str) -> None:
    store = Interrupted()

    @hook(Compacting, name=f"forgets what is moved: {how}")
    def forgets(_: Compacting) -> None:
        FORGETTING[how](one, store, found.id)

    one = session(store, compactor=OFFLOAD, hooks=[forgets])
    found = looked_up(one)
    outcome = asyncio.run(one.compact())
    assert outcome is not None and outcome.reason == "something was forgotten meanwhile"
    one.refresh()
    assert not list(one.pool)
    assert b"swordfish" not in kept_bytes(store)


def test_what_was_begun_is_finished_before_anything_is_compacted() -> None:
    store = Interrupted()
    one = session(store, compactor=OFFLOAD)
    found = looked_up(one)
    begun_by_another(store, found.id)
    one.user("I have read of it.")
    assert asyncio.run(one.compact()) is None
    assert b"swordfish" not in kept_bytes(store)


def test_a_draft_tells_no_model_what_was_forgotten_where_it_began() -> None:
    async def conversation() -> None:
        model = Scripted(["They talked."])

        @hook(Compacting, name="forgets where a draft began")
        def forgets(_: Compacting) -> None:
            one.forget(*ids)

        one = session(hooks=[forgets])
        ids = talked(one)
        with pytest.raises(Forgotten):
            async with one.draft() as draft:
                draft.use(Summarize(floor=2, ceiling=4), model)
                outcome = await draft.compact()
                assert outcome is not None and not outcome
        assert not model.requests

    asyncio.run(conversation())


def test_what_a_fork_did_is_not_told_to_a_model_once_some_of_it_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, one = Scripted(["It talked."]), session()
    child = one.fork("x")
    ids = talked(child)

    def recalled() -> dict[str, list[list[str]]]:
        child.forget(*ids)
        return {}

    monkeypatch.setattr(child, "_recalled", recalled)
    with pytest.raises(Forgotten, match="merge it again"):
        asyncio.run(one.merge(child, keep="summary", model=model))
    assert not model.requests


def test_a_call_that_began_while_something_was_being_forgotten() -> None:
    async def conversation() -> None:
        store = Interrupted()
        one = session(store)
        secret = one.user(SECRET)
        call = one.call("read")
        begun_by_another(store, secret.id)
        one.user("I have read of it.")
        async with one.running(call):
            read = texts(one.view())[0]
            apart(store).refresh()
            (kept,) = await one.answer([call], ToolResult(call.call_id, "read", f"It says: {read}"))
        assert isinstance(kept, ToolResult) and "swordfish" not in str(kept.content)
        assert b"swordfish" not in kept_bytes(store)

    asyncio.run(conversation())
