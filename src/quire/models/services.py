"""Whether a request goes to OpenAI itself, or to another service that speaks its wires."""

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from quire.models.requests import CACHE_KEY

_OWN = "api.openai.com"
_VARIABLE = "OPENAI_BASE_URL"  # where its SDK looks for an address that is not given
_WIRES = ("openai", "openai-responses")


def options_for(wire: str, base_url: str | None, client: Any) -> Mapping[str, Any]:
    """The options that go with every request to a service, unless somebody says otherwise.

    Who speaks OpenAI's wires need not know the key of its cache, and many refuse what they do not know.
    """
    if wire not in _WIRES or _is_own(_address(base_url, client)):
        return {}
    return {CACHE_KEY: None}


def _address(base_url: str | None, client: Any) -> str | None:
    """Where requests go; a client that somebody made knows it alone."""
    if client is not None:
        return str(getattr(client, "base_url", "") or "") or None
    return base_url or os.environ.get(_VARIABLE)


def _is_own(address: str | None) -> bool:
    """Whether an address is OpenAI's, that of one of its regions too; none is."""
    if address is None:
        return True
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:  # it is said to be wrong when somebody connects
        return False
    return host == _OWN or host.endswith(f".{_OWN}")
