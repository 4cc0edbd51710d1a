"""What was recalled from other conversations, noted where it is told.

Who forgets finds by it which results and receipts tell of an item, also where only a part was told. Of
conversations only digests are noted, and of items their ids.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from quire.context import Context
from quire.items import Item, Note
from quire.memory import KNOWLEDGE, Quote, SelectedQuotes
from quire.stores.recalls import digest_of
from quire.stores.tombstones import is_tombstone

Rows = dict[str, list[list[str]]]
"""By source, of each quote the id that it is listed by, and then the ids of all that it stands for."""

ANY = "*"
"""In place of ids: a quote that tells of its source without saying of what."""


def quotes_in(context: Context) -> Iterator[Quote]:
    """Yield the quotes that a context shows."""
    for selection in context.receipt.selections:
        if isinstance(selection, SelectedQuotes):
            yield from selection.quotes


def rows_of(quotes: Iterable[Quote], conversation: str, parts: Collection[str] = ()) -> Rows:
    """What is to be noted of quotes that are told in a conversation: of those from elsewhere, and of parts.

    What is from here and told whole is known by its words.
    """
    found: Rows = {}
    for quote in quotes:
        source = _source_of(quote)
        if source != conversation or quote.id in parts:
            row = [next(iter(quote.covers), quote.id), *(quote.covers or (ANY,))]
            found.setdefault(digest_of(source), []).append(row)
    return found


def _source_of(quote: Quote) -> str:
    """Where a quote is kept: documents have no time, stand under their names, and are all in one place."""
    if quote.at or quote.heading != f"[{quote.source}]":
        return quote.source
    return KNOWLEDGE


def note_of(rows: Rows, *known: Mapping[str, Collection[str]]) -> Note | None:
    """What says so in the conversation; none where all of it was noted before."""
    new = {
        source: [row for row in listed if not any(row[0] in had.get(source, ()) for had in known)]
        for source, listed in rows.items()
    }
    content = {source: listed for source, listed in new.items() if listed}
    return Note(content=content, description="recalled") if content else None


def rows_noted(notes: Iterable[Item]) -> Rows:
    """All that notes have, in one."""
    found: Rows = {}
    for source, row in (pair for note in notes for pair in rows_in(note)):
        found.setdefault(source, []).append(list(row))
    return found


def rows_in(item: Item) -> Iterator[tuple[str, list[str]]]:
    """The rows that a note has, each with its source."""
    if not isinstance(item, Note) or is_tombstone(item):
        return iter(())
    content: Mapping[str, list[list[str]]] = item.content
    return ((source, row) for source, rows in content.items() for row in rows)


def listed_in(items: Iterable[Item]) -> Iterator[tuple[str, str]]:
    """Of all quotes that notes have, their sources and the ids that they are listed by."""
    return ((source, row[0]) for item in items for source, row in rows_in(item))


def listed_of(item: Item, gone: Callable[[str], Collection[str]]) -> set[str]:
    """By which ids those quotes of a note are listed that stand for what is `gone` of their sources."""
    return {row[0] for source, row in rows_in(item) if _is_of(row, gone(source))}


def _is_of(row: Sequence[str], ids: Collection[str]) -> bool:
    return bool(ids) and any(one == ANY or one in ids for one in row)


def lists(text: str, item_id: str) -> bool:
    """Whether a text has a quote that is listed by an id: as the tools tell it, in brackets after it."""
    return any(f"({item_id}{end}" in text for end in ",; ")
