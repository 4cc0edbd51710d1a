"""pygents' names for what holds context: items, the queue, the pool, and the hooks that hear of them."""

from quire.bridges.pygents.context import ContextItem, ContextPool, ContextQueue
from quire.bridges.pygents.errors import UnregisteredHookError
from quire.bridges.pygents.hooks import ContextPoolHook, ContextQueueHook, hook
from quire.bridges.pygents.registry import HookRegistry

__all__ = [
    "ContextItem",
    "ContextPool",
    "ContextPoolHook",
    "ContextQueue",
    "ContextQueueHook",
    "HookRegistry",
    "UnregisteredHookError",
    "hook",
]
