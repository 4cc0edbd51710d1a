"""Drafts: merged at once when their block ends well, gone when it raises, closed when it has ended."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from quire.errors import CapReached, Forgotten, InvalidValue, StoreFailed
from quire.items import Message, Note
from quire.session import Caps, Job, Session, new_transcript
from quire.stores import MemoryStore
from tests.session.opened import SECRET, TEMPLATE, answer, kept_bytes, run, said, send, session, texts

Act = Callable[[Session], Any]


def test_a_draft_that_fails_leaves_what_it_spent_and_sent_and_no_more() -> None:
    store = MemoryStore()
    one = session(store)
    one.user("a")
    with pytest.raises(ZeroDivisionError), one.draft() as draft:
        draft.user(SECRET)
        draft.pool.keep(Note("n", key="n"))
        send(draft.build(TEMPLATE))
        draft.record(answer("yes"), provider="openai")
        raise ZeroDivisionError
    assert texts(one.view()) == ["a"] and len(one.pool) == 0 and one.spending.tokens == 32
    (kept,) = one.receipts
    assert kept.provider == "openai" and kept.tokens > 0 and b"swordfish" not in kept_bytes(store)
    assert kept.spending == one.spending
    with pytest.raises(Forgotten):
        kept.payload()


@pytest.mark.parametrize("meanwhile", [False, True])
def test_what_a_draft_sent_is_kept_where_it_can_be_shown(meanwhile: bool) -> None:
    one = session()
    one.append(*said("a"))
    send(one.build(TEMPLATE))
    with one.draft() as draft:
        draft.append(*said("b", "c"))
        sent = send(draft.build(TEMPLATE, tools=[{"name": "look"}])).payload
        new_transcript(one, "attempt")
        if meanwhile:
            one.user("meanwhile")
    if meanwhile:
        with pytest.raises(Forgotten):
            one.receipts[1].payload()
    else:
        assert one.receipts[1].payload().payload == sent


def test_drafts_are_held_to_the_caps_and_their_spending_stays() -> None:
    one = session(caps=Caps(tokens=60))
    one.user("hello")
    with pytest.raises(CapReached), one.draft() as draft:
        for _ in range(3):
            draft.build(TEMPLATE)
            draft.record(answer("a"), provider="openai")
    assert one.spending.tokens == 64 and texts(one.view()) == ["hello"]


async def test_a_job_of_a_draft_that_fails_was_never_accepted() -> None:
    one, early, job = session(), Job.of("early"), Job.of("late")
    one.user("a")
    before = await one.jobs.submit(early)
    with pytest.raises(ZeroDivisionError), one.draft() as draft:
        assert await draft.jobs.submit(early) == before
        await draft.jobs.submit(job)
        raise ZeroDivisionError
    assert one.jobs.pending() == [early] and await one.jobs.submit(job) == one.version - 2


def test_a_draft_has_no_drafts_and_no_forks() -> None:
    with session().draft() as draft:
        with pytest.raises(InvalidValue, match="cannot begin a draft"), draft.draft():
            pass
        with pytest.raises(InvalidValue, match="cannot be forked"):
            draft.fork("x")


def test_a_draft_holds_nothing_that_was_forgotten() -> None:
    store = MemoryStore()
    one = session(store)
    secret = one.user(SECRET)
    with pytest.raises(Forgotten), one.draft() as draft:
        draft.assistant(f"It says {SECRET}")
        one.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)
    with one.draft() as draft:
        draft.user("again")
    assert texts(one.view()) == ["[forgotten]", "again"]


def ended(one: Session, *, is_merged: bool = True) -> Session:
    one.pool.keep(Note("y", key="at hand"))
    drafts: list[Session] = []
    with suppress(LookupError), one.draft() as draft:
        drafts.append(draft)
        draft.append(*said("in time", "yes"))
        if not is_merged:
            raise LookupError
    return drafts[0]


WRITING: dict[str, Act] = {
    "user": lambda one: one.user("late"),
    "elsewhere": lambda one: one.append(Message("user", "late"), to="aside"),
    "awaited": lambda one: run(one.aio.append(Message("user", "late"))),
    "pin": lambda one: one.pin(one.view()[0].id),
    "keep": lambda one: one.pool.keep(Note("x", key="k")),
    "drop": lambda one: run(one.aio.pool.drop("at hand")),
    "clear": lambda one: one.pool.clear(),
    "record": lambda one: one.record(answer("late"), provider="openai"),
    "new": lambda one: new_transcript(one, "attempt"),
    "forget": lambda one: one.forget(one.view()[0].id),
    "render": lambda one: send(one.build(TEMPLATE)),
}


@pytest.mark.parametrize("write", WRITING.values(), ids=WRITING)
def test_whoever_writes_when_the_block_has_ended_is_told(write: Act) -> None:
    one = session()
    draft = ended(one)
    with pytest.raises(StoreFailed):
        write(draft)
    for held in (one, draft):
        assert texts(held.view()) == ["in time", "yes"] and [note.key for note in held.pool] == ["at hand"]
        assert tuple(held.transcripts) == ("main",)


@pytest.mark.parametrize("is_merged", [True, False])
def test_when_it_has_ended_it_can_be_read(is_merged: bool) -> None:
    draft = ended(session(), is_merged=is_merged)
    assert texts(draft.view()) == ["in time", "yes"] and len(draft.receipts) == 0
    assert len(draft.build(TEMPLATE).items) == 3


def test_what_was_acknowledged_is_kept_whoever_writes_while_the_block_ends() -> None:
    for _ in range(10):
        one, kept, begun = session(), list[str](), threading.Event()

        def write(draft: Session, kept: list[str] = kept, begun: threading.Event = begun) -> None:
            with pytest.raises(StoreFailed):
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
        assert sorted(kept) == sorted(item.id for item in one.view())
