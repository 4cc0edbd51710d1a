"""Sections from other sources than the conversation: texts, functions, the pool, and tool definitions."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Unpack, cast

from msgspec.structs import replace

from quire.errors import InvalidValue, WrongType
from quire.items import Item, Note
from quire.sections.section import Ask, Content, Options, Settings, checked_function, items_of, maybe_await
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
        if not isinstance(content, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"Instructions(...) takes a text or messages, not {type(content).__name__}")
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

    def __init__(self, name: str = "catalogue", **options: Unpack[Options]) -> None:
        super().__init__(name, **(Options(required=False) | options))

    async def items(self, ask: Ask) -> tuple[Item, ...]:
        """Return the catalogue as it is now; it names the notes it was made of."""
        if not len(ask.pool):
            return ()
        text = f"Notes at hand, by key:\n{ask.pool.catalogue()}"
        of = {"quire.of": [note.id for note in ask.pool]}
        return tuple(replace(item, extras=of) for item in _items_of(text, self.name))


class Pooled(Settings):
    """Notes of the pool in full: all of them, or those whose keys are given or returned by a selector.

    They come in the order of the keys. A key that is not in the pool is skipped, because a pool is bounded
    and a note may have been evicted.
    """

    def __init__(
        self, keys: Iterable[str] | Selector | None = None, name: str = "pooled", **options: Unpack[Options]
    ) -> None:
        super().__init__(name, **(Options(required=False) | options))
        self._keys = keys if keys is None or callable(keys) else _unique(keys)

    async def items(self, ask: Ask) -> tuple[Note, ...]:
        """Return the notes themselves."""
        if self._keys is None or not len(ask.pool):
            return tuple(ask.pool)
        keys = self._keys
        if callable(keys):
            keys = _unique(await maybe_await(keys(ask.pool.catalogue(), ask)))
        return tuple(ask.pool.get(key) for key in keys if key in ask.pool)


class ToolGuide(Settings):
    """A line for each tool, or what a function says about them; nothing while there are no tools.

    The schemas of the tools are sent separately.
    """

    def __init__(self, guide: Guide | None = None, name: str = "tools", **options: Unpack[Options]) -> None:
        super().__init__(name, **(Options(stability="static") | options))
        self._guide = None if guide is None else checked_function(guide, "a guide")

    async def items(self, ask: Ask) -> tuple[Item, ...]:
        """Return the guide to the tools at hand."""
        if not ask.tools:
            return ()
        if self._guide is not None:
            return _items_of(await maybe_await(self._guide(ask.tools)), self.name)
        lines = sorted(map(_line, single_definitions(ask.tools)))
        return _items_of("\n".join(("You may use these tools:", *lines)), self.name)


def _items_of(content: str | Content, section_name: str) -> tuple[Item, ...]:
    """Convert a text to a system message, and other content to items."""
    return items_of(
        [{"role": "system", "content": content}] if isinstance(content, str) else content, section_name
    )


def _unique(keys: object) -> tuple[str, ...]:
    if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
        raise WrongType(f"the keys of notes must be a list of texts, not {type(keys).__name__}")
    return tuple(dict.fromkeys(cast("Iterable[str]", keys)))


def _line(tool: Definition) -> str:
    """Return the name of a tool and the first line of its description."""
    if "name" not in tool and "function" not in tool:
        return f"- {tool.get('type') or next(iter(tool), '')}"  # a provider's own tool, such as a search
    name, description, _ = read_definition(tool)
    about = description.strip().partition("\n")[0].strip()
    return f"- {name}: {about}" if about else f"- {name}"
