"""What happened lately, found again by labels: who did it, what it was, what it is about, whom it is for."""

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import islice
from threading import Lock
from typing import NamedTuple

from quire.errors import WrongType
from quire.items import KINDS, Item
from quire.tokens import whole

Label = tuple[str, str]
"""Of what sort a label is, and what it says: `("agent", "ana")`."""

MOST_EVENTS = 1_000


class _Kept(NamedTuple):
    number: int
    item: Item
    labels: tuple[Label, ...]


class Events:
    """The newest so many items, each once; one that comes again takes the place of what it was.

    Nothing is kept beyond this process. To put one and to let the oldest go takes the same time however many
    there are.
    """

    def __init__(self, limit: int = MOST_EVENTS) -> None:
        self._limit = whole(limit, "a limit of events", least=1)
        self._kept: dict[str, _Kept] = {}
        self._labelled: dict[Label, dict[str, None]] = {}
        self._number = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, item: Item, labels: Iterable[Label] = ()) -> None:
        """Take in an item under labels, as the newest."""
        if type(item) not in KINDS:
            raise WrongType(f"an event is an item, not {type(item).__name__}")
        own = tuple(dict.fromkeys(labels))
        with self._lock:
            self._let_go(item.id)
            self._number += 1
            self._kept[item.id] = _Kept(self._number, item, own)
            for label in own:
                self._labelled.setdefault(label, {})[item.id] = None
            if len(self._kept) > self._limit:
                self._let_go(next(iter(self._kept)))

    def newest(
        self,
        *labels: Label,
        limit: int | None = None,
        where: Callable[[Item], bool] | None = None,
    ) -> list[Item]:
        """The newest under any of some labels, or of all, the oldest of them first.

        `where` is asked before they are numbered: so many are given as there are.
        """
        most = None if limit is None else whole(limit, "a limit of events", least=0)
        with self._lock:
            found = (item for item in self._backwards(labels) if where is None or where(item))
            return list(islice(found, most))[::-1]

    def _backwards(self, labels: tuple[Label, ...]) -> Iterator[Item]:
        """From the newest back, each once."""
        if not labels:
            yield from (kept.item for kept in reversed(self._kept.values()))
            return
        rows = [map(self._kept.__getitem__, reversed(self._labelled.get(label, {}))) for label in labels]
        before = 0
        for kept in merge(*rows, key=lambda kept: kept.number, reverse=True):
            if kept.number != before:
                yield kept.item
            before = kept.number

    def _let_go(self, item_id: str) -> None:
        kept = self._kept.pop(item_id, None)
        for label in kept.labels if kept is not None else ():
            row = self._labelled[label]
            del row[item_id]
            if not row:
                del self._labelled[label]
