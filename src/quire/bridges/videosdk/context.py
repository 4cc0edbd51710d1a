"""VideoSDK's chat context over a transcript of the engine."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, Self, TypeVar, cast

from msgspec.structs import replace

from quire.bridges.kit import reply_text
from quire.bridges.videosdk import convert
from quire.bridges.videosdk.items import (
    KINDS,
    SUB_AGENT,
    AgentConfigUpdate,
    AgentHandoff,
    ChatContent,
    ChatItem,
    ChatMessage,
    ChatRole,
    FunctionCall,
    FunctionCallOutput,
    engine_item,
    tool_names,
)
from quire.compactors import (
    Plan,
    Request,
    leaving_out,
    record,
    summary_prompt,
    transcript_text,
)
from quire.errors import Damaged, InvalidValue, Irreducible, OutOfRange, UnknownId, WrongType
from quire.items import ConfigChange, Handoff, Hide, Item, Message, Summary, ToolCall, ToolResult, new_id
from quire.state import (
    CLOSED,
    Transcript,
    View,
    brief,
    config_at,
    instructions,
    is_user_message,
    merge_result,
    plan_summary,
    spans_over,
    structural,
    truncate,
)
from quire.tokens import Counter, Tally, counter_for, whole

logger = logging.getLogger("quire.bridges.videosdk")

_Added = TypeVar("_Added", bound=ChatItem)
_ITEMS = Tally("videosdk.items", lambda item: 1)


def _refuse(self: object, *_args: object, **_kwargs: object) -> NoReturn:
    raise WrongType("this list shows what a context holds: change the context, or copy the list first")


class ShownItems(list[ChatItem]):
    """The items of a context when it was asked. A change of the list would be lost, so it is refused."""

    __slots__ = ("kept",)

    def __init__(self, items: Iterable[ChatItem], kept: "_Kept") -> None:
        super().__init__(items)
        self.kept = kept

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse


class _Kept:
    """A transcript, and the counter it is measured by. A context and its read-only views share one."""

    def __init__(self, items: Transcript | Iterable[Item], counter: Counter, is_whole: bool = True) -> None:
        self.counter = counter
        self.begin(items, is_whole)

    def begin(self, items: Transcript | Iterable[Item], is_whole: bool = True) -> None:
        """Keep another transcript. It `is_whole` if it has all that was said, in the order it was said."""
        self.transcript = items if isinstance(items, Transcript) else Transcript(map(_alone, items))
        self._is_whole = is_whole
        self._view: View | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all that was said is shown, in the order it was said."""
        return self._is_whole and not self.transcript.view.was_edited

    def shown(self) -> list[ChatItem]:
        """All that is shown."""
        self._catch_up()
        return self._shown

    def said(self) -> View:
        """What is said, in a transcript of its own, so that rendering goes on where it stopped."""
        self._catch_up()
        return self._said.view

    def _catch_up(self) -> None:
        """Take in what is new, or everything after an edit."""
        view = self.transcript.view
        added = None if self._view is None else view.added_since(self._view)
        if added is None:
            self._shown, self._said, added = list[ChatItem](), Transcript(), list(view)
        self._view = view
        self._shown += [KINDS[type(item)].over(item) for item in added if type(item) in KINDS]
        said = [_alone(item) for item in added if not convert.is_frame(item)]
        self._said.extend(said if self.is_whole else map(convert.without_loose_state, said))

    def insert(self, items: Iterable[Item]) -> None:
        """Put items where their times put them, after what is as old, and never between call and output."""
        ordered, new = list(self.transcript.view), sorted(items, key=lambda item: item.created_at)
        is_later = not ordered or not new or new[0].created_at >= max(item.created_at for item in ordered)
        if is_later:
            self.transcript.extend(map(_alone, new))
            return
        for item in new:
            ordered.insert(_place(ordered, item), item)
        self.begin(ordered, is_whole=False)


def _alone(item: Item) -> Item:
    """A summary in place of nothing: what it covers is not here."""
    return replace(item, spans=()) if isinstance(item, Summary) and item.spans else item


def _place(items: list[Item], new: Item) -> int:
    """Where an item belongs by its time; an output never comes before its call."""
    place = next((n for n, item in enumerate(items) if item.created_at > new.created_at), len(items))
    calls = {item.call_id: n for n, item in enumerate(items) if isinstance(item, ToolCall)}
    own = calls.get(new.call_id) if isinstance(new, ToolResult) else None
    if own is not None:
        return max(place, own + 1)
    while any(
        calls.get(item.call_id, place) < place for item in items[place:] if isinstance(item, ToolResult)
    ):
        place += 1
    return place


class ChatContext:
    """A conversation: items in order, to be forked, merged, shortened and sent to a provider.

    `counter` says how tokens are counted; copies and forks have the same.
    """

    def __init__(self, items: Iterable[ChatItem] | None = None, *, counter: Counter | None = None) -> None:
        self._kept = _Kept(map(engine_item, items or ()), counter or counter_for("unknown"))

    @classmethod
    def empty(cls) -> Self:
        """A context without items."""
        return cls([])

    @property
    def transcript(self) -> Transcript:
        """The engine's transcript: what was left out is still there, and can be brought back."""
        return self._kept.transcript

    @property
    def items(self) -> list[ChatItem]:
        """All that is shown, oldest first."""
        return ShownItems(self._kept.shown(), self._kept)

    @property
    def _items(self) -> list[ChatItem]:
        return self.items

    @_items.setter
    def _items(self, items: Iterable[ChatItem]) -> None:
        self._kept.begin([engine_item(item) for item in items], is_whole=False)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._kept.transcript.view)} items>"

    # Reading

    def messages(self) -> list[ChatMessage]:
        """The messages, without calls, outputs, handoffs and updates."""
        return [item for item in self._kept.shown() if isinstance(item, ChatMessage)]

    def turn_count(self) -> int:
        """The number of user messages."""
        return sum(message.role is ChatRole.USER for message in self.messages())

    def estimated_tokens(self) -> int:
        """About how many tokens a model is sent."""
        return self._kept.transcript.view.tokens(self._kept.counter)

    def get_by_id(self, item_id: str) -> ChatItem | None:
        """The item with this id, if it is shown."""
        return next((item for item in self._kept.shown() if item.id == item_id), None)

    def active_config_at(self, target: str | int | None = None) -> tuple[str | None, list[str] | None]:
        """The instructions and tools in force after an item, given by id or index; by default at the end."""
        shown = self._kept.shown()
        if isinstance(target, int):
            if not -len(shown) <= whole(target, "an index") < len(shown):
                raise OutOfRange(f"the context has {len(shown)} items; there is none at {target}")
            target = shown[target].id
        if target is not None and self.get_by_id(target) is None:
            raise UnknownId(f"no item {target!r} is shown")
        told, tools = config_at(self._kept.transcript.view, target, separator=" ")
        return told, None if tools is None else list(tools)

    def to_openai_messages(
        self, *, reasoning_model: bool = False, model: str | None = None
    ) -> list[dict[str, Any]]:
        """Messages for OpenAI's chat completions."""
        return convert.openai_messages(self._kept.said(), self._told(), reasoning_model, model)

    def to_anthropic_messages(
        self, *, caching: bool = False, model: str | None = None
    ) -> tuple[list[dict[str, Any]], Any]:
        """Messages for Anthropic, and the instructions: a text, or with `caching` blocks with marks."""
        return convert.anthropic_messages(self._kept.said(), self._told(), caching, model)

    async def to_google_contents(
        self, *, thought_signatures: Mapping[str, str | bytes] | None = None, model: str = "gemini"
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Contents for Gemini, and the instructions. `thought_signatures` are by the names of tools."""
        said, signatures = self._kept.said(), thought_signatures or {}
        return convert.google_contents(said, self._kept.is_whole, signatures, model), self._told()

    def _told(self) -> str | None:
        """The instructions in force, unless they are empty."""
        told = config_at(self._kept.transcript.view, separator=" ").instructions or ""
        return told if told.strip() else None

    def to_dict(self) -> dict[str, Any]:
        """What is shown, as JSON values."""
        return {"items": [item.model_dump() for item in self._kept.shown()]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The context that `to_dict` wrote; `Damaged` names the place of what cannot be read."""
        items: object = data.get("items") if isinstance(data, Mapping) else None  # pyright: ignore
        if not isinstance(items, list | tuple):
            raise Damaged("a context is a dictionary with a list of items", "$.items")
        rows = enumerate(cast("Sequence[object]", items))
        return cls([_read_item(fields, f"$.items[{index}]") for index, fields in rows])

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
        given = {"id": message_id, "created_at": created_at}
        message = ChatMessage(
            role=cast("ChatRole", role),
            content=[content] if isinstance(content, str) else list(content),
            agent_id=agent_id,
            **cast("dict[str, Any]", {name: value for name, value in given.items() if value is not None}),
        )
        if replace and message.role is ChatRole.SYSTEM:
            view = self._kept.transcript.view
            earlier = [item for item in view if isinstance(item, Message) and item.role == "system"]
            self._kept.transcript.extend([Hide(spans_over(view, earlier))] if earlier else [])
        return self._add(message)

    def add_function_call(
        self,
        name: str,
        arguments: str,
        call_id: str | None = None,
        agent_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> FunctionCall:
        """Add a call of a tool; `metadata` goes back to its provider with it."""
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
        """Record other instructions or tools from here on."""
        names = None if tools is None else list(tool_names(tools))
        return self._add(AgentConfigUpdate(instructions=instructions, tools=names, agent_id=agent_id))

    def _add(self, item: _Added) -> _Added:
        self._kept.transcript.append(engine_item(item))
        return item

    def insert(self, item: _Added) -> _Added:
        """Insert an item where its time puts it: after what is as old, never between call and output."""
        self._kept.insert([engine_item(item)])
        return item

    def insert_many(self, items: Iterable[ChatItem]) -> None:
        """Insert several items where their times put them."""
        self._kept.insert([engine_item(item) for item in items])

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
        """Another context with some of the items.

        With `tools` only calls of these are kept, and their outputs; with `filter_agent_id` only items of
        that agent, besides instructions, handoffs and updates.
        """
        shown = list(self._kept.transcript.view)
        names = None if tools is None else frozenset(tool_names(tools))
        called = {item.call_id: item.name for item in shown if isinstance(item, ToolCall)}

        def is_kept(item: Item) -> bool:
            if isinstance(item, ToolCall | ToolResult):
                name = called.get(item.call_id, item.name)
                return (names is None or name in names) and filter_agent_id in (None, item.agent_id)
            return not (
                (filter_agent_id not in (None, item.agent_id) and not convert.is_frame(item))
                or (exclude_system_messages and isinstance(item, Message) and item.role == "system")
                or (exclude_instructions and instructions(item))
                or (exclude_empty_messages and isinstance(item, Message) and _is_empty(item))
                or (exclude_handoffs and isinstance(item, Handoff))
                or (exclude_config_updates and isinstance(item, ConfigChange))
            )

        kept = [item for item in shown if is_kept(item)]
        return self._with(kept, self._kept.is_whole and len(kept) == len(shown))

    def fork(self) -> "ChatContext":
        """A context with the same past and a future of its own. Calls in flight are closed in it."""
        return self._with(self._kept.transcript.fork(), self._kept.is_whole)

    def fork_filtered(self, recent_turns: int = 3, tools: Iterable[object] | None = None) -> "ChatContext":
        """A fork with all instructions, then the last turns; with `tools` only calls of these."""
        whole(recent_turns, "recent_turns", least=1)
        scoped = self.copy(tools=tools)
        items = list(scoped.transcript.view)
        users = [place for place, item in enumerate(items) if is_user_message(item)]
        start = users[-recent_turns] if len(users) > recent_turns else 0
        last = max((place for place, item in enumerate(items) if instructions(item)), default=-1)
        # An update before the last instructions goes first with them, so that these stay in force.
        is_moved = [
            instructions(item) or (isinstance(item, ConfigChange) and place < max(start, last))
            for place, item in enumerate(items)
        ]
        first = [item for item, moves in zip(items, is_moved, strict=True) if moves]
        rest = [item for place, item in enumerate(items) if place >= start and not is_moved[place]]
        is_same = len(first) + len(rest) == len(items) and [*first, *rest] == items
        return self._with(Transcript([*first, *rest]).fork(), scoped._kept.is_whole and is_same)

    def fork_brief(
        self, instructions: str, task_brief: str | None = None, agent_id: str | None = None
    ) -> "ChatContext":
        """A context without a past: instructions and, if given, a task."""
        return self._with(brief(instructions, task_brief, agent_id), is_whole=True)

    def _with(self, items: Transcript | Iterable[Item], is_whole: bool) -> "ChatContext":
        context = ChatContext(counter=self._kept.counter)
        context._kept.begin(items, is_whole)
        return context

    # Merging

    async def merge(self, other: "ChatContext") -> Self:
        """Take over all items of another context, placed by time; nothing comes twice."""
        ours = self._kept.transcript
        new = [item for item in _of(other).view if item.id not in ours and CLOSED not in item.extras]
        self._kept.insert(new)
        return self

    async def merge_result(self, other: "ChatContext", *, agent_id: str | None = None) -> Self:
        """Take over the final answer of another context, as said now."""
        answers = merge_result(Transcript(), _of(other))
        if agent_id is not None:
            answers = [replace(answer, agent_id=agent_id) for answer in answers]
        merge_result(self._kept.transcript, Transcript(answers))
        return self

    async def merge_with_summary(
        self, other: "ChatContext", *, llm: Any, agent_id: str | None = None
    ) -> Self:
        """Take over a summary of another context; what was summarized once is not summarized again."""
        ours, theirs = self._kept.transcript, _of(other)
        plan = plan_summary(ours, theirs, agent_id) or plan_summary(Transcript(), theirs, agent_id)
        text = "" if plan is None or plan.summary_id in ours else await _summary(llm, plan.items)
        if text and plan is not None and plan.summary_id not in self._kept.transcript:
            content: list[ChatContent] = [SUB_AGENT + text]
            self._add(
                ChatMessage(
                    role=ChatRole.ASSISTANT,
                    content=content,
                    extra={"summary": True},
                    id=plan.summary_id,
                    agent_id=agent_id,
                )
            )
        return self

    # Shrinking

    async def summarize(self, llm: Any, *, keep_recent_turns: int = 3) -> Self:
        """Replace all turns but the last by a summary; an earlier summary becomes part of it.

        `llm.chat(context)` returns a text, something with a `content`, or a stream, at once or to be awaited.
        A summary that fails or is empty changes nothing, and is logged.
        """
        transcript = self._kept.transcript
        old = _old_turns(transcript.view, whole(keep_recent_turns, "keep_recent_turns", least=0))
        if not old:
            return self
        ids, revision = tuple(item.id for item in old), transcript.revision
        request = Request((), 0, spans_over(transcript.view, old), ids, revision)
        text = await _summary(llm, old)
        if text and transcript is self._kept.transcript:
            record(transcript, Plan("videosdk", "summarize was called", 0, 0, request=request), text=text)
        return self

    def truncate(self, max_items: int | None = None, max_tokens: int | None = None) -> Self:
        """Leave out the oldest turns until both limits hold.

        Instructions, updates, handoffs, summaries, calls in flight and the last user message stay; if these
        alone exceed a limit, that is logged.
        """
        for most, counter in ((max_items, _ITEMS), (max_tokens, self._kept.counter)):
            if most is not None:
                _shrink(self._kept.transcript, most, counter)
        return self

    def cleanup(self) -> None:
        """Remove everything; items that others hold do not change."""
        self._kept.begin(())


class ReadOnlyChatContext(ChatContext):
    """Another context as it is at any time. Changes raise `RuntimeError`; copies and forks can be changed.

    It is made of a context or of its `items`; a list that no context showed makes one that never changes.
    """

    def __init__(self, items: ChatContext | Sequence[ChatItem]) -> None:
        if isinstance(items, ChatContext | ShownItems):
            self._kept = items._kept if isinstance(items, ChatContext) else items.kept
        else:
            super().__init__(items)

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise RuntimeError("this chat context is read-only; change a copy or a fork of it")

    async def _refuse_later(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        self._refuse()

    @property
    def transcript(self) -> Transcript:
        """Not available: it can be written to."""
        self._refuse()

    @property
    def _items(self) -> list[ChatItem]:
        return self.items

    @_items.setter
    def _items(self, items: Iterable[ChatItem]) -> None:
        self._refuse()

    add_message = add_function_call = add_function_output = add_handoff = add_config_update = _refuse
    insert = insert_many = truncate = cleanup = _refuse
    merge = merge_result = merge_with_summary = summarize = _refuse_later


def _of(other: ChatContext) -> Transcript:
    if not isinstance(other, ChatContext):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"expected a chat context, not {type(other).__name__}")
    return other._kept.transcript  # pyright: ignore[reportPrivateUsage]


def _is_empty(message: Message) -> bool:
    return all(isinstance(part, str) and not part.strip() for part in message.parts)


def _read_item(fields: object, path: str) -> ChatItem:
    if not isinstance(fields, Mapping):
        raise Damaged(f"expected an item, got {type(fields).__name__}", path)
    given = dict(cast("Mapping[str, Any]", fields))
    kinds = {kind.type: kind for kind in KINDS.values()}
    kind = kinds.get(str(given.pop("type", None)))
    if kind is None:
        raise Damaged("the type of the item is unknown", f"{path}.type")
    if not isinstance(given.get("id"), str):
        raise Damaged("an item has an id, which is a text", f"{path}.id")
    try:
        return kind(**given)
    except (InvalidValue, TypeError) as fault:
        raise Damaged(str(fault).partition("__init__() ")[2] or str(fault), path) from None


async def _summary(llm: Any, items: Iterable[Item]) -> str:
    """What a model writes about items; empty if it failed, which is logged."""
    if not callable(getattr(llm, "chat", None)):
        raise WrongType(f"a summary is written by something with a chat, not by {type(llm).__name__}")
    known = tuple(items)
    if not transcript_text(known):
        return ""
    request = ChatContext()
    request.transcript.extend(summary_prompt(known))
    try:
        text = (await reply_text(llm.chat(request))).strip()
    except Exception as fault:
        logger.warning("the summary could not be written: %s", type(fault).__name__)
        return ""
    if not text:
        logger.warning("the summary is empty, and not used")
    return text


def _old_turns(view: View, keep: int) -> tuple[Item, ...]:
    """All before the last `keep` turns that can be summarized; nothing if that is only summaries."""
    shown = list(view)
    users = [index for index, item in enumerate(shown) if is_user_message(item)]
    if len(users) <= keep:
        return ()
    cut = users[-keep] if keep else len(shown)
    recent = {item.id for item in (*shown[cut:], shown[users[-1]])}
    stays: set[str] = set()
    for group in view.groups():
        ids = {item.id for item in group.items}
        stays |= ids if group.pending or ids & recent else set()
    old = [
        item
        for item in shown[:cut]
        if item.id not in stays
        and (isinstance(item, Summary) or not structural(item))
        and view.fate(item.id).state != "pinned"
    ]
    return () if all(isinstance(item, Summary) for item in old) else tuple(old)


def _shrink(transcript: Transcript, most: int, counter: Counter) -> None:
    """Leave out the oldest until a limit holds, or else all that may go."""
    view = transcript.view
    try:
        edit = truncate(view, tokens=most, counter=counter)
    except Irreducible as fault:
        logger.warning("%d items must stay, and they exceed the limit of %d", len(fault.parts), most)
        edit = leaving_out(view, fault.parts)
    transcript.extend([] if edit is None else [edit])
