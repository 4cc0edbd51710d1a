"""Autonomy's sections: those of the engine, which can also be asked for messages."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from quire.bridges.autonomy.builtin import builtin_definitions, telling
from quire.bridges.autonomy.memory import Memory
from quire.bridges.autonomy.messages import items_in, messages_of
from quire.errors import WrongType
from quire.items import Item, Message, ToolCall, ToolResult
from quire.sections import (
    Ask,
    Content,
    History,
    Instructions,
    Predicate,
    ToolGuide,
    checked_function,
    maybe_await,
)
from quire.state import View
from quire.tokens import named

Messages = list[dict[str, Any]]
Provider = Callable[[str, str, dict[str, Any]], Messages | Awaitable[Messages]]
"""Given the scope, the conversation and the shared parameters."""

HISTORY = "conversation_history"


class Section(Protocol):
    """What a template needs of a section; one of your own needs no more. It may say that it is `enabled`."""

    name: str

    async def get_messages(
        self, memory: Memory, scope: str, conversation: str, params: dict[str, Any]
    ) -> Sequence[Mapping[str, Any]]:
        """What it has to show."""
        ...


class Reads:
    """`get_messages` for sections of the engine."""

    async def get_messages(
        self, memory: Memory, scope: str, conversation: str, params: dict[str, Any]
    ) -> Messages:
        """What it has to show, as messages."""
        return list(messages_of(await self._shown(memory.ask(scope, conversation, params))))

    async def _shown(self, ask: Ask) -> Iterable[Item]:
        return await self.items(ask)  # type: ignore[attr-defined,no-any-return]  # pyright: ignore


class SystemInstructionsSection(Reads, Instructions):
    """What the model is told before all else: messages, or a text."""

    def __init__(
        self, instructions: str | Sequence[Mapping[str, Any]], name: str = "system_instructions"
    ) -> None:
        super().__init__(instructions, name)


class FrameworkInstructionsSection(Reads, ToolGuide):
    """How to use the tools that come with an agent, those that it really has.

    Where there is no agent, the arguments say which these are.
    """

    def __init__(
        self,
        enable_ask_for_user_input: bool = False,
        enable_filesystem: bool = False,
        subagents: bool = False,
        name: str = "framework_instructions",
    ) -> None:
        super().__init__(telling, name)
        self._tools = builtin_definitions(
            asks=enable_ask_for_user_input, files=enable_filesystem, delegates=subagents
        )

    async def _shown(self, ask: Ask) -> Iterable[Item]:
        return await self.items(replace(ask, tools=self._tools))


class ConversationHistorySection(Reads, History):
    """What was said: all of it, its last `max_messages`, what `filter_fn` says yes to, or changed.

    No call is ever without its result. Both functions are given one message at a time.
    """

    def __init__(
        self,
        max_messages: int | None = None,
        filter_fn: Callable[[dict[str, Any]], bool] | None = None,
        transform_fn: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None,
        name: str = HISTORY,
    ) -> None:
        super().__init__(
            messages=max_messages or None,
            where=None if filter_fn is None else _asking(checked_function(filter_fn, "filter_fn")),
            transform=None
            if transform_fn is None
            else _changing(checked_function(transform_fn, "transform_fn")),
            name=name,
        )

    async def items(self, ask: Ask) -> View | Sequence[Item]:
        """The history; how many messages it has is said to the sections after it."""
        shown = await super().items(ask)
        ask.parameters["conversation_message_count"] = len(shown)
        return shown


class AdditionalContextSection:
    """More that the model should know: messages as they are, and then what a function brings each turn."""

    def __init__(
        self,
        name: str = "additional_context",
        provider_fn: Provider | None = None,
        messages: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.name = named(name, "the name of a section")
        self.enabled = True
        self._provider = None if provider_fn is None else checked_function(provider_fn, "provider_fn")
        self.set_messages(messages)

    def set_messages(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Show these messages, in place of those before."""
        self._messages = [dict(message) for message in messages]

    def add_message(self, message: Mapping[str, Any]) -> None:
        """Show one message more."""
        self._messages.append(dict(message))

    def clear_messages(self) -> None:
        """Show none but what the function brings."""
        self._messages.clear()

    async def get_messages(
        self, memory: Memory, scope: str, conversation: str, params: dict[str, Any]
    ) -> Messages:
        """The messages, and what the function gives."""
        if self._provider is None:
            return list(self._messages)
        return [*self._messages, *(await maybe_await(self._provider(scope, conversation, params)) or ())]


def _asking(keep: Callable[[dict[str, Any]], bool]) -> Predicate:
    def where(item: Item) -> bool:
        return not _is_message(item) or bool(keep(dict(messages_of([item])[0])))

    return where


def _changing(change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Callable[[Item], Item | None]:
    def transform(item: Item) -> Item | None:
        if not _is_message(item):
            return item
        message = messages_of([item])[0]
        changed = change(message)
        if changed is None or changed is message:
            return None if changed is None else items_in([message], "transform_fn")[0]
        items = items_in([changed], "transform_fn")
        if len(items) != 1:
            raise WrongType("transform_fn gives one message for one, with calls where it had calls")
        return replace(items[0], id=item.id, created_at=item.created_at)

    return transform


def _is_message(item: Item) -> bool:
    return isinstance(item, Message | ToolCall | ToolResult)


__all__ = [
    "HISTORY",
    "AdditionalContextSection",
    "Content",
    "ConversationHistorySection",
    "FrameworkInstructionsSection",
    "Reads",
    "Section",
    "SystemInstructionsSection",
]
