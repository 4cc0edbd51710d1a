"""What others append, as it comes."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from quire.items import Message
from quire.session import Session
from quire.session.remembering import take_out
from quire.stores import MemoryStore, Store
from tests.session.opened import PLACE, apart, session, texts


def test_what_another_appends_is_heard() -> None:
    store = MemoryStore()
    one, other = session(store), apart(store)
    one.user("before")

    async def listen() -> list[str]:
        heard: list[str] = []
        one.refresh()
        async for stream, item in one.follow():
            assert stream == "main"
            heard += texts([item])
            if len(heard) == 3:
                break
        return heard

    async def speak() -> None:
        for word in ("a", "b", "c"):
            await asyncio.sleep(0.01)
            await other.add(Message("user", word))

    async def both() -> list[str]:
        listening = asyncio.create_task(listen())
        await speak()
        return await asyncio.wait_for(listening, 30)

    assert asyncio.run(both()) == ["a", "b", "c"]
    assert texts(one.view()) == ["before", "a", "b", "c"]


def test_following_from_the_beginning(tmp_path: Path) -> None:
    one = Session.open("ana/q3", store=tmp_path / "chat.db")
    one.user("a")
    one.user("b")

    async def first_two() -> list[str]:
        heard: list[str] = []
        with Store.open(tmp_path / "chat.db") as store:
            async for _, item in apart(store).follow(after=0):
                heard += texts([item])
                if len(heard) == 2:
                    return heard
        return heard

    assert asyncio.run(first_two()) == ["a", "b"]


def test_a_conversation_that_begins_again_is_followed_on() -> None:
    store = MemoryStore()
    one = session(store)
    one.append(Message("user", "a"), Message("user", "b"))

    async def listen() -> list[str]:
        heard: list[str] = []
        async for _, item in one.follow():
            heard += texts([item])
            if heard[-1] == "new":
                return heard
        return heard

    async def both() -> list[str]:
        listening = asyncio.create_task(listen())
        await asyncio.sleep(0.05)
        other = apart(store)
        take_out(store, PLACE)
        other.refresh()
        await asyncio.sleep(0.05)
        other.user("new")
        return await asyncio.wait_for(listening, 30)

    assert asyncio.run(both()) == ["new"]


def test_those_who_follow_leave_the_threads_of_the_loop_to_others() -> None:
    store = MemoryStore()

    async def listen(one: Session) -> None:
        async for _ in one.follow():
            pass

    async def speak() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(busy := ThreadPoolExecutor(1))
        followers = [asyncio.create_task(listen(session(store))) for _ in range(3)]
        begun = asyncio.Event()
        loop.call_later(0.05, begun.set)
        await begun.wait()
        assert busy._work_queue.empty() and not busy._threads, "nobody waits in a thread of the loop"
        for follower in followers:
            follower.cancel()
        await asyncio.gather(*followers, return_exceptions=True)

    asyncio.run(speak())
