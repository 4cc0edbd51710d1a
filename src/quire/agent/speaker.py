"""Speakers: the parts of an agent, and which agent of a conversation speaks after hand-offs."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import dropwhile
from types import MappingProxyType
from typing import Any, NamedTuple

from quire.agent.toolbox import Toolbox
from quire.agent.tools import Tool, tools_of
from quire.agent.window import budget_for
from quire.context import Template
from quire.errors import InvalidValue, cut
from quire.items import Handoff, Item, ToolCall
from quire.memory import Wishes
from quire.models import AnyModel
from quire.providers import read_tools
from quire.sections import History, Instructions
from quire.session import checked_type
from quire.state import View
from quire.tokens import Definition

Approver = Callable[[ToolCall], bool | str | Awaitable[bool | str | None] | None]
"""Approves a call: True runs it, False or a reason refuses it, and with `None` it waits for a person."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_NO_PARAMETERS: Definition = {"type": "object", "properties": {}, "additionalProperties": False}


class Speaker(NamedTuple):
    """The parts of an agent: its name, model, template, tools, handoffs and approver."""

    name: str
    model: AnyModel
    template: Template
    tools: Mapping[str, Tool]
    definitions: tuple[Definition, ...]
    """The definitions of `tools`, in their order, then of tools that the caller runs and of handoffs."""
    handoffs: "Mapping[str, Speaker]" = MappingProxyType({})
    """The agents that it may hand over to, by the names of the tools for it."""
    approver: Approver | None = None
    caller_tools: frozenset[str] = frozenset()
    """The names of tools that the caller of the agent runs."""
    toolbox: Toolbox | None = None
    """The tools that are shown only when they are needed."""

    def shown_definitions(self, view: View) -> tuple[Definition, ...]:
        toolbox = self.toolbox
        # On this API the result of a search can add definitions, so the cached list of tools stays the same.
        defers = self.model.wire == "anthropic"
        return self.definitions if toolbox is None else toolbox.select(self.definitions, view, defers=defers)


def speaker_of(
    name: str,
    model: AnyModel,
    template: Template | None,
    instructions: str,
    tools: Iterable[Any],
    handoffs: Iterable[Any],
    approver: Approver | None,
) -> Speaker:
    """The speaker of an agent. Without a template it sees instructions, wishes and the history."""
    checked_type(template, Template | None, "Agent(template=…) must be a Template")
    checked_type(instructions, str, "Agent(instructions=…) must be a text")
    checked_type(tools, Iterable, "Agent(tools=…) must be a list")
    checked_type(handoffs, Iterable, "Agent(handoffs=…) must be a list of agents")
    if approver is not None:
        checked_type(approver, Callable, "Agent(approver=…) must be a function")
    if template is not None and instructions:
        raise InvalidValue("Agent: with a template, instructions must be a section of it")
    if template is None:
        wishes = Wishes(scope=False)
        sections = (Instructions(instructions), wishes, History()) if instructions else (History(), wishes)
        template = Template(*sections, budget=budget_for(model), model=model.name)
    all_tools = list(tools)
    toolboxes = [entry for entry in all_tools if isinstance(entry, Toolbox)]
    if len(toolboxes) > 1:
        raise InvalidValue("Agent(tools=…) must have one Toolbox at most: put all tools into it")
    toolbox = toolboxes[0] if toolboxes else None
    if toolbox is not None:
        all_tools.remove(toolbox)
        all_tools += toolbox.all_tools
        template = toolbox.in_template(template)
    speaker_by_tool: dict[str, Speaker] = {}
    definitions: list[Definition] = []
    for agent in handoffs:
        other = getattr(agent, "speaker", agent)
        checked_type(other, Speaker, "Agent(handoffs=…) must be a list of agents")
        tool_name = f"hand_over_to_{_NOT_IN_NAMES.sub('_', other.name)}"
        if tool_name in speaker_by_tool:
            raise InvalidValue(f"two agents to hand over to are called {cut(other.name)!r}")
        speaker_by_tool[tool_name] = other
        description = f"Hand the conversation over to {other.name}."
        definitions.append({"name": tool_name, "description": description, "parameters": _NO_PARAMETERS})
    toolset = tools_of([*all_tools, *definitions])
    speaker = Speaker(name, model, template, toolset.tools, toolset.definitions, speaker_by_tool, approver)
    return speaker._replace(caller_tools=_caller_tools(speaker), toolbox=toolbox)


def with_caller_tools(speaker: Speaker, tools: Sequence[Definition], verb: str) -> Speaker:
    """A speaker with more tools that the caller runs; its handoffs have them too."""
    for definition in checked_type(tools, Sequence, f"{verb}: tools must be a list of definitions"):
        checked_type(definition, Mapping, f"{verb}: the tools that the caller runs must be definitions")
    toolset = tools_of([*speaker.tools.values(), *speaker.definitions[len(speaker.tools) :], *tools])
    handoffs = {name: with_caller_tools(other, tools, verb) for name, other in speaker.handoffs.items()}
    speaker = speaker._replace(definitions=toolset.definitions, handoffs=handoffs)
    return speaker._replace(caller_tools=_caller_tools(speaker))


def _caller_tools(speaker: Speaker) -> frozenset[str]:
    names = {tool.name for tool in read_tools(speaker.definitions)}
    return frozenset(names.difference(speaker.tools, speaker.handoffs))


def speaker_in(view: View, own: Speaker) -> Speaker:
    """The agent that made the open calls of a conversation, or else that of its last hand-off."""
    reachable, pending = _reachable_speakers(own), view.pending()
    items: Iterable[Item] = reversed(view)
    if pending:
        items = dropwhile(lambda item: item.id != pending[0].id, items)
    handed_to = (item.to_agent for item in items if isinstance(item, Handoff))
    return next((reachable[name] for name in handed_to if name in reachable), own)


def _reachable_speakers(own: Speaker) -> dict[str, Speaker]:
    """All agents that the conversation can be handed over to, directly or through others, by name."""
    speakers, unvisited = {own.name: own}, [own]
    while unvisited:
        for other in unvisited.pop().handoffs.values():
            if other.name not in speakers:
                speakers[other.name] = other
                unvisited.append(other)
    return speakers
