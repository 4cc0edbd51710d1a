"""Redaction: a function changes items before they are stored, and content of sections before it is sent.

Items of the log are not redacted again: that was done when they were written.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from quire.context import Piece
from quire.errors import WrongType
from quire.items import Item
from quire.sections import Candidates
from quire.session.state import is_in
from quire.state import View

Redact = Callable[[Item], Item]
"""Given an item that will be stored or sent, returns the same item with other content."""

I = TypeVar("I", bound=Item)  # noqa: E741


def redacted(redact: Redact, item: I) -> I:
    """Redact an item, and check that only its content has changed."""
    changed = redact(item)
    if type(changed) is not type(item) or changed.id != item.id:
        raise WrongType("redaction must return the same item, with other content")
    return changed


def redacted_pieces(redact: Redact, pieces: Iterable[Piece], views: Iterable[View]) -> tuple[Piece, ...]:
    """Redact pieces, except for the items of the views."""
    logs = {id(view.log) for view in views}
    return tuple(_redacted_piece(redact, piece, logs) for piece in pieces)


def _redacted_piece(redact: Redact, piece: Piece, logs: set[int]) -> Piece:
    content = piece.content
    if isinstance(content, Candidates):
        return piece._replace(content=content.changed(lambda item: redacted(redact, item)))
    if isinstance(content, View) and id(content.log) in logs:
        return piece
    source = piece.source if piece.source is not None and id(piece.source.log) in logs else None
    items = tuple(item if is_in(source, item) else redacted(redact, item) for item in content)
    return piece._replace(content=items, source=piece.origin)
