"""A stream that breaks while it is recorded has what came on the record, as one that is listened to has."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from quire import Session
from quire.errors import WrongType
from quire.items import Message
from tests.session.opened import session, texts


def chunk(text: str) -> dict[str, Any]:
    delta = {"role": "assistant", "content": text}
    return {"object": "chat.completion.chunk", "model": "gpt-5.6", "choices": [{"index": 0, "delta": delta}]}


def broken(*words: str) -> Iterator[Any]:
    yield from map(chunk, words)
    raise ConnectionError("peer reset")


async def broken_while_awaited(*words: str) -> AsyncIterator[Any]:
    for event in broken(*words):
        yield event


def record(one: Session, *words: str) -> None:
    one.record(broken(*words))


def add(one: Session, *words: str) -> None:
    asyncio.run(one.add_response(broken(*words)))


def add_awaited(one: Session, *words: str) -> None:
    asyncio.run(one.add_response(broken_while_awaited(*words)))


VERBS: list[Callable[..., None]] = [record, add, add_awaited]


@pytest.mark.parametrize("verb", VERBS)
def test_what_came_before_it_broke_is_recorded_as_interrupted(verb: Callable[..., None]) -> None:
    one = session()
    one.user("Will it rain?")
    with pytest.raises(ConnectionError):
        verb(one, "Take an ", "umbrella, because")
    assert texts(one.view()) == ["Will it rain?", "Take an umbrella, because"]
    answer = one.view()[-1]
    assert isinstance(answer, Message) and answer.interrupted


@pytest.mark.parametrize("verb", VERBS)
def test_where_nothing_came_nothing_is_recorded(verb: Callable[..., None]) -> None:
    one = session()
    with pytest.raises(ConnectionError):
        verb(one)
    assert one.version == 0


def test_who_is_cancelled_while_it_comes_has_what_came() -> None:
    async def endless(begun: asyncio.Event) -> AsyncIterator[Any]:
        yield chunk("Take an ")
        begun.set()
        await asyncio.Event().wait()

    async def talk(one: Session) -> None:
        begun = asyncio.Event()
        task = asyncio.create_task(one.add_response(endless(begun)))
        await begun.wait()
        task.cancel()
        await task

    one = session()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(talk(one))
    assert texts(one.view()) == ["Take an "]


def test_an_event_that_cannot_be_read_loses_nothing_of_those_before_it() -> None:
    one = session()
    with pytest.raises(WrongType, match="not object"):
        one.record(iter([chunk("Take an "), object()]))
    assert texts(one.view()) == ["Take an "]
