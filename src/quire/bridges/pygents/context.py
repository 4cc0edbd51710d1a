"""What holds context, under the module name of the framework."""

from quire.bridges.pygents.context_pool import ContextPool
from quire.bridges.pygents.context_queue import ContextQueue
from quire.bridges.pygents.item import ContextItem

__all__ = ["ContextItem", "ContextPool", "ContextQueue"]
