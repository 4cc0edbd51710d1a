"""Models as they are handed in: the engine's, their names, or anything else that can complete a chat."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Unpack, cast, runtime_checkable

from quire.bridges.autonomy.messages import messages_of
from quire.errors import InvalidValue, WrongType
from quire.items import Item, Message
from quire.models import Answering, AnyModel, Asks, ChatReply, Model, Terms
from quire.providers import CachePlan, Parsed, Rendered
from quire.tokens import Definition

USUAL = "claude-sonnet-4-v1"
"""The model of an agent that is given none."""


@runtime_checkable
class Chat(Protocol):
    """What can complete a chat."""

    async def complete_chat(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> Any:
        """The answer; `str` of it is its text."""
        ...


def model_of(given: object) -> AnyModel:
    """The model that is meant: by name, itself, or one that can complete a chat and nothing else."""
    if isinstance(given, type):
        raise WrongType(f"a model is needed, not the class {given.__name__}")
    if given is None or isinstance(given, str):
        return Model(USUAL if given is None else given)
    if callable(getattr(given, "send", None)) and callable(getattr(given, "ask", None)):
        return cast(AnyModel, given)
    if isinstance(given, Chat):
        return Writer(given)
    raise WrongType(f"a model, or the name of one, is needed, not {type(given).__name__}")


class Writer(Asks):
    """One that can complete a chat, as a model that writes summaries; it is not asked for anything else."""

    wire = "openai"

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self.name = str(getattr(chat, "name", None) or type(chat).__name__)

    async def ask(
        self,
        items: Sequence[Item],
        *,
        tools: Sequence[Definition] = (),
        plan: CachePlan | None = None,
        **terms: Unpack[Terms],
    ) -> Parsed:
        """The whole answer."""
        size = terms.get("max_tokens")
        options: dict[str, Any] = {} if size is None else {"max_tokens": size}
        reply = await self._chat.complete_chat([dict(one) for one in messages_of(items)], **options)
        if isinstance(reply, ChatReply):
            return reply.parsed
        return Parsed((Message("assistant", str(reply)),), model=self.name)

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Unpack[Terms]) -> Answering:
        """Refused: what an agent is asked has a payload, and this takes messages."""
        raise InvalidValue(f"{self.name} completes chats and writes summaries: an agent needs a Model")
