"""Adding to a context: at the end, or where an item's time puts it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from quire.bridges.videosdk.contents import ChatContent
from quire.bridges.videosdk.items import (
    KINDS,
    AgentConfigUpdate,
    AgentHandoff,
    ChatItem,
    FunctionCall,
    FunctionCallOutput,
)
from quire.bridges.videosdk.keeping import Holding
from quire.bridges.videosdk.messages import ChatMessage, ChatRole
from quire.errors import WrongType
from quire.items import Hide, Item, Message, new_id
from quire.state import spans_over

Added = TypeVar("Added", bound=ChatItem)


class Adding(Holding):
    """The verbs that record what happened."""

    def add_message(
        self,
        role: ChatRole | str,
        content: str | Sequence[ChatContent],
        message_id: str | None = None,
        created_at: float | None = None,
        replace: bool = False,
        agent_id: str | None = None,
    ) -> ChatMessage:
        """Something said. With `replace` a message of the system takes the place of all earlier ones."""
        parts = [content] if isinstance(content, str) else content
        message = ChatMessage(
            role=role, content=parts, id=message_id, created_at=created_at, agent_id=agent_id
        )
        if replace and message.role is ChatRole.SYSTEM:
            view = self._kept.transcript.view
            earlier = [item for item in view if isinstance(item, Message) and item.role == "system"]
            spans = spans_over(view, earlier)
            self._kept.transcript.extend((Hide(spans),) if spans else ())
        return ChatMessage.over(self._kept.append(message.item))

    def add_function_call(
        self,
        name: str,
        arguments: str,
        call_id: str | None = None,
        agent_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> FunctionCall:
        """A model's wish to have a tool run; `metadata` is what its provider wants back with it."""
        call_id = call_id or f"call_{new_id()}"
        call = FunctionCall(
            name=name, arguments=arguments, call_id=call_id, agent_id=agent_id, metadata=metadata
        )
        return FunctionCall.over(self._kept.append(call.item))

    def add_function_output(
        self, name: str, output: str, call_id: str, is_error: bool = False, agent_id: str | None = None
    ) -> FunctionCallOutput:
        """What a tool gave back."""
        given = FunctionCallOutput(
            name=name, output=output, call_id=call_id, is_error=is_error, agent_id=agent_id
        )
        return FunctionCallOutput.over(self._kept.append(given.item))

    def add_handoff(
        self, to_agent: str, from_agent: str | None = None, reason: str | None = None
    ) -> AgentHandoff:
        """Another agent takes over."""
        handoff = AgentHandoff(to_agent=to_agent, from_agent=from_agent, reason=reason)
        return AgentHandoff.over(self._kept.append(handoff.item))

    def add_config_update(
        self,
        instructions: str | None = None,
        tools: Iterable[object] | None = None,
        agent_id: str | None = None,
    ) -> AgentConfigUpdate:
        """Other instructions or other tools from here on; tools are given by name or as they are."""
        update = AgentConfigUpdate(instructions=instructions, tools=tools, agent_id=agent_id)
        return AgentConfigUpdate.over(self._kept.append(update.item))

    def insert(self, item: Added) -> Added:
        """Put an item where its time puts it: after what is as old, never between a call and its output."""
        self.insert_many([item])
        return item

    def insert_many(self, items: Iterable[ChatItem]) -> None:
        """Put several items where their times put them, all or none."""
        self._kept.insert([_by_its_time(item) for item in items])


def engine_item(item: ChatItem) -> Item:
    """The item as the engine keeps it."""
    if not isinstance(item, KINDS):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a chat context takes chat items, not {type(item).__name__}")
    return item.item


def _by_its_time(item: ChatItem) -> Item:
    kept = engine_item(item)
    same = kept.created_at == item.created_at
    return kept if same else msgspec.structs.replace(kept, created_at=item.created_at)
