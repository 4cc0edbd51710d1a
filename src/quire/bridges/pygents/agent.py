"""Agents: they run turns one after the other, and store the returned items in a pool and a queue."""

import asyncio
import inspect
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Any, Self, TypeGuard, cast
from weakref import ReferenceType, ref

import msgspec

from quire.bridges.kit import read_saved
from quire.bridges.pygents.context import ContextPool, ContextQueue, SavedContainer, fit_for_json, is_item
from quire.bridges.pygents.hooks import AgentHook, AnyHook, Hooked, Registry, registered_hooks
from quire.bridges.pygents.turn import (
    SafeExecutionError,
    SavedTurn,
    Tool,
    ToolRegistry,
    Turn,
    TurnTimeoutError,
)
from quire.errors import InvalidValue, UnknownKey, WrongType, cut

Pairs = AsyncGenerator[tuple[Turn[Any], Any], None]
"""Turns, each with a value that it produced."""

_QUEUE_LIMIT = 10


class UnregisteredAgentError(UnknownKey):
    """No agent of this name is registered in this process."""


class SavedAgent(msgspec.Struct):
    """A saved agent."""

    name: str
    description: str
    tool_names: list[str]
    queue: list[SavedTurn] = []
    current_turn: SavedTurn | None = None
    hooks: dict[str, list[str]] = {}
    context_pool: SavedContainer = msgspec.field(default_factory=SavedContainer)
    context_queue: SavedContainer = msgspec.field(default_factory=lambda: SavedContainer(_QUEUE_LIMIT))
    is_paused: bool = False


class Agent(Hooked):
    """Runs turns of its tools one after the other, and stores the items that they return.

    An item with an id goes to the pool (by default without a limit), one without to the queue (by default of
    ten). While the agent runs, its attributes cannot be assigned.
    """

    _run: ReferenceType[Pairs] | None = None

    def __init__(
        self,
        name: str,
        description: str,
        tools: Iterable[Tool],
        context_pool: ContextPool | None = None,
        context_queue: ContextQueue | None = None,
        hooks: Iterable[AnyHook] | None = None,
    ) -> None:
        super().__init__(hooks)
        self.name = name
        self.description = description
        self.tools = list(tools)
        for tool in self.tools:
            if ToolRegistry.get(tool.name) is not tool:
                raise InvalidValue(f"the tool registered as {cut(tool.name)!r} is another object")
        self.context_pool = ContextPool() if context_pool is None else context_pool
        self.context_queue = ContextQueue(_QUEUE_LIMIT) if context_queue is None else context_queue
        self._turns: deque[Turn[Any]] = deque()
        self._current: Turn[Any] | None = None
        self._resumed: asyncio.Event | None = None  # an event while paused; `resume` sets it
        AgentRegistry.register(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and self.is_running:
            raise SafeExecutionError(f"{name!r} cannot change while the agent is running")
        if name == "name" and value != getattr(self, "name", None):
            AgentRegistry.check_free(value)
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"Agent(name={self.name!r}, tools={[tool.name for tool in self.tools]})"

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
        """Whether a caller loops over `run`. The run ends as soon as the caller leaves the loop."""
        pairs = None if self._run is None else self._run()
        return pairs is not None and cast("Any", pairs).ag_frame is not None  # no frame: it has ended

    @property
    def is_paused(self) -> bool:
        """Whether the next turn waits for `resume`."""
        return self._resumed is not None

    async def put(self, turn: Turn[Any]) -> None:
        """Add a turn at the end of the queue of turns."""
        if not _is_turn(turn):
            raise WrongType(f"expected a Turn, got {type(turn).__name__}")
        _check_accepted([turn], self.tools, self.name)
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
        pairs = self._pairs()
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
        hooks: Iterable[AnyHook] | None = None,
    ) -> Self:
        """An independent agent with branches of the pool and the queue, and copies of the pending turns.

        Arguments that are not given come from the parent, except the name: a new one is chosen.
        """
        name = _free_name(self.name) if name is None else name
        own_tools = self.tools if tools is None else list(tools)
        _check_accepted(self._turns, own_tools, name)
        child = type(self)(
            name,
            self.description if description is None else description,
            own_tools,
            self.context_pool.branch(),
            self.context_queue.branch(),
            self.hooks if hooks is None else hooks,
        )
        child._turns.extend(turn.copy() for turn in self._turns)
        return child

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; tools and hooks by name."""
        current = self.current_turn
        return fit_for_json(
            {
                "name": self.name,
                "description": self.description,
                "tool_names": [tool.name for tool in self.tools],
                "queue": [turn.fields() for turn in self._turns],
                "current_turn": None if current is None else current.fields(),
                "hooks": self._hook_names(),
                "context_pool": self.context_pool.fields(),
                "context_queue": self.context_queue.fields(),
                "is_paused": self.is_paused,
            }
        )

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """The agent that `to_dict` wrote. If a turn was running at that time, it runs first.

        Only `name`, `description` and `tool_names` are required.
        """
        saved = read_saved(data, SavedAgent)
        running = [] if saved.current_turn is None else [saved.current_turn]
        turns = [Turn[Any].from_dict(turn) for turn in [*running, *saved.queue]]
        tools = [ToolRegistry.get(name) for name in saved.tool_names]
        _check_accepted(turns, tools, saved.name)
        pool = ContextPool.from_dict(saved.context_pool)
        queue = ContextQueue.from_dict(saved.context_queue)
        agent = cls(saved.name, saved.description, tools, pool, queue, registered_hooks(saved.hooks))
        agent._turns.extend(turns)
        if saved.is_paused:
            agent.pause()
        return agent

    async def _pairs(self) -> Pairs:
        while self._turns:
            while (resumed := self._resumed) is not None:
                await self._run_hooks(AgentHook.ON_PAUSE, self)
                await resumed.wait()
                await self._run_hooks(AgentHook.ON_RESUME, self)
            turn = self._turns[0]
            await self._run_hooks(AgentHook.BEFORE_TURN, self)
            self._turns.popleft()
            self._current = turn
            async with aclosing(self._values(turn)) as values:
                async for value in values:
                    yield turn, value
            self._current = None

    async def _values(self, turn: Turn[Any]) -> AsyncGenerator[Any, None]:
        """Run a turn, and yield its values once they are stored."""
        try:
            async with aclosing(turn.values(self._context_for(turn))) as values:
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
        """Put an item into the pool or the queue, and a turn into the queue of turns; a list, one by one."""
        elements = cast("Iterable[Any]", value) if isinstance(value, list) else (value,)
        for element in elements:
            if is_item(element):
                await (self.context_queue.append if element.id is None else self.context_pool.add)(element)
            elif _is_turn(element):
                await self.put(element)

    def _context_for(self, turn: Turn[Any]) -> dict[str, Any]:
        """Copies of the pool and the queue, for parameters annotated with their type.

        A parameter `pool` without an annotation gets the pool, too.
        """
        parameters = list(inspect.signature(turn.tool.fn).parameters.values())[len(turn.args) :]
        arguments: dict[str, Any] = {}
        for parameter in parameters:
            kind = parameter.annotation
            if kind in (ContextQueue, "ContextQueue"):
                arguments[parameter.name] = self.context_queue.branch(hooks=[])
            elif kind in (ContextPool, "ContextPool") or (
                parameter.name == "pool" and kind is parameter.empty
            ):
                arguments[parameter.name] = self.context_pool.branch(hooks=[])
        return arguments


AgentRegistry: Registry[Agent] = Registry("agent", UnregisteredAgentError)
"""Where agents find each other by name."""


def _is_turn(value: object) -> TypeGuard[Turn[Any]]:
    return isinstance(value, Turn)


def _check_accepted(turns: Iterable[Turn[Any]], tools: list[Tool], name: str) -> None:
    for turn in turns:
        if turn.tool not in tools:
            raise InvalidValue(f"agent {cut(name)!r} does not accept tool {cut(turn.tool.name)!r}")


def _free_name(name: str) -> str:
    number = 1
    while f"{name}-{number}" in AgentRegistry:
        number += 1
    return f"{name}-{number}"
