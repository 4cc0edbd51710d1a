"""What of a transcript holds no longer: summaries told anew, notes kept anew or dropped, what was withdrawn.

The log has it all, and the index only what holds. What is merely hidden holds: compactors hide what has no
room, and that it comes back when it is asked for is what recall is for.
"""

from collections.abc import Iterator

from quire.items import Hide, Item, Note, Span, Summary, Undo

RECALL = "recall"
"""The key of `extras` by which a `Hide` says, with `False`, that what it hides is not recalled either."""

_Area = list[tuple[int, int]]


class Past:
    """What is past of one transcript, or of a pool, whose items are taken in the order of the log."""

    def __init__(self, *, is_pool: bool = False) -> None:
        self.gone: set[str] = set()
        """The ids of all that is past, as far as that was settled."""
        self.is_revived = False
        """Whether something was taken back that was settled: then what is gone is to be found anew."""
        self._is_pool = is_pool
        self._ids: list[str] = []
        self._positions: dict[str, int] = {}
        self._new: list[Hide | Summary] = []
        self._settled: set[str] = set()
        self._undos: dict[str, list[str]] = {}
        self._areas: dict[int, _Area] = {}
        self._keyed: dict[str, str] = {}
        self._out: set[str] = set()

    def position(self, item_id: str) -> int:
        """Where an item stands; before all others where it is of the transcript that this went on from."""
        return self._positions.get(item_id, -1)

    def take(self, item: Item) -> None:
        """Go on by one item."""
        self._positions[item.id] = len(self._ids)
        self._ids.append(item.id)
        match item:
            case Hide() if self._is_pool:
                self._out.update(span.first for span in item.spans)
            case Hide() if item.extras.get(RECALL) is not False:
                pass
            case Hide() | Summary():
                self._new.append(item)
            case Undo():
                self._undos.setdefault(item.target, []).append(item.id)
                self.is_revived |= self._root_of(item) in self._settled
            case Note(key=str(key)) if self._is_pool:
                if key in self._keyed:
                    self._out.add(self._keyed[key])
                self._keyed[key] = item.id
                self._out.discard(item.id)
                self.gone.discard(item.id)
            case _:
                pass

    def settle(self) -> set[str]:
        """The ids of what is gone by what was taken since the last time."""
        found, self._out = self._out, set()
        for edit in self._new:
            self._settled.add(edit.id)
            if not self._holds(edit.id):
                continue
            if isinstance(edit, Hide):
                found.update(self._hidden(edit))
            else:
                self._areas[self._positions[edit.id]] = self._area(edit)
        if any(isinstance(edit, Summary) for edit in self._new):
            for position in _folded(self._areas):
                del self._areas[position]
                found.add(self._ids[position])
        self._new = []
        self.gone |= found
        return found

    def _root_of(self, undo: Undo) -> str:
        """The edit that is taken back, or shown again, by taking back what took it back."""
        targets = {one: target for target, ones in self._undos.items() for one in ones}
        found = undo.target
        while found in targets:
            found = targets[found]
        return found

    def _holds(self, edit_id: str) -> bool:
        return not any(map(self._holds, self._undos.get(edit_id, ())))

    def _hidden(self, edit: Hide) -> Iterator[str]:
        return (one for span in edit.spans for one in self._ids[slice(*self._interval(span))])

    def _area(self, summary: Summary) -> _Area:
        """What a summary stands for, from where to where: itself, where it tells of nothing that is here."""
        found = sorted(self._interval(span) for span in summary.spans)
        own = self._positions[summary.id]
        return [(start, stop) for start, stop in found if stop > start] or [(own, own + 1)]

    def _interval(self, span: Span) -> tuple[int, int]:
        return max(self.position(span.first), 0), self.position(span.last) + 1


def _folded(areas: dict[int, _Area]) -> set[int]:
    """The summaries, by position, of which a later one covers all."""
    return {
        position
        for position, area in areas.items()
        if any(later > position and _is_within(area, other) for later, other in areas.items())
    }


def _is_within(area: _Area, other: _Area) -> bool:
    return all(any(low <= start and stop <= high for low, high in other) for start, stop in area)
