"""Documents in chunks, cut where their structure allows it: what is found, and shown, as one."""

from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import blake2b

import msgspec

from quire.errors import InvalidLimit
from quire.items import Note
from quire.memory.documents.document import Document
from quire.memory.documents.filling import Filling, Piece, above_text, shown_text
from quire.memory.documents.sections import sections
from quire.tokens import Counter, Measured, checked_counter, count_by, whole

LEAST_TOKENS = 32
"""Tokens that a chunk must have room for, beside what is wrapped around it."""


class Chunk(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A piece of a document, with the headings it stands under.

    Each character of a document is in the `text` of one chunk. `lead` is the head of a table that the text
    goes on with; `own` says how many of the headings in `path` the text itself begins with. `title` is that
    of the document, where no heading says it.
    """

    id: str
    source: str
    text: str
    path: tuple[str, ...] = ()
    lead: str = ""
    own: int = 0
    page: int | None = None
    tokens: int = 0
    title: str = ""

    @property
    def heading(self) -> str:
        """The headings it stands under, as one line: `Guide > Install > Linux`."""
        return " > ".join(self.path)

    @property
    def above(self) -> str:
        """The headings it stands under that its text does not begin with, as one line."""
        return above_text(self.path, self.own)

    @property
    def shown(self) -> str:
        """The text as it is read by itself: under its headings, each said once, a table with its head."""
        return shown_text(self.path, self.own, self.lead, self.text)


def chunks(document: Document, *, tokens: int = 256, counter: Counter | None = None) -> list[Chunk]:
    """The chunks of a document, in order, each of at most so many tokens, counted as a note that shows it.

    No chunk goes past the end of a section, or of a page. Paragraphs, items, rows and code stay whole where
    they fit. The same text under the same headings of a source has the same id, whatever else changed.
    """
    measure = partial(_count, checked_counter(Measured() if counter is None else counter))
    least = measure("") + LEAST_TOKENS
    if whole(tokens, "the tokens of a chunk") < least:
        raise InvalidLimit(f"a chunk has at least {least} tokens, not {tokens}")
    pieces: list[Piece] = []
    for section in sections(document.blocks):
        pieces += Filling(section, measure, tokens).pieces()
    title = unsaid_title(document.title, document.source, [piece.path for piece in pieces])
    return list(_named(document.source, title, pieces))


def unsaid_title(title: str, source: str, paths: Iterable[tuple[str, ...]]) -> str:
    """The title of a document, unless it is the name of its file or one of its headings."""
    is_said = title in (source, file_name(source)) or any(title in path for path in paths)
    return "" if is_said else title


def file_name(source: str) -> str:
    """What a source is called where it is kept, without where that is."""
    return source.rstrip("/").rpartition("/")[2] or source


def _count(counter: Counter, text: str) -> int:
    return count_by(counter, Note(text, id="chunk", created_at=0.0))


def _named(source: str, title: str, pieces: Iterable[Piece]) -> Iterator[Chunk]:
    """Chunks with ids that depend on what they say and where, and on how many before them say the same."""
    seen: dict[bytes, int] = {}
    for piece in pieces:
        said = msgspec.json.encode((source, piece.path, piece.lead, piece.text))
        seen[said] = seen.get(said, 0) + 1
        yield Chunk(
            blake2b(said + b"%d" % seen[said], digest_size=14).hexdigest(),
            source,
            piece.text,
            piece.path,
            piece.lead,
            piece.own,
            piece.page,
            piece.tokens,
            title,
        )
