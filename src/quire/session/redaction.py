"""Redaction: nothing is kept or sent that was not looked at, whoever wrote it.

A session redacts what it writes before it is kept. Other sessions, imports and sections may not have. So each
item of a log is looked at once; if one has to be changed, a copy of the log is sent in its place.
"""

from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import TypeVar

from quire.context import Piece
from quire.errors import WrongType
from quire.items import Item
from quire.sections import Candidates
from quire.session.receipts import is_in
from quire.state import Transcript, View, keep_memo, memos

Redact = Callable[[Item], Item]
"""Is called with an item before it is stored or sent, and returns the same item with other content."""

I = TypeVar("I", bound=Item)  # noqa: E741


class _Looked:
    """How far a log was looked at, and the copy that is sent in its place if one is needed."""

    def __init__(self) -> None:
        self.until = 0
        self.copy: Transcript | None = None
        self.changed: dict[str, Item] = {}


class Redaction:
    """A redaction, and what it has seen. A session, its drafts and its forks share one."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._lock = Lock()
        self._seen: dict[str, tuple[Item, Item]] = {}  # by id: an item of a log, and what is sent for it

    def __call__(self, item: Item) -> Item:
        return self._redact(item)

    def item(self, item: I) -> I:
        """The item as it may be kept or sent."""
        redacted = self._redact(item)
        if type(redacted) is not type(item) or redacted.id != item.id:
            raise WrongType("redaction returns the same item, with other content")
        return redacted

    def view(self, view: View) -> View:
        """The view as it may be sent: the same, unless something in its log has to be changed."""
        with self._lock:
            looked: _Looked = memos(view).get(self) or _Looked()
            for item in view.log.items(looked.until, view.end):
                self._look(item, view, looked)
            keep_memo(view, self, looked)
            if looked.copy is None:
                return view
            keep_memo(looked.copy.view, self, looked)
            is_end = view.revision == len(looked.copy)
            return looked.copy.view if is_end else looked.copy.at(view.revision)

    def _look(self, item: Item, view: View, looked: _Looked) -> None:
        seen = self._seen.get(item.id)
        if seen is None or not any(item is one for one in seen):  # drafts and forks have the same items
            seen = self._seen[item.id] = item, self.item(item)
        if seen[1] != item:
            looked.changed[item.id] = seen[1]
            looked.copy = looked.copy or Transcript(view.log.items(0, looked.until))
        if looked.copy is not None:
            looked.copy.append(seen[1])
        looked.until += 1

    def changed(self, view: View) -> Mapping[str, Item]:
        """By id, the items of the log of a view that are not as they were recorded."""
        looked: _Looked | None = memos(view).get(self)
        return {} if looked is None else looked.changed

    def pieces(self, pieces: Iterable[Piece], views: Iterable[View]) -> tuple[Piece, ...]:
        """Pieces as they may be sent; the views are known to be so."""
        logs = {id(view.log) for view in views}
        return tuple(self._piece(piece, logs) for piece in pieces)

    def _piece(self, piece: Piece, logs: set[int]) -> Piece:
        content = piece.content
        if isinstance(content, View):
            return piece if id(content.log) in logs else piece._replace(content=self.view(content))
        if isinstance(content, Candidates):
            return piece._replace(content=content.changed(self.item))
        source = None if piece.source is None or id(piece.source.log) not in logs else piece.source
        return piece._replace(
            content=tuple(item if is_in(source, item) else self.item(item) for item in content)
        )
