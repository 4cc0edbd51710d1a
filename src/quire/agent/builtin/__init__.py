"""Tools that come with Quire."""

from quire.agent.builtin.delegate import Role, agent_called, delegating_tools, entry_named, members_of
from quire.agent.builtin.files import FileLimits, file_tools
from quire.agent.builtin.files_paths import Visibility
from quire.agent.builtin.recall import bringing_back_tools, recall_tools
from quire.agent.builtin.small import ask_user, current_time, time_tools

__all__ = [
    "FileLimits",
    "Role",
    "Visibility",
    "agent_called",
    "ask_user",
    "bringing_back_tools",
    "current_time",
    "delegating_tools",
    "entry_named",
    "file_tools",
    "members_of",
    "recall_tools",
    "time_tools",
]
