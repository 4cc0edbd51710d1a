"""What is hosted under a name: how the agent of each conversation is made, and what it sees."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict
from weakref import WeakSet

from msgspec.structs import replace

from quire.agent import Agent, Limits
from quire.agent.builtin import Visibility
from quire.agent.window import budget_for
from quire.bridges.autonomy.builtin import asking_and_files, checked_tools, subagent_tools
from quire.bridges.autonomy.memory import Memory
from quire.bridges.autonomy.models import Writer, model_of
from quire.bridges.autonomy.sections import (
    ConversationHistorySection,
    FrameworkInstructionsSection,
    Section,
    SystemInstructionsSection,
)
from quire.bridges.autonomy.summarized import SummarizedHistorySection, summary_section
from quire.bridges.autonomy.template import ContextTemplate, engine_sections
from quire.compactors import TruncateOldest
from quire.context import Template
from quire.errors import InvalidValue, WrongType, cut
from quire.models import AnyModel
from quire.node import Node
from quire.sections import Section as EngineSection, settings_of
from quire.session import Session
from quire.tokens import Share, number, whole

_LEFT = 4  # of a history that was cut, three parts in so many are left


class Options(TypedDict, total=False):
    """What an agent may be started with; see `Setup` for what holds where something is left out."""

    context_template: ContextTemplate | None
    context_summary: bool | Mapping[str, Any] | None
    max_iterations: int | None
    max_execution_time: float | None
    max_messages_in_short_term_memory: int | None
    max_tokens_in_short_term_memory: int | None
    enable_long_term_memory: bool
    enable_ask_for_user_input: bool
    enable_filesystem: bool
    filesystem_visibility: Visibility
    filesystem_root: str | Path | None
    subagents: Mapping[str, Mapping[str, Any]] | None
    subagent_runner_filter: object
    voice: object
    exposed_as: str | None
    timeout: float | None


class Setup(NamedTuple):
    """What an agent was started with."""

    context_template: ContextTemplate | None = None
    context_summary: bool | Mapping[str, Any] | None = None
    max_iterations: int | None = 1000
    max_execution_time: float | None = 600.0
    max_messages_in_short_term_memory: int | None = 1000
    max_tokens_in_short_term_memory: int | None = 100_000
    enable_long_term_memory: bool = False
    enable_ask_for_user_input: bool = False
    enable_filesystem: bool = False
    filesystem_visibility: Visibility = "conversation"
    filesystem_root: str | Path | None = None
    subagents: Mapping[str, Mapping[str, Any]] | None = None
    subagent_runner_filter: object = None
    voice: object = None
    exposed_as: str | None = None
    timeout: float | None = None


def setup_of(options: Options) -> Setup:
    """What an agent is started with, by options; what is wrong with one is said with its name."""
    unknown = options.keys() - set(Setup._fields)
    if unknown:
        raise WrongType(f"an agent has no option {', '.join(cut(name) for name in sorted(unknown))}")
    setup = Setup(**options)
    for most in ("max_messages_in_short_term_memory", "max_tokens_in_short_term_memory"):
        if getattr(setup, most) is not None:
            whole(getattr(setup, most), most, least=1)
    if setup.timeout is not None:
        number(setup.timeout, "timeout", 0)
    template, root = setup.context_template, setup.filesystem_root
    if not isinstance(template, ContextTemplate | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"context_template is a ContextTemplate, not {type(template).__name__}")
    if not isinstance(root, str | Path | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"filesystem_root is a path, not {type(root).__name__}")
    return setup


class Hosted:
    """An agent by name: one memory, one template and one set of tools for all of its conversations."""

    def __init__(
        self, node: Node, name: str, instructions: str, model: object, tools: Sequence[Any], setup: Setup
    ) -> None:
        self.name = name
        self.model = _speaking(model)
        self.memory = Memory.over(lambda scope, conversation: node.session(name, scope, conversation))
        self._limits = Limits(requests=setup.max_iterations, seconds=setup.max_execution_time)
        self._setup = setup
        self.template = _template(instructions, setup, self.model)
        self._tools = [
            *asking_and_files(
                asks=setup.enable_ask_for_user_input,
                files=setup.enable_filesystem,
                visibility=setup.filesystem_visibility,
                agent=name,
                root=setup.filesystem_root,
            ),
            *subagent_tools(setup.subagents, self.model, self._limits),
            *checked_tools(tools, "tools"),  # those of the user come last
        ]
        self._seen: tuple[tuple[Section, ...], Template] | None = None
        self._own: WeakSet[Agent] = WeakSet()

    def make(self, session: Session) -> Agent:
        """The agent of one conversation."""
        scope, conversation = session.place.scope.removeprefix(f"{self.name}/"), session.place.conversation
        self.memory.adopt(session, scope, conversation)
        agent = Agent(
            session, self._sees(), model=self.model, tools=self._tools, name=self.name, limits=self._limits
        )
        self._keep_small(session, scope, conversation)
        self._own.add(agent)
        return agent

    def refresh(self, agent: Agent) -> None:
        """Let an agent see by the sections that the template has now; one that works for it sees its own."""
        if agent not in self._own:
            return
        template = self._sees()
        if agent.speaker.template is not template:
            agent.speaker = agent.speaker._replace(template=template)
            place = agent.session.place
            self._keep_small(agent.session, place.scope.removeprefix(f"{self.name}/"), place.conversation)

    def _sees(self) -> Template:
        sections = self.template.sections
        if self._seen is None or self._seen[0] != sections:
            own = engine_sections(self.template, self.memory, self.name)
            most = self._setup.max_tokens_in_short_term_memory
            grow = [one.name for one in own if _may_be_cut(one)]
            shares = {} if most is None else {name: Share(maximum=most) for name in grow}
            budget = replace(budget_for(self.model), shares=shares)
            self._seen = sections, Template(*own, budget=budget, model=self.model.name)
        return self._seen[1]

    def _keep_small(self, session: Session, scope: str, conversation: str) -> None:
        """Have the history summarized where a section does that; else the oldest left out, in steps."""
        for section in self.template.sections:
            if isinstance(section, SummarizedHistorySection):
                section.attach(session, scope, conversation)
                return
        most = self._setup.max_messages_in_short_term_memory
        if most is not None:
            floor = max(most * (_LEFT - 1) // _LEFT, 1)
            session.compaction.use(TruncateOldest(unit="messages", floor=floor, ceiling=most))


def _speaking(model: object) -> AnyModel:
    found = model_of(model)
    if isinstance(found, Writer):
        raise WrongType(f"the model of an agent is a Model; {found.name} can write summaries and no more")
    return found


def _may_be_cut(section: EngineSection) -> bool:
    """Whether it is a history that nobody summarizes: what a summary will stand for is never left out."""
    return settings_of(section).keeps == "newest" and not isinstance(section, SummarizedHistorySection)


def _template(instructions: str, setup: Setup, model: AnyModel) -> ContextTemplate:
    """The one that was given; or instructions, how to use the tools that come along, and what was said."""
    if not isinstance(instructions, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"instructions are a text, not {type(instructions).__name__}")
    history = summary_section(setup.context_summary, model)
    if setup.context_template is not None:
        if history is not None:
            raise InvalidValue(
                "context_summary and context_template cannot both be given: "
                "put a SummarizedHistorySection into the template"
            )
        return setup.context_template
    told = [SystemInstructionsSection(instructions)] if instructions.strip() else []
    return ContextTemplate([*told, FrameworkInstructionsSection(), history or ConversationHistorySection()])
