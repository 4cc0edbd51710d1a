"""pygents' names: agents that run turns of tools, and what holds the context of both."""

from quire.bridges.pygents.agent import Agent
from quire.bridges.pygents.context import ContextItem, ContextPool, ContextQueue
from quire.bridges.pygents.errors import (
    SafeExecutionError,
    TurnTimeoutError,
    UnregisteredAgentError,
    UnregisteredHookError,
    UnregisteredToolError,
    WrongRunMethodError,
)
from quire.bridges.pygents.hooks import AgentHook, ContextPoolHook, ContextQueueHook, ToolHook, TurnHook, hook
from quire.bridges.pygents.registry import AgentRegistry, HookRegistry, ToolRegistry
from quire.bridges.pygents.tool import Tool, tool
from quire.bridges.pygents.turn import StopReason, Turn

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
    "ToolHook",
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
