"""What a context shows: the messages of a view, worked out once and then for what was added alone."""

from collections.abc import Iterable
from threading import Lock
from typing import NoReturn

from quire.bridges.a1.items import is_shown, join
from quire.bridges.a1.messages import Message
from quire.errors import WrongType
from quire.items import Item
from quire.state import View


def _refuse(self: object, *_args: object, **_kwargs: object) -> NoReturn:
    raise WrongType(
        "this list only shows what a context holds: use the context's verbs, or set its messages anew"
    )


class ShownMessages(list[Message]):
    """What a context showed when it was asked. A change of it would be lost without a word: it is refused."""

    __slots__ = ()

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse


class Shown:
    """The messages of the latest view, and the items of each. Any thread may ask."""

    __slots__ = ("_items", "_lock", "_messages", "_view")

    def __init__(self) -> None:
        self._lock = Lock()
        self._view: View | None = None
        self._messages: list[Message] = []
        self._items: list[list[Item]] = []

    def count(self, view: View) -> int:
        """How many messages a view shows."""
        with self._lock:
            self._take(view)
            return len(self._messages)

    def messages(self, view: View) -> ShownMessages:
        """The messages of a view."""
        with self._lock:
            self._take(view)
            return ShownMessages(self._messages)

    def left_out(self, view: View, kept: Iterable[Message]) -> list[Item] | None:
        """The items of all messages but these; none where these are not in the order they are shown in."""
        with self._lock:
            self._take(view)
            rest, wanted = list[Item](), list(kept)
            wanted.reverse()
            for message, items in zip(self._messages, self._items, strict=True):
                if wanted and wanted[-1] == message:
                    wanted.pop()
                else:
                    rest += items
            return None if wanted else rest

    def _take(self, view: View) -> None:
        added = None if self._view is None else view.added_since(self._view)
        if added is None:
            self._messages, self._items, added = [], [], list(view)
        for item in added:
            if join(self._messages, item):
                self._items[-1].append(item)
            elif is_shown(item):
                self._items.append([item])
        self._view = view
