"""A toolbox: many tools, of which a model is shown a few. It reads the names of the others, and finds them.

Definitions come before the messages, so each change of them makes the provider read the whole request anew.
A definition of 400 tokens that stays costs as much in 450 requests as one change does with 20,000 tokens. So
definitions come together, when a search has found them, and leave only when others need their place.

What is shown is a function of the record: a restart, a fork and a resumed turn show the same.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from operator import itemgetter
from typing import Any

from quire.agent.tools import Tool, tool, tools_of
from quire.context import DEFAULT_MODEL, Template
from quire.errors import InvalidLimit
from quire.items import Message, ToolCall, ToolResult, element, escape, one_line
from quire.memory import KNOWLEDGE, Index, Leaf, Question
from quire.providers import FOUND_TOOLS
from quire.sections import Instructions, settings_of
from quire.state import View
from quire.tokens import (
    Definition,
    counter_for,
    read_definition,
    schema_tokens,
    single_definitions,
    whole,
)

FIND = "find_tools"
"""The name of the tool that finds others."""

_TOKENS = 6_000
_FOUND, _FOUND_FIRST = 3, 8
"""Tools that one search finds, and that the first message of a conversation does, if there is room."""

_STRIDE = 500
"""A tool that is not used in so many items may leave; at multiples of it, so that several leave at once."""

_LINES = (100, 60, 30, 0)
"""Characters of a description in the catalogue: as many as there is room for."""

_CATALOGUE = 2
"""The catalogue may take one part in so many of the tokens."""

_NAMES = re.compile(r"[\w.:/-]+")

_INTRODUCTION = (
    f"These tools can be called once `{FIND}` has found them. Search for what you need before you say that "
    "you cannot do it."
)


class FoundTools(str):
    """What a search tells the model, and the names of the tools that it has found."""

    names: tuple[str, ...] = ()


class Toolbox:
    """Many tools in few tokens. It goes among the tools of an agent, beside those that are always shown.

    `tokens` is what the toolbox adds to a request at most: a catalogue of all tools, with a line each, the
    tool that searches them, and the definitions that were found or called last. If all definitions fit,
    they are all shown, and there is nothing to search.
    """

    def __init__(self, tools: Iterable[Any], *, tokens: int = _TOKENS) -> None:
        self.tokens = whole(tokens, "the tokens of a toolbox", least=1)
        self.tools, self.definitions = tools_of(tools)
        definitions = single_definitions(self.definitions)
        read = sorted((read_definition(one) for one in definitions), key=itemgetter(0))
        self._read = {name: (description, schema) for name, description, schema in read}
        self._costs = {read_definition(one)[0]: _cost(one) for one in definitions}
        self.catalogue, self._room = "", self.tokens
        if sum(self._costs.values()) > self.tokens:
            self.catalogue = self._catalogue()
            self._room -= _cost_of_text(self.catalogue) + _cost(self.search_tool.definition)
            largest = max(self._costs, key=self._costs.__getitem__)
            if self._costs[largest] > self._room:
                least = self.tokens - self._room + self._costs[largest]
                raise InvalidLimit(f"a toolbox with the tool {largest!r} takes at least {least:,} tokens")

    def __repr__(self) -> str:
        return f"<Toolbox of {len(self.definitions)} tools in {self.tokens:,} tokens>"

    def __contains__(self, name: object) -> bool:
        """Whether a tool is one of those that are searched."""
        return bool(self.catalogue) and name in self._read

    @property
    def offered(self) -> tuple[Any, ...]:
        """All tools, and the one that searches them if not all are shown."""
        functions = self.tools.values()
        others = self.definitions[len(self.tools) :]
        return (*functions, *([self.search_tool] if self.catalogue else ()), *others)

    @cached_property
    def search_tool(self) -> Tool:
        """The tool that finds others."""
        return tool(self.find_tools, idempotent=True)

    def find_tools(self, query: str) -> FoundTools:
        """Find tools that are not shown yet. Those that are found can be called next.

        Args:
            query: What is to be done, or the names of tools; more than one tool may be found.
        """
        found = self.matches(query)
        if not found:
            return FoundTools("No tool was found: use other words, or names of the list.")
        lines = (self._line(name, _LINES[0]) for name in found)
        told = FoundTools("\n".join(("These tools can be called now:", *lines)))
        told.names = tuple(found)
        return told

    def matches(self, query: str, limit: int = _FOUND, room: int | None = None) -> list[str]:
        """The names of the tools that a query finds, the best first, as many as can be shown together."""
        named = [name for name in dict.fromkeys(_NAMES.findall(query)) if name in self._read]
        hits = (hit.leaf.key for hit in self._index.search(Question.of(query, 0.0), limit=limit).hits)
        found = list(dict.fromkeys((*named, *hits)))[: max(limit, len(named))]
        return self._within_room(found, room)

    def shown_of(
        self, definitions: Sequence[Definition], view: View, *, defers: bool = False
    ) -> tuple[Definition, ...]:
        """Those of an agent's definitions that are shown after what a transcript has recorded.

        If the provider `defers` definitions, those that were not shown from the beginning say so: then the
        result that has found them loads them, and what was cached stays so.
        """
        if not self.catalogue:
            return tuple(definitions)
        first = self._of_first_message(view, defers)
        shown = self._within_room(dict.fromkeys((*self._used(view), *first)))
        chosen: list[Definition] = []
        for one in single_definitions(definitions):
            name = read_definition(one)[0]
            if name in shown or name not in self._read:
                is_found = defers and name in self._read and name not in first
                chosen.append({**one, "defer_loading": True} if is_found else one)
        return tuple(chosen)

    def in_template(self, template: Template) -> Template:
        """The template with the catalogue behind the static sections at its beginning."""
        if not self.catalogue:
            return template
        section = Instructions(self.catalogue, "toolbox")
        names = (one.name for one in map(settings_of, template.sections) if one.stability != "static")
        return template.add(section, before=next(names, None))

    def _used(self, view: View) -> Sequence[str]:
        """The tools that were found or called, the most needed first.

        The last search comes first, then what was called, newest first, then what was found before and not
        called. So a call of a tool that is shown changes nothing.
        """
        start = max(view.end // _STRIDE - 1, 0) * _STRIDE
        found, called, uncalled, is_last = list[str](), list[str](), list[str](), True
        for item in reversed(view.log.items(start, view.end)):
            if isinstance(item, ToolResult) and item.name == FIND and not item.is_error:
                listed = [name for name in item.extras.get(FOUND_TOOLS, ()) if name in self._read]
                (found if is_last else uncalled).extend(listed)
            elif isinstance(item, ToolCall | Message):
                is_last &= not found or (isinstance(item, ToolCall) and item.name == FIND)
                if isinstance(item, ToolCall) and item.name in self._read:
                    called.append(item.name)
        return (*found, *called, *uncalled)

    def _of_first_message(self, view: View, defers: bool) -> list[str]:
        """What the first message of a conversation finds: nothing is cached yet, so it costs nothing.

        If the provider defers definitions, a later change costs only where there is no room left.
        """
        items = view.log.items(0, min(view.end, _STRIDE)) if view.end < 2 * _STRIDE else []
        room = self._room // 2 if defers else self._room
        first = next((item for item in items if isinstance(item, Message) and item.role == "user"), None)
        return [] if first is None else self.matches(first.text, _FOUND_FIRST, room)

    def _within_room(self, names: Iterable[str], room: int | None = None) -> list[str]:
        ordered, room = list(names), self._room if room is None else room
        taken = accumulate(self._costs[name] for name in ordered)
        return [name for name, tokens in zip(ordered, taken, strict=True) if tokens <= room]

    def _line(self, name: str, letters: int) -> str:
        about = " ".join(self._read[name][0].partition("\n")[0].split())
        about = about if len(about) <= letters else f"{about[: letters - 1].rsplit(' ', 1)[0]}…"
        return f"- {one_line(name)}: {escape(about)}" if letters and about else f"- {one_line(name)}"

    def _catalogue(self) -> str:
        """All tools, a line each; the lines are as long as there is room for."""
        for letters in _LINES:
            lines = "\n".join(self._line(name, letters) for name in self._read)
            text = f"{_INTRODUCTION}\n{element('tools', lines)}"
            if _cost_of_text(text) <= self.tokens // _CATALOGUE:
                return text
        return f"{len(self._read):,} more tools can be called once `{FIND}` has found them."

    @cached_property
    def _index(self) -> Index:
        index = Index()
        index.put(_leaf(name, *about) for name, about in self._read.items())
        return index


def _cost(definition: Definition) -> int:
    return schema_tokens([definition], counter_for(DEFAULT_MODEL))


def _cost_of_text(text: str) -> int:
    return counter_for(DEFAULT_MODEL).count(Message("system", text))


def _leaf(name: str, description: str, schema: Mapping[str, Any]) -> Leaf:
    """A tool as the search reads it: its name, its description, and the names of its parameters."""
    words = f"{name}\n"
    parameters = " ".join(schema.get("properties", ()))
    return Leaf(
        source=KNOWLEDGE,
        transcript=name,
        key=name,
        order=0,
        stretch=0,
        ids=(name,),
        kind="document",
        at=0.0,
        speaker="",
        text=f"{words}{name}\n{description}\n{parameters}",
        name_length=len(words),
    )
