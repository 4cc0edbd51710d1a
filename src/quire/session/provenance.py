"""Provenance: what a conversation quotes and a call has read, so that it is forgotten with its sources."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar

from quire.items import Note
from quire.memory import KNOWLEDGE
from quire.memory.quotes import Quote
from quire.session.log import Log, open_log
from quire.session.state import Written
from quire.stores import Place
from quire.stores.streams import LINKS, RECALLED, digest_of

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


def names_of(quotes: Iterable[Quote], conversation: str) -> list[str]:
    """The names of quoted items, for `extras["quire.of"]` of what quotes them."""
    return [
        item_id if _source_of(quote) == conversation else f"{digest_of(_source_of(quote))}/{item_id}"
        for quote in quotes
        for item_id in quote.sources
    ]


def _source_of(quote: Quote) -> str:
    """The conversation that a quote is kept in; chunks of documents, which have no time, are in one."""
    return quote.source if quote.at else KNOWLEDGE


def link_sources(log: Log, quotes: Iterable[Quote]) -> bool:
    """Note for the scope that a conversation quotes others; false if one of them was not noted before."""
    log = log.root
    by = digest_of(log.place.conversation)
    links = open_log(log.store, Place(log.place.scope, LINKS))
    sources = {digest_of(_source_of(quote)) for quote in quotes} - {by}
    new = sorted(source for source in sources if (source, by) not in links.state.quoting)
    notes = [Note(content={"from": source, "by": by}, description="recalled") for source in new]
    links.commit(lambda _: [Written(RECALLED, note) for note in notes])
    return not new


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
