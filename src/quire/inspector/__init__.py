"""The inspector: a local page that shows what the model saw of a conversation, and why."""

from quire.errors import MissingExtra

try:
    from quire.inspector.application import app
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] != "starlette":
        raise
    raise MissingExtra("the inspector", "inspector") from missing

__all__ = ["app"]
