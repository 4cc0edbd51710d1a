"""A draft whose block has ended: who writes to it is told so, what he spent counts, and it can be read."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from quire import Session
from quire.compactors import Summarize
from quire.errors import StoreFailed
from quire.items import Message, Note, ToolCall
from quire.models import Scripted
from quire.providers import Parsed
from quire.session import Caps, hook
from quire.session.events import Added, Adding
from quire.tokens import Usage
from tests.session.opened import session, texts
from tests.session.recalling import PLAIN
from tests.session.test_drafts_spending import ANSWER

SPENT = 12
NOTE = Note("x", key="k")


def rendered(draft: Session) -> Any:
    return asyncio.run(draft.build(PLAIN)).render("openai")


def redrafted(draft: Session) -> None:
    with draft.draft() as inner:
        inner.user("late")


Act = Callable[[Session], Any]
WRITING: dict[str, Act] = {
    "user": lambda one: one.user("late"),
    "append": lambda one: one.append(Message("user", "late"), Message("user", "later")),
    "append_elsewhere": lambda one: one.append(Message("user", "late"), to="aside"),
    "add": lambda one: asyncio.run(one.add(Message("user", "late"))),
    "say": lambda one: asyncio.run(one.say(Message("user", "late"))),
    "assistant": lambda one: one.assistant("late", calls=[ToolCall("c", "look")]),
    "pin": lambda one: one.pin(one.recorded()[0].id),
    "keep": lambda one: one.keep(NOTE),
    "put": lambda one: asyncio.run(one.put(NOTE)),
    "drop": lambda one: one.drop("at hand"),
    "clear_pool": lambda one: one.clear_pool(),
    "take_all": lambda one: asyncio.run(one.take_all()),
    "record": lambda one: one.record(ANSWER),
    "add_response": lambda one: asyncio.run(one.add_response(ANSWER)),
    "new": lambda one: one.new("attempt"),
    "merge": lambda one: asyncio.run(one.merge(session())),
    "forget": lambda one: one.forget(one.recorded()[0].id),
    "render": rendered,
    "draft": redrafted,
}


@hook(Adding, Added, name="hear_late_drafts")
def hear_late_drafts(_: Any) -> None:
    pass


def ended(one: Session, *, is_merged: bool = True) -> Session:
    one.keep(Note("y", key="at hand"))
    drafts: list[Session] = []
    with suppress(LookupError), one.draft() as draft:
        drafts.append(draft)
        draft.user("in time")
        draft.assistant("yes")
        if not is_merged:
            raise LookupError
    return drafts[0]


@pytest.mark.parametrize("hooks", [[], [hear_late_drafts]], ids=["plain", "heard"])
@pytest.mark.parametrize("write", WRITING.values(), ids=WRITING)
def test_whoever_writes_when_the_block_has_ended_is_told(write: Act, hooks: list[Any]) -> None:
    one = session(hooks=hooks)
    draft = ended(one)
    before, shown, pool = texts(one.view()), texts(draft.view()), list(draft.pool)
    with pytest.raises(StoreFailed, match="is over"):
        write(draft)
    assert texts(one.view()) == before == ["in time", "yes"] and list(one.pool) == pool == list(draft.pool)
    assert texts(draft.view()) == shown and draft.transcripts == one.transcripts == ("main",)


@pytest.mark.parametrize("is_merged", [True, False])
def test_it_can_still_be_read(is_merged: bool) -> None:
    draft = ended(session(), is_merged=is_merged)
    assert texts(draft.view()) == ["in time", "yes"] and len(draft.recorded()) == 2
    assert [note.content for note in draft.pool] == ["y"] and draft.receipts() == []
    assert len(asyncio.run(draft.build(PLAIN)).items) == 3 and len(draft.timeline()) == 2


@pytest.mark.parametrize("is_merged", [True, False])
@pytest.mark.parametrize("record", ["record", "add_response"])
def test_what_is_spent_late_counts_in_the_session_once(record: str, is_merged: bool) -> None:
    one = session(caps=Caps(tokens=100))
    draft = ended(one, is_merged=is_merged)
    for times in (1, 2):
        with pytest.raises(StoreFailed, match="is over"):
            WRITING[record](draft)
        assert one.spending.tokens == times * SPENT and one.spending.requests == times
    assert "Look outside." not in texts(one.view())


def test_what_is_spent_late_in_a_draft_of_a_draft_counts_where_both_were_begun() -> None:
    one = session()
    with one.draft() as outer:
        with outer.draft() as inner:
            inner.user("in time")
        with pytest.raises(StoreFailed):
            inner.record(ANSWER)
        assert outer.spending.tokens == SPENT and one.spending.tokens == 0
    with pytest.raises(StoreFailed):
        inner.record(ANSWER)
    assert one.spending.tokens == 2 * SPENT and texts(one.view()) == ["in time"]


def test_what_a_summary_cost_that_came_too_late_is_spent() -> None:
    async def talk() -> None:
        one, begun, go = session(), asyncio.Event(), asyncio.Event()

        async def words(*_: Any) -> Parsed:
            begun.set()
            await go.wait()
            return Parsed((Message("assistant", "They talked."),), Usage(input=9, output=3), "stop", "m")

        async with one.draft() as draft:
            late = _compacting(draft, words)
            await begun.wait()
        go.set()
        with pytest.raises(StoreFailed, match="is over"):
            await late
        assert one.spending.tokens == SPENT and len(one.view()) == 12

    asyncio.run(talk())


def _compacting(draft: Session, words: Any) -> "asyncio.Task[Any]":
    """A draft that is being compacted, by a model that says some words."""
    for n in range(6):
        draft.user(f"{n}")
        draft.assistant("yes")
    draft.use(Summarize(floor=2, ceiling=4), Scripted(words))
    return asyncio.create_task(draft.compact())


def test_a_summary_that_is_stopped_when_the_block_has_ended_is_stopped() -> None:
    async def talk() -> None:
        one, begun = session(), asyncio.Event()

        async def words(*_: Any) -> str:
            begun.set()
            await asyncio.sleep(60)
            return "never"

        async with one.draft() as draft:
            late = _compacting(draft, words)
            await begun.wait()
        late.cancel()
        with pytest.raises(asyncio.CancelledError):
            await late

    asyncio.run(talk())


def test_what_was_acknowledged_is_kept_whoever_writes_while_the_block_ends() -> None:
    for _ in range(20):
        one, kept, begun = session(), list[str](), threading.Event()

        def write(draft: Session, kept: list[str] = kept, begun: threading.Event = begun) -> None:
            with pytest.raises(StoreFailed, match="is over"):
                while True:
                    kept.append(draft.user("more").id)
                    begun.set()

        with one.draft() as draft:
            writers = [threading.Thread(target=write, args=(draft,)) for _ in range(2)]
            for writer in writers:
                writer.start()
            begun.wait()
        for writer in writers:
            writer.join()
        assert sorted(kept) == sorted(item.id for item in one.recorded())


def test_a_task_that_outlives_its_draft_hears_of_it() -> None:
    async def talk() -> None:
        one, kept = session(hooks=[hear_late_drafts]), list[str]()

        async def work(draft: Session) -> None:
            while True:
                await asyncio.sleep(0.005)
                kept.append((await draft.add(Message("assistant", "step")))[0].id)

        async with one.draft() as draft:
            working = asyncio.create_task(work(draft))
            await asyncio.sleep(0.05)
        with pytest.raises(StoreFailed, match="is over"):
            await working
        assert kept == [item.id for item in one.recorded()] != []

    asyncio.run(talk())
