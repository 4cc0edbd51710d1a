"""Agents: they run turns one after the other, and store the returned items in a pool and a queue."""

import asyncio
import inspect
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from types import UnionType
from typing import Annotated, Any, Self, TypeGuard, Union, cast, get_args, get_origin, get_type_hints
from weakref import ReferenceType, ref

from quire.bridges.kit import list_at, mapping_at, read_at, text_at, written_at
from quire.bridges.pygents.context import ContextPool, ContextQueue, is_item
from quire.bridges.pygents.hooks import (
    AgentHook,
    AnyHook,
    Hooked,
    Inherit,
    Registry,
    hook_names,
    inherited,
    saved_hooks,
)
from quire.bridges.pygents.turn import (
    Arguments,
    SafeExecutionError,
    Tool,
    ToolRegistry,
    Turn,
    TurnTimeoutError,
)
from quire.errors import InvalidValue, UnknownKey, WrongType, cut
from quire.tokens import named

Pairs = AsyncGenerator[tuple[Turn[Any], Any], None]
"""Turns, each with a value that it produced."""

_QUEUE_LIMIT = 10


class UnregisteredAgentError(UnknownKey):
    """No agent of this name is registered in this process."""


class Agent(Hooked):
    """Runs turns of its tools one after the other, and stores the items that they return.

    An item with an id goes to the pool (by default without a limit), one without to the queue (by default of
    ten). While the agent runs, its attributes cannot be assigned.
    """

    def __init__(
        self,
        name: str,
        description: str,
        tools: Iterable[Tool],
        context_pool: ContextPool | None = None,
        context_queue: ContextQueue | None = None,
        hooks: Iterable[AnyHook] | None = None,
    ) -> None:
        self._run: ReferenceType[Pairs] | None = None
        self._run_key: object = None
        super().__init__(hooks)
        self._name = named(name, "the name of an agent")
        self.description = description
        self.tools = _registered(tools)
        self.context_pool = ContextPool() if context_pool is None else context_pool
        self.context_queue = ContextQueue(_QUEUE_LIMIT) if context_queue is None else context_queue
        self._turns: deque[Turn[Any]] = deque()
        self._current: Turn[Any] | None = None
        self._resumed: asyncio.Event | None = None  # set only while paused
        AgentRegistry.register(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name != "failures" and self.is_running:
            raise SafeExecutionError(f"{name!r} cannot change while the agent is running")
        kind = _CONTAINERS.get(name)
        if kind is not None and not isinstance(value, kind):
            raise WrongType(f"{name} is a {kind.__name__}, not {type(value).__name__}")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"Agent(name={self.name!r}, tools={[tool.name for tool in self.tools]})"

    @property
    def name(self) -> str:
        """The name under which the agent is registered."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        if named(name, "the name of an agent") == self._name:
            return
        if name in AgentRegistry:
            raise InvalidValue(f"another agent is registered as {cut(name)!r}")
        if self._name in AgentRegistry and AgentRegistry.get(self._name) is self:
            AgentRegistry.unregister(self._name)
        self._name = name
        AgentRegistry.register(self)

    @property
    def current_turn(self) -> Turn[Any] | None:
        """The turn that is running."""
        return self._current if self.is_running else None

    @property
    def pending_turns(self) -> list[Turn[Any]]:
        """A copy of the list of turns that are still to run."""
        return list(self._turns)

    @property
    def is_running(self) -> bool:
        """Whether somebody loops over `run`; leaving the loop ends it at once."""
        return self._run is not None and self._run() is not None

    @property
    def is_paused(self) -> bool:
        """Whether the next turn waits for `resume`."""
        return self._resumed is not None

    async def put(self, turn: Turn[Any]) -> None:
        """Add a turn at the end of the queue of turns."""
        self._check_turn(turn)
        await self._run_hooks(AgentHook.BEFORE_PUT, self, turn)
        self._turns.append(turn)
        await self._run_hooks(AgentHook.AFTER_PUT, self, turn)

    async def send_turn(self, agent_name: str, turn: Turn[Any]) -> None:
        """Add a turn to the queue of another agent."""
        await AgentRegistry.get(agent_name).put(turn)

    def run(self) -> Pairs:
        """Run turns until none is left, and yield each turn with each value it produced.

        Items are stored and returned turns are put before the value is yielded, so leaving the loop loses
        nothing. An error of a turn ends the run; the turns after it stay, and the next run goes on with them.
        """
        if self.is_running:
            raise SafeExecutionError("the agent is running already")
        self._run_key = key = object()
        pairs = self._pairs(key)
        # A generator that its consumer dropped is closed some time later; the reference is gone at once.
        self._run = ref(pairs)
        return pairs

    def pause(self) -> None:
        """Hold the next turn; the one that is running goes on."""
        self._resumed = self._resumed or asyncio.Event()

    def resume(self) -> None:
        """End a pause."""
        resumed, self._resumed = self._resumed, None
        if resumed is not None:
            resumed.set()

    def branch(
        self,
        name: str | None = None,
        description: str | None = None,
        tools: Iterable[Tool] | None = None,
        hooks: Iterable[AnyHook] | Inherit | None = Inherit.PARENT,
    ) -> Self:
        """An independent agent with branches of the pool and the queue, and copies of the pending turns."""
        child = type(self)(
            _free_name(self.name) if name is None else name,
            self.description if description is None else description,
            self.tools if tools is None else tools,
            context_pool=self.context_pool.branch(),
            context_queue=self.context_queue.branch(),
        )
        child.hooks = list(inherited(hooks, self.hooks) or ())
        child._load(turn.copy() for turn in self._turns)
        return child

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; tools and hooks by name."""
        turns = enumerate(self._turns)
        current = self.current_turn
        return {
            "name": self.name,
            "description": self.description,
            "tool_names": [tool.name for tool in self.tools],
            "queue": [written_at(f"$.queue[{index}]", turn) for index, turn in turns],
            "current_turn": None if current is None else written_at("$.current_turn", current),
            "hooks": hook_names(self.hooks),
            "context_pool": written_at("$.context_pool", self.context_pool),
            "context_queue": written_at("$.context_queue", self.context_queue),
            "is_paused": self.is_paused,
        }

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """The agent that `to_dict` wrote; a turn that was running then runs first.

        Only `name`, `description` and `tool_names` are required.
        """
        fields = mapping_at(data, "$")
        pool = read_at("$.context_pool", ContextPool.from_dict, fields.get("context_pool") or {})
        saved_queue = fields.get("context_queue") or {"limit": _QUEUE_LIMIT}
        queue = read_at("$.context_queue", ContextQueue.from_dict, saved_queue)
        turns = list(_read_turns(fields))
        tools = [ToolRegistry.get(name) for name in list_at(fields.get("tool_names"), "$.tool_names")]
        hooks = saved_hooks(fields)
        agent = cls(text_at(fields, "name"), text_at(fields, "description"), tools, pool, queue)
        agent.hooks = hooks
        agent._load(turns)
        if fields.get("is_paused"):
            agent.pause()
        return agent

    async def _pairs(self, key: object) -> Pairs:
        try:
            while self._turns:
                await self._wait_while_paused()
                turn = self._turns[0]
                await self._run_hooks(AgentHook.BEFORE_TURN, self)
                self._turns.popleft()
                self._current = turn
                async with aclosing(self._values(turn)) as values:
                    async for value in values:
                        yield turn, value
                self._current = None
        finally:
            if self._run_key is key:  # not a run that was left before another began
                self._run = self._current = None

    async def _values(self, turn: Turn[Any]) -> AsyncGenerator[Any, None]:
        """Run a turn, and yield its values once they are stored."""
        try:
            async with aclosing(turn.values(self._filled)) as values:
                async for value in values:
                    await self._store(value)
                    await self._run_hooks(AgentHook.ON_TURN_VALUE, self, turn, value)
                    if not turn.tool.is_generator:
                        await self._run_hooks(AgentHook.AFTER_TURN, self, turn)
                    yield value
        except TurnTimeoutError:
            await self._run_hooks(AgentHook.ON_TURN_TIMEOUT, self, turn)
            raise
        except Exception as fault:
            if turn.metadata.start_time is None:
                self._turns.appendleft(turn)  # a hook refused it before it started
            await self._run_hooks(AgentHook.ON_TURN_ERROR, self, turn, fault)
            raise
        if turn.tool.is_generator:
            await self._run_hooks(AgentHook.AFTER_TURN, self, turn)

    async def _store(self, value: Any) -> None:
        """Put items into the pool or the queue, and turns into the queue of turns; also those in a list."""
        for one in cast("Iterable[Any]", value) if isinstance(value, list) else (value,):
            if is_item(one):
                await (self.context_queue.append(one) if one.id is None else self.context_pool.add(one))
            elif _is_turn(one):
                await self.put(one)

    async def _wait_while_paused(self) -> None:
        while (resumed := self._resumed) is not None:
            await self._run_hooks(AgentHook.ON_PAUSE, self)
            await resumed.wait()
            await self._run_hooks(AgentHook.ON_RESUME, self)

    def _check_turn(self, turn: object) -> None:
        if not _is_turn(turn):
            raise WrongType(f"expected a Turn, got {type(turn).__name__}")
        if not any(turn.tool is tool for tool in self.tools):
            raise InvalidValue(f"agent {cut(self.name)!r} does not accept tool {cut(turn.tool.name)!r}")

    def _load(self, turns: Iterable[Turn[Any]]) -> None:
        """Begin with pending turns, without hooks; an agent with a wrong turn is not registered."""
        try:
            for turn in turns:
                self._check_turn(turn)
                self._turns.append(turn)
        except BaseException:
            AgentRegistry.unregister(self.name)
            raise

    def _filled(self, tool: Tool, arguments: Arguments) -> Arguments:
        """The arguments with copies of the pool and the queue: tools read them, the agent writes."""
        args, kwargs = arguments
        pool, queue = self.context_pool.branch(hooks=[]), self.context_queue.branch(hooks=[])
        copies: dict[int, Any] = {id(self.context_pool): pool, id(self.context_queue): queue}
        args = tuple(copies.get(id(value), value) for value in args)
        kwargs = {name: copies.get(id(value), value) for name, value in kwargs.items()}
        placed = list(inspect.signature(tool.fn).parameters)[: len(args)]
        for name, kind in _container_parameters(tool).items():
            if name not in kwargs and name not in placed:
                kwargs[name] = pool if kind is ContextPool else queue
        return args, kwargs


AgentRegistry: Registry[Agent] = Registry("agent", UnregisteredAgentError)
"""Where agents find each other by name."""

_CONTAINERS: dict[str, type] = {"context_pool": ContextPool, "context_queue": ContextQueue}


def _registered(tools: Iterable[Tool]) -> list[Tool]:
    found = list(tools)
    for one in found:
        if not isinstance(one, Tool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"tools are made by @tool, not {type(one).__name__}")
        if ToolRegistry.get(one.name) is not one:
            raise InvalidValue(f"the tool registered as {cut(one.name)!r} is not the instance given")
    return found


def _is_turn(value: object) -> TypeGuard[Turn[Any]]:
    return isinstance(value, Turn)


def _free_name(name: str) -> str:
    number = 1
    while f"{name}-{number}" in AgentRegistry:
        number += 1
    return f"{name}-{number}"


def _read_turns(fields: Any) -> Iterator[Turn[Any]]:
    if fields.get("current_turn") is not None:
        yield read_at("$.current_turn", Turn[Any].from_dict, fields["current_turn"])
    for index, data in enumerate(list_at(fields.get("queue") or [], "$.queue")):
        yield read_at(f"$.queue[{index}]", Turn[Any].from_dict, data)


def _container_parameters(tool: Tool) -> dict[str, type]:
    """The parameters annotated as a pool or a queue, and one called `pool` without an annotation."""
    try:
        hints = get_type_hints(tool.fn)
    except Exception:  # a name that cannot be resolved: the parameter has to be passed
        hints = {}
    parameters = inspect.signature(tool.fn).parameters
    found = {name: kind for name in parameters if (kind := _container(hints.get(name))) is not None}
    if "pool" in parameters and parameters["pool"].annotation is inspect.Parameter.empty:
        found["pool"] = ContextPool
    return found


def _container(hint: Any) -> type | None:
    if get_origin(hint) is Annotated:
        return _container(get_args(hint)[0])
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for member in members:
        for kind in _CONTAINERS.values():
            if isinstance(member, type) and issubclass(member, kind):
                return kind
    return None
