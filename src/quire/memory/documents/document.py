"""What was read of a document: blocks in order, whatever format they came in."""

import re
from typing import Literal

import msgspec

Kind = Literal["heading", "paragraph", "item", "code", "row"]
"""A heading, a paragraph, an item of a list, lines that stay as they are, or a row of a table."""

LONGEST_HEADING = 300
"""Characters; what is longer is a paragraph that somebody set in large type."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_HALF_PAIR = re.compile("[\ud800-\udfff]")


class Block(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One piece of a document. `level` is that of a heading from 1 on, or how deep an item is in its list.

    `is_header` is for the row that names the columns of a table; `page` is for documents that have pages.
    """

    kind: Kind
    text: str
    level: int = 0
    is_header: bool = False
    page: int | None = None


class Document(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A document as it was read. `notes` say what was odd: a guessed encoding, pages without text."""

    source: str
    title: str
    media_type: str
    blocks: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()


class Draft(msgspec.Struct):
    """What a reader has found so far."""

    blocks: list[Block] = msgspec.field(default_factory=list[Block])
    title: str = ""
    notes: list[str] = msgspec.field(default_factory=list[str])

    def add(
        self, kind: Kind, text: str, *, level: int = 0, is_header: bool = False, page: int | None = None
    ) -> None:
        """One block more, unless it says nothing."""
        text = text.strip("\n").rstrip() if kind == "code" else text.strip()
        if not text:
            return
        if kind == "heading" and len(text) > LONGEST_HEADING:
            kind, level = "paragraph", 0
        if kind == "heading":
            text = " ".join(line.strip() for line in text.split("\n"))
        self.blocks.append(Block(kind, text, level, is_header, page))

    def named(self) -> str:
        """The title that was found, or else the first of the highest headings."""
        headings = [block for block in self.blocks if block.kind == "heading"]
        first = min(headings, key=lambda block: block.level, default=None)
        return self.title or (first.text if first else "")


def cleaned(text: str) -> str:
    """A text with plain line ends, without byte order mark and control characters, fit to be written."""
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\x0c", "\n\n")
    if _HALF_PAIR.search(text):  # pairs that were written as two halves are joined, single halves replaced
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _CONTROL.sub("", text)
