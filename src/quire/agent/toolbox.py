"""A toolbox: many tools, of which a model is shown a few. It reads the names of the others and searches them.

Definitions come before the messages, so each change of them invalidates the provider's cache of the whole
request. A definition of 400 tokens that stays costs as much in 450 requests as one change does with 20,000
tokens. So definitions are added together, after a search, and leave only when others need their place.

The shown tools are a function of the record: a restart, a fork and a resumed turn show the same.
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
from quire.tokens import Definition, counter_for, read_definition, schema_tokens, single_definitions, whole

FIND = "find_tools"
"""The name of the tool that finds others."""

_TOKENS = 6_000
_MAX_FOUND, _MAX_FOUND_FIRST = 3, 8
"""Tools that one search finds at most, and that the first message of a conversation finds at most."""

_IDLE_ITEMS = 500
"""Tools that the last 500 to 1,000 items did not use leave together, at every 500th item."""

_LINE_LENGTHS = (100, 60, 30, 0)
"""Characters of a description in the catalogue, tried in this order until the catalogue fits."""

_CATALOGUE_SHARE = 2
"""The catalogue takes at most the toolbox's tokens divided by this."""

_NAMES = re.compile(r"[\w.:/-]+")

_INTRODUCTION = (
    f"These tools can be called once `{FIND}` has found them. Search for what you need before you say that "
    "you cannot do it."
)


class FoundTools(str):
    """The text of a search result, with the names of the tools in it."""

    names: tuple[str, ...] = ()


class Toolbox:
    """Many tools in few tokens. Give it to an agent among its tools; the other tools are always shown.

    A toolbox adds at most `tokens` to a request: a catalogue of all tools with a line each, the tool that
    searches them, and the definitions that were found or called last. If all definitions fit, all are shown
    and none is searched.
    """

    def __init__(self, tools: Iterable[Any], *, tokens: int = _TOKENS) -> None:
        self.tokens = whole(tokens, "the tokens of a toolbox", least=1)
        self.tools, self.definitions = tools_of(tools)
        definitions = single_definitions(self.definitions)
        by_name = sorted(map(read_definition, definitions), key=itemgetter(0))
        self._described = {name: (description, schema) for name, description, schema in by_name}
        self._tokens_of = {read_definition(one)[0]: _tool_tokens(one) for one in definitions}
        self.catalogue, self._free_tokens = "", self.tokens
        if sum(self._tokens_of.values()) > self.tokens:
            self.catalogue = self._catalogue()
            self._free_tokens -= _text_tokens(self.catalogue) + _tool_tokens(self.search_tool.definition)
            largest = max(self._tokens_of, key=self._tokens_of.__getitem__)
            if self._tokens_of[largest] > self._free_tokens:
                least = self.tokens - self._free_tokens + self._tokens_of[largest]
                raise InvalidLimit(f"a toolbox with the tool {largest!r} must have at least {least:,} tokens")

    def __repr__(self) -> str:
        return f"<Toolbox of {len(self.definitions)} tools in {self.tokens:,} tokens>"

    def __contains__(self, name: object) -> bool:
        """Whether a tool is shown only after a search has found it."""
        return bool(self.catalogue) and name in self._described

    @property
    def all_tools(self) -> tuple[Any, ...]:
        """All tools, with the tool that searches them if not all are shown."""
        functions = self.tools.values()
        others = self.definitions[len(self.tools) :]
        return (*functions, *([self.search_tool] if self.catalogue else ()), *others)

    @cached_property
    def search_tool(self) -> Tool:
        return tool(self.find_tools, idempotent=True)

    def find_tools(self, query: str) -> FoundTools:
        """Find tools that are not shown yet, so that you can call them next.

        Args:
            query: What you want to do, or the names of tools; several may be found at once.
        """
        found = self.matches(query)
        if not found:
            return FoundTools("No tool was found: use other words, or names from the list.")
        lines = (self._line(name, _LINE_LENGTHS[0]) for name in found)
        answer = FoundTools("\n".join(("These tools can be called now:", *lines)))
        answer.names = tuple(found)
        return answer

    def matches(self, query: str, limit: int = _MAX_FOUND, tokens: int | None = None) -> list[str]:
        """The names of the tools that match a query, the best first, as many as fit together."""
        named = [name for name in dict.fromkeys(_NAMES.findall(query)) if name in self._described]
        hits = (hit.leaf.key for hit in self._index.search(Question.of(query, 0.0), limit=limit).hits)
        names = list(dict.fromkeys((*named, *hits)))[: max(limit, len(named))]
        return self._fitting(names, tokens)

    def select(
        self, definitions: Sequence[Definition], view: View, *, defers: bool = False
    ) -> tuple[Definition, ...]:
        """The definitions that the next request of a transcript shows, out of those of an agent.

        If the provider `defers` definitions, those that a search found are marked: the result of the search
        loads them, and the cached beginning stays valid.
        """
        if not self.catalogue:
            return tuple(definitions)
        first_found = self._first_found(view, defers)
        shown = self._fitting(dict.fromkeys((*self._recently_used(view), *first_found)))
        selected: list[Definition] = []
        for definition in single_definitions(definitions):
            name = read_definition(definition)[0]
            if name in shown or name not in self._described:
                is_deferred = defers and name in self._described and name not in first_found
                selected.append({**definition, "defer_loading": True} if is_deferred else definition)
        return tuple(selected)

    def in_template(self, template: Template) -> Template:
        """The template with the catalogue after the static sections at its beginning."""
        if not self.catalogue:
            return template
        section = Instructions(self.catalogue, "toolbox")
        names = (one.name for one in map(settings_of, template.sections) if one.stability != "static")
        return template.add(section, before=next(names, None))

    def _recently_used(self, view: View) -> Sequence[str]:
        """The tools that were found or called, by priority.

        First those of the last search, then called tools, newest first, then tools that earlier searches
        found and nobody called. So calling a tool that is shown does not change which tools are shown.
        """
        start = max(view.end // _IDLE_ITEMS - 1, 0) * _IDLE_ITEMS
        found, called, uncalled, is_last = list[str](), list[str](), list[str](), True
        for item in reversed(view.log.items(start, view.end)):
            if isinstance(item, ToolResult) and item.name == FIND and not item.is_error:
                listed = [name for name in item.extras.get(FOUND_TOOLS, ()) if name in self._described]
                (found if is_last else uncalled).extend(listed)
            elif isinstance(item, ToolCall | Message):
                # The searches of one reply are the last search together.
                is_last &= not found or (isinstance(item, ToolCall) and item.name == FIND)
                if isinstance(item, ToolCall) and item.name in self._described:
                    called.append(item.name)
        return (*found, *called, *uncalled)

    def _first_found(self, view: View, defers: bool) -> list[str]:
        """The tools that match the first message of a conversation: nothing is cached yet, so they are cheap.

        If the provider defers definitions, half of the room stays free for later searches, which are cheap.
        """
        items = view.log.items(0, min(view.end, _IDLE_ITEMS)) if view.end < 2 * _IDLE_ITEMS else []
        tokens = self._free_tokens // 2 if defers else self._free_tokens
        first = next((item for item in items if isinstance(item, Message) and item.role == "user"), None)
        return [] if first is None else self.matches(first.text, _MAX_FOUND_FIRST, tokens)

    def _fitting(self, names: Iterable[str], tokens: int | None = None) -> list[str]:
        """The first of some tools, as many as fit."""
        ordered, limit = list(names), self._free_tokens if tokens is None else tokens
        totals = accumulate(self._tokens_of[name] for name in ordered)
        return [name for name, total in zip(ordered, totals, strict=True) if total <= limit]

    def _line(self, name: str, length: int) -> str:
        text = " ".join(self._described[name][0].partition("\n")[0].split())
        text = text if len(text) <= length else f"{text[: length - 1].rsplit(' ', 1)[0]}…"
        return f"- {one_line(name)}: {escape(text)}" if length and text else f"- {one_line(name)}"

    def _catalogue(self) -> str:
        """All tools, a line each, as long as the room allows."""
        for length in _LINE_LENGTHS:
            lines = "\n".join(self._line(name, length) for name in self._described)
            text = f"{_INTRODUCTION}\n{element('tools', lines)}"
            if _text_tokens(text) <= self.tokens // _CATALOGUE_SHARE:
                return text
        return f"{len(self._described):,} more tools can be called once `{FIND}` has found them."

    @cached_property
    def _index(self) -> Index:
        index = Index()
        index.put(_leaf(name, *described) for name, described in self._described.items())
        return index


def _tool_tokens(definition: Definition) -> int:
    return schema_tokens([definition], counter_for(DEFAULT_MODEL))


def _text_tokens(text: str) -> int:
    return counter_for(DEFAULT_MODEL).count(Message("system", text))


def _leaf(name: str, description: str, schema: Mapping[str, Any]) -> Leaf:
    """A tool as a document of the index: its name, its description, and the names of its parameters."""
    heading = f"{name}\n"
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
        text=f"{heading}{name}\n{description}\n{parameters}",
        name_length=len(heading),
    )
