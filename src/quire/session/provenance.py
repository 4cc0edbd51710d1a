"""Provenance: what a call has read, so that its result is forgotten with its sources."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar

from quire.memory.quotes import Quote
from quire.session.erasure import link_sources, names_of
from quire.session.log import Log

_traced: ContextVar[set[str] | None] = ContextVar("quire_traced", default=None)


def trace(names: Iterable[str]) -> None:
    """Add ids to the sources of the call that runs in this context."""
    traced = _traced.get()
    if traced is not None:
        traced.update(names)


@contextmanager
def tracing() -> Generator[set[str]]:
    """Collect the ids of what a call reads: its result names them under `extras["quire.of"]`."""
    found: set[str] = set()
    token = _traced.set(found)
    try:
        yield found
    finally:
        _traced.reset(token)


def link_quotes(log: Log, quotes: Iterable[Quote]) -> bool:
    """Record that a conversation quotes others, so that what they forget is forgotten there.

    False if some source was not linked before: then search again, because it may have been forgotten just
    before the link. The quoted items are added to the sources of the running call.
    """
    quotes = list(quotes)
    if not link_sources(log, quotes):
        return False
    trace(names_of(quotes, log.place.conversation))
    return True
