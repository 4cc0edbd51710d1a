"""The words by which a document is called, and those of the headings above a piece of it.

All its pieces have them, so they are terms of their own: they count little, are no part of how long a piece
is, and leave it to what a piece says itself which of them is the best.
"""

_MARK = "\0"
"""No term of a text has it."""

IN_THE_BEGINNING = 2
"""So often the beginning has each: whoever asks for no more than the name means that."""


def as_name(term: str) -> str:
    """What a term is listed under where it is a word of a name."""
    return _MARK + term


def is_name(term: str) -> bool:
    """Whether a term is listed as a word of a name."""
    return term.startswith(_MARK)
