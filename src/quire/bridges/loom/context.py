"""Contexts of tasks: token counters, sources, the manager that builds them, and the tools that query them."""

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, cast

from quire.bridges.loom.memory import LoomMemory, TaskSummary, importance_of
from quire.bridges.loom.tasks import (
    MESSAGE,
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
from quire.items import Item, Message, now
from quire.sections import Ask, Custom, History, Input, Instructions, Section, items_of, maybe_await
from quire.state import Transcript
from quire.stores.threads import RECALLING
from quire.tokens import Budget, Counter, Tally, counter_for, named, whole

_MOST_KNOWLEDGE = 3
_session: ContextVar[str | None] = ContextVar("quire_loom_session", default=None)

# Counting


class TokenCounter:
    """Counts as the budget of a context does, exactly for the usual models and by an estimate for others."""

    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        self.model = model
        self.counter = counter_for(model)

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self.counter.text(text)

    def count_messages(self, messages: Sequence[Mapping[str, Any] | ChatMessage]) -> int:
        """Tokens of messages, with what a request adds to each."""
        items = items_of(list(messages), "messages")
        return self.counter.total(sum(map(self.counter.count, items)))


class TiktokenCounter(TokenCounter):
    """Counts for a model of OpenAI; the vocabularies are those of tiktoken."""

    def __init__(self, model: str = "gpt-4") -> None:
        super().__init__(model)


class EstimateCounter(TokenCounter):
    """Counts characters: so many are one token, and a message costs four tokens more."""

    def __init__(self, chars_per_token: float = 4.0) -> None:
        if not chars_per_token > 0:
            raise InvalidValue("chars_per_token must be more than 0")
        self.chars_per_token = chars_per_token

    def count(self, text: str) -> int:
        """Tokens of a text, one at least if it is not empty."""
        return max(1, int(len(text) / self.chars_per_token)) if text else 0

    def count_messages(self, messages: Sequence[Mapping[str, Any] | ChatMessage]) -> int:
        """Tokens of messages."""
        return sum(4 + self.count(str(one["role"])) + self.count(str(one["content"])) for one in messages)


def _engine_counter(given: Any) -> Counter:
    """A counter of the engine; one of the user's counts each message as if it were sent alone."""
    if isinstance(given, TokenCounter) and type(given).count_messages is TokenCounter.count_messages:
        return given.counter
    if not callable(getattr(given, "count_messages", None)):
        raise WrongType(f"a token counter has count_messages; {type(given).__name__} has not")

    def count(item: Item) -> int:
        message = cast("Message", item)  # a context of tasks has nothing else
        return int(given.count_messages([{"role": message.role, "content": message.text}]))

    return Tally(f"loom/{id(given)}", count)


# Sources


class MemoryContextSource:
    """The tasks of a memory, in the session of the current task; without a session, of all."""

    def __init__(self, memory: LoomMemory) -> None:
        self.memory = memory

    async def get_context(self, current_task: Task, max_items: int = 10) -> list[Task]:
        """The newest tasks, and of those before them the most important, in order of time."""
        most, session_id = whole(max_items, "max_items", least=1), current_task.session_id
        newest = self.recent(current_task, most - most // 2)
        told = {task.task_id for task in newest} | {current_task.task_id}
        important = [one for one in self.memory.get_l2_tasks(2 * most, session_id) if one.task_id not in told]
        return _in_time([*important[: most - len(newest)], *newest])

    def recent(self, current_task: Task, limit: int) -> list[Task]:
        """The newest tasks without the current one."""
        found = self.memory.get_l1_tasks(limit + 1, current_task.session_id)
        return [task for task in found if task.task_id != current_task.task_id][-limit:]


class EventBusContextSource:
    """Thoughts and tool calls on a bus, and the direct messages to whoever does a task."""

    def __init__(self, event_bus: EventBus) -> None:
        self.event_bus = event_bus

    async def get_context(self, current_task: Task, max_items: int = 10) -> list[Task]:
        """Thoughts and calls about the task or its parent, and of its nodes, in order of time."""
        most, session_id = whole(max_items, "max_items", least=1), current_task.session_id
        nodes = nodes_of(current_task) | ({current_task.target_agent} - {""})
        about = {current_task.task_id, parent_of(current_task)} - {None}
        found = [
            task
            for task in self.event_bus.query_recent(self.event_bus.max_history, session_id=session_id)
            if task.action in (THINKING, TOOL_CALL)
            and task.task_id != current_task.task_id
            and (nodes & nodes_of(task) or about & {task.task_id, parent_of(task)})
        ]
        return _in_time(found)[-most:]

    def direct_messages(self, current_task: Task, node_ids: Iterable[str]) -> list[Task]:
        """Direct messages to some nodes, by priority."""
        found: dict[str, Task] = {}
        for one in dict.fromkeys(filter(None, node_ids)):
            messages = self.event_bus.query_by_target(one, one, MESSAGE, 50, current_task.session_id)
            found |= {task.task_id: task for task in messages if task.task_id != current_task.task_id}
        return list(found.values())


def _in_time(tasks: Iterable[Task]) -> list[Task]:
    return sorted(tasks, key=lambda task: task.created_at)


# The manager


class TaskContextManager:
    """Builds the messages for a task: system prompt, memory, knowledge, events, direct messages, the task.

    They are within `max_tokens`, and the newest of the memory are kept. If the prompt and the task do not
    fit, that is `OverBudget`. Attributes may be changed between contexts.
    """

    def __init__(
        self,
        token_counter: object | None = None,
        sources: Sequence[Any] = (),
        converter: MessageConverter | None = None,
        max_tokens: int = 4000,
        system_prompt: str = "",
        knowledge_base: Any = None,
        node_id: str | None = None,
    ) -> None:
        """A source has `async get_context(task, max_items)`, a knowledge base `async query(query, limit)`.

        Direct messages are those to `node_id`, to the nodes of the memories, and to the task's target.
        """
        self.token_counter = TokenCounter() if token_counter is None else token_counter
        _engine_counter(self.token_counter)
        self.sources = list(sources)
        self.converter = converter or MessageConverter()
        self.max_tokens = whole(max_tokens, "max_tokens", least=1)
        self.system_prompt = system_prompt
        self.knowledge_base = knowledge_base
        self.node_id = node_id

    async def build_context(self, current_task: Task) -> list[ChatMessage]:
        """The messages for a model, in order."""
        items = (await self.build(current_task)).items
        shown = [item for item in items if isinstance(item, Message)]
        return [cast("ChatMessage", {"role": item.role, "content": item.text}) for item in shown]

    async def build(self, current_task: Task) -> Context:
        """The same as a context of the engine, with its receipt."""
        if not isinstance(current_task, Task):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a context is built for a Task, not {type(current_task).__name__}")
        _session.set(current_task.session_id)
        past = self._messages(_in_time((await self._past(current_task)).values()))
        said = self.converter.convert_task_to_message(current_task)
        words = said["content"] if said is not None else current_task.words or current_task.action
        latest = max((item.created_at for item in past), default=0.0)
        at = max(current_task.created_at.timestamp(), latest)
        current = Message("user", words, id=current_task.task_id, created_at=at)
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
            History(closely=True),  # tasks are no turns of one conversation
            Custom("knowledge", lambda _: self._knowledge(task), required=False),
            Custom("events", lambda _: self._events(task), required=False, keeps="newest", closely=True),
            Custom("messages", lambda ask: ask.inbox, required=False),
            Input(),
        ]

    async def _past(self, task: Task) -> dict[str, Task]:
        found: dict[str, Task] = {}
        for source in self.sources:
            if isinstance(source, MemoryContextSource):
                given: Sequence[Task] = await RECALLING.do(source.recent, task, source.memory.max_l1_size)
            elif isinstance(source, EventBusContextSource):
                continue
            else:
                given = await source.get_context(task)
            found |= {one.task_id: one for one in given if one.task_id != task.task_id}
        return found

    async def _knowledge(self, task: Task) -> list[Message]:
        """What the knowledge base has for the task's content, or for its other parameters."""
        if self.knowledge_base is None:
            return []
        others = " ".join(str(value) for value in task.parameters.values() if isinstance(value, str))
        found = await self.knowledge_base.query(task.words or others or task.action, limit=_MOST_KNOWLEDGE)
        return [
            Message(
                "system",
                f"[Knowledge from {one.source}] {one.content}"
                if one.source
                else f"[Knowledge] {one.content}",
                id=f"knowledge/{place}",
                created_at=0.0,
            )
            for place, one in enumerate(found)
        ]

    async def _events(self, task: Task) -> list[Message]:
        return self._messages([one for bus in self._buses() for one in await bus.get_context(task, 20)])

    def _direct_messages(self, task: Task) -> list[Message]:
        nodes = [one.memory.node_id for one in self.sources if isinstance(one, MemoryContextSource)]
        node_ids = [self.node_id or "", *nodes, task.target_agent]
        return self._messages([one for bus in self._buses() for one in bus.direct_messages(task, node_ids)])

    def _buses(self) -> list[EventBusContextSource]:
        return [source for source in self.sources if isinstance(source, EventBusContextSource)]

    def _messages(self, tasks: Iterable[Task]) -> list[Message]:
        converted = [(task, self.converter.convert_task_to_message(task)) for task in tasks]
        return [
            Message(said["role"], said["content"], id=task.task_id, created_at=task.created_at.timestamp())
            for task, said in converted
            if said is not None
        ]


# Query tools

Arguments = Mapping[str, Any]
_SHORT = 200


class _Tool(NamedTuple):
    """A query tool: the method of the memory that answers it, and what its answer is called."""

    method: str
    what: str
    description: str
    limit: int = 10
    is_search: bool = False


_TOOLS = {
    "query_l1_memory": _Tool("get_l1_tasks", "tasks", "The newest tasks, in full."),
    "query_l2_memory": _Tool("get_l2_tasks", "tasks", "The most important tasks, in short."),
    "query_l3_memory": _Tool("get_l3_summaries", "summaries", "Summaries of what was done.", 20),
    "query_l4_memory": _Tool("search_tasks", "tasks", "Search all sessions.", 5, is_search=True),
}


def create_all_context_tools() -> list[dict[str, Any]]:
    """All query tools, in the form of OpenAI's `tools`."""
    return [_schema(name, tool) for name, tool in _TOOLS.items()]


def _schema(name: str, tool: _Tool) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "limit": {
            "type": "integer",
            "minimum": 1,
            "description": f"At most so many; {tool.limit} by default.",
        },
        "session_id": {"type": "string", "description": "Only of this session."},
    }
    if tool.is_search:
        properties["query"] = {"type": "string", "description": "What to look for, in words."}
    required = ["query"] if tool.is_search else []
    schema = {"type": "object", "properties": properties, "required": required}
    function = {"name": name, "description": tool.description, "parameters": schema}
    return {"type": "function", "function": function}


class ContextToolExecutor:
    """Answers the query tools. Each answer has a `count`.

    Without a `session_id` among the arguments, a query is about the session of the executor, or else of the
    task whose context was built last in this asyncio task or thread. The fourth tier is of all sessions.
    """

    def __init__(
        self, memory: LoomMemory, event_bus: EventBus | None = None, *, session_id: str | None = None
    ) -> None:
        self.memory, self.event_bus, self.session_id = memory, event_bus, session_id

    async def execute(self, tool_name: str, args: Arguments | None = None) -> dict[str, Any]:
        """The answer of a tool."""
        if tool_name not in _TOOLS:
            raise InvalidValue(f"there is no tool {cut(str(tool_name))!r}; tools: {', '.join(_TOOLS)}")
        if not isinstance(args, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"the arguments of a tool are a dictionary, not {type(args).__name__}")
        given, tool = dict(args or {}), _TOOLS[tool_name]
        current = _session.get() if self.session_id is None else self.session_id
        asked = {
            "limit": given.get("limit") or tool.limit,
            "session_id": given.get("session_id", None if tool.is_search else current),
        }
        if tool.is_search:
            asked["query"] = named(given.get("query"), "query")
        found = await maybe_await(getattr(self.memory, tool.method)(**asked))
        shown = [one.to_dict() if tool.method == "get_l1_tasks" else _short(one) for one in found]
        return {"query_type": tool_name, "count": len(shown), tool.what: shown}


def _short(found: Task | TaskSummary) -> Any:
    """What a tool found, in a few words; the first tier has all of a task."""
    if isinstance(found, TaskSummary):
        return {"summary": found.summary, "task_ids": list(found.task_ids), "session_id": found.session_id}
    content = found.words or ", ".join(f"{name}: {value}" for name, value in found.parameters.items())
    return {
        "task_id": found.task_id,
        "action": found.action,
        "content": _shortened(content),
        "result": None if found.result is None else _shortened(str(found.result)),
        "status": found.status.value,
        "importance": importance_of(found),
        "session_id": found.session_id,
    }


def _shortened(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"
