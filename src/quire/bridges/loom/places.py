"""The tasks of a node, kept in sessions of the engine: each is there as it was added last."""

from contextlib import suppress
from pathlib import Path

from quire.bridges.loom.items import item_of, result_id, result_of, task_id_in, task_in
from quire.bridges.loom.latest import Place, latest_of
from quire.bridges.loom.task import Task
from quire.errors import DuplicateId, EditRefused
from quire.items import Hide, Item, new_id
from quire.memory import RECALL
from quire.session import Session, open_store
from quire.state import View, spans_over
from quire.stores import MemoryStore, Store


class Kept:
    """The tasks of a node, each by its id, over a store. The log of a session only grows.

    A task that is kept again is another item; how it was before is hidden, and not found again.
    """

    def __init__(self, node_id: str, store: str | Path | Store | None) -> None:
        self._scope = node_id
        self.store = MemoryStore() if store is None else open_store(store, None, None)
        self._latest = latest_of(self.store, node_id)

    def catch_up(self) -> int:
        """Take in what others kept, in this process or another; how often there was something, so far."""
        return self._latest.catch_up(self.store, self._scope)

    def put(self, task: Task, conversation: str) -> None:
        """Keep a task, in place of how it was before."""
        self.catch_up()
        try:
            self._append(task, conversation, is_new=self._latest.place(task.task_id) is None)
        except DuplicateId:  # another was quicker, or what had the id was forgotten
            self._append(task, conversation, is_new=False)
        self.catch_up()
        for place in self._latest.outdated(task.task_id):
            self._hide(place)

    def _append(self, task: Task, conversation: str, is_new: bool) -> None:
        item = item_of(task, None if is_new else f"{task.task_id}/{new_id()}")
        result = result_of(task, item)
        self.session(conversation).append(*((item,) if result is None else (item, result)))

    def get(self, task_id: str) -> Task | None:
        """A task as it is now."""
        self.catch_up()
        place = self._latest.place(task_id)
        item = None if place is None else item_in(self.session(place.conversation).view(), place.item_id)
        return None if item is None else task_in(item)

    def is_now(self, item: Item) -> bool:
        """Whether an item says how a task is now, as far as was read, or what it came to."""
        place = self._latest.place(task_id_in(item) or "")
        return place is not None and item.id in (place.item_id, result_id(place.item_id))

    def session(self, conversation: str) -> Session:
        """The session of a conversation."""
        return Session.open(scope=self._scope, conversation=conversation, store=self.store)

    def _hide(self, place: Place) -> None:
        session = self.session(place.conversation)
        view, ids = session.view(), (place.item_id, result_id(place.item_id))
        found = [item for one in ids if (item := item_in(view, one)) is not None]
        shown = [item for item in found if view.fate(item.id).state == "shown"]
        if not shown:  # another hid it
            return
        # What a session is to answer stays shown in it, also where the task went on in another.
        with suppress(EditRefused):
            session.append(Hide(spans_over(view, shown), extras={RECALL: False}))


def item_in(view: View, item_id: str) -> Item | None:
    """An item by its id, shown or not."""
    position = view.log.find(item_id, view.end)
    return None if position is None else view.log.item(position)
