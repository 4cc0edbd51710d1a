"""Autonomy's agents: started on a node with built-in tools, and used through a reference."""

import asyncio
import json
import logging
import tempfile
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Annotated, Any

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import replace

from quire.agent import (
    Agent as EngineAgent,
    CallEnded,
    Decisions,
    Delta,
    Limits,
    Recorded,
    Reply,
    Stop,
    TextDelta,
    Tool,
    TurnEnded,
    tool,
    tools_of,
)
from quire.agent.builtin import Role, Visibility, ask_user, current_time, file_tools, sub_agents
from quire.agent.builtin.delegate import CREW, Delegation
from quire.agent.window import budget_for
from quire.bridges.autonomy.messages import Memory, content_in, messages_of, text_content
from quire.bridges.autonomy.models import agent_model
from quire.bridges.autonomy.sections import (
    ContextSection,
    ContextTemplate,
    ConversationHistorySection,
    Messages,
    Params,
    SummarizedHistorySection,
    SystemInstructionsSection,
    engine_sections,
    summary_section,
)
from quire.compactors import TruncateOldest
from quire.context import Template
from quire.errors import InvalidValue, UnknownKey, WrongType, cut
from quire.items import Handoff, Hide, ToolCall, new_id
from quire.models import AnyModel
from quire.node import Node
from quire.node.worker import Worker
from quire.sections import Ask, ToolGuide, settings_of
from quire.session import Session
from quire.state import spans_over
from quire.tokens import Definition, Share, read_definition, single_definitions

logger = logging.getLogger("quire.bridges.autonomy")

_TASK_SECONDS = 600.0

# Built-in tools


class FrameworkInstructionsSection(ToolGuide, ContextSection):
    """How to use the built-in tools that the agent has.

    `get_messages` is called without an agent, so the arguments say which tools it describes.
    """

    def __init__(
        self,
        enable_ask_for_user_input: bool = False,
        enable_filesystem: bool = False,
        filesystem_visibility: Visibility = "conversation",
        subagent_configs: Mapping[str, Any] | None = None,
        enabled: bool = True,
        name: str = "framework_instructions",
    ) -> None:
        ToolGuide.__init__(self, _guide, name, enabled=enabled)
        configs = _read_options({"subagents": subagent_configs}).subagents or {}
        roles = [
            Role(name=role, description=config.summary, make=_no_agent) for role, config in configs.items()
        ]
        can_ask, has_files = enable_ask_for_user_input, enable_filesystem
        tools = _builtin_tools(can_ask, has_files, filesystem_visibility, "", ".", roles)
        self._tools = tuple(tool.definition for tool in tools)

    async def get_messages(self, memory: Any, scope: str, conversation: str, params: Params) -> Messages:
        """The section as messages."""
        return list(messages_of(await self.items(Ask(tools=self._tools)))) if self.enabled else []


def create_default_template(
    instructions: str | Sequence[Mapping[str, Any]],
    enable_ask_for_user_input: bool = False,
    enable_filesystem: bool = False,
    filesystem_visibility: Visibility = "conversation",
    subagent_configs: Mapping[str, Any] | None = None,
) -> ContextTemplate:
    """The default template of an agent: instructions, how to use its tools, and the history."""
    framework = FrameworkInstructionsSection(
        enable_ask_for_user_input, enable_filesystem, filesystem_visibility, subagent_configs
    )
    return ContextTemplate([SystemInstructionsSection(instructions), framework, ConversationHistorySection()])


def get_current_time(timezone: str = "UTC") -> str:
    """Tell the date and the time of now in a time zone.

    Args:
        timezone: An IANA zone such as "Europe/Berlin", or "local" for the clock of the machine.
    """
    return current_time(timezone)


def get_current_time_utc() -> str:
    """Tell the date and the time of now in UTC."""
    return current_time()


_TIME_TOOLS = (tool(get_current_time, idempotent=True), tool(get_current_time_utc, idempotent=True))
_ASK = tool(ask_user.function, name="ask_user_for_input", asks_person=True)


class _Subagents(Delegation):
    """The engine's delegation under the names that Autonomy documents."""

    pointer = ""  # Autonomy has no tool to read the work of a subagent

    def tools(self) -> list[Tool]:
        roles = "".join(f"\n- {role.name}: {role.description}" for role in self._roles.values())
        one = "Give a task to a new subagent of a role, or by name to one that was started or asked something"
        parallel = "Give each task to a new subagent of a role"
        return [
            tool(self.start_subagent),
            tool(self.delegate_to_subagent, description=f"{one}. Roles:{roles}"),
            tool(
                self.delegate_in_parallel,
                name="delegate_to_subagents_parallel",
                description=f"{parallel}. Roles:{roles}",
            ),
            tool(self.list_subagents, idempotent=True),
            tool(self.stop_subagent),
        ]

    async def start_subagent(self, role: str, session: Session) -> str:
        """Start a subagent of a role, which remembers its tasks, and return its name."""
        if role not in self._roles:
            raise UnknownKey(f"there is no role {cut(role)!r}")
        return (await self._start(self._roles[role], session))[0]

    async def delegate_to_subagent(self, role: str, task: str, session: Session) -> str:
        return await self.delegate(role, task, session)

    def list_subagents(self, session: Session) -> dict[str, Any]:
        """List the roles, and the subagents by name."""
        return {"configured": list(self._roles), "running": sub_agents(session)}

    async def stop_subagent(self, role: str, session: Session) -> str:
        """Stop the subagent of this name, or all of this role."""
        names = [name for name, own_role in sub_agents(session).items() if role in (name, own_role)]
        if not names:
            raise UnknownKey(f"no subagent is called {cut(role)!r}")
        crew = session.view(CREW)
        stopped = [item for item in crew if isinstance(item, Handoff) and item.to_agent in names]
        await session.aio.append(Hide(spans_over(crew, stopped)), to=CREW)
        return f"Stopped: {', '.join(names)}"


def _builtin_tools(
    can_ask: bool,
    has_files: bool,
    visibility: Visibility,
    agent: str,
    root: str | Path | None,
    roles: Sequence[Role],
) -> list[Tool]:
    return [
        *_TIME_TOOLS,
        *(file_tools(root or _scratch().name, visibility, agent=agent) if has_files else ()),
        *((_ASK,) if can_ask else ()),
        *(_Subagents(roles, _TASK_SECONDS).tools() if roles else ()),
    ]


def _guide(definitions: Sequence[Definition]) -> str:
    """How to use those of the tools that are built in."""
    tools = [read_definition(definition)[:2] for definition in single_definitions(definitions)]
    lines = [f"- {name}: {_first_lines(text)}" for name, text in tools if name in _builtin_names()]
    return "\n".join(["These tools come with you; use them where they help:", *lines])


def _first_lines(description: str) -> str:
    """The first line of a description, or all of it if the first line ends with a colon."""
    first, _, rest = description.strip().partition("\n")
    return f"{first}\n{indent(rest, '  ')}" if first.endswith(":") else first


@cache
def _builtin_names() -> frozenset[str]:
    roles = [Role(name="role", description="any", make=_no_agent)]
    return frozenset(tool.name for tool in _builtin_tools(True, True, "conversation", "", ".", roles))


def _no_agent(session: Session) -> EngineAgent:
    raise AssertionError("this role is only described")


@cache
def _scratch() -> "tempfile.TemporaryDirectory[str]":
    """A folder for the files of this process, removed when it ends."""
    return tempfile.TemporaryDirectory(prefix="quire-files-")


# Hosting

_Limit = Annotated[int, Meta(ge=1)] | None


class _Subagent(Struct, forbid_unknown_fields=True):
    """The options of a role to which an agent delegates tasks."""

    instructions: Annotated[str, Meta(pattern=r"\S")]
    description: str = ""
    model: Any = None
    tools: Any = ()
    max_iterations: _Limit = None
    max_execution_time: float | None = None
    auto_start: bool = True  # accepted and not used: each task starts a subagent

    @property
    def summary(self) -> str:
        """The description that a model reads."""
        return self.description or self.instructions.strip().partition("\n")[0]


class _Options(Struct, forbid_unknown_fields=True):
    """The options of `Agent.start`, without name, model and tools."""

    instructions: str = ""
    context_template: ContextTemplate | None = None
    context_summary: bool | dict[str, Any] | None = None
    max_iterations: _Limit = 1000
    max_execution_time: float | None = 600.0
    max_messages_in_short_term_memory: _Limit = 1000
    max_tokens_in_short_term_memory: _Limit = 100_000
    enable_ask_for_user_input: bool = False
    enable_filesystem: bool = False
    filesystem_visibility: Visibility = "conversation"
    filesystem_root: Any = None
    subagents: dict[str, _Subagent] | None = None


def _read_options(options: Mapping[str, Any]) -> _Options:
    try:
        return convert(dict(options), _Options)
    except ValidationError as fault:
        error = WrongType if ", got " in str(fault) else InvalidValue
        raise error(f"the options of Agent.start: {fault}") from None


def _role(name: str, config: _Subagent, model: AnyModel, limits: Limits) -> Role:
    own_limits = Limits(
        requests=config.max_iterations or limits.requests,
        seconds=config.max_execution_time or limits.seconds,
    )
    own_model = model if config.model is None else agent_model(config.model)
    tools = [*_TIME_TOOLS, *config.tools]
    tools_of(tools)  # raises if a tool is wrong

    def make(session: Session) -> EngineAgent:
        return EngineAgent(
            session,
            model=own_model,
            tools=tools,
            name=name,
            instructions=config.instructions,
            limits=own_limits,
        )

    return Role(name=name, description=config.summary, make=make)


class _Hosted:
    """The agents of one name. All their conversations share a memory, a template and the tools."""

    def __init__(self, node: Node, name: str, model: Any, tools: Any, options: _Options) -> None:
        self.name, self.model, self._options = name, agent_model(model), options
        self.memory = Memory(opening=lambda scope, conversation: node.session(name, scope, conversation))
        self.template = _template(options, self.model)
        self._limits = Limits(requests=options.max_iterations, seconds=options.max_execution_time)
        can_ask, has_files = options.enable_ask_for_user_input, options.enable_filesystem
        configs = (options.subagents or {}).items()
        roles = [_role(role, config, self.model, self._limits) for role, config in configs]
        visibility, root = options.filesystem_visibility, options.filesystem_root
        self._tools = [*_builtin_tools(can_ask, has_files, visibility, name, root, roles), *(tools or ())]
        tools_of(self._tools)  # raises if a tool is wrong
        self._engine: tuple[list[Any], Template] | None = None  # sections, and the template made of them

    def make(self, session: Session) -> EngineAgent:
        """The agent of one conversation."""
        self._compact_history_of(session)
        template = self._engine_template()
        return EngineAgent(
            session,
            template=template,
            model=self.model,
            tools=self._tools,
            name=self.name,
            limits=self._limits,
        )

    def refresh(self, agent: EngineAgent) -> None:
        """Give the agent the current sections of the template. Subagents keep their own."""
        template = self._engine_template()
        if agent.name == self.name and agent.speaker.template is not template:
            agent.speaker = agent.speaker._replace(template=template)
            self._compact_history_of(agent.session)

    def _engine_template(self) -> Template:
        if self._engine is None or self._engine[0] != self.template.sections:
            sections = engine_sections(self.template, self.memory, self.name)
            limit, shares = self._options.max_tokens_in_short_term_memory, dict[str, Share]()
            for section in sections:
                # A summarized history has no limit: messages must not be left out before they are summarized.
                is_cut = settings_of(section).keeps == "newest"
                if limit is not None and is_cut and not isinstance(section, SummarizedHistorySection):
                    shares[section.name] = Share(maximum=limit)
            budget = replace(budget_for(self.model), shares=shares)
            template = Template(*sections, budget=budget, model=self.model.name)
            self._engine = list(self.template.sections), template
        return self._engine[1]

    def _compact_history_of(self, session: Session) -> None:
        """Summarize the history from now on if a section does that, or else leave out its oldest messages."""
        for section in self.template.sections:
            if isinstance(section, SummarizedHistorySection):
                scope = session.place.given_scope.removeprefix(f"{self.name}/")
                section.attach(session, scope, session.place.conversation)
                return
        limit = self._options.max_messages_in_short_term_memory
        if limit is not None:
            floor = max(limit * 3 // 4, 1)
            session.compaction.use(TruncateOldest(unit="messages", floor=floor, ceiling=limit))


def _template(options: _Options, model: AnyModel) -> ContextTemplate:
    history = summary_section(options.context_summary, model)
    if options.context_template is not None:
        if history is not None:
            raise InvalidValue(
                "context_summary and context_template cannot both be given: "
                "put a SummarizedHistorySection into the template"
            )
        return options.context_template
    sections = [SystemInstructionsSection(options.instructions), FrameworkInstructionsSection()]
    return ContextTemplate([*sections, history or ConversationHistorySection()])


class Agent:
    """Starts agents."""

    @staticmethod
    async def start(
        node: Node,
        instructions: str = "",
        name: str | None = None,
        model: Any = None,
        tools: Sequence[Any] | None = None,
        **options: Any,
    ) -> "AgentReference":
        """Host an agent on a node, under a name or a random one."""
        options["instructions"] = instructions
        hosted = _Hosted(node, new_id() if name is None else name, model, tools, _read_options(options))
        node.add(hosted.name, hosted.make)
        return AgentReference(node, hosted)


# References

Sent = str | Mapping[str, Any] | Sequence[Any]
"""A text, a content, a message of the user, or a list of these."""

_ENDED_EARLY: dict[Stop, tuple[str, str]] = {
    "requests": ("limit_reached", "The answer ended early: max_iterations was reached."),
    "seconds": ("limit_reached", "The answer ended early: max_execution_time was reached."),
    "length": ("cut_off", "The answer ended early: the model had no room for more."),
    "refused": ("refused", "The model refused to say more."),
    "interrupted": ("interrupted", "The answer was interrupted."),
}
"""The phase and the text of the last message, by the reason for which a reply ended early."""


class AgentReference:
    """An agent on a node. The messages of each conversation are answered one after the other."""

    def __init__(self, node: Node, hosted: _Hosted) -> None:
        self._node, self._hosted = node, hosted

    def __repr__(self) -> str:
        return f"<AgentReference {self.name!r}>"

    @property
    def name(self) -> str:
        """The agent's name."""
        return self._hosted.name

    @property
    def memory(self) -> Memory:
        """The memory of all its conversations."""
        return self._hosted.memory

    async def send(
        self, message: Sent, scope: str = "", conversation: str = "", timeout: float | None = None
    ) -> Messages:
        """Send a message, and return those that answer it: replies, tool calls and results, in order.

        If the agent asks the user a question, that is the last message, and the next `send` answers it. A
        call that needs an approval waits for `decide`. If the answer ended early, the last message says why.
        After `timeout` seconds a `TimeoutError` is raised; messages recorded until then stay.
        """
        worker = await self._worker(scope, conversation)
        return await _answer(worker, worker.send(content_in(message)), timeout)

    send_message = send

    async def decide(
        self, decisions: Decisions, scope: str = "", conversation: str = "", timeout: float | None = None
    ) -> Messages:
        """Approve or refuse waiting calls: `True`, `False`, or a reason to refuse, by call id."""
        worker = await self._worker(scope, conversation)
        return await _answer(worker, worker.decide(decisions), timeout)

    async def send_stream(
        self, message: Sent, scope: str = "", conversation: str = "", timeout: float | None = None
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Send a message, and yield its answer: texts in pieces that are marked `partial`, all else whole.

        If nothing arrives for `timeout` seconds, a `TimeoutError` is raised.
        """
        worker = await self._worker(scope, conversation)
        async with aclosing(worker.send_stream(content_in(message))) as deltas:
            while True:
                async with asyncio.timeout(timeout):
                    delta = await anext(deltas, None)
                if delta is None:
                    return
                for reply in _messages_in(worker, delta):
                    yield reply

    async def is_paused(self, scope: str = "", conversation: str = "") -> bool:
        """Whether a conversation waits for a person's answer or approval."""
        return await (await self._worker(scope, conversation)).state() == "waiting"

    async def _worker(self, scope: str, conversation: str) -> Worker:
        worker = self._node.worker(self.name, scope, conversation)
        self._hosted.refresh(await worker.open())
        return worker


async def _answer(worker: Worker, answer: Coroutine[Any, Any, Reply], timeout: float | None) -> Messages:
    async with asyncio.timeout(timeout):
        reply = await answer
    return [*messages_of(reply.items), *_last_messages(worker, reply)]


def _messages_in(worker: Worker, delta: Delta) -> Iterable[dict[str, Any]]:
    match delta:
        case TextDelta(text):
            yield {"role": "assistant", "content": text_content(text), "partial": True}
        case Recorded(items):
            yield from messages_of(item for item in items if isinstance(item, ToolCall))
        case CallEnded(result):
            yield from messages_of([result])
        case TurnEnded(reply):
            yield from _last_messages(worker, reply)
        case _:
            return


def _last_messages(worker: Worker, reply: Reply) -> Iterable[dict[str, Any]]:
    """Messages after an answer that are not recorded: questions to a person, or why it ended early."""
    yield from _questions(worker, reply.waiting)
    if reply.stop in _ENDED_EARLY:
        phase, text = _ENDED_EARLY[reply.stop]
        yield {"role": "assistant", "content": text_content(text), "phase": phase}


def _questions(worker: Worker, waiting: Iterable[ToolCall]) -> Iterable[dict[str, Any]]:
    """Messages for waiting calls: questions, which a message answers, and approvals, which `decide` gives."""
    question_tools = {tool.name for tool in worker.agent.tools if tool.asks_person}
    for call in waiting:
        is_question = call.name in question_tools
        text = _question(call) if is_question else f"{call.name} needs an approval, with {call.arguments}."
        yield {
            "role": "assistant",
            "content": text_content(text),
            "phase": "waiting_for_input" if is_question else "waiting_for_approval",
            "tool_call_id": call.call_id,
            "id": call.id,
        }


def _question(call: ToolCall) -> str:
    try:
        question: Any = json.loads(call.arguments).get("question")
    except (ValueError, AttributeError):
        question = None
    return question if isinstance(question, str) else call.arguments
