"""A proxy for requests to models: it passes bytes on unchanged, and records and explains every request.

`quire proxy` runs it. A program in any language uses it by the base URL of its client.
"""

from quire.errors import MissingExtra

try:
    from quire.proxy.relay import UPSTREAMS, Relay
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] not in ("starlette", "httpx"):
        raise
    raise MissingExtra("the proxy", "proxy") from missing

from quire.proxy.changes import AllowedChanges
from quire.proxy.observer import EXCHANGES, LOSSES, Observer, Settings
from quire.proxy.recorder import Recorder

__all__ = ["EXCHANGES", "LOSSES", "UPSTREAMS", "AllowedChanges", "Observer", "Recorder", "Relay", "Settings"]
