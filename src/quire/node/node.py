"""The node: agents by name, and a worker for each conversation of each agent."""

import asyncio
import logging
import signal
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from inspect import isawaitable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, Unpack
from weakref import WeakValueDictionary

from quire.agent import Agent, Asking, Decisions, Delta, Input, Reply
from quire.agent.builtin import sub_agent, sub_agents
from quire.errors import InvalidValue, Stopped, UnknownKey, cut
from quire.items import ToolCall, now
from quire.node.jobs import Errors
from quire.node.worker import State, Worker
from quire.session import Hook, Outcome, Session, checked_type, open_store
from quire.stores import Store, checked_scope, place_at
from quire.tokens import named, number

logger = logging.getLogger("quire.node")

Make = Callable[[Session], Agent]
"""Creates the agent of one conversation."""

_GRACE_SECONDS, _IDLE_SECONDS = 30.0, 300.0
_MEMORY_BYTES = 256 * 2**20
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Key(NamedTuple):
    name: str
    scope: str
    conversation: str

    @property
    def store_scope(self) -> str:
        """The scope in the store. A name has no slash, so no two agents share a scope."""
        return f"{self.name}/{self.scope}"


def _key(name: str, scope: str, conversation: str) -> _Key:
    """The key of a conversation, checked. Every public method gets its key here."""
    key = _Key(_checked_name(name), checked_scope(scope), conversation)
    place_at(scope=key.store_scope, conversation=conversation)
    return key


def _checked_name(name: str) -> str:
    if "/" in named(name, "the name of an agent"):
        raise InvalidValue("the name of an agent on a node must not have a slash")
    return name


class Node:
    """Hosts agents in this process. Conversations run in parallel; the turns of each run in order.

    `hooks` apply to all conversations. A worker is dropped after `idle` seconds without use. If the
    conversations take more than about `memory` bytes, the least recently used idle workers are dropped too.
    Their conversations stay in the store.
    """

    def __init__(
        self,
        *,
        store: str | Path | Store | None = None,
        hooks: Iterable[Hook] = (),
        idle: float = _IDLE_SECONDS,
        memory: int = _MEMORY_BYTES,
    ) -> None:
        # Opened once: each opening of "memory:" is another store.
        self._store = open_store("memory:" if store is None else store, None, None)
        self._hooks = tuple(hooks)
        self._idle, self._memory = number(idle, "idle", 0), number(memory, "memory", 0)
        self._makers: dict[str, Make] = {}
        self._recent_workers: OrderedDict[_Key, Worker] = OrderedDict()  # in the order of their last use
        # All workers in use: a stream that is still read may hold one that is not recent any more.
        self._worker_by_key: WeakValueDictionary[_Key, Worker] = WeakValueDictionary()
        self._weight_by_key: dict[_Key, int] = {}
        self._weight = 0
        self._is_stopped = False

    def __repr__(self) -> str:
        return f"<Node of {len(self._makers)} agents, {len(self._worker_by_key)} conversations open>"

    @staticmethod
    def start(
        main: Callable[["Node"], Any],
        *,
        store: str | Path | Store | None = None,
        hooks: Iterable[Hook] = (),
        grace: float = _GRACE_SECONDS,
        wait: bool = True,
        idle: float = _IDLE_SECONDS,
        memory: int = _MEMORY_BYTES,
    ) -> None:
        """Run a node: call `main` with it, and serve until the process receives SIGINT or SIGTERM.

        After the first signal, answers have `grace` seconds to complete; the second signal interrupts them,
        and the third ends the process. Nothing recorded is lost. With `wait=False` the node stops when `main`
        returns.
        """
        checked_type(main, Callable, "Node.start takes a function, which it calls with the node")
        node, seconds = Node(store=store, hooks=hooks, idle=idle, memory=memory), number(grace, "grace", 0)
        asyncio.run(_serve(node, main, seconds, wait))

    def add(self, name: str, make: Make) -> None:
        """Host an agent under a name; `make` returns the agent of one conversation, given its session."""
        checked_type(make, Callable, "Node.add takes a name and a function that returns an Agent")
        if _checked_name(name) in self._makers:
            raise InvalidValue(f"an agent {cut(name)!r} is on the node already")
        self._makers[name] = make

    def add_hooks(self, hooks: Iterable[Hook]) -> None:
        """Add hooks to the conversations that are opened from now on."""
        self._hooks += tuple(hooks)

    @property
    def store(self) -> Store:
        """The store of the conversations."""
        return self._store

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the agents."""
        return tuple(self._makers)

    async def remove(self, name: str, *, grace: float = _GRACE_SECONDS) -> None:
        """Stop hosting an agent; answers in progress have `grace` seconds to complete."""
        if self._makers.pop(name, None) is None:
            raise UnknownKey(f"no agent {cut(name)!r} on the node")
        keys = [key for key in list(self._worker_by_key) if key.name == name]
        await self._stop(keys, grace, asyncio.Event())

    def worker(self, name: str, scope: str = "", conversation: str = "") -> Worker:
        """The worker of a conversation of an agent."""
        if self._is_stopped:
            raise Stopped("the node takes no more messages: it was stopped")
        if name not in self._makers:
            known = ", ".join(map(repr, self._makers)) or "none"
            raise UnknownKey(f"no agent {cut(str(name))!r} on the node; there is {known}")
        key = _key(name, scope, conversation)
        worker = self._worker_by_key.get(key)
        if worker is None:
            worker = self._worker_by_key[key] = Worker(
                partial(self._sessions, key), partial(self._make, key), partial(self._use, key)
            )
        self._use(key, worker)
        return worker

    def session(self, name: str, scope: str = "", conversation: str = "") -> Session:
        """A conversation of an agent, to read or to append to, whether or not it has a worker."""
        key = _key(name, scope, conversation)
        return Session.open(
            scope=key.store_scope, conversation=key.conversation, store=self._store, hooks=self._hooks
        )

    async def send(
        self, name: str, input: Input, *, scope: str = "", conversation: str = "", **asking: Unpack[Asking]
    ) -> Reply:
        """Send a message to a conversation of an agent; it is answered after earlier ones."""
        return await self.worker(name, scope, conversation).send(input, **asking)

    def send_stream(
        self, name: str, input: Input, *, scope: str = "", conversation: str = "", **asking: Unpack[Asking]
    ) -> AsyncGenerator[Delta, None]:
        """As `send`, streamed."""
        return self.worker(name, scope, conversation).send_stream(input, **asking)

    async def decide(
        self,
        name: str,
        decisions: Decisions,
        *,
        scope: str = "",
        conversation: str = "",
        **asking: Unpack[Asking],
    ) -> Reply:
        """Approve or refuse waiting calls of a conversation by their ids, then continue the turn.

        Without decisions, an unfinished turn is resumed, for example after a crash.
        """
        return await self.worker(name, scope, conversation).decide(decisions, **asking)

    def decide_stream(
        self,
        name: str,
        decisions: Decisions,
        *,
        scope: str = "",
        conversation: str = "",
        **asking: Unpack[Asking],
    ) -> AsyncGenerator[Delta, None]:
        """As `decide`, streamed."""
        return self.worker(name, scope, conversation).decide_stream(decisions, **asking)

    async def run(
        self,
        name: str,
        job_id: str,
        *,
        scope: str = "",
        conversation: str = "",
        force: bool = False,
        raises: Errors = (),
    ) -> Outcome:
        """Do a job that was accepted (`session.jobs.submit`), after earlier messages.

        Recorded steps are not repeated, so any process may resume a job after a crash. A failure ends the
        job, except for errors of `raises`: these are raised, and the job stays open. `TurnBusy` if a live
        process does a job of the conversation, unless `force` takes it over.
        """
        worker = self.worker(name, scope, conversation)
        async with aclosing(worker.run(job_id, force=force, raises=raises)) as deltas:
            *_, outcome = [delta async for delta in deltas]
        assert isinstance(outcome, Outcome)
        return outcome

    def run_stream(
        self,
        name: str,
        job_id: str,
        *,
        scope: str = "",
        conversation: str = "",
        force: bool = False,
        raises: Errors = (),
    ) -> AsyncGenerator[Delta | Outcome, None]:
        """As `run`, streamed; the outcome is last. Words come one by one if the job asks for them."""
        return self.worker(name, scope, conversation).run(job_id, force=force, raises=raises)

    async def waiting(self, name: str, *, scope: str = "", conversation: str = "") -> tuple[ToolCall, ...]:
        """The calls of a conversation that wait for a person's answer or approval."""
        return await self.worker(name, scope, conversation).waiting()

    async def members(self, name: str, *, scope: str = "", conversation: str = "") -> tuple[str, ...]:
        """The conversations of the agents that work for this one; each takes messages like any other."""
        return await self.worker(name, scope, conversation).members()

    async def state(self, name: str, *, scope: str = "", conversation: str = "") -> State:
        """The state of a conversation."""
        return await self.worker(name, scope, conversation).state()

    async def stop(self, *, grace: float = _GRACE_SECONDS, hurry: asyncio.Event | None = None) -> None:
        """Refuse new messages, and let current answers complete and be read.

        After `grace` seconds, or once `hurry` is set, they are interrupted; what was recorded is kept.
        """
        self._is_stopped = True
        logger.info("stopping, with %d open conversations", len(self._worker_by_key))
        await self._stop(list(self._worker_by_key), number(grace, "grace", 0), hurry or asyncio.Event())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def _sessions(self, key: _Key) -> list[Session]:
        """The conversation and its possible parents, whose sub-agent it may be, the nearest first."""
        parts = key.conversation.split("/")
        names = ("/".join(parts[:end]) for end in range(len(parts), 0, -1))
        return [self.session(key.name, key.scope, name) for name in names]

    async def _make(self, key: _Key, sessions: Sequence[Session]) -> Agent:
        """The agent of a conversation; at the address of a sub-agent, that sub-agent."""
        for session in sessions[1:]:  # any may be the parent: names of sub-agents may have slashes
            parent = key._replace(conversation=session.place.conversation)
            member = key.conversation.removeprefix(f"{parent.conversation}/")
            if member in sub_agents(session):
                agent = await sub_agent(await self.worker(*parent).open(), member)
                if agent is not None:
                    return agent
        agent = self._makers[key.name](sessions[0])
        return checked_type(agent, Agent, f"the function of {key.name!r} on the node must return an Agent")

    async def _stop(self, keys: list[_Key], grace: float, hurry: asyncio.Event) -> None:
        workers = [self._worker_by_key.pop(key, None) for key in keys]
        for key in keys:
            self._recent_workers.pop(key, None)
            self._weight -= self._weight_by_key.pop(key, 0)
        ends = await asyncio.gather(
            *(worker.stop(grace, hurry) for worker in workers if worker is not None),
            return_exceptions=True,  # an error in one conversation must not shorten the grace of others
        )
        faults = [end for end in ends if isinstance(end, BaseException)]
        for fault in faults[1:]:
            logger.error("a conversation could not be stopped: %s", type(fault).__name__)
        if faults:
            raise faults[0]

    def _use(self, key: _Key, worker: Worker) -> None:
        """Mark a worker as just used. Drop idle workers: those unused too long, and those over the memory."""
        if self._worker_by_key.get(key) is not worker:
            return  # its agent was removed
        worker.used_at = moment = now()
        self._weight += worker.weight - self._weight_by_key.get(key, 0)
        self._weight_by_key[key] = worker.weight
        self._recent_workers[key] = worker
        self._recent_workers.move_to_end(key)
        while self._recent_workers:
            key, oldest = next(iter(self._recent_workers.items()))
            if self._weight <= self._memory and moment - oldest.used_at < self._idle:
                break
            del self._recent_workers[key]
            if not oldest.is_busy:  # a busy one is added again when it is done
                self._weight -= self._weight_by_key.pop(key)


async def _serve(node: Node, main: Callable[[Node], Any], grace: float, wait: bool) -> None:
    loop, stopped, hurry = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    for signum in _SIGNALS:
        loop.add_signal_handler(signum, lambda: (hurry if stopped.is_set() else stopped).set())
    result = main(node)
    task = asyncio.ensure_future(result) if isawaitable(result) else None
    try:
        if task is not None:
            signalled = asyncio.ensure_future(stopped.wait())
            await asyncio.wait((task, signalled), return_when=asyncio.FIRST_COMPLETED)
            signalled.cancel()
            if task.done():
                task.result()
        if wait:
            await stopped.wait()
    finally:
        await node.stop(grace=grace, hurry=hurry)  # as long as `main` may still read answers
        for signum in _SIGNALS:
            loop.remove_signal_handler(signum)  # from here on a signal ends the process
