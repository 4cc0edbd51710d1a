"""Who speaks: a name, a model, what it sees and the tools it has. Agents that hand over change speakers."""

import re
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from itertools import dropwhile
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from quire.agent.tools import Tool, tools_of
from quire.context import Template
from quire.errors import InvalidValue, cut
from quire.items import EDITS, Handoff, Item, ToolCall
from quire.models import AnyModel
from quire.sections import History, Instructions
from quire.state import View
from quire.tokens import Budget, Definition, facts_for

_WINDOW = 32_000
"""The window of a model of which nothing is known."""

RESERVED = 8
"""Of a window, one part in so many is left for the answer."""

_SMALLEST_RESERVE = 256
_NOT_NAMED = re.compile(r"[^A-Za-z0-9_-]+")
_NO_PARAMETERS: Definition = {"type": "object", "properties": {}, "additionalProperties": False}


Approver = Callable[[ToolCall], bool | str | Awaitable[bool | str]]
"""Says of a call whether it may be run; a text says why not."""


class Speaker(NamedTuple):
    """One of those who answer in a conversation."""

    name: str
    model: AnyModel
    template: Template
    tools: Mapping[str, Tool]
    definitions: tuple[Definition, ...]
    handoffs: "Mapping[str, Speaks]" = MappingProxyType({})
    """To whom it may give the conversation, by the name of the tool that does it."""
    approver: Approver | None = None
    """Who is asked of its calls."""


class Speaks(Protocol):
    """What has a speaker: an agent."""

    @property
    def speaker(self) -> Speaker:
        """Who it is."""
        ...


class Floor:
    """Who speaks in a conversation: the one it was handed to last, if it was."""

    def __init__(self) -> None:
        self._seen: View | None = None
        self._name: str | None = None

    def speaker(self, view: View, own: Speaker) -> Speaker:
        """Who speaks now; only what came since somebody asked is looked at, unless something was edited."""
        if not own.handoffs:
            return own
        crew = _crew(own)
        if self._seen is None or _may_differ(self._seen, view):
            self._name = _handed_to(reversed(view), crew)
        self._seen = view
        return crew.get(self._name or own.name, own)

    def caller(self, view: View, own: Speaker) -> Speaker:
        """Who spoke when the calls were made that wait; where none does, who speaks now."""
        waiting = view.pending() if own.handoffs else []
        if not waiting:
            return self.speaker(view, own)
        crew = _crew(own)
        before = dropwhile(lambda item: item.id != waiting[0].id, reversed(view))
        return crew.get(_handed_to(before, crew) or own.name, own)


def _may_differ(before: View, view: View) -> bool:
    if before.log is not view.log or view.revision < before.revision:
        return True
    new = view.log.items(before.revision, view.revision)
    return any(isinstance(item, Handoff) or type(item) in EDITS for item in new)


def _handed_to(backwards: Iterable[Item], crew: Container[str]) -> str | None:
    for item in backwards:
        if isinstance(item, Handoff) and item.to_agent in crew:
            return item.to_agent
    return None


def handing_over(others: Iterable[Speaks]) -> tuple[dict[str, Speaks], list[Definition]]:
    """The tools by which the conversation is given to others, and how a model is told of them."""
    found: dict[str, Speaks] = {}
    definitions: list[Definition] = []
    for other in others:
        name = f"hand_over_to_{_NOT_NAMED.sub('_', other.speaker.name)}"
        if name in found:
            raise InvalidValue(f"two agents to hand over to are called {cut(other.speaker.name)!r}")
        found[name] = other
        told = f"Give the conversation to {other.speaker.name}, who goes on from here."
        definitions.append({"name": name, "description": told, "parameters": _NO_PARAMETERS})
    return found, definitions


def _crew(own: Speaker) -> dict[str, Speaker]:
    """All who can be handed to, directly or by others, by name."""
    found, left = {own.name: own}, [own]
    while left:
        for other in left.pop().handoffs.values():
            if other.speaker.name not in found:
                found[other.speaker.name] = other.speaker
                left.append(other.speaker)
    return found


def speaker_of(
    name: str,
    model: AnyModel,
    template: Template | None,
    instructions: str,
    tools: Iterable[Any],
    handoffs: Iterable[Speaks],
    approver: Approver | None = None,
) -> Speaker:
    """A speaker as it is described."""
    if template is not None and instructions:
        raise InvalidValue("instructions are a section of the template, where there is one")
    others, told = handing_over(handoffs)
    own = tools_of([*tools, *told])
    seen = template or template_for(instructions, model)
    return Speaker(name, model, seen, own.tools, own.definitions, others, approver)


def template_for(instructions: str, model: AnyModel) -> Template:
    """What an agent sees that was given nothing but its instructions: these, and all that was said."""
    sections = (Instructions(instructions), History()) if instructions else (History(),)
    return Template(*sections, budget=budget_for(model), model=model.name)


def budget_for(model: AnyModel) -> Budget:
    """The window of a model, an eighth of it kept for the answer."""
    window = getattr(model, "context", None) or facts_for(model.name).window or _WINDOW
    most = facts_for(model.name).output or window
    return Budget(window=window, reserve=min(max(window // RESERVED, _SMALLEST_RESERVE), most))
