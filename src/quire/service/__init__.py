"""The service: agents over HTTP, on one machine or many."""

from quire.errors import MissingExtra

try:
    from quire.service.application import app
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] not in ("starlette", "prometheus_client"):
        raise
    raise MissingExtra("the service", "service") from missing

from quire.service.keys import Key, Keys, new_key
from quire.service.runner import LocalRunner, Piece, Runner, Schedule

__all__ = ["Key", "Keys", "LocalRunner", "Piece", "Runner", "Schedule", "app", "new_key"]
