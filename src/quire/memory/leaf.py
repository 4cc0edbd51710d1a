"""What recall finds: a leaf, which is a group of items of a conversation, or a piece of a document."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from quire.items import Origin, is_below
from quire.memory.documents import Chunk, file_name

KNOWLEDGE = "~knowledge"
"""The conversation of a scope in which its documents are kept, and the source of their leaves."""

WISH = "preference\n"
"""What the text of a note begins with that a person keeps as an instruction or a preference."""

Kind = Literal["said", "done", "summary", "note", "document"]
"""Words, a reply with its tool calls and their results, a summary, a note, or a piece of a document."""

LETTERS_READ = 200_000
"""So many characters of a text are read: all of it, but for the very longest."""

_LONGEST_NAME = 300


class Leaf(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The unit of search: a group of items or a piece of a document. It is found whole or not at all.

    `source` is the conversation it is of, and `key` the id of its first item. Leaves of one transcript stand
    in `order`; those of one `stretch` follow each other without a long pause, and so may be about the same.
    All documents share one source, and each is a transcript of it. A leaf is found by its `text`. The text of
    a piece of a document begins with the document's name (`name_length` characters) and the headings above
    the piece (`heading_length` characters).
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
    """How many places before it stands the leaf that opens its exchange: a message of the user opens one, and
    the replies, calls and results that follow belong to it."""
    covers_until: int = 0
    """Of a summary: it covers the leaves of its transcript that stand before this place."""
    name_length: int = 0
    heading_length: int = 0
    title: str = ""
    """The title of the document, if its text does not have it."""
    page: int | None = None
    origin: Origin = "user"
    """The least trusted of what it is made of."""

    @property
    def is_of_user(self) -> bool:
        """Whether it is a message of a user, or a note of what a user wishes."""
        if is_below(self.origin, "user"):
            return False
        if self.kind == "note":
            return self.text.startswith(WISH)
        return self.kind == "said" and not self.after and self.speaker not in ("assistant", "system")

    @property
    def said(self) -> str:
        """What it says itself."""
        return self.text[self.name_length :] if self.name_length else self.text

    @property
    def is_beginning(self) -> bool:
        """Whether a document begins with it."""
        return bool(self.name_length) and not self.order


def leaves_of_document(chunks: Sequence[Chunk]) -> list[Leaf]:
    """The pieces of a document, in order."""
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
    """The title and the file name of the document of a chunk, one a line."""
    names = (chunk.title[:_LONGEST_NAME], file_name(chunk.source)[:_LONGEST_NAME])
    return "".join(f"{name}\n" for name in names if name)
