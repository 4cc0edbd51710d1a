"""A1's names: contexts and their messages, the runtime that holds them, and agents that act by programs."""

from quire.bridges.a1.agents import Agent
from quire.bridges.a1.compiled import Compiled
from quire.bridges.a1.context import Compact, Context, Message, TruncateOldest, no_context
from quire.bridges.a1.llm import LLM
from quire.bridges.a1.runtime import (
    Runtime,
    aot,
    execute,
    get_context,
    get_full_context,
    get_runtime,
    jit,
    new_context,
    set_runtime,
)
from quire.bridges.a1.strategies import Cost, Executor, Generate, Strategy, Verify
from quire.bridges.a1.tools import Tool, ToolSet, tool

__all__ = [
    "LLM",
    "Agent",
    "Compact",
    "Compiled",
    "Context",
    "Cost",
    "Executor",
    "Generate",
    "Message",
    "Runtime",
    "Strategy",
    "Tool",
    "ToolSet",
    "TruncateOldest",
    "Verify",
    "aot",
    "execute",
    "get_context",
    "get_full_context",
    "get_runtime",
    "jit",
    "new_context",
    "no_context",
    "set_runtime",
    "tool",
]
