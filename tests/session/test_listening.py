"""Who stops listening to a stream has what came on the record, before anything that is said next."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from quire.items import Message
from quire.session import Added, Adding, Session, hook
from tests.session.opened import session, texts


def chunks() -> Iterator[dict[str, Any]]:
    for word in ("one ", "two ", "three"):
        delta = {"role": "assistant", "content": word}
        yield {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}


async def awaited() -> AsyncIterator[dict[str, Any]]:
    for chunk in chunks():
        yield chunk


def asked(**options: Any) -> Session:
    one = session(**options)
    one.user("q")
    return one


INTERRUPTED = ["q", "one ", "next"]


def test_leaving_the_loop_records_at_once() -> None:
    one = asked()
    for _ in one.listen(chunks()):
        break
    one.user("next")
    assert texts(one.view()) == INTERRUPTED


def test_leaving_an_awaited_loop_records_at_once() -> None:
    async def talk() -> Session:
        one = asked()
        async for _ in one.listen_async(awaited()):
            break
        one.user("next")
        return one

    one = asyncio.run(talk())
    assert texts(one.view()) == INTERRUPTED
    assert isinstance(answer := one.view()[1], Message) and answer.interrupted


def test_a_block_records_at_its_end_whoever_holds_the_events() -> None:
    async def talk() -> Session:
        one = asked()
        async with one.listen_async(awaited()) as events:
            async for _ in events:
                break
        one.user("next")
        del events
        return one

    assert texts(asyncio.run(talk()).view()) == INTERRUPTED
    one = asked()
    with one.listen(chunks()) as events:
        next(events)
    one.user("next")
    events.close()
    assert texts(one.view()) == INTERRUPTED, "once"


def test_hooks_that_are_async_hear_of_it_too() -> None:
    heard: list[str] = []

    @hook(Adding, Added, name="hears_late_answers")
    async def hears(event: Any) -> None:
        heard.append(type(event).__name__)

    async def talk() -> Session:
        one = session(hooks=[hears])
        async for _ in one.listen_async(awaited()):
            break
        await asyncio.sleep(0.1)
        return one

    assert texts(asyncio.run(talk()).view()) == ["one "] and heard == ["Adding", "Added"]


def test_who_never_listened_has_no_answer() -> None:
    one = asked()
    with one.listen(chunks()):
        pass
    assert one.version == 1


def test_a_refusal_is_told_where_somebody_is_left_to_be_told(caplog: pytest.LogCaptureFixture) -> None:
    @hook(Adding, where=lambda event: event.items[0].role == "assistant", name="refuses_answers")
    def refuses(event: Any) -> None:
        raise PermissionError("no")

    one = asked(hooks=[refuses])
    with pytest.raises(PermissionError):
        list(one.listen(chunks()))
    for _ in one.listen(chunks()):
        break
    assert "is lost: PermissionError" in caplog.text and texts(one.view()) == ["q"]


async def broken() -> AsyncIterator[dict[str, Any]]:
    yield next(chunks())
    raise ConnectionError("gone")


def test_what_has_ended_gives_nothing_more_and_is_counted_once() -> None:
    one = asked()
    with one.listen(chunks()) as events:
        assert len(list(events)) == 3
        assert list(events) == [] and next(events, None) is None
    with one.listen(chunks()) as events:
        next(events)
    assert list(events) == []
    assert texts(one.view()) == ["q", "one two three", "one "]


@pytest.mark.parametrize("stream", [awaited, broken])
def test_what_has_ended_and_was_awaited_gives_nothing_more(stream: Any) -> None:
    async def talk() -> Session:
        one = asked()
        events = one.listen_async(stream())
        try:
            async for _ in events:
                pass
        except ConnectionError:
            pass
        assert await anext(events, None) is None
        await events.aclose()
        return one

    assert texts(asyncio.run(talk()).view()) == ["q", "one two three" if stream is awaited else "one "]


@hook(Adding)
def refuse_halves(event: Adding) -> None:
    if any(isinstance(item, Message) and item.interrupted for item in event.items):
        raise PermissionError("no halves")


async def stalled() -> AsyncIterator[dict[str, Any]]:
    yield next(chunks())
    await asyncio.Event().wait()


async def _in_one(one: Session) -> None:
    await one.add_response(stalled())


async def _in_a_block(one: Session) -> None:
    async with one.listen_async(stalled()) as events:
        async for _ in events:
            await asyncio.Event().wait()


@pytest.mark.parametrize("heard", [_in_one, _in_a_block])
def test_who_is_stopped_hears_of_that_though_a_hook_refuses_what_came(heard: Any) -> None:
    async def talk() -> Session:
        one = asked(hooks=[refuse_halves])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await heard(one)
        return one

    assert texts(asyncio.run(talk()).view()) == ["q"]


def test_who_leaves_by_himself_hears_what_a_hook_refuses() -> None:
    one = asked(hooks=[refuse_halves])
    with pytest.raises(PermissionError), one.listen(chunks()) as events:
        next(events)
    with pytest.raises(KeyboardInterrupt), one.listen(chunks()) as events:
        next(events)
        raise KeyboardInterrupt
    assert texts(one.view()) == ["q"]
