"""A1's names: contexts and their messages, the runtime that holds them, and what keeps them short."""

from quire.bridges.a1.compacting import Compact, TruncateOldest
from quire.bridges.a1.conversation import Context
from quire.bridges.a1.current import set_runtime
from quire.bridges.a1.lookup import get_context, get_full_context, get_runtime, new_context, no_context
from quire.bridges.a1.messages import Message
from quire.bridges.a1.runtime import Runtime

__all__ = [
    "Compact",
    "Context",
    "Message",
    "Runtime",
    "TruncateOldest",
    "get_context",
    "get_full_context",
    "get_runtime",
    "new_context",
    "no_context",
    "set_runtime",
]
