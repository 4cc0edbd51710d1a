"""A proxy for requests to models: bytes go through unchanged, and beside them all is recorded and explained.

`quire proxy` runs it. A program of any language is pointed at it by the base URL of its client.
"""

from quire.errors import MissingExtra

try:
    from quire.proxy.relay import UPSTREAMS, Relay
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] not in ("starlette", "httpx"):
        raise
    raise MissingExtra("the proxy", "proxy") from missing

from quire.proxy.fitting import Fitting
from quire.proxy.observer import EXCHANGES, LOSSES, Observer, Settings
from quire.proxy.recorder import Recorder

__all__ = ["EXCHANGES", "LOSSES", "UPSTREAMS", "Fitting", "Observer", "Recorder", "Relay", "Settings"]
