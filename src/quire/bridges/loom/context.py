"""Contexts for tasks: token counters, sources, the manager that builds contexts, and query tools."""

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, cast

from quire.bridges.loom.memory import LoomMemory, content_or_parameters, importance_of
from quire.bridges.loom.tasks import (
    AGENT_MESSAGES,
    THINKING,
    TOOL_CALL,
    ChatMessage,
    EventBus,
    MessageConverter,
    Task,
    nodes_of,
    parent_of,
)
from quire.context import DEFAULT_MODEL, Context, Template
from quire.errors import InvalidValue, WrongType, cut
from quire.items import Item, Message, frame, now
from quire.sections import Ask, Custom, History, Input, Instructions, Section, items_of
from quire.state import Transcript
from quire.stores.threads import RECALLING
from quire.tokens import Budget, Counter, Tally, counter_for, named, whole

_KNOWLEDGE_ITEMS = 3
_session_id: ContextVar[str | None] = ContextVar("quire_loom_session", default=None)
"""The session of the task whose context was built last."""

# Counting


class TokenCounter:
    """Counts with the engine's counter for a model: exact for well-known models, estimated for others."""

    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        self.model = model
        self.counter = counter_for(model)

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self.counter.text(text)

    def count_messages(self, messages: Sequence[Mapping[str, Any] | ChatMessage]) -> int:
        """Tokens of messages, including those that a request adds to each message."""
        items = items_of(list(messages), "messages")
        return self.counter.total(sum(map(self.counter.count, items)))


class TiktokenCounter(TokenCounter):
    """Counts for a model of OpenAI, with the vocabularies of tiktoken."""

    def __init__(self, model: str = "gpt-4") -> None:
        super().__init__(model)


class EstimateCounter(TokenCounter):
    """Estimates by characters: `chars_per_token` are one token, and each message costs four more tokens."""

    def __init__(self, chars_per_token: float = 4.0) -> None:
        if not chars_per_token > 0:
            raise InvalidValue("chars_per_token must be more than 0")
        self.chars_per_token = chars_per_token

    def count(self, text: str) -> int:
        """Tokens of a text: at least 1, unless it is empty."""
        return max(1, int(len(text) / self.chars_per_token)) if text else 0

    def count_messages(self, messages: Sequence[Mapping[str, Any] | ChatMessage]) -> int:
        """Tokens of messages."""
        texts = [str(text) for message in messages for text in (message["role"], message["content"])]
        return 4 * len(messages) + sum(map(self.count, texts))


def _engine_counter(counter: Any) -> Counter:
    """A token counter as a counter of the engine, which counts one message at a time."""
    if isinstance(counter, TokenCounter) and type(counter).count_messages is TokenCounter.count_messages:
        return counter.counter
    if not callable(getattr(counter, "count_messages", None)):
        raise WrongType(f"a token counter must have count_messages; {type(counter).__name__} has not")

    def count(item: Item) -> int:
        message = cast("Message", item)  # the contexts built here have no other items
        return int(counter.count_messages([{"role": message.role, "content": message.text}]))

    return Tally(f"loom/{id(counter)}", count)


# Sources


class MemoryContextSource:
    """The tasks of a memory in the session of the current task, or in all sessions if it has none."""

    def __init__(self, memory: LoomMemory) -> None:
        self.memory = memory

    async def get_context(self, current_task: Task, max_items: int = 10) -> list[Task]:
        """Half newest tasks, half most important older ones, sorted by time."""
        newest = self.recent(current_task, max_items - max_items // 2)
        newest_ids = {task.task_id for task in newest} | {current_task.task_id}
        important = self.memory.get_l2_tasks(2 * max_items, current_task.session_id)
        others = [task for task in important if task.task_id not in newest_ids]
        return _by_time([*others[: max_items - len(newest)], *newest])

    def recent(self, current_task: Task, limit: int) -> list[Task]:
        """The newest tasks without the current one."""
        tasks = self.memory.get_l1_tasks(limit + 1, current_task.session_id)
        return [task for task in tasks if task.task_id != current_task.task_id][-limit:]


class EventBusContextSource:
    """Thoughts and tool calls on a bus, and direct messages to nodes."""

    def __init__(self, event_bus: EventBus) -> None:
        self.event_bus = event_bus

    async def get_context(self, current_task: Task, max_items: int = 10) -> list[Task]:
        """Thoughts and calls that share the task, its parent or one of its nodes, sorted by time."""
        nodes = nodes_of(current_task) | ({current_task.target_agent} - {""})
        related_ids = {current_task.task_id, parent_of(current_task)} - {None}

        def is_related(task: Task) -> bool:
            return bool(nodes & nodes_of(task) or related_ids & {task.task_id, parent_of(task)})

        events = self.event_bus.query_recent(self.event_bus.max_history, session_id=current_task.session_id)
        events = [task for task in events if task.action in (THINKING, TOOL_CALL)]
        related = [task for task in events if task.task_id != current_task.task_id and is_related(task)]
        return _by_time(related)[-max_items:]

    def direct_messages(self, current_task: Task, node_ids: Iterable[str]) -> list[Task]:
        """Direct messages and delegations to some nodes, by priority: at most 50 for each node."""
        messages: dict[str, Task] = {}
        for node in dict.fromkeys(filter(None, node_ids)):
            tasks = self.event_bus.query_by_target(node, node, session_id=current_task.session_id)
            tasks = [task for task in tasks if task.action in AGENT_MESSAGES]
            tasks = [task for task in tasks if task.task_id != current_task.task_id]
            messages |= {task.task_id: task for task in tasks[:50]}
        return list(messages.values())


def _by_time(tasks: Iterable[Task]) -> list[Task]:
    return sorted(tasks, key=lambda task: task.created_at.timestamp())


# The manager


class TaskContextManager:
    """Builds the messages for a task: system prompt, memory, knowledge, events, direct messages, the task.

    They take at most `max_tokens`; the oldest tasks of the memory are left out first. If the prompt and the
    task do not fit, `OverBudget` is raised. Attributes may be changed between contexts.
    """

    def __init__(
        self,
        token_counter: object | None = None,
        sources: Sequence[Any] = (),
        converter: MessageConverter | None = None,
        max_tokens: int = 4000,
        system_prompt: str = "",
        knowledge_base: Any = None,
    ) -> None:
        """Create a manager.

        A source has `async get_context(task, max_items)`, a knowledge base `async query(query, limit)`.
        Direct messages are included if they are for a node of one of the memories, or for the target of the
        task.
        """
        self.token_counter = TokenCounter() if token_counter is None else token_counter
        _engine_counter(self.token_counter)  # raises if it is no counter
        self.sources = list(sources)
        self.converter = converter or MessageConverter()
        self.max_tokens = whole(max_tokens, "max_tokens", least=1)
        self.system_prompt = system_prompt
        self.knowledge_base = knowledge_base

    async def build_context(self, current_task: Task) -> list[ChatMessage]:
        """The messages for a model, in order."""
        items = (await self.build(current_task)).items
        messages = [item for item in items if isinstance(item, Message)]
        return [cast("ChatMessage", {"role": item.role, "content": item.text}) for item in messages]

    async def build(self, current_task: Task) -> Context:
        """The messages of `build_context` as a context of the engine, with its receipt."""
        _session_id.set(current_task.session_id)
        past = self._messages(_by_time((await self._past_tasks(current_task)).values()))
        created_at = current_task.created_at.timestamp()
        current = Message("user", self._input(current_task), id=current_task.task_id, created_at=created_at)
        ask = Ask(
            views={"main": Transcript([*past, current]).view},
            conversation=current_task.session_id or "",
            input=current,
            inbox=self._direct_messages(current_task),
            now=now(),
        )
        template = Template(*self._sections(current_task), budget=Budget(window=self.max_tokens))
        return await template.build(ask, counter=_engine_counter(self.token_counter))

    def _sections(self, task: Task) -> list[Section]:
        return [
            *([Instructions(self.system_prompt)] if self.system_prompt.strip() else []),
            History(closely=True),  # any task may be left out: tasks are not turns of one conversation
            Custom("knowledge", lambda _: self._knowledge(task), required=False),
            Custom("events", lambda _: self._events(task), required=False, keeps="newest", closely=True),
            Custom("messages", lambda ask: ask.inbox, required=False),
            Input(),
        ]

    def _input(self, task: Task) -> str:
        message = self.converter.convert_task_to_message(task)
        return task.content or task.action if message is None else message["content"]

    async def _past_tasks(self, task: Task) -> dict[str, Task]:
        """The tasks of all sources except buses, by id."""
        past: dict[str, Task] = {}
        for source in self.sources:
            if isinstance(source, MemoryContextSource):
                tasks: Sequence[Task] = await RECALLING.do(source.recent, task, source.memory.max_l1_size)
            elif isinstance(source, EventBusContextSource):
                continue  # events have a section of their own
            else:
                tasks = await source.get_context(task)
            past |= {other.task_id: other for other in tasks if other.task_id != task.task_id}
        return past

    async def _knowledge(self, task: Task) -> list[Message]:
        """Knowledge about the task's content, or if it has none, about its other parameters or its action."""
        if self.knowledge_base is None:
            return []
        others = " ".join(value for value in task.parameters.values() if isinstance(value, str))
        query = task.content or others or task.action
        items = await self.knowledge_base.query(query, limit=_KNOWLEDGE_ITEMS)
        texts = [frame("knowledge", item.content, source=item.source) for item in items]
        return [Message("system", text, id=f"knowledge/{n}", created_at=0.0) for n, text in enumerate(texts)]

    async def _events(self, task: Task) -> list[Message]:
        return self._messages([event for bus in self._buses() for event in await bus.get_context(task, 20)])

    def _direct_messages(self, task: Task) -> list[Message]:
        nodes = [source.memory.node_id for source in self.sources if isinstance(source, MemoryContextSource)]
        node_ids = [*nodes, task.target_agent]
        return self._messages([sent for bus in self._buses() for sent in bus.direct_messages(task, node_ids)])

    def _buses(self) -> list[EventBusContextSource]:
        return [source for source in self.sources if isinstance(source, EventBusContextSource)]

    def _messages(self, tasks: Iterable[Task]) -> list[Message]:
        converted = [(task, self.converter.convert_task_to_message(task)) for task in tasks]
        return [
            Message(
                message["role"],
                message["content"],
                id=task.task_id,
                created_at=task.created_at.timestamp(),
            )
            for task, message in converted
            if message is not None
        ]


# Query tools


class _Query(NamedTuple):
    """A query tool. `source` is a tier of the memory, or the end of the name of a method of the bus."""

    source: str
    limit: int
    description: str
    optional: tuple[str, ...] = ("session_id",)
    required: tuple[str, ...] = ()


_TOOLS = {
    "query_l1_memory": _Query("L1", 10, "The newest tasks, in full."),
    "query_l2_memory": _Query("L2", 10, "The most important tasks, in short."),
    "query_l3_memory": _Query("L3", 20, "Summaries of what was done."),
    "query_l4_memory": _Query("L4", 5, "Search the tasks of all sessions.", required=("query",)),
    "query_events_by_action": _Query("by_action", 10, "Events of an action.", ("node_filter",), ("action",)),
    "query_events_by_node": _Query("by_node", 10, "Events of a node.", ("action_filter",), ("node_id",)),
    "query_events_by_target": _Query(
        "by_target",
        10,
        "Messages to an agent or a node.",
        ("target_agent", "target_node_id", "action_filter"),
    ),
    "query_recent_events": _Query("recent", 10, "The newest events.", ("action_filter", "node_filter")),
    "query_thinking_process": _Query("thinking_process", 10, "Thoughts.", ("node_id", "task_id")),
}
_PREVIEW_LENGTH = 200


def create_all_context_tools() -> list[dict[str, Any]]:
    """All query tools, in the form of OpenAI's `tools`."""
    return [{"type": "function", "function": _schema(name, query)} for name, query in _TOOLS.items()]


def _schema(name: str, query: _Query) -> dict[str, Any]:
    about_limit = f"The most results to return; {query.limit} by default."
    limit = {"type": "integer", "minimum": 1, "description": about_limit}
    texts = {name: {"type": "string"} for name in (*query.required, *query.optional)}
    parameters = {
        "type": "object",
        "properties": {"limit": limit, **texts},
        "required": list(query.required),
    }
    return {"name": name, "description": query.description, "parameters": parameters}


class ContextToolExecutor:
    """Runs the query tools. Each answer has a `count`.

    A query of the tiers 1 to 3 without a `session_id` uses the session of the executor, or else that of the
    task whose context was built last in this asyncio task or thread. A query of the fourth tier searches all
    sessions unless it names one; queries of events search all.
    """

    def __init__(
        self, memory: LoomMemory, event_bus: EventBus | None = None, *, session_id: str | None = None
    ) -> None:
        self.memory, self.event_bus, self.session_id = memory, event_bus, session_id

    async def execute(self, tool_name: str, args: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Run a tool, and return its answer."""
        query = _TOOLS.get(tool_name)
        if query is None:
            raise InvalidValue(f"there is no tool {cut(str(tool_name))!r}; tools: {', '.join(_TOOLS)}")
        names = (*query.required, *query.optional)
        arguments = {name: value for name, value in (args or {}).items() if name in names}
        for name in query.required:
            named(arguments.get(name), name)
        limit = (args or {}).get("limit") or query.limit
        if query.source.startswith("L"):
            return await self._query_memory(query.source, arguments, limit)
        if self.event_bus is None:
            raise InvalidValue(f"{tool_name} needs an event bus: ContextToolExecutor(memory, event_bus)")
        results: list[Any] = getattr(self.event_bus, f"query_{query.source}")(**arguments, limit=limit)
        kind = "thoughts" if query.source == "thinking_process" else "events"
        rows = [result if isinstance(result, str) else _fields(result) for result in results]
        return {"query_type": query.source, **arguments, "count": len(rows), kind: rows}

    async def _query_memory(self, layer: str, arguments: Mapping[str, Any], limit: int) -> dict[str, Any]:
        default = _session_id.get() if self.session_id is None else self.session_id
        session_id = arguments.get("session_id", default)
        match layer:
            case "L1":
                rows = [_fields(task) for task in self.memory.get_l1_tasks(limit, session_id)]
            case "L2":
                rows = [_statement(task) for task in self.memory.get_l2_tasks(limit, session_id)]
            case "L3":
                summaries = self.memory.get_l3_summaries(limit, session_id)
                rows = [
                    {"task_ids": list(row.task_ids), "statement": row.summary, "session_id": row.session_id}
                    for row in summaries
                ]
            case _:
                named_session = arguments.get("session_id")
                tasks = await self.memory.search_tasks(arguments["query"], limit, named_session)
                rows = [_statement(task) for task in tasks]
        return {"layer": layer, "count": len(rows), "tasks" if layer == "L1" else "statements": rows}


def _fields(task: Task) -> dict[str, Any]:
    """A task with all its fields for a model."""
    names = ("task_id", "action", "parameters", "result", "session_id")
    fields = {name: getattr(task, name) for name in names}
    return fields | {"status": task.status.value, "created_at": task.created_at.isoformat()}


def _statement(task: Task) -> dict[str, Any]:
    """A task in one sentence."""
    content = _shortened(content_or_parameters(task))
    result = "" if task.result is None else f" -> {_shortened(str(task.result))}"
    return {
        "task_id": task.task_id,
        "statement": f"{task.action} ({task.status.value}): {content}{result}",
        "importance": importance_of(task),
        "session_id": task.session_id,
    }


def _shortened(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= _PREVIEW_LENGTH else f"{text[:_PREVIEW_LENGTH]}…"
