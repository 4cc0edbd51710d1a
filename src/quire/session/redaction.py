"""Redaction: nothing is kept or sent that was not looked at, whoever wrote it.

A session redacts what it writes before it is kept. Other sessions, imports and sections may not have. So each
item of a log is looked at once; if one has to be changed, a copy of the log is sent in its place.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import TypeVar

from quire.context import Piece
from quire.errors import WrongType
from quire.items import Item
from quire.sections import Candidates
from quire.state import Log, Transcript, View

Redact = Callable[[Item], Item]
"""Is called with an item before it is stored or sent, and returns the same item with other content."""

I = TypeVar("I", bound=Item)  # noqa: E741

_MOST_LOGS = 32
"""How many logs are remembered, the latest used."""


class Redaction:
    """A redaction, and the logs it has seen. A session, its drafts and its forks share one."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._lock = Lock()
        self._seen: OrderedDict[int, _Seen] = OrderedDict()  # by the identity of a log, and of its copy

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
            seen = self._of(view.log)
            shown = seen.shown(view)
            self._seen[id(shown.log)] = seen
            return shown

    def changed(self, view: View) -> Mapping[str, Item]:
        """By id, the items of the log of a view that are not as they were recorded."""
        with self._lock:
            seen = self._seen.get(id(view.log))
            return {} if seen is None else seen.changed

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
            content=tuple(item if _is_in(source, item) else self.item(item) for item in content)
        )

    def _of(self, log: Log) -> "_Seen":
        seen = self._seen.pop(id(log), None)
        if seen is None:  # what it shares with a known log need not be looked at again
            shared = {_shared(one, log): one for one in self._seen.values()}
            until = max(shared, default=0)
            seen = _Seen(self, log, until)
            if until and (known := shared[until].copy) is not None:
                seen.copy, seen.changed = Transcript(known.recorded()[:until]), dict(shared[until].changed)
        self._seen[id(log)] = seen
        while len(self._seen) > _MOST_LOGS:
            self._seen.popitem(last=False)
        return seen


class _Seen:
    """One log, how far it was looked at, and the copy that is sent in its place if one is needed."""

    def __init__(self, redaction: Redaction, log: Log, until: int) -> None:
        self._redaction = redaction
        self.log = log
        self.until = until
        self.copy: Transcript | None = None
        self.changed: dict[str, Item] = {}

    def shown(self, view: View) -> View:
        if self.copy is not None and view.log is self.copy.view.log:
            return view
        for item in self.log.items(self.until, view.end):
            redacted = self._redaction.item(item)
            if redacted != item:
                self.changed[item.id] = redacted
                self.copy = self.copy or Transcript(self.log.items(0, self.until))
            if self.copy is not None:
                self.copy.append(redacted)
            self.until += 1
        if self.copy is None:
            return view
        return self.copy.view if view.revision == len(self.copy) else self.copy.at(view.revision)


def _shared(seen: _Seen, log: Log) -> int:
    """How much of a log was looked at as part of another."""
    shared = 0
    for index, (theirs, ours) in enumerate(zip(seen.log.segments, log.segments, strict=False)):
        if theirs is not ours:
            break
        ends = [one.starts[index + 1] for one in (seen.log, log) if index + 1 < len(one.starts)]
        shared = min([*ends, seen.until])
    return shared


def _is_in(source: View | None, item: Item) -> bool:
    """Whether an item is in the log of a view as it is."""
    position = None if source is None else source.log.find(item.id, source.end)
    return source is not None and position is not None and source.log.item(position) == item
