"""Where an agent keeps what its tools give: items with an id in its pool, others in its queue."""

from typing import Any

from quire.agent.turns.shelf import each_of
from quire.bridges.pygents.context_pool import ContextPool
from quire.bridges.pygents.context_queue import ContextQueue
from quire.bridges.pygents.injecting import filled
from quire.bridges.pygents.item import ContextItem
from quire.bridges.pygents.tool import Tool

QUEUE_LIMIT = 10
"""Items in the queue of an agent that is given none."""


class AgentShelf:
    """A pool and a queue, to which the agent writes and which its tools read."""

    session = None
    pool = None  # tools are handed the framework's own kind

    def __init__(self, context_pool: ContextPool, context_queue: ContextQueue) -> None:
        self.context_pool = context_pool
        self.context_queue = context_queue

    async def keep(self, value: Any) -> None:
        """Keep the items in a value: one, or those of a list."""
        for one in each_of(value):
            if isinstance(one, ContextItem):
                item: ContextItem[Any] = one  # pyright: ignore[reportUnknownVariableType]
                await (self.context_queue.append(item) if item.id is None else self.context_pool.add(item))

    def branch(self, name: str = "") -> "AgentShelf":
        """The same items, going their own way."""
        return AgentShelf(self.context_pool.branch(), self.context_queue.branch())

    def fill(
        self, tool: Tool, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call, with what the tool may read."""
        return filled(tool, args, kwargs, (self.context_pool, self.context_queue))
