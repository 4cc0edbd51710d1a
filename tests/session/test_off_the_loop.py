"""Verbs that are awaited leave the loop to others: a slow store is worked with in threads."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from threading import Event, get_ident
from typing import Any

import pytest

from quire import Budget, Template
from quire.compactors import Summarize
from quire.errors import ModelFailed, StoreFailed
from quire.items import Message
from quire.models import Scripted
from quire.sections import History, Instructions
from quire.session import Session
from quire.stores import MemoryStore
from tests.session.opened import session, texts

TEMPLATE = Template(Instructions("Be brief."), History(), budget=Budget(window=8_000))


class Threaded(MemoryStore):
    """A store that says which threads have worked with it."""

    is_quick = False

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def append(self, *args: Any, **options: Any) -> int:
        self.threads.add(get_ident())
        return super().append(*args, **options)

    def read(self, *args: Any, **options: Any) -> Any:
        self.threads.add(get_ident())
        return super().read(*args, **options)


def parent_and_child(store: MemoryStore) -> tuple[Session, Session]:
    one = session(
        store, compactor=Summarize(floor=4, ceiling=8), model=Scripted(["They talked."], repeat=True)
    )
    for n in range(10):
        one.user(f"question {n}")
        one.assistant(f"answer {n}")
    child = one.fork("x")
    child.user("look")
    child.assistant("found")
    return one, child


async def _merge_in_a_draft(one: Session, child: Session) -> None:
    async with one.draft() as draft:
        await draft.merge(child)


async def _compact_in_vain(one: Session, child: Session) -> None:
    one.use(Summarize(floor=4, ceiling=8), Scripted([ModelFailed("busy")], repeat=True))
    assert not await one.compact(TEMPLATE)


async def _hand_over(one: Session, child: Session) -> None:
    begun = asyncio.Event()

    async def write(_: object) -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    one.use(Summarize(floor=4, ceiling=8), Scripted(write))
    await one.build(TEMPLATE)
    await begun.wait()
    await one.close("hand over")


Verb = Callable[[Session, Session], Awaitable[Any]]

VERBS: dict[str, Verb] = {
    "merge": lambda one, child: one.merge(child),
    "merge the result": lambda one, child: one.merge(child, keep="result"),
    "merge a summary": lambda one, child: one.merge(child, keep="summary", model=Scripted(["It looked."])),
    "merge into a draft": _merge_in_a_draft,
    "compact": lambda one, child: one.compact(TEMPLATE),
    "compact in vain": _compact_in_vain,
    "hand over": _hand_over,
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_store_is_not_worked_with_in_the_loop(verb: Verb) -> None:
    store = Threaded()
    one, child = parent_and_child(store)
    store.threads.clear()

    async def conversation() -> int:
        await verb(one, child)
        return get_ident()

    loop = asyncio.run(conversation())
    assert store.threads and loop not in store.threads


def test_a_merge_that_is_cancelled_is_whole() -> None:
    one, child = parent_and_child(Threaded())

    async def conversation() -> None:
        merging = asyncio.ensure_future(one.merge(child))
        await asyncio.sleep(0)
        merging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await merging

    asyncio.run(conversation())
    assert texts(one.view())[20:] in ([], ["look", "found"])


def test_what_fails_after_it_was_cancelled_is_not_left_to_the_loop() -> None:
    reported: list[dict[str, Any]] = []
    has_begun, may_fail = Event(), Event()

    class Failing(MemoryStore):
        is_quick = False

        def append(self, *_: Any, **__: Any) -> int:
            has_begun.set()
            may_fail.wait()
            raise StoreFailed("no room left")

    async def cancelled() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        adding = asyncio.create_task(session(Failing()).add(Message("user", "x")))
        await asyncio.to_thread(has_begun.wait)
        adding.cancel()
        await asyncio.sleep(0)
        may_fail.set()
        with pytest.raises(asyncio.CancelledError):
            await adding
        del adding
        gc.collect()

    asyncio.run(cancelled())
    assert reported == []
