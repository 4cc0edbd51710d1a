"""Autonomy's memory: all that was said in each conversation, over sessions of the engine."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self
from weakref import WeakValueDictionary

from quire.bridges.autonomy.messages import Said, messages_of, recorded
from quire.errors import EditRefused, InvalidValue, WrongType
from quire.items import EDITS, Hide, Item, Message, ToolCall, now
from quire.sections import Ask
from quire.session import Session
from quire.state import View, spans_over
from quire.stores import MemoryStore, Store, place_at
from quire.stores.store import is_tombstone
from quire.tokens import Definition

Opening = Callable[[str, str], Session]
"""Opens the session of a scope and a conversation."""

_AT_HAND = 256
"""Sessions that are kept open; the others are opened anew, and have lost nothing."""


class Memory:
    """Conversations by scope and name. Nothing of one scope is seen from another.

    It is in this process alone, unless a `store` says where it rests.
    """

    def __init__(self, *, store: str | Path | Store | None = None) -> None:
        kept = MemoryStore() if store is None else store
        self._begin(lambda scope, name: Session.open(scope=scope, conversation=name, store=kept))

    @classmethod
    def over(cls, opening: Opening) -> Self:
        """The memory of sessions that somebody else opens."""
        memory = cls.__new__(cls)
        memory._begin(opening)
        return memory

    def _begin(self, opening: Opening) -> None:
        self._opening = opening
        self._at_hand: OrderedDict[tuple[str, str], Session] = OrderedDict()
        self._others: WeakValueDictionary[tuple[str, str], Session] = WeakValueDictionary()
        self._instructions: list[dict[str, Any]] = []

    async def add_message(self, scope: str, conversation: str, message: Mapping[str, Any]) -> None:
        """Keep a message, after all that is there. It is read with the time at which it was kept."""
        await self.add_messages(scope, conversation, [message])

    async def add_messages(
        self, scope: str, conversation: str, messages: Iterable[Mapping[str, Any]]
    ) -> None:
        """Keep messages in their order, all or none."""
        session = self.session(scope, conversation)
        called = {call.call_id: call.name for call in session.view().pending()}
        items: list[Item] = []
        for message in messages:
            if not isinstance(message, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise WrongType(f"a message is a dictionary with a role, not {type(message).__name__}")
            items += recorded(message, called)
            called |= {item.call_id: item.name for item in items if isinstance(item, ToolCall)}
        if items:
            await session.aio.append(*items)

    async def get_messages(self, scope: str, conversation: str) -> list[dict[str, Any]]:
        """The instructions, and then all messages of a conversation."""
        return [*map(dict, self._instructions), *await self.get_messages_only(scope, conversation)]

    async def get_messages_only(self, scope: str, conversation: str) -> list[Said]:
        """All messages of a conversation, oldest first, also those that a summary stands for by now."""
        said = self.session(scope, conversation).view().recorded()
        return messages_of(item for item in said if type(item) not in EDITS and not is_tombstone(item))

    async def get_message_count(self, scope: str, conversation: str) -> int:
        """How many messages a conversation has."""
        return len(await self.get_messages_only(scope, conversation))

    async def clear_short_term_memory(self, scope: str, conversation: str) -> None:
        """Forget what was said in a conversation, for good; a model sees no more of it either."""
        session = self.session(scope, conversation)
        with suppress(EditRefused, InvalidValue):  # of what must stay, a stub is shown
            session.append(Hide(spans_over(session.view(), _all_but_the_last_of_the_user(session.view()))))
        session.forget()

    async def delete_conversation(self, scope: str, conversation: str) -> None:
        """What `clear_short_term_memory` does: there is one memory, and it is cleared."""
        await self.clear_short_term_memory(scope, conversation)

    def set_instructions(self, instructions: Sequence[Mapping[str, Any]]) -> None:
        """The messages that `get_messages` begins with."""
        self._instructions = [dict(message) for message in instructions]

    def session(self, scope: str, conversation: str) -> Session:
        """The engine's session of a conversation: the one that an agent works in, if it does."""
        key = place_at(scope=scope, conversation=conversation)
        session = self._others.get(key) or self._at_hand.pop(key, None) or self._opening(scope, conversation)
        if key not in self._others:
            self._at_hand[key] = session  # the latest used stands last
        while len(self._at_hand) > _AT_HAND:
            self._at_hand.popitem(last=False)
        return session

    def adopt(self, session: Session, scope: str, conversation: str) -> None:
        """From now on a conversation is read from this session, for as long as somebody else has it."""
        self._at_hand.pop((scope, conversation), None)
        self._others[scope, conversation] = session

    def ask(
        self, scope: str, conversation: str, params: dict[str, Any], tools: Sequence[Definition] = ()
    ) -> Ask:
        """What the engine's sections are asked with, for one conversation."""
        view = self.session(scope, conversation).view()
        return Ask(
            views={"main": view},
            tools=tools,
            scope=scope,
            conversation=conversation,
            now=now(),
            parameters=params,
        )


def _all_but_the_last_of_the_user(view: View) -> list[Item]:
    said = [item for item in view if isinstance(item, Message) and item.role == "user"]
    return [item for item in view if item not in said[-1:]]
