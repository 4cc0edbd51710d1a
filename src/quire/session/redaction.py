"""Redaction: items are changed before they are kept, and what sections bring before it is sent.

Items that are in the log were looked at when they were written, if their session had a redaction.
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
"""Is called with an item before it is stored or sent, and returns the same item with other content."""

I = TypeVar("I", bound=Item)  # noqa: E741


def redacted(redact: Redact, item: I) -> I:
    """The item as it may be kept or sent."""
    found = redact(item)
    if type(found) is not type(item) or found.id != item.id:
        raise WrongType("redaction returns the same item, with other content")
    return found


def redacted_pieces(redact: Redact, pieces: Iterable[Piece], views: Iterable[View]) -> tuple[Piece, ...]:
    """Pieces as they may be sent: the items of the views stay as they are."""
    logs = {id(view.log) for view in views}
    return tuple(_redacted_piece(redact, piece, logs) for piece in pieces)


def _redacted_piece(redact: Redact, piece: Piece, logs: set[int]) -> Piece:
    content = piece.content
    if isinstance(content, Candidates):
        return piece._replace(content=content.changed(lambda item: redacted(redact, item)))
    if isinstance(content, View) and id(content.log) in logs:
        return piece
    known = piece.source if piece.source is not None and id(piece.source.log) in logs else None
    items = tuple(item if is_in(known, item) else redacted(redact, item) for item in content)
    return piece._replace(content=items, source=piece.origin)
