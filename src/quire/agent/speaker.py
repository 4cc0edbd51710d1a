"""Speakers: what an agent is made of, and which agent of a conversation speaks after hand-offs."""

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
    """A name, a model, what it sees, its tools, the agents it may hand over to, and its approver."""

    name: str
    model: AnyModel
    template: Template
    tools: Mapping[str, Tool]
    definitions: tuple[Definition, ...]
    handoffs: "Mapping[str, Speaker]" = MappingProxyType({})
    """The agents it may hand over to, by the name of the tool that does it."""
    approver: Approver | None = None
    callers: frozenset[str] = frozenset()
    """The names of definitions without a function: the caller of the agent runs these tools."""
    toolbox: Toolbox | None = None
    """Those of its tools that are shown when they are needed."""

    def shown_definitions(self, view: View) -> tuple[Definition, ...]:
        """The definitions that the next request has."""
        box = self.toolbox
        defers = self.model.wire == "anthropic"  # its results load definitions, and the cache holds
        return self.definitions if box is None else box.shown_of(self.definitions, view, defers=defers)


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
    checked_type(template, Template | None, "Agent(template=…) is a Template")
    checked_type(instructions, str, "Agent(instructions=…) is a text")
    checked_type(tools, Iterable, "Agent(tools=…) is a list")
    checked_type(handoffs, Iterable, "Agent(handoffs=…) is a list of agents")
    if approver is not None:
        checked_type(approver, Callable, "Agent(approver=…) is a function")
    if template is not None and instructions:
        raise InvalidValue("Agent: with a template, instructions are a section of it")
    if template is None:
        wishes = Wishes(scope=False)
        sections = (Instructions(instructions), wishes, History()) if instructions else (History(), wishes)
        template = Template(*sections, budget=budget_for(model), model=model.name)
    listed = list(tools)
    boxes = [one for one in listed if isinstance(one, Toolbox)]
    if len(boxes) > 1:
        raise InvalidValue("Agent(tools=…) has one Toolbox at most: put all tools into it")
    box = boxes[0] if boxes else None
    if box is not None:
        listed.remove(box)
        listed += box.offered
        template = box.in_template(template)
    others: dict[str, Speaker] = {}
    definitions: list[Definition] = []
    for agent in handoffs:
        other = getattr(agent, "speaker", agent)
        checked_type(other, Speaker, "Agent(handoffs=…) is a list of agents")
        tool_name = f"hand_over_to_{_NOT_IN_NAMES.sub('_', other.name)}"
        if tool_name in others:
            raise InvalidValue(f"two agents to hand over to are called {cut(other.name)!r}")
        others[tool_name] = other
        description = f"Give the conversation to {other.name}, who goes on from here."
        definitions.append({"name": tool_name, "description": description, "parameters": _NO_PARAMETERS})
    own = tools_of([*listed, *definitions])
    speaker = Speaker(name, model, template, own.tools, own.definitions, others, approver, toolbox=box)
    return speaker._replace(callers=_callers(speaker))


def offering(speaker: Speaker, tools: Sequence[Definition], verb: str) -> Speaker:
    """A speaker, and those it may hand over to, with more tools that the caller runs."""
    for one in checked_type(tools, Sequence, f"{verb}: tools are a list of definitions"):
        checked_type(one, Mapping, f"{verb}: the tools that the caller runs are definitions")
    own = tools_of([*speaker.tools.values(), *speaker.definitions[len(speaker.tools) :], *tools])
    handoffs = {name: offering(other, tools, verb) for name, other in speaker.handoffs.items()}
    more = speaker._replace(definitions=own.definitions, handoffs=handoffs)
    return more._replace(callers=_callers(more))


def _callers(speaker: Speaker) -> frozenset[str]:
    names = {one.name for one in read_tools(speaker.definitions)}
    return frozenset(names.difference(speaker.tools, speaker.handoffs))


def speaker_in(view: View, own: Speaker) -> Speaker:
    """The agent that made the open calls of a conversation, or else the one that it was handed to last."""
    crew, pending = _crew(own), view.pending()
    items: Iterable[Item] = reversed(view)
    if pending:
        items = dropwhile(lambda item: item.id != pending[0].id, items)
    handed_to = (item.to_agent for item in items if isinstance(item, Handoff))
    return next((crew[name] for name in handed_to if name in crew), own)


def _crew(own: Speaker) -> dict[str, Speaker]:
    """All agents that the conversation can be handed to, directly or by others, by name."""
    found, left = {own.name: own}, [own]
    while left:
        for other in left.pop().handoffs.values():
            if other.name not in found:
                found[other.name] = other
                left.append(other)
    return found
