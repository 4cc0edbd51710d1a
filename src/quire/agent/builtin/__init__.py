"""Tools that come with Quire."""

from quire.agent.builtin.context import context_tools
from quire.agent.builtin.delegate import Role, delegating_tools, sub_agent, sub_agents
from quire.agent.builtin.files import file_tools
from quire.agent.builtin.files_paths import Visibility
from quire.agent.builtin.recall import read_back_tools, recall_tools
from quire.agent.builtin.small import ask_user, current_time, time_tools

__all__ = [
    "Role",
    "Visibility",
    "ask_user",
    "context_tools",
    "current_time",
    "delegating_tools",
    "file_tools",
    "read_back_tools",
    "recall_tools",
    "sub_agent",
    "sub_agents",
    "time_tools",
]
