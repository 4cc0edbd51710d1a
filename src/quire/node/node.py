"""The node: agents by name, and a worker for each conversation of each."""

import asyncio
import logging
import signal
from collections.abc import Callable
from inspect import isawaitable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from weakref import WeakValueDictionary

from quire.agent import Agent
from quire.agent.builtin.crew import agent_called
from quire.agent.builtin.roster import known
from quire.errors import InvalidValue, Stopped, UnknownKey, WrongType, cut
from quire.items import now
from quire.node.ending import end_others, run_to_its_end
from quire.node.loose_threads import LooseThreads
from quire.node.sending import Sending
from quire.node.worker import Worker
from quire.session import Session, open_store
from quire.stores import Store, place_at
from quire.tokens import named, number

logger = logging.getLogger("quire.node")

Make = Callable[[Session], Agent]
"""Makes an agent for one conversation."""

_GRACE = 30.0
_IDLE = 300.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Key(NamedTuple):
    name: str
    scope: str
    conversation: str


class Node(Sending):
    """Hosts agents in this process. Conversations go on side by side; the turns of each are in order.

    A worker that has had nothing to do for `idle` seconds is let go; its conversation is in the store.
    """

    def __init__(self, *, store: str | Path | Store | None = None, idle: float = _IDLE) -> None:
        # Once: a memory that is asked for by its address is another each time.
        self._store = open_store("memory:" if store is None else store, None, None)
        self._idle = number(idle, "idle", 0)
        self._makers: dict[str, Make] = {}
        self._workers: dict[_Key, Worker] = {}
        # One that was let go may still be held, such as by a stream that nobody has read yet.
        self._known: WeakValueDictionary[_Key, Worker] = WeakValueDictionary()
        self._swept_at = now()
        self._is_stopped = False

    def __repr__(self) -> str:
        return f"<Node of {len(self._makers)} agents, {len(self._workers)} conversations at hand>"

    @staticmethod
    def start(
        main: Callable[["Node"], Any],
        *,
        store: str | Path | Store | None = None,
        grace: float = _GRACE,
        wait: bool = True,
    ) -> None:
        """Run a node: call `main` with it, and stay up until the process is told to stop.

        At the first signal to stop, answers have `grace` seconds to be given and heard; at the second, they
        are interrupted at once. Either way all that was said is kept. Without `wait` it stops when `main` has
        returned. What goes on though it was told to end is left behind, at the second signal if not before.
        """
        node, seconds = Node(store=store), number(grace, "grace", 0)
        run_to_its_end(lambda threads: _serve(node, main, seconds, wait, threads))

    def add(self, name: str, make: Make) -> None:
        """Host an agent under a name; `make` gives the agent of one conversation, for its session."""
        if "/" in named(name, "the name of an agent"):
            raise InvalidValue("the name of an agent on a node has no slash in it")
        if name in self._makers:
            raise InvalidValue(f"an agent {cut(name)!r} is on the node already")
        self._makers[name] = make

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the agents."""
        return tuple(self._makers)

    async def remove(self, name: str, *, grace: float = _GRACE) -> None:
        """Host an agent no longer; what is being answered has so many seconds."""
        if self._makers.pop(name, None) is None:
            raise UnknownKey(f"no agent {cut(name)!r} on the node")
        await self._stop([key for key in list(self._known) if key.name == name], grace, asyncio.Event())

    def worker(self, name: str, scope: str = "", conversation: str = "") -> Worker:
        """The worker of a conversation of an agent."""
        if self._is_stopped:
            raise Stopped("the node takes no more messages: it was stopped")
        if name not in self._makers:
            known = ", ".join(map(repr, self._makers)) or "none at all"
            raise UnknownKey(f"no agent {cut(str(name))!r} on the node; there is {known}")
        self._let_go()
        key = _Key(name, *place_at(scope=scope, conversation=conversation))
        worker = self._workers.get(key) or self._known.get(key)
        if worker is None:
            worker = self._known[key] = Worker(lambda: self._made(key))
        self._workers[key] = worker
        return worker

    def _made(self, key: _Key) -> Agent:
        """The agent of a conversation: that of one who works for another is the one who works there."""
        parts = key.conversation.split("/")
        for end in range(len(parts) - 1, 0, -1):  # a role may have a slash in its name
            above, member = key._replace(conversation="/".join(parts[:end])), "/".join(parts[end:])
            if known(self.session(*above), member) is not None:
                found = agent_called(member, self.worker(*above).agent)
                if found is not None:
                    return found
        made = self._makers[key.name](self.session(*key))
        if not isinstance(made, Agent):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(made).__name__
            raise WrongType(f"what makes the agents of {cut(key.name)!r} gives an Agent, not {kind}")
        return made

    def session(self, name: str, scope: str = "", conversation: str = "") -> Session:
        """A conversation of an agent, whether or not a worker has it: to be read, or to be added to."""
        place = place_at(scope=scope, conversation=conversation)
        # Agents of one node are apart, also where their conversations have the same address.
        return Session.open(scope=f"{name}/{place.scope}", conversation=conversation, store=self._store)

    async def stop(self, *, grace: float = _GRACE, hurry: asyncio.Event | None = None) -> None:
        """Take no more messages, and let those that are being answered be answered and heard to their end.

        After `grace` seconds, or once `hurry` is set, they are interrupted; what came of them is kept. Who
        listens and has read nothing for a few seconds is not waited for.
        """
        self._is_stopped = True
        logger.info("stopping, with %d conversations at hand", len(self._workers))
        await self._stop(list(self._known), number(grace, "grace", 0), hurry or asyncio.Event())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _stop(self, keys: list[_Key], grace: float, hurry: asyncio.Event) -> None:
        workers = [self._known.pop(key, None) for key in keys]
        for key in keys:
            self._workers.pop(key, None)
        stopping = asyncio.current_task()
        ends = await asyncio.gather(
            *(worker.stop(grace, hurry, stopping) for worker in workers if worker is not None),
            return_exceptions=True,  # whatever goes wrong with one, all others have their grace
        )
        faults = [end for end in ends if isinstance(end, BaseException)]
        for fault in faults[1:]:
            logger.error("a conversation could not be stopped: %s", type(fault).__name__)
        if faults:
            raise faults[0]

    def _let_go(self) -> None:
        """Let go of workers that have had nothing to do, once in a while."""
        moment = now()
        if moment - self._swept_at < self._idle:
            return
        self._swept_at = moment
        for key, worker in list(self._workers.items()):
            if not worker.is_busy and moment - worker.used_at >= self._idle:
                del self._workers[key]


async def _serve(
    node: Node, main: Callable[[Node], Any], grace: float, wait: bool, threads: LooseThreads
) -> None:
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    hurry = asyncio.Event()

    def tell() -> None:
        (hurry if told.is_set() else told).set()

    for one in _SIGNALS:
        loop.add_signal_handler(one, tell)
    begun = main(node)
    task = asyncio.ensure_future(begun) if isawaitable(begun) else None
    try:
        if task is not None:
            await _first(task, told)
        if wait:
            await told.wait()
    finally:
        await node.stop(grace=grace, hurry=hurry)  # who listens in `main` has the same grace
        await end_others(grace, hurry, threads)
        if task is not None and task.done() and not task.cancelled():
            task.exception()  # who was told to stop is not asked how


async def _first(task: "asyncio.Future[Any]", told: asyncio.Event) -> None:
    """Wait for `main`, unless the process is told to stop before."""
    stop = asyncio.ensure_future(told.wait())
    await asyncio.wait((task, stop), return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    await asyncio.gather(stop, return_exceptions=True)
    if task.done():
        task.result()
