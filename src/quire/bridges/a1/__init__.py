"""The names of A1: contexts and their messages, runtimes that hold them, and agents that act by programs."""

from quire.bridges.a1.context import Compact, Context, Message, TruncateOldest, no_context
from quire.bridges.a1.llm import LLM
from quire.bridges.a1.runtime import (
    Compiled,
    Runtime,
    Strategy,
    get_context,
    get_runtime,
    new_context,
    set_runtime,
)
from quire.bridges.a1.tools import Agent, Tool, tool

__all__ = [
    "LLM",
    "Agent",
    "Compact",
    "Compiled",
    "Context",
    "Message",
    "Runtime",
    "Strategy",
    "Tool",
    "TruncateOldest",
    "get_context",
    "get_runtime",
    "new_context",
    "no_context",
    "set_runtime",
    "tool",
]
