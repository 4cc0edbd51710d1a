"""What a draft spent is spent once, however its merge ended."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from quire import Session
from quire.errors import StoreFailed
from quire.session import Added, hook
from tests.session.opened import PLACE, Interrupted, session, texts
from tests.session.recalling import PLAIN

ANSWER: dict[str, Any] = {
    "object": "chat.completion",
    "model": "gpt-5.6",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Look outside."}}
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
}
DONE = ["Will it rain?", "Look outside."]


async def said_in(draft: Session) -> None:
    draft.user("Will it rain?")
    draft.record(ANSWER, sent=(await draft.build(PLAIN)).render("openai"))


def fail() -> None:
    raise StoreFailed("the connection was lost")


@hook(Added, name="slow_after_drafts")
async def slow_after_drafts(_: Any) -> None:
    await asyncio.sleep(0.05)


def merged_and_cancelled(begun: Callable[[asyncio.Task[None]], Any]) -> Session:
    store = Interrupted()
    one = session(store, hooks=[slow_after_drafts])

    async def work() -> None:
        async with one.draft() as draft:
            await said_in(draft)

    async def talk() -> None:
        task, loop = asyncio.create_task(work()), asyncio.get_running_loop()
        store.after[PLACE] = lambda: loop.call_soon_threadsafe(begun(task))
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(talk())
    return one


def test_a_draft_that_is_cancelled_while_it_is_merged_is_merged_and_spent_once() -> None:
    one = merged_and_cancelled(lambda task: task.cancel)
    assert texts(one.view()) == DONE
    assert one.spending.tokens == 12 and len(one.receipts()) == 1


@pytest.mark.parametrize("is_awaited", [False, True])
def test_a_merge_whose_answer_was_lost_is_spent_once(is_awaited: bool) -> None:
    store = Interrupted()
    one = session(store)

    async def work() -> None:
        if is_awaited:
            async with one.draft() as draft:
                await said_in(draft)
                store.after[PLACE] = fail
        else:
            with one.draft() as draft:
                await said_in(draft)
                store.after[PLACE] = fail

    with pytest.raises(StoreFailed):
        asyncio.run(work())
    assert texts(one.view()) == DONE
    assert one.spending.tokens == 12 and len(one.receipts()) == 1


def test_a_merge_that_failed_is_spent_once() -> None:
    store = Interrupted()
    one = session(store)

    async def work() -> None:
        async with one.draft() as draft:
            await said_in(draft)
            store.before[PLACE] = fail

    with pytest.raises(StoreFailed):
        asyncio.run(work())
    assert texts(one.view()) == []
    assert one.spending.tokens == 12 and len(one.receipts()) == 1
