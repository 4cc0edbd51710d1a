"""Sections from other sources than the conversation: texts, functions, the pool, and tool definitions."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Unpack, cast

from quire.errors import InvalidValue, WrongType
from quire.items import Item, Note
from quire.sections.section import (
    Ask,
    Content,
    Options,
    Settings,
    checked_function,
    items_of,
    maybe_await,
)
from quire.tokens import Definition, read_definition, single_definitions

Selector = Callable[[str, Ask], Iterable[str] | Awaitable[Iterable[str]]]
"""Is called with the catalogue and the ask, and returns the keys of the notes to show."""

Guide = Callable[[Sequence[Definition]], str | Content | Awaitable[str | Content]]
"""Is called with the tool definitions, and returns what to say about them."""


class Instructions(Settings):
    """A text or messages, of any role. They are made once and are the same in every turn."""

    def __init__(
        self,
        content: str | Sequence[Item | Mapping[str, Any]],
        name: str = "instructions",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(name, **(Options(stability="static") | options))
        if isinstance(content, str) and not content.strip():
            raise InvalidValue("the instructions are empty")
        self._items = _items_of(content, name)

    async def items(self, ask: Ask) -> tuple[Item, ...]:
        """Return the same items in every turn."""
        return self._items


class Custom(Settings):
    """A sync or async function of the ask."""

    def __init__(
        self, name: str, source: Callable[[Ask], Content | Awaitable[Content]], **options: Unpack[Options]
    ) -> None:
        super().__init__(name, **options)
        self._source = checked_function(source, "the source of a custom section")

    async def items(self, ask: Ask) -> Content:
        """Return what the function returns."""
        return await maybe_await(self._source(ask))


class Catalogue(Settings):
    """One line for each note of the pool, in one message; nothing while the pool is empty."""

    def __init__(
        self,
        name: str = "catalogue",
        *,
        heading: str = "Notes at hand, by key:",
        role: Literal["system", "developer", "user"] = "system",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(name, **(Options(required=False) | options))
        if role not in ("system", "developer", "user"):
            raise InvalidValue("the role of a catalogue must be system, developer or user")
        self._heading = heading
        self._role = role

    async def items(self, ask: Ask) -> tuple[Item, ...]:
        """Return the catalogue as it is now."""
        if not len(ask.pool):
            return ()
        text = "\n".join(filter(None, (self._heading, ask.pool.catalogue())))
        return items_of([{"role": self._role, "content": text}], self.name)


class Pooled(Settings):
    """Notes of the pool in full: all of them, those with certain keys, or those that a selector names.

    They come in the order of the keys. A key that is not in the pool is skipped, because a pool is bounded
    and a note may have been evicted.
    """

    def __init__(
        self,
        keys: Iterable[str] | None = None,
        *,
        select: Selector | None = None,
        name: str = "pooled",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(name, **(Options(required=False) | options))
        if keys is not None and select is not None:
            raise InvalidValue("notes are chosen by keys or by a selector, not by both")
        self._keys = None if keys is None else _unique(keys)
        self._select = None if select is None else checked_function(select, "a selector of notes")

    async def items(self, ask: Ask) -> tuple[Note, ...]:
        """Return the notes themselves."""
        if not len(ask.pool):
            return ()
        if self._select is not None:
            keys = _unique(await maybe_await(self._select(ask.pool.catalogue(), ask)))
        elif self._keys is not None:
            keys = self._keys
        else:
            return tuple(ask.pool)
        return tuple(ask.pool.get(key) for key in keys if key in ask.pool)


class ToolGuide(Settings):
    """A line for each tool, or a text or function of one's own; nothing while there are no tools.

    While the names and descriptions of the tools stay the same, so do the items, and the function is not
    called again. The schemas of the tools are sent separately.
    """

    def __init__(
        self, guide: str | Guide | None = None, name: str = "tools", **options: Unpack[Options]
    ) -> None:
        super().__init__(name, **(Options(stability="static") | options))
        self._guide = guide if guide is None or isinstance(guide, str) else checked_function(guide, "a guide")
        self._last: tuple[list[tuple[str, str]], tuple[Item, ...]] = ([], ())

    async def items(self, ask: Ask) -> tuple[Item, ...]:
        """Return the guide to the tools at hand."""
        tools = sorted(_name_and_description(tool) for tool in single_definitions(ask.tools))
        known, items = self._last
        if tools != known:
            items = _items_of(await self._content(tools, ask.tools), self.name)
            self._last = (tools, items)
        return items

    async def _content(
        self, tools: list[tuple[str, str]], definitions: Sequence[Definition]
    ) -> str | Content:
        if not tools:
            return ()
        if isinstance(self._guide, str):
            return self._guide
        if self._guide is not None:
            return await maybe_await(self._guide(definitions))
        lines = (
            f"- {name}: {first}" if (first := _first_line(text)) else f"- {name}" for name, text in tools
        )
        return "\n".join(("You may use these tools:", *lines))


def _items_of(content: str | Content, section_name: str) -> tuple[Item, ...]:
    """Convert a text to a system message, and other content to items."""
    return items_of(
        [{"role": "system", "content": content}] if isinstance(content, str) else content, section_name
    )


def _unique(keys: object) -> tuple[str, ...]:
    if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
        raise WrongType(f"the keys of notes must be a list of texts, not {type(keys).__name__}")
    return tuple(dict.fromkeys(cast("Iterable[str]", keys)))


def _name_and_description(tool: Definition) -> tuple[str, str]:
    if "name" not in tool and "function" not in tool:
        return str(tool.get("type") or next(iter(tool), "")), ""  # a provider's own tool, such as a search
    name, description, _ = read_definition(tool)
    return name, description


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].strip()
