"""Leaves: what recall finds, which is a group of items of a conversation or a chunk of a document."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from quire.items import Origin, is_below
from quire.memory.documents import Chunk, file_name

KNOWLEDGE = "~knowledge"
"""The conversation of a scope in which its documents are kept, and the source of their leaves."""

WISH = "preference\n"
"""The beginning of the text of a note that a person keeps as an instruction or a preference."""

Kind = Literal["said", "done", "summary", "note", "document"]
"""A message, a reply with its tool calls and their results, a summary, a note, or a chunk of a document."""

MAX_TEXT_LENGTH = 200_000
"""Only this many characters of a text are indexed; few texts are longer."""

_LONGEST_NAME = 300


class Leaf(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The unit of search: a group of items or a chunk of a document, found as a whole.

    `source` is its conversation, and `key` the id of its first item. `order` is its place in its transcript.
    Leaves of one `stretch` follow each other without a long pause, and so are likely about the same topic.
    All documents share one source, and each is a transcript of it. The `text` of a chunk begins with the name
    of its document (`name_length` characters) and the headings above it (`heading_length` characters).
    """

    source: str
    transcript: str = "main"
    key: str
    order: int
    stretch: int
    ids: tuple[str, ...]
    kind: Kind
    at: float
    speaker: str
    text: str
    importance: float = 0.5
    after: int = 0
    """The distance to the leaf that opens its exchange. A user message opens an exchange; the replies, calls
    and results after it belong to it."""
    covers_until: int = 0
    """For a summary: it covers the leaves of its transcript with a lower order."""
    name_length: int = 0
    heading_length: int = 0
    title: str = ""
    """The title of the document, if the text lacks it."""
    page: int | None = None
    origin: Origin = "user"
    """The least trusted origin among its items."""

    @property
    def is_of_user(self) -> bool:
        """Whether it is a user message, or a note of a user's wish."""
        if is_below(self.origin, "user"):
            return False
        if self.kind == "note":
            return self.text.startswith(WISH)
        return self.kind == "said" and not self.after and self.speaker not in ("assistant", "system")

    @property
    def said(self) -> str:
        """The text; that of a chunk without the name of its document."""
        return self.text[self.name_length :] if self.name_length else self.text

    @property
    def is_beginning(self) -> bool:
        """Whether it is the beginning of a document."""
        return bool(self.name_length) and not self.order


def leaves_of_document(chunks: Sequence[Chunk]) -> list[Leaf]:
    """The leaves of a document, in order."""
    return [_leaf_of(chunk, order) for order, chunk in enumerate(chunks)]


def _leaf_of(chunk: Chunk, order: int) -> Leaf:
    name = _name_of(chunk)
    return Leaf(
        source=KNOWLEDGE,
        transcript=chunk.source,
        key=chunk.id,
        order=order,
        stretch=0,
        ids=(chunk.id,),
        kind="document",
        at=0.0,
        speaker="",
        text=name + chunk.shown,
        name_length=len(name),
        heading_length=len(chunk.above),
        title=chunk.title[:_LONGEST_NAME],
        page=chunk.page,
        origin="external",
    )


def _name_of(chunk: Chunk) -> str:
    """The title and the file name of the document of a chunk, one per line."""
    names = (chunk.title[:_LONGEST_NAME], file_name(chunk.source)[:_LONGEST_NAME])
    return "".join(f"{name}\n" for name in names if name)
