"""From the name of a model to who answers to it. Nothing is made here, and nothing looked for."""

import re
from typing import NamedTuple

from quire.errors import InvalidValue, cut
from quire.models.aliases import ALIASES
from quire.tokens import facts_for, named

LOCAL = "local"

WIRES = {
    "openai": "openai",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "google": "gemini",
    "gemini": "gemini",
    LOCAL: "openai",
}
"""The wire that is spoken with each client, by what stands before the colon of a name."""

_OWN = {"openai": "openai", "anthropic": "anthropic", "gemini": "google"}
_PLACE = re.compile(r"@(https?://\S+)$")
_WAYS = (
    'say who answers to it: "openai:gpt-5.6", "openai-responses:…", "anthropic:…", "google:…", "local", '
    '"local:/path/to/weights.gguf", or "openai:name@http://127.0.0.1:8000/v1" for any service that speaks '
    "the wire"
)


class Named(NamedTuple):
    """Who is meant by a name: which client reaches it, what it is called there, and where that is."""

    client: str
    model: str
    base_url: str | None = None
    key: str | None = None

    @property
    def wire(self) -> str:
        """The wire that is spoken."""
        return WIRES[self.client]


def read_name(name: str) -> Named | None:
    """Who is meant by a name; None if it is not known."""
    found = _PLACE.search(named(name, "the name of a model"))
    rest, place = (name[: found.start()], found[1]) if found else (name, None)
    client, colon, model = rest.partition(":")
    if client in WIRES and (model or client == LOCAL):
        return Named("google" if client == "gemini" else client, model, place)
    if colon and not model:
        return None
    return _bare(rest, place)


def _bare(name: str, place: str | None) -> Named | None:
    """Who is meant by a name without a client: one of the aliases, or one whose facts are known."""
    for alias in ALIASES:
        if alias.name == name:
            return Named(alias.client, alias.model, place or alias.base_url, None if place else alias.key)
    provider = None if ":" in name or "/" in name else facts_for(name).provider
    return None if provider is None else Named(_OWN[provider], name, place)


def unknown_name(name: str) -> InvalidValue:
    """The error for a name that nobody answers to."""
    return InvalidValue(f"no model {cut(name)!r} is known; {_WAYS}")
