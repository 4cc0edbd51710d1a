"""Logs of other programs as conversations: what was said, called and answered, with ids and times.

A format is a reader and a writer. `read_log` finds the format, and raises nothing for what it does not know:
records of other kinds are counted in `Log.left_out`. A conversation has the messages of one provider's wire,
so that `check` can be run on its `payload`, and `items()` for a session. `write_conversation` writes items as
a session that the program resumes, and says what it does not carry.
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
