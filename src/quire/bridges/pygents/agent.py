"""Agents: tools, turns that wait, a pool and a queue, over the engine's turns."""

from collections.abc import Iterable
from typing import Any, Self, cast

from quire.agent.turns import Running, Turns
from quire.bridges.pygents.agent_dicts import agent_as_dict, read_agent
from quire.bridges.pygents.agent_hooks import AgentListening
from quire.bridges.pygents.agent_shelf import QUEUE_LIMIT, AgentShelf
from quire.bridges.pygents.context_pool import ContextPool
from quire.bridges.pygents.context_queue import ContextQueue
from quire.bridges.pygents.declared import DeclaredHook
from quire.bridges.pygents.errors import SafeExecutionError
from quire.bridges.pygents.hook_lists import Inherited, checked_hooks, inherited_hooks
from quire.bridges.pygents.registry import AgentRegistry, ToolRegistry
from quire.bridges.pygents.tool import Tool
from quire.bridges.pygents.turn import Turn
from quire.errors import InvalidValue, WrongType, cut
from quire.session import Failure
from quire.tokens import named


class Agent:
    """Runs turns of its tools one after the other, and keeps the items they give.

    Its pool is unbounded and its queue holds ten, unless others are given.
    """

    def __init__(
        self,
        name: str,
        description: str,
        tools: Iterable[Tool],
        context_pool: ContextPool | None = None,
        context_queue: ContextQueue | None = None,
        hooks: Iterable[DeclaredHook] | None = None,
    ) -> None:
        self._name = named(name, "the name of an agent")
        self._tools = _known(tools)
        self.description = description
        self.hooks = list(checked_hooks(hooks))
        self._shelf = AgentShelf(
            _checked(ContextPool() if context_pool is None else context_pool, ContextPool),
            _checked(ContextQueue(QUEUE_LIMIT) if context_queue is None else context_queue, ContextQueue),
        )
        self._listening = AgentListening(self, lambda: self.hooks)
        self._turns = self._with_turns(())
        AgentRegistry.register(self)

    def __repr__(self) -> str:
        return f"<Agent {self.name!r}, {len(self._turns.waiting)} turns waiting>"

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and "_turns" in self.__dict__ and self.is_running:
            raise SafeExecutionError(f"the {name} of an agent cannot change while it runs")
        super().__setattr__(name, value)

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def tools(self) -> list[Tool]:
        """Its tools."""
        return list(self._tools)

    @property
    def context_pool(self) -> ContextPool:
        """Where items with an id are kept; another can be put in its place while it does not run."""
        return self._shelf.context_pool

    @context_pool.setter
    def context_pool(self, pool: ContextPool) -> None:
        self._shelf.context_pool = _checked(pool, ContextPool)

    @property
    def context_queue(self) -> ContextQueue:
        """Where items without an id are kept."""
        return self._shelf.context_queue

    @context_queue.setter
    def context_queue(self, queue: ContextQueue) -> None:
        self._shelf.context_queue = _checked(queue, ContextQueue)

    @property
    def current_turn(self) -> Turn | None:
        """The turn that is under way."""
        turn = self._turns.current
        return turn if isinstance(turn, Turn) else None

    @property
    def pending_turns(self) -> list[Turn]:
        """The turns that wait: a copy of the list."""
        return [turn for turn in self._turns.waiting if isinstance(turn, Turn)]

    @property
    def is_running(self) -> bool:
        """Whether somebody loops over `run`."""
        return self._turns.is_running

    @property
    def is_paused(self) -> bool:
        """Whether the next turn waits for `resume`."""
        return self._turns.is_paused

    @property
    def failures(self) -> list[Failure]:
        """What failed of its hooks after the fact, the latest last."""
        return list(self._listening.failures)

    async def put(self, turn: Turn) -> None:
        """Put a turn at the end of those that wait."""
        if not isinstance(turn, Turn):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"an agent takes turns, not {type(turn).__name__}")
        await self._turns.put(turn)

    async def send_turn(self, agent_name: str, turn: Turn) -> None:
        """Put a turn at the end of those of another agent."""
        await AgentRegistry.get(agent_name).put(turn)

    def run(self) -> Running[Turn]:
        """Run turns until none is left: each turn with each value it gives, once it is kept."""
        return cast("Running[Turn]", self._turns.run())

    def pause(self) -> None:
        """Let the next turn wait; the one that is under way goes on."""
        self._turns.pause()

    def resume(self) -> None:
        """End a pause."""
        self._turns.resume()

    def branch(
        self,
        name: str | None = None,
        description: str | None = None,
        tools: Iterable[Tool] | None = None,
        hooks: Iterable[DeclaredHook] | Inherited | None = Inherited.HOOKS,
    ) -> Self:
        """An agent with copies of what this one holds, the turns that wait included."""
        shelf = self._shelf.branch()
        child = type(self)(
            AgentRegistry.free_name(self.name) if name is None else name,
            self.description if description is None else description,
            self._tools if tools is None else tools,
            context_pool=shelf.context_pool,
            context_queue=shelf.context_queue,
        )
        child.hooks = list(checked_hooks(inherited_hooks(hooks, self.hooks)))
        return child._begun_with([turn.copy() for turn in self.pending_turns])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; tools and hooks by their names."""
        return agent_as_dict(self)

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """The agent that was written as these values; the turn that was under way is run first."""
        saved = read_agent(data)
        agent = cls(
            saved.name,
            saved.description,
            [ToolRegistry.get(name) for name in saved.tool_names],
            context_pool=saved.context_pool,
            context_queue=saved.context_queue,
        )
        agent.hooks = saved.hooks
        agent._begun_with(saved.turns)
        if saved.is_paused:
            agent.pause()
        return agent

    def _begun_with(self, turns: Iterable[Turn]) -> Self:
        """This agent with turns that wait already; nobody hears of them, and a wrong one leaves no agent."""
        try:
            self._turns = self._with_turns(turns)
        except BaseException:
            AgentRegistry.unregister(self.name)
            raise
        return self

    def _with_turns(self, waiting: Iterable[Turn]) -> Turns:
        tools = [one.for_engine(self._shelf.fill) for one in self._tools]
        return Turns(tools, self._shelf, hooks=self._listening, waiting=waiting)


def _known(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    found = tuple(tools)
    for one in found:
        if not isinstance(one, Tool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"an agent has tools, made by @tool, not {type(one).__name__}")
        if ToolRegistry.get(one.name) is not one:
            raise InvalidValue(f"another tool is called {cut(one.name)!r} in the registry")
    return found


def _checked(container: Any, kind: type[Any]) -> Any:
    if not isinstance(container, kind):
        raise WrongType(f"a {kind.__name__} is taken here, not {type(container).__name__}")
    return container
