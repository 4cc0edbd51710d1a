"""A plugin for the tests of OpenAI Agents: wherever they use their SQLite session, they get ours.

Tests that reach into the SQLite session itself are left out: they test its connections, rows and locks, or
the words of an error. So are four of their compaction, which reads a part of a SQLite session by a private
method, and is more careful with all other sessions.
"""

import inspect
import re
from pathlib import Path
from typing import Any

import agents
import agents.memory
import pytest

from quire.integrations.openai_agents import QuireSession

_INSIDE = re.compile(
    r"sqlite3\.[A-Zc]|\._\w*(connection|lock|pop|insert|get_items)|SQLiteSession is closed"
    r"|_get_compaction_snapshot|def test_(backend_read_limit_cannot_hide|automatic_compaction_does_not_reload"
    r"|expired_read_overhead_does_not|automatic_compaction_rollback_budget)"
)


class SQLiteSession(QuireSession):
    """Our session with the arguments of theirs."""

    def __init__(self, session_id: str, db_path: Any = ":memory:", session_settings: Any = None) -> None:
        store = "memory:" if str(db_path) == ":memory:" else str(Path(db_path).with_suffix(".quire.db"))
        super().__init__(session_id, store=store, session_settings=session_settings)

    def close(self) -> None:
        """Close the conversation, also on an event loop."""
        self.conversation.close(0)


for module in (agents, agents.memory):
    setattr(module, "SQLiteSession", SQLiteSession)  # noqa: B010 - another class, as far as types say


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that use a SQLite session by its public names."""
    sources: dict[pytest.Item, str] = {
        item: inspect.getsource(item.obj) for item in items if isinstance(item, pytest.Function)
    }
    kept = [item for item in items if "SQLiteSession" in sources[item]]
    inside = [item for item in kept if _INSIDE.search(sources[item])]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept or item in inside])
    items[:] = [item for item in kept if item not in inside]
