"""Loom's query tools: what a model may ask of its memory and of the bus, by the name of a tool."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from quire.bridges.loom.bus import EventBus
from quire.bridges.loom.current import current_session_id
from quire.bridges.loom.items import importance_of
from quire.bridges.loom.memory import LoomMemory
from quire.bridges.loom.task import Task, words_said
from quire.errors import InvalidValue, WrongType, cut
from quire.sections import maybe_await
from quire.tokens import named, whole

Answer = dict[str, Any]
Given = Mapping[str, Any]
_SHORT = 200
_MOST_DIGITS = 15


class ContextToolExecutor:
    """Answers the query tools. Each answer has a `count`.

    What is asked is of the session at hand unless the arguments name another, or none: that of the executor,
    or else of the task whose context was built last here. The fourth tier is of all sessions.
    """

    def __init__(
        self, memory: LoomMemory, event_bus: EventBus | None = None, *, session_id: str | None = None
    ) -> None:
        self._memory, self._bus, self._session_id = memory, event_bus, session_id
        self._tools: dict[str, Callable[[Given], Answer | Awaitable[Answer]]] = {
            "query_l1_memory": self._recent,
            "query_l2_memory": self._working,
            "query_l3_memory": self._summaries,
            "query_l4_memory": self._found,
            "query_events_by_action": self._by_action,
            "query_events_by_node": self._by_node,
            "query_events_by_task": self._by_task,
            "query_events_by_target": self._by_target,
            "query_recent_events": self._newest,
            "query_thinking_process": self._thoughts,
        }

    async def execute(self, tool_name: str, args: Given | None = None) -> Answer:
        """What a tool answers."""
        if tool_name not in self._tools:
            raise InvalidValue(f"no tool {cut(str(tool_name))!r}; there are {', '.join(self._tools)}")
        if not isinstance(args, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"the arguments of a tool are a dictionary, not {type(args).__name__}")
        return await maybe_await(self._tools[tool_name](args or {}))

    def _recent(self, args: Given) -> Answer:
        tasks = self._memory.get_l1_tasks(_limit(args), self._session(args))
        return _answer("L1", "tasks", [task.to_dict() for task in tasks])

    def _working(self, args: Given) -> Answer:
        tasks = self._memory.get_l2_tasks(_limit(args), self._session(args))
        return _answer("L2", "tasks", list(map(_short, tasks)))

    def _summaries(self, args: Given) -> Answer:
        found = self._memory.get_l3_summaries(_limit(args, 20), self._session(args))
        told = [
            {"summary": one.summary, "task_ids": list(one.task_ids), "session_id": one.session_id}
            for one in found
        ]
        return _answer("L3", "summaries", told)

    async def _found(self, args: Given) -> Answer:
        question = named(args.get("query"), "query")
        tasks = await self._memory.search_tasks(question, _limit(args, 5), args.get("session_id"))
        return _answer("L4", "tasks", list(map(_short, tasks)))

    def _by_action(self, args: Given) -> Answer:
        action, limit = named(args.get("action"), "action"), _limit(args)
        found = self._events.query_by_action(action, args.get("node_id"), limit, self._session(args))
        return _answer("by_action", "events", list(map(_short, found)))

    def _by_node(self, args: Given) -> Answer:
        node_id, limit = named(args.get("node_id"), "node_id"), _limit(args)
        found = self._events.query_by_node(node_id, args.get("action_filter"), limit, self._session(args))
        return _answer("by_node", "events", list(map(_short, found)))

    def _by_task(self, args: Given) -> Answer:
        task_id, limit = named(args.get("task_id"), "task_id"), _limit(args)
        found = self._events.query_by_task(task_id, args.get("action_filter"), limit, self._session(args))
        return _answer("by_task", "events", list(map(_short, found)))

    def _by_target(self, args: Given) -> Answer:
        agent, node, limit = args.get("target_agent"), args.get("target_node_id"), _limit(args)
        if not agent and not node:
            raise InvalidValue("a target is named by target_agent, by target_node_id, or by both")
        action, session_id = args.get("action_filter"), self._session(args)
        found = self._events.query_by_target(agent, node, action, limit, session_id)
        return _answer("by_target", "events", list(map(_short, found)))

    def _newest(self, args: Given) -> Answer:
        found = self._events.query_recent(
            _limit(args), args.get("action_filter"), args.get("node_filter"), self._session(args)
        )
        return _answer("recent", "events", list(map(_short, found)))

    def _thoughts(self, args: Given) -> Answer:
        found = self._events.query_thinking_process(
            args.get("node_id"), args.get("task_id"), _limit(args), self._session(args)
        )
        return _answer("thinking_process", "thoughts", found)

    @property
    def _events(self) -> EventBus:
        if self._bus is None:
            raise InvalidValue("there is no event bus to ask: give one to the executor")
        return self._bus

    def _session(self, args: Given) -> str | None:
        """The session that is named, even as none; else the one at hand."""
        usual = current_session_id() if self._session_id is None else self._session_id
        asked: str | None = args.get("session_id", usual)
        return asked


def _limit(args: Given, usual: int = 10) -> int:
    """How many at most. Models write a number as text, or nothing at all, where they mean the usual."""
    given: Any = args.get("limit")
    if given is None:
        return usual
    is_text = isinstance(given, str) and given.strip().isdecimal() and len(given) <= _MOST_DIGITS
    is_whole = isinstance(given, float) and given.is_integer()
    return whole(int(given) if is_text or is_whole else given, "a limit", least=1)


def _answer(queried: str, what: str, found: Sequence[Any]) -> Answer:
    return {"query_type": queried, "count": len(found), what: list(found)}


def _short(task: Task) -> dict[str, Any]:
    """A task in a few words; the first tier has all of it."""
    return {
        "task_id": task.task_id,
        "action": task.action,
        "content": _cut(words_said(task) or ", ".join(f"{k}: {v}" for k, v in task.parameters.items())),
        "result": None if task.result is None else _cut(str(task.result)),
        "status": str(task.status),
        "importance": importance_of(task),
        "session_id": task.session_id,
    }


def _cut(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"
