"""Gemini: what a model said in a row, as the parts that it came in.

Words that come in several parts are one text for whoever reads them. Where each part ended, and which of them
was signed, is kept beside the text, so that each goes back as it came.
"""

from typing import NamedTuple

from quire.items import Content, Part


class Piece(NamedTuple):
    """A part as it came: how many characters of a text it has, and its signature."""

    length: int
    signature: str | None


class Speech:
    """Words and pictures in a row; `pieces` says of each part of ours which parts of the wire it was."""

    __slots__ = ("parts", "pieces", "thought")

    def __init__(self, thought: bool = False) -> None:
        self.thought = thought
        self.parts: list[Part] = []
        self.pieces: list[list[Piece]] = []

    def add(self, part: Part, signature: str | None, *, joins: bool, exact: bool = True) -> None:
        """Take a part; words go on where words stopped if it `joins`, and a signature on no words always.

        Pieces of a stream are no parts of their own, so they need not be kept apart: they are not `exact`.
        """
        if part == "" and signature is None:
            return
        piece = Piece(len(part) if isinstance(part, str) else 0, signature)
        last = self.parts[-1] if self.parts else None
        if not isinstance(part, str) or not isinstance(last, str) or not (joins or not part or not last):
            self.parts.append(part)
            self.pieces.append([piece])
            return
        self.parts[-1] = last + part
        pieces = self.pieces[-1]
        if exact or signature or pieces[-1].signature:
            pieces.append(piece)
        else:
            pieces[-1] = Piece(pieces[-1].length + piece.length, None)

    def content(self) -> Content:
        """What was said, a lone text as it is."""
        alone = self.parts[0] if len(self.parts) == 1 else None
        return alone if isinstance(alone, str) else tuple(self.parts)

    def is_silent(self) -> bool:
        """Whether there is nothing but signatures on no words."""
        return all(part == "" for part in self.parts)
