"""What A1 has in its module of this name."""

from quire.bridges.a1.compacting import Compact, TruncateOldest
from quire.bridges.a1.conversation import Context
from quire.bridges.a1.messages import Message

__all__ = ["Compact", "Context", "Message", "TruncateOldest"]
