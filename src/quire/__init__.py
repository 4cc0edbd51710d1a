"""Keep all that happened. Choose what the model sees. Know why.

The names below are loaded when they are first used, so that `import quire` is quick. All other names are
imported from their package, such as `quire.state` or `quire.tokens`.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quire.agent import Agent, tool
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
    from quire.models import Model
    from quire.node import Node
    from quire.session import Session
    from quire.state import Pool, Transcript, View
    from quire.tokens import Budget, counter_for

__version__ = "0.1.0"

_PACKAGES = {
    "quire.agent": ("Agent", "tool"),
    "quire.context": ("Template",),
    "quire.errors": ("QuireError",),
    "quire.items": (
        *("Audio", "ConfigChange", "File", "Handoff", "Image", "Item", "Message", "Note", "Pin"),
        *("Reasoning", "Summary", "ToolCall", "ToolResult", "Undo"),
    ),
    "quire.models": ("Model",),
    "quire.node": ("Node",),
    "quire.session": ("Session",),
    "quire.state": ("Pool", "Transcript", "View"),
    "quire.tokens": ("Budget", "counter_for"),
}
_PACKAGE_OF = {name: package for package, names in _PACKAGES.items() for name in names}

__all__ = [
    "Agent",
    "Audio",
    "Budget",
    "ConfigChange",
    "File",
    "Handoff",
    "Image",
    "Item",
    "Message",
    "Model",
    "Node",
    "Note",
    "Pin",
    "Pool",
    "QuireError",
    "Reasoning",
    "Session",
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


_OTHERS = (
    *("sections", "memory", "compactors", "agent", "session", "context", "stores", "models", "tokens"),
    *("state", "providers", "items", "errors"),
)


def __getattr__(name: str) -> Any:
    if name not in _PACKAGE_OF:
        error, package = f"module 'quire' has no attribute {name!r}", _package_with(name)
        if package is None:
            raise AttributeError(error)
        # `from quire import …` puts words of its own in place of those of an AttributeError.
        caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        is_import = caller.f_code.co_name == "_handle_fromlist"
        raise (ImportError if is_import else AttributeError)(f"{error}: use `from {package} import {name}`")
    value = globals()[name] = getattr(import_module(_PACKAGE_OF[name]), name)
    return value


def _package_with(name: str) -> str | None:
    """The package that has a class of this name."""
    packages = map(import_module, (f"quire.{other}" for other in _OTHERS if name[:1].isupper()))
    return next((one.__name__ for one in packages if name in getattr(one, "__all__", dir(one))), None)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PACKAGE_OF])
