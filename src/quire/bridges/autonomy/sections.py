"""Autonomy's context template and its sections."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, cast
from weakref import WeakKeyDictionary

from quire.bridges.autonomy.messages import (
    Memory,
    MemoryCopy,
    items_in,
    messages_of,
    paired,
    recorded_items,
    system_message,
)
from quire.bridges.autonomy.models import writer_of
from quire.compactors import CONVERSATION, MESSAGES, Room, Summarize, item_text
from quire.errors import InvalidLimit, InvalidValue, WrongType, cut
from quire.items import Item, Message, Summary, ToolCall, ToolResult, now
from quire.models import AnyModel
from quire.sections import Ask, History, Section, Settings, checked_function, maybe_await
from quire.session import Metrics, Session, parts_of
from quire.state import View
from quire.stores import Place
from quire.tokens import MAX_COUNT, Tally, named

logger = logging.getLogger("quire.bridges.autonomy")

Params = dict[str, Any]
Messages = list[dict[str, Any]]
Provider = Callable[[str, str, Params], Messages | Awaitable[Messages]]
"""A function of the scope, the conversation and the shared parameters that returns messages."""

HISTORY, COUNT = "conversation_history", "conversation_message_count"


class ContextSection:
    """A base class for sections, with a name and a flag that enables it."""

    name: str
    enabled: bool

    def __init__(self, name: str, enabled: bool = True) -> None:
        self.name, self.enabled = named(name, "the name of a section"), enabled

    def set_enabled(self, enabled: bool) -> None:
        """Enable or disable the section."""
        self.enabled = enabled

    async def get_messages(self, memory: Any, scope: str, conversation: str, params: Params) -> Messages:
        """The messages of the section; the base class has none."""
        return []


class SystemInstructionsSection(ContextSection):
    """The instructions: a text, or messages."""

    stability = "static"
    required = True

    def __init__(
        self,
        instructions: str | Sequence[Mapping[str, Any]],
        enabled: bool = True,
        name: str = "system_instructions",
    ) -> None:
        super().__init__(name, enabled)
        if isinstance(instructions, str):
            instructions = [system_message(instructions)] if instructions.strip() else []
        self.instructions = list(instructions)

    async def get_messages(self, memory: Any, scope: str, conversation: str, params: Params) -> Messages:
        """The instructions."""
        return [dict(message) for message in self.instructions if self.enabled]


class AdditionalContextSection(ContextSection):
    """Messages that were added, followed by those that a function returns each turn."""

    def __init__(
        self, name: str = "additional_context", enabled: bool = True, provider_fn: Provider | None = None
    ) -> None:
        super().__init__(name, enabled)
        self.provider_fn = None if provider_fn is None else checked_function(provider_fn, "provider_fn")
        self._added: Messages = []

    def add_message(self, message: Mapping[str, Any]) -> None:
        """Add a message, to be shown in every turn."""
        self._added.append(dict(message))

    def clear_messages(self) -> None:
        """Remove the added messages."""
        self._added.clear()

    async def get_messages(self, memory: Any, scope: str, conversation: str, params: Params) -> Messages:
        """The added messages, then those of the function. If it raises, the whole section is left out."""
        if not self.enabled:
            return []
        if self.provider_fn is None:
            return [*self._added]
        messages = await maybe_await(self.provider_fn(scope, conversation, params))
        return [*self._added, *(messages or ())]


class _HistorySection(History, ContextSection):
    """A history of the engine that can also return messages, from any memory."""

    _copy: MemoryCopy | None = None

    async def get_messages(self, memory: Any, scope: str, conversation: str, params: Params) -> Messages:
        """The messages of the section."""
        if not self.enabled:
            return []
        session = await self._session(memory, scope, conversation)
        return await self._messages_in(session, scope, conversation, params)

    async def _session(self, memory: Any, scope: str, conversation: str) -> Session:
        if isinstance(memory, Memory):
            return memory.session(scope, conversation)
        if self._copy is None or self._copy.source is not memory:
            self._copy = MemoryCopy(memory)
        return await self._copy.session(scope, conversation)

    async def _messages_in(self, session: Session, scope: str, conversation: str, params: Params) -> Messages:
        view = session.view()
        ask = Ask(views={"main": view}, scope=scope, conversation=conversation, now=now(), parameters=params)
        return list(messages_of(await self.items(ask)))


class ConversationHistorySection(_HistorySection):
    """The conversation: all messages, the last `max_messages`, or those that `filter_fn` accepts.

    `filter_fn` is called with one message at a time. A call is never shown without its result.
    """

    def __init__(
        self,
        enabled: bool = True,
        max_messages: int | None = None,
        filter_fn: Callable[[dict[str, Any]], bool] | None = None,
        name: str = HISTORY,
    ) -> None:
        self.max_messages, self.filter_fn = max_messages, filter_fn
        where = None if filter_fn is None else self._is_accepted
        History.__init__(self, messages=max_messages, where=where, name=name, enabled=enabled)

    async def items(self, ask: Ask) -> View | Sequence[Item]:
        """The history. The shared parameters then have its number of messages, for later sections."""
        shown = await super().items(ask)
        ask.parameters[COUNT] = len(shown)
        return shown

    def _is_accepted(self, item: Item) -> bool:
        is_message = isinstance(item, Message | ToolCall | ToolResult)
        return not is_message or self.filter_fn is None or bool(self.filter_fn(messages_of([item])[0]))


# Summaries


_ROOM = Room(MAX_COUNT, Tally("autonomy.characters", lambda item: len(item_text(item)) // 4 + 4))
"""No limit in tokens, since the number of messages starts a summary.

With the rough counter, the compactor checks that a summary is shorter than the messages that it replaces.
"""


class SummarizedHistorySection(_HistorySection):
    """The conversation. Once it has more than `ceiling` messages, a summary replaces the oldest ones.

    The summary is written in the background. Until it is finished, all messages are shown; afterwards about
    `floor` messages are shown after it.
    """

    def __init__(
        self,
        summary_model: Any,
        floor: int = 10,
        ceiling: int = 20,
        size: int = 2048,
        instructions: str | None = None,
        enabled: bool = True,
        name: str = HISTORY,
    ) -> None:
        if summary_model is None:
            raise WrongType("a summarized history needs a model that writes the summaries")
        History.__init__(self, name=name, enabled=enabled)
        self.floor, self.ceiling, self.size = floor, ceiling, size
        self.summary_model, self.instructions = summary_model, instructions
        self._writer = writer_of(summary_model)
        self._compactor = Summarize(floor=floor, ceiling=ceiling, size=size, **_guidance(instructions))
        if floor >= ceiling:
            raise InvalidLimit(f"floor ({floor:,}) must be less than ceiling ({ceiling:,})")
        self.batch_size = ceiling - floor
        self._sessions: WeakKeyDictionary[Session, tuple[str, str]] = WeakKeyDictionary()
        self._metrics: dict[int, Metrics] = {}  # by id: all sessions of a conversation share them
        self._hits = self._misses = 0

    async def get_messages(self, memory: Any, scope: str, conversation: str, params: Params) -> Messages:
        """The summary, if there is one, and the messages after it."""
        if not self.enabled:
            return []
        session = await self._session(memory, scope, conversation)
        messages = await self._messages_in(session, scope, conversation, params)
        self.attach(session, scope, conversation)
        await parts_of(session).compactions.consider(session.view(), _ROOM)
        return messages

    async def items(self, ask: Ask) -> View | Sequence[Item]:
        """The history. The shared parameters then have the number of all messages, for later sections."""
        view = ask.view()
        if _summary_in(view) is not None:
            self._hits += 1
        elif view.tokens(MESSAGES) > self.ceiling:
            self._misses += 1
        ask.parameters[COUNT] = len(messages_of(recorded_items(view)))
        return await super().items(ask)

    def attach(self, session: Session, scope: str, conversation: str) -> None:
        """Summarize the conversation of a session from now on."""
        if parts_of(session).compactions.compactor is self._compactor:
            return
        self._sessions[session] = (scope, conversation)
        session.compaction.use(self._compactor, self._writer)
        self._metrics[id(session.compaction.metrics)] = session.compaction.metrics

    async def join(self) -> None:
        """Wait for summaries that are being written."""
        for session in list(self._sessions):
            await session.aio.compaction.close()

    def get_metrics(self) -> dict[str, int]:
        """Counts of turns that had a summary (hits) or had none yet (misses), and of summaries written."""
        all_metrics = self._metrics.values()
        return {
            "cache_hits": self._hits,
            "cache_misses": self._misses,
            "background_tasks_started": sum(metrics.started for metrics in all_metrics),
            "background_tasks_completed": sum(metrics.completed for metrics in all_metrics),
            "background_tasks_failed": sum(metrics.failed for metrics in all_metrics),
        }

    def get_cache_info(self) -> dict[str, Any]:
        """The open conversations that have a summary, and how many summaries are being written."""
        conversations = [place for session, place in self._sessions.items() if _summary_in(session.view())]
        return {
            "cached_conversations": len(conversations),
            "pending_summarizations": sum(metrics.pending for metrics in self._metrics.values()),
            "conversations": conversations,
        }

    def clear_cache(self, scope: str | None = None, conversation: str | None = None) -> None:
        """Undo the summaries of a conversation, or of all open ones: their messages are shown again.

        A summary that is being written is cancelled.
        """
        for session, (own_scope, own_conversation) in list(self._sessions.items()):
            if scope in (None, own_scope) and conversation in (None, own_conversation):
                parts_of(session).compactions.give_up()
                while (summary := _summary_in(session.view())) is not None:
                    session.undo(summary.id)  # an older summary may be shown again: undo it as well


def summary_section(
    options: bool | Mapping[str, Any] | None, model: AnyModel
) -> SummarizedHistorySection | None:
    """The history of an agent by its `context_summary`, which is a flag or has options; `None` without it."""
    if options is None or options is False:
        return None
    fields = {} if options is True else dict(options)
    return SummarizedHistorySection(fields.pop("model", model), **fields)


def _guidance(instructions: str | None) -> dict[str, Any]:
    """Instructions with `{conversation}` replace the usual prompt; others are added to it as guidance."""
    if instructions is None or not instructions.strip():
        return {}
    return {"prompt" if CONVERSATION in instructions else "guidance": instructions}


def _summary_in(view: View) -> Summary | None:
    return next((item for item in view if isinstance(item, Summary)), None)


# Templates


class ContextTemplate:
    """Sections in order. The list `sections` may be changed, and sections disabled, at any time."""

    def __init__(self, sections: Iterable[Any] = ()) -> None:
        self.sections: list[Any] = []
        for section in sections:
            self.add_section(section)

    def __repr__(self) -> str:
        return f"ContextTemplate([{', '.join(section.name for section in self.sections)}])"

    def get_section(self, name: str) -> Any:
        """The section with this name, or `None`."""
        return next((section for section in self.sections if section.name == name), None)

    def add_section(self, section: Any, index: int | None = None) -> None:
        """Add a section at the end, or at an index."""
        if not hasattr(section, "name") or not callable(getattr(section, "get_messages", None)):
            raise WrongType(f"a section must have a name and get_messages; {type(section).__name__} has not")
        if self.get_section(section.name) is not None:
            raise InvalidValue(f"two sections are called {cut(section.name)!r}")
        self.sections.insert(len(self.sections) if index is None else index, section)

    def remove_section(self, name: str) -> bool:
        """Remove a section, and return whether the template had it."""
        section = self.get_section(name)
        if section is not None:
            self.sections.remove(section)
        return section is not None

    def get_section_names(self) -> list[str]:
        """The names of the sections, in order."""
        return [section.name for section in self.sections]

    async def build_context(
        self, memory: Any, scope: str, conversation: str, params: Mapping[str, Any] | None = None
    ) -> Messages:
        """The messages of the enabled sections, in order. `params` are shared by the sections.

        A section that fails is left out, with a warning, unless it has `required = True`.
        """
        shared = dict(params or {})
        messages: Messages = []
        for section in self.sections:
            if not getattr(section, "enabled", True):
                continue
            try:
                messages += await section.get_messages(memory, scope, conversation, shared)
            except Exception as fault:
                if getattr(section, "required", False) and not isinstance(section, _HistorySection):
                    fault.add_note(f"in section {section.name!r}")
                    raise
                logger.warning("section %s failed and is left out: %s", section.name, type(fault).__name__)
        return messages


class _AgentSection:
    """A section of a template as a section of the engine, for one agent."""

    def __init__(self, section: Any, memory: Memory, agent: str) -> None:
        self._section, self._memory, self._prefix = section, memory, f"{agent}/"
        self.name = section.name
        self.stability = getattr(section, "stability", "volatile")
        self.required = bool(getattr(section, "required", section.name == HISTORY))
        self.keeps = "newest" if section.name == HISTORY else "first"

    @property
    def enabled(self) -> bool:
        return bool(getattr(self._section, "enabled", True))

    async def items(self, ask: Ask) -> Sequence[Item]:
        scope = Place(ask.scope, ask.conversation).given_scope.removeprefix(self._prefix)
        messages = await self._section.get_messages(self._memory, scope, ask.conversation, ask.parameters)
        return paired(items_in(messages, self.name), self._memory.session(scope, ask.conversation).view())


def engine_sections(template: ContextTemplate, memory: Memory, agent: str) -> list[Section]:
    """The sections of a template as sections of the engine."""
    return [
        cast("Section", section if isinstance(section, Settings) else _AgentSection(section, memory, agent))
        for section in template.sections
    ]
