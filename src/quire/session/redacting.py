"""Redaction of what is shown: whoever wrote it, nothing is sent that was not looked at.

What a session writes itself is redacted before it is kept. What others wrote may not be: another session, an
import, a section with a transcript of its own. So each item of a log is looked at once; where one may not be
sent as it is, the log is followed by another that has what may.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from threading import Lock

from quire.context import Piece
from quire.items import Item
from quire.sections import Candidates
from quire.session.writing import Redact, redacted
from quire.state import Log, Transcript, View

_MOST_LOGS = 16
"""How many logs are remembered, the latest used: drafts and forks go on from what they share."""

_NONE: Mapping[str, Item] = {}


class Redaction:
    """A redaction, and what it has seen so far. A session, its drafts and its forks have one in common."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._lock = Lock()
        self._seen: dict[int, _Seen] = {}  # by the identity of a log, and of the one made in its place

    def __call__(self, item: Item) -> Item:
        """The item as it may be kept or sent."""
        return self._redact(item)

    def view(self, view: View) -> View:
        """The view as it may be sent: the same, unless something in its log has to be another."""
        with self._lock:
            shown = (known := self._of(view.log)).shown(view)
            self._seen[id(shown.log)] = known
            return shown

    def changed(self, log: Log) -> Mapping[str, Item]:
        """What stands in a log that was made to be sent in place of what was recorded, by id."""
        with self._lock:
            known = self._seen.get(id(log))
            return _NONE if known is None else known.changed

    def pieces(self, pieces: Iterable[Piece], views: Iterable[View]) -> tuple[Piece, ...]:
        """Pieces as they may be sent; of the views it is known already."""
        logs = {id(view.log) for view in views}
        return tuple(self._piece(piece, logs) for piece in pieces)

    def _piece(self, piece: Piece, logs: set[int]) -> Piece:
        content = piece.content
        if isinstance(content, View):
            return piece if id(content.log) in logs else piece._replace(content=self.view(content))
        if isinstance(content, Candidates):
            return piece._replace(content=content.changed(partial(redacted, self._redact)))
        source = None if piece.source is None or id(piece.source.log) not in logs else piece.source
        return piece._replace(
            content=tuple(item if _is_of(source, item) else redacted(self._redact, item) for item in content)
        )

    def _of(self, log: Log) -> "_Seen":
        known = self._seen.pop(id(log), None) or self._begun(log)
        self._seen[id(log)] = known  # the latest used stands last
        while len(self._seen) > 2 * _MOST_LOGS:
            del self._seen[next(iter(self._seen))]
        return known

    def _begun(self, log: Log) -> "_Seen":
        """What is known of a new log: as much as it shares with one in which all may be sent."""
        shared = (_shared(one, log) for one in self._seen.values() if one.made is None)
        return _Seen(self._redact, log, max(shared, default=0))


class _Seen:
    """One log, how far it was looked at, and what was made in its place where that was needed."""

    def __init__(self, redact: Redact, log: Log, until: int) -> None:
        self._redact = redact
        self.log = log
        self.until = until
        self.made: Transcript | None = None
        self.changed: dict[str, Item] = {}

    def shown(self, view: View) -> View:
        if self.made is not None and view.log is self.made.view.log:
            return view
        for item in self.log.items(self.until, view.end):
            self._take(item)
        if self.made is None:
            return view
        return self.made.view if view.revision == len(self.made) else self.made.at(view.revision)

    def _take(self, item: Item) -> None:
        may = redacted(self._redact, item)
        if may != item:
            self.changed[item.id] = may
            self.made = self.made or Transcript(self.log.items(0, self.until))
        if self.made is not None:
            self.made.append(may)
        self.until += 1


def _shared(known: _Seen, log: Log) -> int:
    """How much of a log was looked at as part of another."""
    shared = 0
    for index, (theirs, ours) in enumerate(zip(known.log.segments, log.segments, strict=False)):
        if theirs is not ours:
            break
        ends = [one.starts[index + 1] for one in (known.log, log) if index + 1 < len(one.starts)]
        shared = min([*ends, known.until])
    return shared


def _is_of(source: View | None, item: Item) -> bool:
    """Whether an item stands in a view's log just so."""
    position = None if source is None else source.log.find(item.id, source.end)
    return source is not None and position is not None and source.log.item(position) == item
