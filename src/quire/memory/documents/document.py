"""A document: blocks in order, whatever format they came in."""

import re
from typing import Literal

import msgspec

Kind = Literal["heading", "paragraph", "item", "code", "row"]
"""A heading, a paragraph, an item of a list, lines that stay as they are, or a row of a table."""

_LONGEST_HEADING = 300
_DEEPEST_ITEM = 20
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Block(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A piece of a document. `level` is that of a heading from 1 on, or the depth of an item in its list.

    `is_header` marks the row that names the columns of a table; `page` is for documents that have pages.
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
        """Add a block, unless it is blank. A very long heading is a paragraph in large type."""
        text = text.strip("\n").rstrip() if kind == "code" else text.strip()
        if kind == "heading" and len(text) > _LONGEST_HEADING:
            kind, level = "paragraph", 0
        if kind == "heading":
            text = " ".join(line.strip() for line in text.split("\n"))
        if text:
            self.blocks.append(Block(kind, text, min(level, _DEEPEST_ITEM), is_header, page))


def cleaned(text: str) -> str:
    """A text with plain line ends, without byte order mark, control characters and lone surrogates."""
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\x0c", "\n\n")
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _CONTROL.sub("", text)
