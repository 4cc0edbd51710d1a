"""The names of pygents: agents that run turns of tools, and queues and pools that hold their context."""

from quire.bridges.pygents.agent import Agent, AgentRegistry, UnregisteredAgentError
from quire.bridges.pygents.context import ContextItem, ContextPool, ContextQueue
from quire.bridges.pygents.hooks import (
    AgentHook,
    ContextPoolHook,
    ContextQueueHook,
    HookRegistry,
    TurnHook,
    UnregisteredHookError,
    hook,
)
from quire.bridges.pygents.turn import (
    SafeExecutionError,
    StopReason,
    Tool,
    ToolRegistry,
    Turn,
    TurnTimeoutError,
    UnregisteredToolError,
    WrongRunMethodError,
    tool,
)

__all__ = [
    "Agent",
    "AgentHook",
    "AgentRegistry",
    "ContextItem",
    "ContextPool",
    "ContextPoolHook",
    "ContextQueue",
    "ContextQueueHook",
    "HookRegistry",
    "SafeExecutionError",
    "StopReason",
    "Tool",
    "ToolRegistry",
    "Turn",
    "TurnHook",
    "TurnTimeoutError",
    "UnregisteredAgentError",
    "UnregisteredHookError",
    "UnregisteredToolError",
    "WrongRunMethodError",
    "hook",
    "tool",
]
