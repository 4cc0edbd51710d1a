"""What comes in: messages for this agent from others, and the input that is to be answered."""

from typing import Unpack

from quire.errors import InvalidValue
from quire.items import Item, Message, ToolResult
from quire.sections.section import Ask, Options, Settings
from quire.tokens import named, whole

_USUAL_PRIORITY = 0.5


class Inbox(Settings):
    """Direct messages, the most important first and among equals the oldest; what has expired is left out.

    Without an agent's id those for anybody; a message that is for nobody is not a direct one.
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
        self._agent_id = None if agent_id is None else named(agent_id, "the id of an agent")
        self._limit = None if limit is None else whole(limit, "a limit of messages", least=1)

    async def items(self, ask: Ask) -> tuple[Message, ...]:
        """The messages that are still good."""
        good = [message for message in ask.inbox if self._is_for_us(message, ask.now)]
        return tuple(sorted(good, key=_rank)[: self._limit])

    def _is_for_us(self, message: Message, now: float) -> bool:
        address = message.address
        if address is None or (self._agent_id is not None and address.to != self._agent_id):
            return False
        return address.expires_at is None or address.expires_at > now


class Input(Settings):
    """The message to be answered, where the template has it; nothing where none is known.

    A result that answers a call is not shown apart from it, and so is left to the history.
    """

    def __init__(self, name: str = "input", **options: Unpack[Options]) -> None:
        super().__init__(name, **options)
        if not self.required:
            raise InvalidValue("the message to be answered is never left out: its section is required")

    async def items(self, ask: Ask) -> tuple[Item, ...]:
        """The input itself."""
        return () if ask.input is None or isinstance(ask.input, ToolResult) else (ask.input,)


def _rank(message: Message) -> tuple[float, float, str]:
    priority = message.address.priority if message.address else None
    return (-(_USUAL_PRIORITY if priority is None else priority), message.created_at, message.id)
