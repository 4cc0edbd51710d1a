"""Where each task of a node is now, told from the logs: who looks takes in what others wrote."""

from collections.abc import Mapping
from threading import RLock
from typing import NamedTuple
from weakref import WeakKeyDictionary

from quire.bridges.loom.items import is_result, task_id_in
from quire.memory import RECALL, is_reserved
from quire.session import Session
from quire.state import View
from quire.stores import Place as Address, Standing, Store


class Place(NamedTuple):
    """A conversation, and an item in it."""

    conversation: str
    item_id: str


class _Read(NamedTuple):
    """How a conversation stood when it was read, how far that was, and the last item that was there."""

    stood: tuple[int, str | bytes]
    end: int
    last: str


class Latest:
    """The tasks of one node, each by its id. All who look in this process share it: nothing is read twice."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._outdated: dict[str, list[Place]] = {}
        self._read: dict[str, _Read] = {}
        self._changes = 0
        self._lock = RLock()

    def place(self, task_id: str) -> Place | None:
        """Where a task is, as far as was read."""
        return self._places.get(task_id)

    def outdated(self, task_id: str) -> list[Place]:
        """Where a task is shown as it was before; each is given once, to be hidden."""
        with self._lock:
            return self._outdated.pop(task_id, [])

    def catch_up(self, store: Store, scope: str) -> int:
        """Take in what the conversations have grown by; how often there was something, so far.

        Others catch up meanwhile: only who compares two of these knows that nothing changed between them.
        """
        with self._lock:
            standings = store.conversations(scope)
            gone = [name for name in self._read if name not in standings]
            for name in gone:
                self._let_go(name)
            own = ((Address(scope, name), one) for name, one in standings.items() if not is_reserved(name))
            grown = [self._follow(store, address, standing) for address, standing in own]
            self._changes += bool(gone) or any(grown)
            return self._changes

    def _follow(self, store: Store, address: Address, standing: Standing) -> bool:
        """Read on in a conversation; whether it has grown, or is another."""
        name, stands = address.conversation, _stands(store, address, standing)
        read = self._read.get(name)
        if read is not None and read.stood == stands:
            return False
        view = Session.open(scope=address.scope, conversation=name, store=store).view()
        if read is not None and not _goes_on(view, read):
            self._let_go(name)
            read = None
        self._take(name, view, 0 if read is None else read.end)
        last = view.log.item(view.end - 1).id if view.end else ""
        self._read[name] = _Read(stands, view.end, last)
        return True

    def _take(self, conversation: str, view: View, start: int) -> None:
        """Note where tasks are, in this conversation or another: of ids, the last is how one is now."""
        for position, item in enumerate(view.log.items(start, view.end), start):
            task_id = None if is_result(item) else task_id_in(item)
            if task_id is None or _is_withdrawn(view, position):
                continue
            place = Place(conversation, item.id)
            older, newer = sorted((self._places.get(task_id, place), place), key=lambda one: one[::-1])
            self._places[task_id] = newer
            if older != newer:
                self._outdated.setdefault(task_id, []).append(older)

    def _let_go(self, conversation: str) -> None:
        """Nothing is known of a conversation that is not there, or is another now."""
        del self._read[conversation]
        self._places = {
            task_id: place for task_id, place in self._places.items() if place.conversation != conversation
        }


def _stands(store: Store, address: Address, standing: Standing) -> tuple[int, str | bytes]:
    """How a conversation stands. Where a store cannot tell logs apart, their last entries do."""
    version, log = standing
    if log or not version:
        return version, log
    stored = store.read(address, after=version - 1)
    return version, stored[0].body if stored else b""


def _goes_on(view: View, read: _Read) -> bool:
    return read.end <= view.end and (not read.end or view.log.item(read.end - 1).id == read.last)


def _is_withdrawn(view: View, position: int) -> bool:
    """Whether an item is hidden because it holds no longer, and not for want of room."""
    if view.run_at(position) is not None:
        return False
    fate = view.fate(view.log.item(position).id)
    edit = None if fate.by is None else view.log.find(fate.by, view.end)
    extras: Mapping[str, object] = {} if edit is None else view.log.item(edit).extras
    return extras.get(RECALL) is False


_all: "WeakKeyDictionary[Store, dict[str, Latest]]" = WeakKeyDictionary()
_lock = RLock()


def latest_of(store: Store, node_id: str) -> Latest:
    """What is known of a node's tasks in a store, by all in this process."""
    with _lock:
        return _all.setdefault(store, {}).setdefault(node_id, Latest())
