"""Autonomy's agent: started on a node, with the tools that come with it, and known by a reference."""

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
    Decisions,
    Delta,
    Done,
    Ended,
    Limits,
    Recorded,
    Reply,
    Stop,
    Tool,
    Words,
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

# The tools that come with an agent


class FrameworkInstructionsSection(ToolGuide, ContextSection):
    """How to use the tools that come with an agent, those that it has.

    If there is no agent, the arguments say which these are.
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
        roles = [Role(name=one, description=of.about, make=_nobody) for one, of in configs.items()]
        asks, files = enable_ask_for_user_input, enable_filesystem
        tools = _own_tools(asks, files, filesystem_visibility, "", ".", roles)
        self._tools = tuple(tool.definition for tool in tools)

    async def get_messages(self, memory: Any, scope: str, conversation: str, params: Params) -> Messages:
        """How to use the tools, as messages."""
        return list(messages_of(await self.items(Ask(tools=self._tools)))) if self.enabled else []


def create_default_template(
    instructions: str | Sequence[Mapping[str, Any]],
    enable_ask_for_user_input: bool = False,
    enable_filesystem: bool = False,
    filesystem_visibility: Visibility = "conversation",
    subagent_configs: Mapping[str, Any] | None = None,
) -> ContextTemplate:
    """The template that an agent has by default: instructions, how to use its tools, and the history."""
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

    pointer = ""

    def tools(self) -> list[Tool]:
        listed = "".join(f"\n- {role.name}: {role.description}" for role in self._roles.values())
        one = "Give a task to a new subagent of a role, or by name to one that was started or asked something"
        several = "Give each task to a new subagent of a role"
        return [
            tool(self.start_subagent),
            tool(self.delegate_to_subagent, description=f"{one}. Roles:{listed}"),
            tool(
                self.delegate_in_parallel,
                name="delegate_to_subagents_parallel",
                description=f"{several}. Roles:{listed}",
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
        names = [name for name, of in sub_agents(session).items() if role in (name, of)]
        if not names:
            raise UnknownKey(f"no subagent is called {cut(role)!r}")
        crew = session.view(CREW)
        stopped = [item for item in crew if isinstance(item, Handoff) and item.to_agent in names]
        await session.aio.append(Hide(spans_over(crew, stopped)), to=CREW)
        return f"Stopped: {', '.join(names)}"


def _own_tools(
    asks: bool,
    files: bool,
    visibility: Visibility,
    agent: str,
    root: str | Path | None,
    roles: Sequence[Role],
) -> list[Tool]:
    return [
        *_TIME_TOOLS,
        *(file_tools(root or _scratch().name, visibility, agent=agent) if files else ()),
        *((_ASK,) if asks else ()),
        *(_Subagents(roles, _TASK_SECONDS).tools() if roles else ()),
    ]


def _guide(definitions: Sequence[Definition]) -> str:
    """How to use those among some tools that come with an agent."""
    known = _own_names()
    rows = [read_definition(one)[:2] for one in single_definitions(definitions)]
    lines = [f"- {name}: {_first_lines(about)}" for name, about in rows if name in known]
    return "\n".join(["These tools come with you; use them where they help:", *lines])


def _first_lines(description: str) -> str:
    """The first line of a description; all of it if that line announces the others."""
    first, _, rest = description.strip().partition("\n")
    return f"{first}\n{indent(rest, '  ')}" if first.endswith(":") else first


@cache
def _own_names() -> frozenset[str]:
    roles = [Role(name="role", description="any", make=_nobody)]
    return frozenset(tool.name for tool in _own_tools(True, True, "conversation", "", ".", roles))


def _nobody(session: Session) -> EngineAgent:
    raise AssertionError("this role is only described")


@cache
def _scratch() -> "tempfile.TemporaryDirectory[str]":
    """A folder for the files of this process, removed when it ends."""
    return tempfile.TemporaryDirectory(prefix="quire-files-")


# Hosting

_Limit = Annotated[int, Meta(ge=1)] | None


class _Subagent(Struct, forbid_unknown_fields=True):
    """A role that work is delegated to."""

    instructions: Annotated[str, Meta(pattern=r"\S")]
    description: str = ""
    model: Any = None
    tools: Any = ()
    max_iterations: _Limit = None
    max_execution_time: float | None = None
    auto_start: bool = True  # a task starts a subagent in any case

    @property
    def about(self) -> str:
        """What a model reads of it."""
        return self.description or self.instructions.strip().partition("\n")[0]


class _Options(Struct, forbid_unknown_fields=True):
    """What an agent can be started with, besides its name, model and tools."""

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
    tools_of(tools)

    def make(session: Session) -> EngineAgent:
        return EngineAgent(
            session,
            model=own_model,
            tools=tools,
            name=name,
            instructions=config.instructions,
            limits=own_limits,
        )

    return Role(name=name, description=config.about, make=make)


class _Hosted:
    """An agent by name: one memory, one template and one set of tools for all its conversations."""

    def __init__(self, node: Node, name: str, model: Any, tools: Any, options: _Options) -> None:
        self.name, self.model, self._options = name, agent_model(model), options
        self.memory = Memory(opening=lambda scope, conversation: node.session(name, scope, conversation))
        self.template = _template(options, self.model)
        self._limits = Limits(requests=options.max_iterations, seconds=options.max_execution_time)
        asks, files = options.enable_ask_for_user_input, options.enable_filesystem
        roles = [_role(one, of, self.model, self._limits) for one, of in (options.subagents or {}).items()]
        self._tools = [
            *_own_tools(asks, files, options.filesystem_visibility, name, options.filesystem_root, roles),
            *(tools or ()),  # those of the user come last
        ]
        tools_of(self._tools)
        self._made: tuple[list[Any], Template] | None = None

    def make(self, session: Session) -> EngineAgent:
        """The agent of one conversation."""
        self._keep_small(session)
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
        """Have the agent, but not its subagents, use the sections that the template has now."""
        template = self._engine_template()
        if agent.name == self.name and agent.speaker.template is not template:
            agent.speaker = agent.speaker._replace(template=template)
            self._keep_small(agent.session)

    def _engine_template(self) -> Template:
        if self._made is None or self._made[0] != self.template.sections:
            own = engine_sections(self.template, self.memory, self.name)
            most = self._options.max_tokens_in_short_term_memory
            # What a summary will be about is never left out.
            cut_ones = [
                one.name
                for one in own
                if settings_of(one).keeps == "newest" and not isinstance(one, SummarizedHistorySection)
            ]
            shares = {} if most is None else {name: Share(maximum=most) for name in cut_ones}
            budget = replace(budget_for(self.model), shares=shares)
            self._made = list(self.template.sections), Template(*own, budget=budget, model=self.model.name)
        return self._made[1]

    def _keep_small(self, session: Session) -> None:
        """Have the history summarized if a section does that, or else the oldest left out, in steps."""
        for section in self.template.sections:
            if isinstance(section, SummarizedHistorySection):
                scope = session.place.named.removeprefix(f"{self.name}/")
                section.attach(session, scope, session.place.conversation)
                return
        most = self._options.max_messages_in_short_term_memory
        if most is not None:
            session.compaction.use(TruncateOldest(unit="messages", floor=max(most * 3 // 4, 1), ceiling=most))


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
"""A text, a content, a message of the user, or several of these."""

_ENDED_EARLY: dict[Stop, tuple[str, str]] = {
    "requests": ("limit_reached", "The answer ended early: max_iterations was reached."),
    "seconds": ("limit_reached", "The answer ended early: max_execution_time was reached."),
    "length": ("cut_off", "The answer ended early: the model had no room for more."),
    "refused": ("refused", "The model refused to say more."),
    "interrupted": ("interrupted", "The answer was interrupted."),
}
"""The phase and the text of the last message, by why a reply ended early."""


class AgentReference:
    """An agent on a node. Each of its conversations, by scope and name, is answered in order."""

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
        """All that was said in its conversations."""
        return self._hosted.memory

    async def send(
        self, message: Sent, scope: str = "", conversation: str = "", timeout: float | None = None
    ) -> Messages:
        """The messages that answer one: replies, tool calls and their results, the last reply last.

        If the agent asks the user something, the question is the last, and the next message answers it. A
        call that needs an approval waits for `decide`. If the answer ended early, the last message says why.
        After `timeout` seconds it is a `TimeoutError`; what was said until then is kept.
        """
        worker = await self._worker(scope, conversation)
        return await _answer(worker, worker.send(content_in(message)), timeout)

    send_message = send

    async def decide(
        self, decisions: Decisions, scope: str = "", conversation: str = "", timeout: float | None = None
    ) -> Messages:
        """Approve or refuse waiting calls, by their ids; `False` refuses, a text refuses with a reason."""
        worker = await self._worker(scope, conversation)
        return await _answer(worker, worker.decide(decisions), timeout)

    async def send_stream(
        self, message: Sent, scope: str = "", conversation: str = "", timeout: float | None = None
    ) -> AsyncGenerator[dict[str, Any], None]:
        """As `send`, streamed: words in pieces that are marked `partial`, everything else whole.

        It is a `TimeoutError` if nothing comes for `timeout` seconds.
        """
        worker = await self._worker(scope, conversation)
        async with aclosing(worker.send_stream(content_in(message))) as deltas:
            while True:
                async with asyncio.timeout(timeout):
                    delta = await anext(deltas, None)
                if delta is None:
                    return
                for one in _messages_in(worker, delta):
                    yield one

    async def is_paused(self, scope: str = "", conversation: str = "") -> bool:
        """Whether a conversation waits for a person."""
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
        case Words(text):
            yield {"role": "assistant", "content": text_content(text), "partial": True}
        case Recorded(items):
            yield from messages_of(item for item in items if isinstance(item, ToolCall))
        case Ended(result):
            yield from messages_of([result])
        case Done(reply):
            yield from _last_messages(worker, reply)
        case _:
            return


def _last_messages(worker: Worker, reply: Reply) -> Iterable[dict[str, Any]]:
    """Messages after an answer that are not kept: what a person is asked, or why the answer ended early."""
    yield from _questions(worker, reply.waiting)
    if reply.stop in _ENDED_EARLY:
        phase, text = _ENDED_EARLY[reply.stop]
        yield {"role": "assistant", "content": text_content(text), "phase": phase}


def _questions(worker: Worker, waiting: Iterable[ToolCall]) -> Iterable[dict[str, Any]]:
    """What a person is asked: questions, which a message answers, and approvals, which `decide` gives."""
    asking = {tool.name for tool in worker.agent.tools if tool.asks_person}
    for call in waiting:
        is_question = call.name in asking
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
        asked: Any = json.loads(call.arguments).get("question")
    except (ValueError, AttributeError):
        asked = None
    return asked if isinstance(asked, str) else call.arguments
