"""Logs of other programs as conversations: what was said, called and answered, with ids and times.

`read_log` finds the format, and raises nothing for what it does not know: records of other kinds are counted
in `Log.left_out`. A conversation has the messages of one provider's wire, so that `check` can be run on its
`payload`, and `items()` for a session.
"""

from quire.integrations.logs.conversation import Conversation, Entry, Log, Window
from quire.integrations.logs.formats import FORMATS, read_log

__all__ = ["FORMATS", "Conversation", "Entry", "Log", "Window", "read_log"]
