"""Keep all that happened. Choose what the model sees. Know why.

The names below are loaded when they are first used, so that `import quire` is quick. All other names are
imported from their package, such as `quire.state` or `quire.tokens`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quire.agent import Agent, tool
    from quire.compactors import Summarize
    from quire.context import Template
    from quire.errors import QuireError
    from quire.items import (
        Audio,
        ConfigChange,
        File,
        Handoff,
        Image,
        Item,
        Message,
        Note,
        Pin,
        Reasoning,
        Summary,
        ToolCall,
        ToolResult,
        Undo,
    )
    from quire.memory import Recall
    from quire.models import Model
    from quire.node import Node
    from quire.sections import History, Instructions
    from quire.session import Session
    from quire.state import Pool, Transcript, View
    from quire.tokens import Budget, counter_for

__version__ = "0.1.0"

_NAMES_BY_PACKAGE = {
    "quire.agent": ("Agent", "tool"),
    "quire.compactors": ("Summarize",),
    "quire.context": ("Template",),
    "quire.errors": ("QuireError",),
    "quire.items": (
        *("Audio", "ConfigChange", "File", "Handoff", "Image", "Item", "Message", "Note", "Pin"),
        *("Reasoning", "Summary", "ToolCall", "ToolResult", "Undo"),
    ),
    "quire.memory": ("Recall",),
    "quire.models": ("Model",),
    "quire.node": ("Node",),
    "quire.sections": ("History", "Instructions"),
    "quire.session": ("Session",),
    "quire.state": ("Pool", "Transcript", "View"),
    "quire.tokens": ("Budget", "counter_for"),
}
_PACKAGE_BY_NAME = {name: package for package, names in _NAMES_BY_PACKAGE.items() for name in names}

__all__ = [
    "Agent",
    "Audio",
    "Budget",
    "ConfigChange",
    "File",
    "Handoff",
    "History",
    "Image",
    "Instructions",
    "Item",
    "Message",
    "Model",
    "Node",
    "Note",
    "Pin",
    "Pool",
    "QuireError",
    "Reasoning",
    "Recall",
    "Session",
    "Summarize",
    "Summary",
    "Template",
    "ToolCall",
    "ToolResult",
    "Transcript",
    "Undo",
    "View",
    "counter_for",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _PACKAGE_BY_NAME:
        raise AttributeError(f"module 'quire' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_PACKAGE_BY_NAME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PACKAGE_BY_NAME])
