"""Provenance: records which items a call reads and a conversation quotes, so that erasures reach both."""

from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar

from quire.items import Note
from quire.memory import KNOWLEDGE
from quire.memory.quotes import Quote
from quire.session.log import Log, open_log
from quire.session.state import Written
from quire.stores import Place, Store
from quire.stores.streams import LINKS, RECALLED, digest_of

_traced: ContextVar[set[str] | None] = ContextVar("quire_traced", default=None)


def add_sources(names: Iterable[str]) -> None:
    """Add names of items to the sources of the call that runs in this context."""
    sources = _traced.get()
    if sources is not None:
        sources.update(names)


@contextmanager
def tracing() -> Generator[set[str]]:
    """Collect the names of the items that a call reads. Its result lists them in `extras["quire.of"]`."""
    sources: set[str] = set()
    token = _traced.set(sources)
    try:
        yield sources
    finally:
        _traced.reset(token)


def names_of(quotes: Iterable[Quote], conversation: str) -> list[str]:
    """The names of quoted items for `extras["quire.of"]`: `id` in this conversation, else `digest/id`."""
    return [
        item_id if _source_of(quote) == conversation else f"{digest_of(_source_of(quote))}/{item_id}"
        for quote in quotes
        for item_id in quote.sources
    ]


def _source_of(quote: Quote) -> str:
    """The conversation of a quote; chunks of documents, which have no time, are in `KNOWLEDGE`."""
    return quote.source if quote.at else KNOWLEDGE


def places_quoting(store: Store, scope: str, sources: Collection[str]) -> list[Place]:
    """The conversations of a scope that quoted one of some others, which are named by their digests."""
    links = Place(scope, LINKS)
    if not store.version(links):
        return []
    quoting = {by for source, by in open_log(store, links).state.quote_links if source in sources}
    if not quoting:
        return []
    return [Place(scope, name) for name in store.conversations(scope) if digest_of(name) in quoting]


def link_sources(log: Log, quotes: Iterable[Quote]) -> bool:
    """Record in the log `LINKS` that a conversation quotes others; false if a link is new."""
    log = log.root
    by = digest_of(log.place.conversation)
    links = open_log(log.store, Place(log.place.scope, LINKS))
    sources = {digest_of(_source_of(quote)) for quote in quotes} - {by}
    new = sorted(source for source in sources if (source, by) not in links.state.quote_links)
    notes = [Note(content={"from": source, "by": by}, description="recalled") for source in new]
    links.commit(lambda _: [Written(RECALLED, note) for note in notes])
    return not new


def link_quotes(log: Log, quotes: Iterable[Quote]) -> bool:
    """Link the sources of quotes to a conversation, so that erasures in them reach the quotes as well.

    Returns false if a link is new: then search again, because the source may have been erased just before.
    Otherwise the quoted items are added to the sources of the running call.
    """
    quotes = list(quotes)
    if not link_sources(log, quotes):
        return False
    add_sources(names_of(quotes, log.place.conversation))
    return True
