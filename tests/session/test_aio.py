"""`session.aio`: the same names, awaited; the loop is left to others, and what was begun is whole."""

from collections.abc import Awaitable, Callable
from threading import get_ident
from typing import Any, cast

import pytest

from quire import Session
from quire.compactors import Summarize
from quire.errors import QuireError, StoreFailed
from quire.items import Note, ToolCall
from quire.models import Scripted
from quire.session import Job, new_transcript
from quire.stores import MemoryStore
from tests.session.opened import TEMPLATE, answer, called, run, said, session, talk, texts, watch

SUMMARIZE = Summarize(floor=4, ceiling=8)
VERBS: dict[str, Callable[[Session, Session], Awaitable[Any]]] = {
    "append": lambda one, _: one.aio.append(*said("x")),
    "user": lambda one, _: one.aio.user("x"),
    "assistant": lambda one, _: one.aio.assistant("x", calls=[ToolCall("c", "look")]),
    "pin": lambda one, _: one.aio.pin(one.view()[0].id),
    "record": lambda one, _: one.aio.record(answer("x"), provider="openai"),
    "forget": lambda one, _: one.aio.forget(one.view()[0].id),
    "refresh": lambda one, _: one.aio.refresh(),
    "keep": lambda one, _: one.aio.pool.keep(Note("n", key="k")),
    "merge": lambda one, child: one.aio.merge(child),
    "merge a summary": lambda one, child: one.aio.merge(
        child, keep="summary", model=Scripted(["It looked."])
    ),
    "compact": lambda one, _: one.aio.compaction.run(),
    "build": lambda one, _: one.aio.build(TEMPLATE),
    "begin": lambda one, _: one.aio.calls.begin(one.view().pending()[0]),
}


class Threaded(MemoryStore):
    """A store that says which threads have worked with it."""

    is_quick = False


def parent_and_child(store: MemoryStore) -> tuple[Session, Session]:
    one = session(
        store, compactor=Summarize(floor=4, ceiling=8), model=Scripted(["They talked."], repeat=True)
    )
    talk(one, 10)
    child = one.fork("x")
    child.append(*said("look", "found"))
    called(one, "pay")
    return one, child


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_store_is_not_worked_with_in_the_loop(verb: Any) -> None:
    store, threads = Threaded(), set[int]()
    one, child = parent_and_child(store)
    watch(store, lambda _, __: threads.add(get_ident()), ["append", "read", "replace", "version"])

    async def conversation() -> int:
        await verb(one, child)
        await one.aio.close()
        return get_ident()

    loop = run(conversation())
    assert threads and loop not in threads


def test_a_closed_session_is_read_and_writes_nothing() -> None:
    store = MemoryStore()
    one, child = parent_and_child(store)
    context = one.build(TEMPLATE)
    rendered = context.render("openai")
    plainly: list[Callable[[], Any]] = [
        lambda: one.user("x"),
        lambda: one.hide(one.view()[0]),
        lambda: one.pool.keep(Note("n", key="k")),
        lambda: new_transcript(one, "attempt"),
        lambda: one.fork("y"),
        lambda: one.draft().__enter__(),
        lambda: one.listen([], sent=rendered),
        lambda: one.__enter__(),
        context.sent,
    ]
    with one, one:
        one.user("in time")

    async def write_all() -> None:
        writing = [verb(one, child) for name, verb in VERBS.items() if name not in ("refresh", "build")]
        for verb in (*writing, one.jobs.submit(Job.of("x"))):
            with pytest.raises(StoreFailed, match="ana/q3 is closed"):
                await verb

    run(write_all())
    for write in plainly:
        with pytest.raises(StoreFailed, match="ana/q3 is closed"):
            write()
    assert one.build(TEMPLATE).items[-1] == one.view()[-1] and len(one.pool) == 0
    child.user("a fork stays open")
    session(store).user("and so does another session")
    assert texts(one.view()[-1:]) == ["and so does another session"]


async def test_both_kinds_of_block_close_also_after_an_error() -> None:
    plain, awaited = session(), session()
    with pytest.raises(LookupError), plain:
        raise LookupError
    with pytest.raises(LookupError):
        async with awaited:
            raise LookupError
    for one in (plain, awaited):
        with pytest.raises(StoreFailed):
            one.user("late")


def test_each_turn_may_have_a_loop_of_its_own() -> None:
    one = session(compactor=SUMMARIZE, model=Scripted(["They talked."], repeat=True))

    async def turn() -> None:
        await one.aio.build(TEMPLATE)
        await one.aio.compaction.close()  # a loop that ends cancels the compaction that runs on it

    for n in range(8):
        talk(one, 1, str(n))
        run(turn())
    assert len(one.view()) <= 9 and one.compaction.metrics.completed


def test_an_error_of_a_plain_verb_has_one_traceback() -> None:
    one, nothing = session(), cast(Any, None)
    faulty = (
        lambda: one.build(nothing),
        lambda: one.merge(nothing),
        lambda: one.close(cast(Any, "soon")),
        one.compaction.run,
        lambda: one.append(nothing),
    )
    for verb in faulty:
        with pytest.raises(QuireError) as fault:
            verb()
        assert fault.value.__context__ is None
