"""File tools for a model: a folder for each conversation, scope or agent, and no way out of it."""

from quire.agent.builtin.files.limits import FileLimits
from quire.agent.builtin.files.making import file_tools
from quire.agent.builtin.files.rooms import Visibility

__all__ = ["FileLimits", "Visibility", "file_tools"]
