"""VideoSDK's chat context over a transcript of the engine."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, Self, TypeVar, cast

from msgspec.structs import replace

from quire.bridges.kit import reply_text
from quire.bridges.videosdk import convert
from quire.bridges.videosdk.items import (
    SUB_AGENT_HEADING,
    AgentConfigUpdate,
    AgentHandoff,
    ChatContent,
    ChatItem,
    ChatMessage,
    ChatRole,
    FunctionCall,
    FunctionCallOutput,
    from_engine,
    to_engine,
    tool_names,
)
from quire.compactors import Plan, Request, leaving_out, record, summary_prompt, transcript_text
from quire.errors import Damaged, Irreducible, OutOfRange, UnknownId, WrongType
from quire.items import ConfigChange, Handoff, Hide, Item, Message, Summary, ToolCall, ToolResult, new_id, now
from quire.state import (
    CLOSED,
    Transcript,
    View,
    brief,
    config_at,
    is_instruction,
    is_user_message,
    merge_result,
    plan_summary,
    spans_over,
    truncate,
)
from quire.tokens import Counter, Tally, counter_for, whole

logger = logging.getLogger("quire.bridges.videosdk")

_AnyItem = TypeVar("_AnyItem", bound=ChatItem)
_ITEM_COUNTER = Tally("videosdk.items", lambda item: 1)
_TOKEN_COUNTER = counter_for("unknown")
_ITEM_TYPES = {
    kind.type: kind
    for kind in (ChatMessage, FunctionCall, FunctionCallOutput, AgentHandoff, AgentConfigUpdate)
}


def _refuse_change(self: object, *_args: object, **_kwargs: object) -> NoReturn:
    raise WrongType("this list shows what a context holds: change the context, or copy the list first")


class ItemList(list[ChatItem]):
    """The items of a context at one moment. It refuses changes, because the context would not have them."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse_change
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse_change


class _Log:
    """A transcript and its items in this framework's form, shared by a context and its read-only views."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._earlier_ids = set[str]()  # of items in transcripts that were replaced
        self.replace(items)

    def has(self, item: Item) -> bool:
        """Whether an item was ever added, also if it is not shown."""
        return item.id in self.transcript or item.id in self._earlier_ids

    def replace(self, items: Transcript | Iterable[Item], is_complete: bool = True) -> None:
        """Replace the transcript. `is_complete` says that no items were left out or moved."""
        self.transcript = items if isinstance(items, Transcript) else Transcript(map(_detached, items))
        self._is_complete = is_complete
        self._view: View | None = None

    @property
    def is_complete(self) -> bool:
        """Whether everything is shown, in the order in which it was recorded."""
        return self._is_complete and not self.transcript.view.was_edited

    def chat_items(self) -> list[ChatItem]:
        """All items that are shown."""
        self._update()
        return self._chat_items

    def dialogue(self) -> View:
        """The items that are sent after the instructions; it only grows, so rendering is incremental."""
        self._update()
        return self._dialogue.view

    def _update(self) -> None:
        """Convert the items that are new; after an edit, convert all."""
        view = self.transcript.view
        added = None if self._view is None else view.added_since(self._view)
        if added is None:
            self._chat_items, self._dialogue, added = list[ChatItem](), Transcript(), list(view)
        self._view = view
        self._chat_items += filter(None, map(from_engine, added))
        dialogue = [_detached(item) for item in added if convert.is_dialogue(item)]
        self._dialogue.extend(dialogue if self.is_complete else map(convert.without_unbound_state, dialogue))

    def insert(self, items: Iterable[Item]) -> None:
        """Insert items by their times, after items of the same time and never between call and output."""
        ordered, new = list(self.transcript.view), sorted(items, key=lambda item: item.created_at)
        if not ordered or not new or new[0].created_at >= max(item.created_at for item in ordered):
            self.transcript.extend(map(_detached, new))
            return
        for item in new:
            ordered.insert(_index_by_time(ordered, item), item)
        self._earlier_ids |= {item.id for item in self.transcript.recorded()}
        self.replace(ordered, is_complete=False)


def _detached(item: Item) -> Item:
    """The item. A summary loses its spans, because the items that it covers are not in this transcript."""
    return replace(item, spans=()) if isinstance(item, Summary) and item.spans else item


def _index_by_time(items: list[Item], new: Item) -> int:
    """The index for an item by its time. An output comes after its call, and no item between the two."""
    index = next((n for n, item in enumerate(items) if item.created_at > new.created_at), len(items))
    calls = {item.call_id: n for n, item in enumerate(items) if isinstance(item, ToolCall)}
    own_call = calls.get(new.call_id) if isinstance(new, ToolResult) else None
    if own_call is not None:
        return max(index, own_call + 1)
    outputs = [(n, item.call_id) for n, item in enumerate(items) if isinstance(item, ToolResult)]
    while any(calls.get(call_id, index) < index <= n for n, call_id in outputs):
        index += 1
    return index


class ChatContext:
    """A conversation: items in order that can be forked, merged, shortened and sent to a provider."""

    def __init__(self, items: Iterable[ChatItem] | None = None) -> None:
        self._log = _Log(map(to_engine, items or ()))

    @classmethod
    def empty(cls) -> Self:
        """A context without items."""
        return cls([])

    @property
    def transcript(self) -> Transcript:
        """The engine's transcript, which still has the items that were left out."""
        return self._log.transcript

    @property
    def items(self) -> list[ChatItem]:
        """The shown items, oldest first."""
        return ItemList(self._log.chat_items())

    @property
    def _items(self) -> list[ChatItem]:  # the framework's name: programs assign it to replace all items
        return self.items

    @_items.setter
    def _items(self, items: Iterable[ChatItem]) -> None:
        self._replace_items(items)

    def _replace_items(self, items: Iterable[ChatItem]) -> None:
        self._log.replace([to_engine(item) for item in items], is_complete=False)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._log.transcript.view)} items>"

    # Reading

    def messages(self) -> list[ChatMessage]:
        """The messages, without calls, outputs, handoffs and updates."""
        return [item for item in self._log.chat_items() if isinstance(item, ChatMessage)]

    def turn_count(self) -> int:
        """The number of user messages."""
        return sum(message.role is ChatRole.USER for message in self.messages())

    def estimated_tokens(self) -> int:
        """An estimate of the tokens that are sent to a model."""
        return self._log.transcript.view.tokens(_TOKEN_COUNTER)

    def get_by_id(self, item_id: str) -> ChatItem | None:
        """The item with this id, if it is shown."""
        return next((item for item in self._log.chat_items() if item.id == item_id), None)

    def active_config_at(self, target: str | int | None = None) -> tuple[str | None, list[str] | None]:
        """The instructions and tools in force after an item, named by id or index, or at the end."""
        if isinstance(target, int):
            items = self._log.chat_items()
            if not -len(items) <= target < len(items):
                raise OutOfRange(f"the context has {len(items)} items; there is none at {target}")
            target = items[target].id
        if target is not None and self.get_by_id(target) is None:
            raise UnknownId(f"no item {target!r} is shown")
        config = config_at(self._log.transcript.view, target, separator=" ")
        return config.instructions, None if config.tools is None else list(config.tools)

    def to_openai_messages(self, *, reasoning_model: bool = False) -> list[dict[str, Any]]:
        """Messages for OpenAI's chat completions."""
        return convert.openai_messages(self._log.dialogue(), self._instructions(), reasoning_model)

    def to_anthropic_messages(self, *, caching: bool = False) -> tuple[list[dict[str, Any]], Any]:
        """Messages for Anthropic, and the instructions: a text, or with `caching` blocks with marks."""
        return convert.anthropic_messages(self._log.dialogue(), self._instructions(), caching)

    async def to_google_contents(
        self, *, thought_signatures: Mapping[str, str | bytes] | None = None
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Contents for Gemini, and the instructions. `thought_signatures` are by the names of tools."""
        dialogue, signatures = self._log.dialogue(), thought_signatures or {}
        contents = convert.google_contents(dialogue, self._log.is_complete, signatures)
        return contents, self._instructions()

    def _instructions(self) -> str | None:
        """The instructions in force, unless they are empty."""
        text = config_at(self._log.transcript.view, separator=" ").instructions or ""
        return text if text.strip() else None

    def to_dict(self) -> dict[str, Any]:
        """The shown items as JSON values."""
        return {"items": [item.model_dump() for item in self._log.chat_items()]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The context that `to_dict` wrote; `Damaged` has the path of a value that cannot be read."""
        items: object = data.get("items") if isinstance(data, Mapping) else None  # pyright: ignore
        if not isinstance(items, list):
            raise Damaged("a context is a dictionary with a list of items", "$.items")
        rows = enumerate(cast("list[object]", items))
        context = cls()
        context._log.replace([_read_item(row, f"$.items[{index}]") for index, row in rows])
        return context

    # Adding

    def add_message(
        self,
        role: ChatRole | str,
        content: str | Sequence[ChatContent],
        message_id: str | None = None,
        created_at: float | None = None,
        replace: bool = False,
        agent_id: str | None = None,
    ) -> ChatMessage:
        """Add a message. With `replace`, a system message replaces all earlier ones."""
        message = ChatMessage(
            role=ChatRole(role),
            content=[content] if isinstance(content, str) else list(content),
            id=new_id() if message_id is None else message_id,
            created_at=now() if created_at is None else created_at,
            agent_id=agent_id,
        )
        if replace and message.role is ChatRole.SYSTEM:
            view = self._log.transcript.view
            earlier = [item for item in view if isinstance(item, Message) and item.role == "system"]
            self._log.transcript.extend([Hide(spans_over(view, earlier))] if earlier else [])
        return self._add(message)

    def add_function_call(
        self,
        name: str,
        arguments: str,
        call_id: str | None = None,
        agent_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> FunctionCall:
        """Add a call of a tool. `metadata` is sent back to the provider with the call."""
        return self._add(
            FunctionCall(
                name=name,
                arguments=arguments,
                call_id=call_id or f"call_{new_id()}",
                agent_id=agent_id,
                metadata=cast("dict[str, Any] | None", metadata),
            )
        )

    def add_function_output(
        self, name: str, output: str, call_id: str, is_error: bool = False, agent_id: str | None = None
    ) -> FunctionCallOutput:
        """Add the output of a tool."""
        return self._add(
            FunctionCallOutput(
                name=name, output=output, call_id=call_id, is_error=is_error, agent_id=agent_id
            )
        )

    def add_handoff(
        self, to_agent: str, from_agent: str | None = None, reason: str | None = None
    ) -> AgentHandoff:
        """Record that another agent takes over."""
        return self._add(AgentHandoff(to_agent=to_agent, from_agent=from_agent, reason=reason))

    def add_config_update(
        self,
        instructions: str | None = None,
        tools: Iterable[object] | None = None,
        agent_id: str | None = None,
    ) -> AgentConfigUpdate:
        """Record new instructions or tools from here on."""
        names = None if tools is None else tool_names(tools)
        return self._add(AgentConfigUpdate(instructions=instructions, tools=names, agent_id=agent_id))

    def _add(self, item: _AnyItem) -> _AnyItem:
        self._log.transcript.append(to_engine(item))
        return item

    def insert(self, item: _AnyItem) -> _AnyItem:
        """Insert an item by its time, after items of the same time and never between call and output."""
        self._log.insert([to_engine(item)])
        return item

    def insert_many(self, items: Iterable[ChatItem]) -> None:
        """Insert several items by their times."""
        self._log.insert([to_engine(item) for item in items])

    # Copies and forks

    def copy(
        self,
        *,
        exclude_system_messages: bool = False,
        exclude_instructions: bool = False,
        exclude_empty_messages: bool = False,
        exclude_handoffs: bool = False,
        exclude_config_updates: bool = False,
        tools: Iterable[object] | None = None,
        filter_agent_id: str | None = None,
    ) -> "ChatContext":
        """A new context with some of the items.

        With `tools`, of all calls and outputs only those of these tools are copied. With `filter_agent_id`,
        of the dialogue only the items of that agent are copied.
        """
        items = list(self._log.transcript.view)
        names = None if tools is None else frozenset(tool_names(tools))
        called = {item.call_id: item.name for item in items if isinstance(item, ToolCall)}

        def is_included(item: Item) -> bool:
            if isinstance(item, ToolCall | ToolResult):
                name = called.get(item.call_id, item.name)
                return (names is None or name in names) and filter_agent_id in (None, item.agent_id)
            return not (
                (filter_agent_id not in (None, item.agent_id) and convert.is_dialogue(item))
                or (exclude_system_messages and isinstance(item, Message) and item.role == "system")
                or (exclude_instructions and is_instruction(item))
                or (exclude_empty_messages and isinstance(item, Message) and _is_empty(item))
                or (exclude_handoffs and isinstance(item, Handoff))
                or (exclude_config_updates and isinstance(item, ConfigChange))
            )

        included = [item for item in items if is_included(item)]
        return self._with(included, self._log.is_complete and included == items)

    def fork(self) -> "ChatContext":
        """A context that begins with the same items. Pending calls get a result that closes them."""
        return self._with(self._log.transcript.fork(), self._log.is_complete)

    def fork_filtered(self, recent_turns: int = 3, tools: Iterable[object] | None = None) -> "ChatContext":
        """A fork with all instructions and the last turns; with `tools`, only calls of these tools."""
        whole(recent_turns, "recent_turns", least=1)
        scoped = self.copy(tools=tools)
        items = list(scoped.transcript.view)
        users = [index for index, item in enumerate(items) if is_user_message(item)]
        start = users[-recent_turns] if len(users) > recent_turns else 0
        last = max((index for index, item in enumerate(items) if is_instruction(item)), default=-1)
        # An update before the last instructions is moved with them: else it would override these.
        first = [
            item
            for index, item in enumerate(items)
            if is_instruction(item) or (isinstance(item, ConfigChange) and index < max(start, last))
        ]
        moved = {item.id for item in first}
        selected = [*first, *(item for item in items[start:] if item.id not in moved)]
        is_complete = scoped._log.is_complete and selected == items
        return self._with(Transcript(selected).fork(), is_complete)

    def fork_brief(
        self, instructions: str, task_brief: str | None = None, agent_id: str | None = None
    ) -> "ChatContext":
        """A new context with instructions and, optionally, a task."""
        return self._with(brief(instructions, task_brief, agent_id), is_complete=True)

    def _with(self, items: Transcript | Iterable[Item], is_complete: bool) -> "ChatContext":
        context = ChatContext()
        context._log.replace(items, is_complete)
        return context

    # Merging

    async def merge(self, other: "ChatContext") -> Self:
        """Insert the items of another context by their times. Items that are here already are skipped."""
        theirs = other.transcript.view
        self._log.insert([item for item in theirs if not self._log.has(item) and CLOSED not in item.extras])
        return self

    async def merge_result(self, other: "ChatContext", *, agent_id: str | None = None) -> Self:
        """Append the final answer of another context, with the current time."""
        answers = merge_result(Transcript(), other.transcript)
        if agent_id is not None:
            answers = [replace(answer, agent_id=agent_id) for answer in answers]
        merge_result(self._log.transcript, Transcript(answers))
        return self

    async def merge_with_summary(
        self, other: "ChatContext", *, llm: Any, agent_id: str | None = None
    ) -> Self:
        """Append a summary of the items of another context that were not merged as a summary before."""
        ours, theirs = self._log.transcript, other.transcript
        # After `merge`, all of their items are here, and are summarized nevertheless: the second plan.
        plan = plan_summary(ours, theirs, agent_id) or plan_summary(Transcript(), theirs, agent_id)
        if plan is None or plan.was_carried_out_in(ours):
            return self
        text = await _summary(llm, plan.items)
        if text and plan.summary_id not in self._log.transcript:
            summary = ChatMessage(
                role=ChatRole.ASSISTANT,
                content=[SUB_AGENT_HEADING + text],
                extra={"summary": True},
                id=plan.summary_id,
                agent_id=agent_id,
            )
            self._add(summary)
        return self

    # Shrinking

    async def summarize(self, llm: Any, *, keep_recent_turns: int = 3) -> Self:
        """Replace all turns but the last `keep_recent_turns` by a summary, which includes earlier ones.

        `llm.chat(context)` returns a text, an object with `content`, a stream, or an awaitable of one of
        these. If the summary fails or is empty, nothing changes and a warning is logged.
        """
        transcript = self._log.transcript
        old = _old_turns(transcript.view, whole(keep_recent_turns, "keep_recent_turns", least=0))
        if not old:
            return self
        ids, revision = tuple(item.id for item in old), transcript.revision
        request = Request((), 0, spans_over(transcript.view, old), ids, revision)
        text = await _summary(llm, old)
        if text and transcript is self._log.transcript:
            record(transcript, Plan("videosdk", "summarize was called", 0, 0, request=request), text=text)
        return self

    def truncate(self, max_items: int | None = None, max_tokens: int | None = None) -> Self:
        """Leave out the oldest turns until both limits hold.

        Instructions, updates, handoffs, summaries, pending calls and the last user message stay. If these
        alone exceed a limit, a warning is logged.
        """
        for limit, counter in ((max_items, _ITEM_COUNTER), (max_tokens, _TOKEN_COUNTER)):
            if limit is not None:
                _shrink(self._log.transcript, limit, counter)
        return self

    def cleanup(self) -> None:
        """Remove all items from this context; forks keep theirs."""
        self._log.replace(())


class ReadOnlyChatContext(ChatContext):
    """A view of another context. Changes raise `RuntimeError`; copies and forks can be changed."""

    def __init__(self, context: ChatContext) -> None:
        if not isinstance(context, ChatContext):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType("a read-only context must be made of the context it follows, not of its items")
        self._log = context._log

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise RuntimeError("this chat context is read-only; change a copy or a fork of it")

    async def _refuse_later(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        self._refuse()

    add_message = add_function_call = add_function_output = add_handoff = add_config_update = _refuse
    insert = insert_many = truncate = cleanup = _replace_items = _refuse
    merge = merge_result = merge_with_summary = summarize = _refuse_later


def _is_empty(message: Message) -> bool:
    return all(isinstance(part, str) and not part.strip() for part in message.parts)


def _read_item(saved: object, path: str) -> Item:
    if not isinstance(saved, Mapping):
        raise Damaged(f"expected an item, got {type(saved).__name__}", path)
    fields = dict(cast("Mapping[str, Any]", saved))
    kind = _ITEM_TYPES.get(str(fields.pop("type", None)))
    if kind is None:
        raise Damaged("the type of the item is unknown", f"{path}.type")
    if not isinstance(fields.get("id"), str):
        raise Damaged("an item has an id, which is a text", f"{path}.id")
    try:
        return to_engine(kind(**fields))
    except (ValueError, TypeError, AttributeError) as fault:
        raise Damaged(str(fault).partition("__init__() ")[2] or str(fault), path) from None


async def _summary(llm: Any, items: tuple[Item, ...]) -> str:
    """A model's summary of items; empty after a failure, which is logged."""
    chat = llm.chat  # an object without `chat` raises: that is no failed summary
    if not transcript_text(items):
        return ""
    request = ChatContext()
    request.transcript.extend(summary_prompt(items))
    try:
        text = (await reply_text(chat(request))).strip()
    except Exception as fault:
        logger.warning("the summary could not be written: %s", type(fault).__name__)
        return ""
    if not text:
        logger.warning("the summary is empty, and not used")
    return text


def _old_turns(view: View, keep: int) -> tuple[Item, ...]:
    """The items before the last `keep` turns that can be summarized; none if all of them are summaries."""
    items = list(view)
    users = [index for index, item in enumerate(items) if is_user_message(item)]
    if len(users) <= keep:
        return ()
    end = users[-keep] if keep else len(items)
    staying = {item.id for item in (*items[end:], items[users[-1]])}
    for group in view.groups():
        ids = {item.id for item in group.items}
        if group.pending or ids & staying:
            staying |= ids
    old = [item for item in items[:end] if item.id not in staying and convert.is_dialogue(item)]
    return () if all(isinstance(item, Summary) for item in old) else tuple(old)


def _shrink(transcript: Transcript, limit: int, counter: Counter) -> None:
    """Leave out the oldest items until a limit holds; if it cannot hold, leave out all that may be."""
    view = transcript.view
    try:
        edit = truncate(view, tokens=limit, counter=counter)
    except Irreducible as fault:
        logger.warning("%d items must stay, and they exceed the limit of %d", len(fault.parts), limit)
        edit = leaving_out(view, fault.parts)
    transcript.extend([] if edit is None else [edit])
