"""Reads logs of other programs as conversations, and writes conversations in the formats of these programs.

`read_log` finds the format. It raises no error for unknown records, but counts them in `Log.left_out`. The
messages of a conversation are in the format of one provider, so `check` can test its `payload`; `items()`
returns the items for a session. `write_conversation` writes items as a session that the other program can
resume, and reports what the format cannot hold.
"""

from quire.integrations.logs.conversation import Conversation, Entry, Log, Target, Window, Written
from quire.integrations.logs.formats import FORMATS, WRITTEN, read_log, write_conversation

__all__ = [
    "FORMATS",
    "WRITTEN",
    "Conversation",
    "Entry",
    "Log",
    "Target",
    "Window",
    "Written",
    "read_log",
    "write_conversation",
]
