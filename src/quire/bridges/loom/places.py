"""Where each task is kept: the conversation, and the item that says how it is now."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from quire.bridges.loom.items import is_result, item_of, result_id, result_of, task_id_in, task_in
from quire.bridges.loom.task import Task
from quire.errors import EditRefused
from quire.items import Hide, Item, new_id
from quire.memory.knowledge.records import is_reserved
from quire.memory.past import RECALL
from quire.session import Session
from quire.session.opening import shared_store
from quire.state import View
from quire.state.spanning import spans_over
from quire.stores import MemoryStore, Store


class Place(NamedTuple):
    """A conversation, and an item in it."""

    conversation: str
    item_id: str


class Kept:
    """The tasks of a node, each by its id, over a store. The log of a session only grows.

    A task that is kept again is another item; how it was before is hidden, and not found again.
    """

    def __init__(self, node_id: str, store: str | Path | Store | None) -> None:
        self._scope = node_id
        self.store = MemoryStore() if store is None else shared_store(store, None, None)
        self._places: dict[str, Place] = {}
        for conversation in self.store.conversations(node_id):
            if not is_reserved(conversation):
                self._take(conversation, self.session(conversation).view())

    def put(self, task: Task, conversation: str) -> None:
        """Keep a task, in place of how it was before."""
        known = self._places.get(task.task_id)
        item = item_of(task)
        if known is not None:
            item = item_of(task, f"{task.task_id}/{new_id()}")  # ids sort by time: the last is how it is now
        result = result_of(task, item)
        self.session(conversation).append(*((item,) if result is None else (item, result)))
        self._places[task.task_id] = Place(conversation, item.id)
        if known is not None:
            self._hide(known)

    def get(self, task_id: str) -> Task | None:
        """A task as it is now."""
        place = self._places.get(task_id)
        item = None if place is None else item_in(self.session(place.conversation).view(), place.item_id)
        return None if item is None else task_in(item)

    def is_now(self, item: Item) -> bool:
        """Whether an item says how a task is now, or what it came to."""
        place = self._places.get(task_id_in(item) or "")
        return place is not None and item.id in (place.item_id, result_id(place.item_id))

    def session(self, conversation: str) -> Session:
        """The session of a conversation."""
        return Session.open(scope=self._scope, conversation=conversation, store=self.store)

    def _take(self, conversation: str, items: Iterable[Item]) -> None:
        """Note where tasks are that were kept before, in this conversation or another."""
        for item in items:
            task_id = None if is_result(item) else task_id_in(item)
            known = None if task_id is None else self._places.get(task_id)
            if task_id is not None and (known is None or known.item_id < item.id):
                self._places[task_id] = Place(conversation, item.id)

    def _hide(self, place: Place) -> None:
        session = self.session(place.conversation)
        view, ids = session.view(), (place.item_id, result_id(place.item_id))
        found = [item for one in ids if (item := item_in(view, one)) is not None]
        shown = [item for item in found if view.fate(item.id).state == "shown"]
        # What a session is to answer stays shown in it, also where the task went on in another.
        with suppress(EditRefused):
            session.append(Hide(spans_over(view, shown), extras={RECALL: False}))


def item_in(view: View, item_id: str) -> Item | None:
    """An item by its id, shown or not."""
    position = view.log.find(item_id, view.end)
    return None if position is None else view.log.item(position)
