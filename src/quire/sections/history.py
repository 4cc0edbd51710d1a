"""Sections of what happened: the history of a transcript, the input to be answered, and direct messages."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Unpack

from msgspec.structs import replace

from quire.errors import InvalidValue, WrongType
from quire.items import Item, Message, ToolCall, ToolResult
from quire.sections.section import NEVER_SHOWN, Ask, Options, Settings, checked_function
from quire.state import (
    View,
    checked_items,
    is_user_message,
    newest_from,
    protected_positions,
    without_last,
)
from quire.tokens import named, whole

Predicate = Callable[[Item], bool]
Transform = Callable[[Item], Item | None]


class History(Settings):
    """The view of a transcript, its last `messages` or `turns`, or the items that `where` accepts.

    A group is never split. Of the last messages or turns, a group is shown whole if any of it is among them;
    instructions, summaries, pins, pending calls and the last user message always stay. An item of any kind
    counts as a message, and a turn begins with a user message. A group is left out whole if `where` refuses
    one of its items, or if `transform`, which returns an item or None, leaves a call without its result. The
    last user message is never left out. `where` and `transform` are called for every item in every turn, and
    must return the same for the same item.
    """

    def __init__(
        self,
        transcript: str = "main",
        *,
        messages: int | None = None,
        turns: int | None = None,
        where: Predicate | None = None,
        transform: Transform | None = None,
        name: str = "history",
        **options: Unpack[Options],
    ) -> None:
        if messages is not None and turns is not None:
            raise InvalidValue("a history is limited by messages or by turns, not by both")
        slides = messages is not None or turns is not None
        usual = Options(stability="volatile" if slides else "slow", keeps="newest")
        super().__init__(name, **(usual | options))
        if self.keeps != "newest":
            raise InvalidValue("a history keeps its newest items, which the model is to answer")
        self.transcript = named(transcript, "the name of a transcript")
        self._leaves_input = False
        self._messages = None if messages is None else whole(messages, "messages", least=1)
        self._turns = None if turns is None else whole(turns, "turns", least=1)
        self._where = None if where is None else checked_function(where, "where")
        self._transform = None if transform is None else checked_function(transform, "transform")

    def without_input(self) -> "History":
        """Return the same history for a template in which another section shows the input.

        It leaves the input out until something follows it. Then the input stays before the calls that answer
        it: shown after them it would be another question.
        """
        copy = History.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._leaves_input = True
        return copy

    async def items(self, ask: Ask) -> View | Sequence[Item]:
        """Return the view itself if nothing is left out of it."""
        chosen = self._chosen(ask.view(self.transcript))
        if self.shown_elsewhere(ask) is None:
            return chosen
        return without_last(chosen) if isinstance(chosen, View) else chosen[:-1]

    def shown_elsewhere(self, ask: Ask) -> Item | None:
        """Return the input, if it is the last item of this history and another section shows it."""
        view, given = ask.view(self.transcript), ask.input
        if not self._leaves_input or given is None or not is_user_message(given) or not len(view):
            return None
        return view[-1] if view[-1].id == given.id else None

    def _chosen(self, view: View) -> View | tuple[Item, ...]:
        if self._where is None and self._transform is None:
            newest = newest_from(view, self._start(view))
            return view if len(newest) == len(view) else tuple(newest)
        items = self._filtered(view)
        start = self._start(items)
        if not start:
            return tuple(items)
        stays = {view.log.item(position).id for position in protected_positions(view)}
        return tuple(newest_from(items, start, stays))

    def _start(self, items: Sequence[Item]) -> int:
        """Return the index at which the last messages or turns begin."""
        if self._messages is not None:
            return max(len(items) - self._messages, 0)
        if self._turns is None:
            return 0
        back = (number for number, item in enumerate(reversed(items), 1) if is_user_message(item))
        return len(items) - next(islice(back, self._turns - 1, None), len(items))

    def _filtered(self, view: View) -> list[Item]:
        answered = next((item for item in reversed(view) if is_user_message(item)), None)
        kept: dict[str, Item] = {}
        for group in view.groups():
            shown = self._filtered_group(group.items)
            if not shown and group.items[0] is answered:
                shown = [self._changed(answered) or answered]  # pyright: ignore
            kept.update((item.id, item) for item in shown)  # pyright: ignore
        return [kept[item.id] for item in view if item.id in kept]

    def _filtered_group(self, items: Sequence[Item]) -> list[Item]:
        if self._where is not None and not all(map(self._where, items)):
            return []
        if self._transform is None:
            return list(items)
        shown = [changed for item in items if (changed := self._changed(item)) is not None]
        return shown if _unpaired(shown) <= _unpaired(items) else []

    def _changed(self, item: Item) -> Item | None:
        """Return the item that `transform` shows in place of one, with its id and time."""
        changed = item if self._transform is None else self._transform(item)
        if changed is None or changed is item:
            return changed
        checked_items((changed,))
        if isinstance(changed, NEVER_SHOWN):
            raise WrongType(f"transform must return an item that can be shown, not {type(changed).__name__}")
        return replace(changed, id=item.id, created_at=item.created_at)


def _unpaired(items: Sequence[Item]) -> set[str]:
    """Return the ids of calls without a result, and of results without a call."""
    calls = {item.call_id for item in items if isinstance(item, ToolCall)}
    return calls ^ {item.call_id for item in items if isinstance(item, ToolResult)}


class Input(Settings):
    """The message to be answered, if it is known, at this place of the template.

    A result that answers a call is not shown apart from the call, so it is left to the history.
    """

    def __init__(self, name: str = "input", **options: Unpack[Options]) -> None:
        super().__init__(name, **options)
        if not self.required:
            raise InvalidValue("the input is never left out: its section is required")

    async def items(self, ask: Ask) -> tuple[Item, ...]:
        """Return the input itself."""
        return () if ask.input is None or isinstance(ask.input, ToolResult) else (ask.input,)


class Inbox(Settings):
    """Direct messages that have not expired: the most important first, then the oldest.

    With an `agent_id` only the messages to this agent. A message without an address is not a direct one.
    """

    def __init__(
        self,
        agent_id: str | None = None,
        *,
        limit: int | None = None,
        name: str = "inbox",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(name, **(Options(required=False) | options))
        self._agent_id = agent_id
        self._limit = None if limit is None else whole(limit, "a limit of messages", least=1)

    async def items(self, ask: Ask) -> tuple[Message, ...]:
        """Return the messages that are still valid."""
        valid = [message for message in ask.inbox if self._is_valid(message, ask.now)]
        return tuple(sorted(valid, key=_rank)[: self._limit])

    def _is_valid(self, message: Message, now: float) -> bool:
        address = message.address
        if address is None or (self._agent_id is not None and address.to != self._agent_id):
            return False
        return address.expires_at is None or address.expires_at > now


def _rank(message: Message) -> tuple[float, float, str]:
    priority = message.address.priority if message.address else None
    return (-(0.5 if priority is None else priority), message.created_at, message.id)
