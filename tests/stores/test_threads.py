"""Threads of Quire's own: tools that hang in those of the loop hold up no conversation."""

import asyncio
import contextvars
import os
import threading

import pytest

from quire import Message, Session, ToolCall
from quire.agent import Agent, tool
from quire.items import Item
from quire.models import Scripted
from quire.stores.threads import Threads

ASKED = contextvars.ContextVar("asked", default="nobody")
_HANGING = 40
"""More than a loop has threads of its own."""


def test_they_do_what_they_are_given_with_the_variables_of_who_asks() -> None:
    async def asked() -> tuple[str, str]:
        ASKED.set("ana")
        threads = Threads("mine")
        name = await threads.do(lambda: threading.current_thread().name)
        return name, await threads.do(ASKED.get)

    name, who = asyncio.run(asked())
    assert name.startswith("mine") and who == "ana"


def test_they_serve_one_loop_after_the_other() -> None:
    threads = Threads("mine")
    assert [asyncio.run(threads.do(pow, 2, n)) for n in range(4)] == [1, 2, 4, 8]
    with pytest.raises(ZeroDivisionError):
        asyncio.run(threads.do(divmod, 1, 0))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_child_of_the_process_has_threads_of_its_own() -> None:
    threads = Threads("mine")
    asyncio.run(threads.do(int))
    child = os.fork()
    if child == 0:  # pragma: no cover - in the child
        os._exit(asyncio.run(threads.do(pow, 7, 2)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 49


def test_who_is_cancelled_leaves_work_that_was_begun_to_its_end() -> None:
    held, done = threading.Event(), threading.Event()

    def work() -> None:
        held.wait()
        done.set()

    async def asked() -> None:
        task = asyncio.ensure_future(Threads("mine").do(work))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        held.set()
        assert await asyncio.to_thread(done.wait, 60)

    asyncio.run(asked())


def test_a_conversation_goes_on_while_tools_hang_in_all_threads_of_the_loop(tmp_path: object) -> None:
    held = threading.Event()

    @tool(timeout=0.05)
    async def look_up() -> str:
        """Look something up with a library that blocks."""
        await asyncio.to_thread(held.wait)
        return "found"

    async def answered() -> list[Item]:
        store = f"{tmp_path}/kept.db"
        hanging = [
            Agent(
                Session.open(str(n), store=store),
                model=Scripted([ToolCall("1", "look_up"), "late"]),
                tools=[look_up],
            )
            for n in range(_HANGING)
        ]
        try:
            replies = await asyncio.gather(*(agent.ask("go") for agent in hanging))
            assert {reply.text for reply in replies} == {"late"}
            other = Session.open("other", store=store)
            await other.add(Message("user", "hello"))
            return list(other.view())
        finally:
            held.set()

    assert [item.text for item in asyncio.run(answered()) if isinstance(item, Message)] == ["hello"]
