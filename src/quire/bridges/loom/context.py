"""Loom's context manager: a template of the engine, in the page's order, asked for one task at a time."""

from collections.abc import Sequence
from typing import Literal

from quire.bridges.loom.converting import Said
from quire.bridges.loom.counting import TokenCounter, engine_counter
from quire.bridges.loom.current import set_current_session_id
from quire.bridges.loom.items import current_item, message_of
from quire.bridges.loom.knowledge import KnowledgeBase
from quire.bridges.loom.sources import ContextSource, EventBusContextSource, MemoryContextSource
from quire.bridges.loom.task import Task, words_said
from quire.context import Context, Template
from quire.errors import InvalidValue, WrongType, cut
from quire.items import Message, now
from quire.sections import Ask, Custom, History, Input, Instructions, Section
from quire.state import Transcript
from quire.stores.threads import RECALLING
from quire.tokens import Budget, whole

_TASK = "loom.task"


class TaskContextManager:
    """Builds what a model sees of a task: instructions, the past, knowledge, news, and the task, once.

    It is within `max_tokens`, and of the past the newest is kept. Where what must be told does not fit, it is
    `OverBudget`, never a context without the task.
    """

    def __init__(
        self,
        token_counter: object | None = None,
        sources: Sequence[ContextSource] = (),
        max_tokens: int = 4000,
        system_prompt: str = "",
        knowledge_base: KnowledgeBase | None = None,
        *,
        node_id: str | None = None,
        max_knowledge: int = 3,
    ) -> None:
        """Direct messages are those to `node_id`, to the nodes of the memories, and to the task's target."""
        self._counter = engine_counter(TokenCounter() if token_counter is None else token_counter)
        self._sources = tuple(sources)
        self._knowledge_base = knowledge_base
        self._max_knowledge = whole(max_knowledge, "max_knowledge", least=1)
        memories = [source.memory for source in self._sources if isinstance(source, MemoryContextSource)]
        self._node_ids = [node_id or "", *(memory.node_id for memory in memories)]
        self._template = Template(*self._sections(system_prompt), budget=Budget(window=max_tokens))

    async def build_context(self, current_task: Task) -> list[Said]:
        """The messages for a model, in order."""
        items = (await self.build(current_task)).items
        return [Said(role=_role(item), content=item.text) for item in items if isinstance(item, Message)]

    async def build(self, current_task: Task) -> Context:
        """The engine's context of a task: the same messages, with a receipt that says why."""
        if not isinstance(current_task, Task):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a context is built for a Task, not {type(current_task).__name__}")
        set_current_session_id(current_task.session_id)
        past = await self._past(current_task)
        latest = max((item.created_at for item in past), default=0.0)
        current = current_item(current_task, latest)
        if not current.text.strip():
            raise InvalidValue(f"task {cut(current_task.task_id)!r} has no words: see parameters.content")
        ask = Ask(
            views={"main": Transcript([*past, current]).view},
            conversation=current_task.session_id or "",
            input=current,
            inbox=self._letters(current_task),
            now=now(),
            parameters={_TASK: current_task},
        )
        return await self._template.build(ask, counter=self._counter)

    def _sections(self, system_prompt: str) -> list[Section]:
        return [
            *([Instructions(system_prompt)] if system_prompt.strip() else []),
            History(closely=True),  # its first tier slides, and tasks are no turns of one talk
            Custom("knowledge", self._knowledge, required=False),
            Custom("events", self._events, required=False, keeps="newest", closely=True),
            Custom("messages", lambda ask: ask.inbox, required=False),
            Input(),
        ]

    async def _past(self, current_task: Task) -> list[Message]:
        """What was said before, from memories and from sources of somebody's own, each once."""
        found: dict[str, Task] = {}
        for source in self._sources:
            if isinstance(source, MemoryContextSource):
                given: Sequence[Task] = await RECALLING.do(source.recent, current_task)
            elif isinstance(source, EventBusContextSource):
                continue
            else:
                given = await source.get_context(current_task)
            found |= {task.task_id: task for task in given if task.task_id != current_task.task_id}
        return _said(sorted(found.values(), key=lambda task: task.created_at))

    async def _knowledge(self, ask: Ask) -> list[Message]:
        """What a knowledge base has for the words of the task."""
        question = words_said(ask.parameters[_TASK])
        if self._knowledge_base is None or not question.strip():
            return []
        found = await self._knowledge_base.query(question, limit=self._max_knowledge)
        return [
            Message("system", _quoted(one.content, one.source), id=f"knowledge/{one.id}", created_at=0.0)
            for one in found
        ]

    async def _events(self, ask: Ask) -> list[Message]:
        task: Task = ask.parameters[_TASK]
        buses = [source for source in self._sources if isinstance(source, EventBusContextSource)]
        return _said([event for bus in buses for event in await bus.get_context(task)])

    def _letters(self, current_task: Task) -> list[Message]:
        buses = [source for source in self._sources if isinstance(source, EventBusContextSource)]
        node_ids = (*self._node_ids, current_task.target_agent)
        return _said([letter for bus in buses for letter in bus.letters(current_task, node_ids)])


def _said(tasks: Sequence[Task]) -> list[Message]:
    """What tasks say to a model; results and notes say nothing."""
    return [message for message in map(message_of, tasks) if message is not None]


def _quoted(content: str, source: str) -> str:
    return f"[Knowledge from {source}] {content}" if source else f"[Knowledge] {content}"


def _role(item: Message) -> Literal["system", "user", "assistant"]:
    assert item.role != "developer"  # nothing here is said by one
    return item.role
