"""Tools that come with Quire."""

from quire.agent.builtin.asking import ask_user
from quire.agent.builtin.bringing_back import bringing_back_tools
from quire.agent.builtin.clock import time_tools
from quire.agent.builtin.delegating import delegating_tools
from quire.agent.builtin.files import FileLimits, Visibility, file_tools
from quire.agent.builtin.recalling import recall_tools
from quire.agent.builtin.roles import Role

__all__ = [
    "FileLimits",
    "Role",
    "Visibility",
    "ask_user",
    "bringing_back_tools",
    "delegating_tools",
    "file_tools",
    "recall_tools",
    "time_tools",
]
