"""What recall finds: a leaf, which is a group of items of a conversation, or a piece of a document."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from quire.memory.documents import Chunk
from quire.memory.documents.chunking import file_name
from quire.memory.knowledge.records import KNOWLEDGE

Kind = Literal["said", "done", "summary", "note", "document"]
"""Words, a reply with its tool calls and their results, a summary, a note, or a piece of a document."""

HEAD_LETTERS, TAIL_LETTERS = 150_000, 50_000
"""So much of a text is read, from its beginning and before its end: all of it, but for the very longest."""

_LONGEST_NAME = 300


def parts_read(text: str) -> tuple[tuple[int, int], ...]:
    """From where to where a text is read."""
    if len(text) <= HEAD_LETTERS + TAIL_LETTERS:
        return ((0, len(text)),)
    return (0, HEAD_LETTERS), (len(text) - TAIL_LETTERS, len(text))


class Leaf(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One thing that can be found, whole or not at all.

    `source` is the conversation it is of, and `key` the id of its first item. Leaves of one transcript stand
    in `order`; those of one `stretch` follow each other without a long pause, and so may be about the same.
    Documents have one source together, and each stands in the place of a transcript. A leaf is found by its
    `text`: of a document's, the first `named` letters are what the document is called.
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
    told: int = 0
    """Of a summary: it tells of the leaves of its transcript that stand before this place."""
    named: int = 0
    title: str = ""
    """Of a document's, where its text does not say it."""
    page: int | None = None

    @property
    def said(self) -> str:
        """What it says itself."""
        return self.text[self.named :] if self.named else self.text


def leaves_of_document(chunks: Sequence[Chunk]) -> list[Leaf]:
    """The pieces of a document, in order."""
    return [_leaf_of(chunk, order) for order, chunk in enumerate(chunks)]


def _leaf_of(chunk: Chunk, order: int) -> Leaf:
    called = _called(chunk, is_first=not order)
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
        text=called + chunk.shown,
        named=len(called),
        title=chunk.title[:_LONGEST_NAME],
        page=chunk.page,
    )


def _called(chunk: Chunk, *, is_first: bool) -> str:
    """What the document of a chunk is called: the same before each, so that what they say themselves decides.

    Before the first it stands twice: whoever asks for no more than the name means the beginning.
    """
    name = file_name(chunk.source)[:_LONGEST_NAME]
    title = chunk.title[:_LONGEST_NAME]
    called = f"{title}\n{name}\n" if title else f"{name}\n"
    if not is_first:
        return called
    return called + (called if title or not chunk.path else f"{chunk.path[0]}\n{called}")
