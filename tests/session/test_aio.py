"""`session.aio`: the same names, awaited; the loop is left to others, and what was begun is whole."""

import inspect
from collections.abc import Awaitable, Callable
from threading import get_ident
from typing import Any, cast

import pytest

from quire import Session
from quire.compactors import Summarize
from quire.errors import QuireError
from quire.items import Note, ToolCall
from quire.models import Scripted
from quire.stores import MemoryStore
from tests.session.opened import TEMPLATE, answer, run, said, session, talk, watch

SUMMARIZE = Summarize(floor=4, ceiling=8)
VERBS: dict[str, Callable[[Session, Session], Awaitable[Any]]] = {
    "append": lambda one, _: one.aio.append(*said("x")),
    "user": lambda one, _: one.aio.user("x"),
    "assistant": lambda one, _: one.aio.assistant("x", calls=[ToolCall("c", "look")]),
    "call": lambda one, _: one.aio.call("look", {"q": 1}),
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
    "begin": lambda one, _: one.aio.begin(one.view().pending()[0]),
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
    one.call("pay")
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


def test_the_names_are_those_of_the_plain_verbs() -> None:
    names = {name for name in dir(session().aio) if not name.startswith("_")}
    assert names <= {name for name in dir(Session) if not name.startswith("_")} | {"pool", "compaction"}
    for name in names - {"pool", "compaction", "listen", "follow", "draft"}:
        assert inspect.iscoroutinefunction(getattr(session().aio, name)), name


def test_each_turn_may_have_a_loop_of_its_own() -> None:
    one = session(compactor=SUMMARIZE, model=Scripted(["They talked."], repeat=True))

    async def turn() -> None:
        await one.aio.build(TEMPLATE)
        await one.aio.close()  # a loop that ends cancels the compaction that runs on it

    for n in range(8):
        talk(one, 1, str(n))
        run(turn())
    assert len(one.view()) <= 9 and one.compaction.metrics.completed


def test_an_error_of_a_plain_verb_has_one_traceback() -> None:
    one, nothing = session(), cast(Any, None)
    faulty = (
        lambda: one.build(nothing),
        lambda: one.merge(nothing),
        lambda: one.close(nothing),
        one.compaction.run,
        lambda: one.append(nothing),
    )
    for verb in faulty:
        with pytest.raises(QuireError) as fault:
            verb()
        assert fault.value.__context__ is None
