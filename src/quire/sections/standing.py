"""Sections of what the model should know: instructions, further messages, notes of the pool, and tools."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Unpack, cast

from quire.errors import InvalidValue, WrongType
from quire.items import Item, Message, Note
from quire.sections.section import (
    Ask,
    Content,
    Options,
    Settings,
    checked_function,
    items_of,
    maybe_await,
)
from quire.tokens import Definition, read_definition, single_definitions, whole

Provider = Callable[[str, str, dict[str, Any]], Content | Awaitable[Content]]
"""Is called with the scope, the conversation and the shared parameters, which it may add to."""

Selector = Callable[[str, Ask], Iterable[str] | Awaitable[Iterable[str]]]
"""Is called with the catalogue and the ask, and returns the keys of the notes to show."""

Guide = Callable[[Sequence[Definition]], str | Content | Awaitable[str | Content]]
"""Is called with the tool definitions, and returns what to say about them."""


class Instructions(Settings):
    """A text, or items. They are made once and are the same in every turn."""

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


class Additional(Settings):
    """A text or messages, the same in every turn; or a function that is called in each turn."""

    def __init__(
        self,
        source: str | Sequence[Item | Mapping[str, Any]] | Provider,
        name: str = "additional",
        **options: Unpack[Options],
    ) -> None:
        self._provider = source if callable(source) else None
        usual = Options(stability="volatile" if self._provider else "static")
        super().__init__(name, **(usual | options))
        self._items = () if callable(source) else _items_of(source, name)

    async def items(self, ask: Ask) -> tuple[Item, ...]:
        """Return the messages, or what the function returns."""
        if self._provider is None:
            return self._items
        given = await maybe_await(self._provider(ask.scope, ask.conversation, ask.parameters))
        return items_of(given, self.name)


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


_PROMPT = """\
These notes are at hand, each with its key in brackets:

{catalogue}

What is to be answered:

{input}

Which of the notes are needed for that? Answer with their keys, one on a line, and nothing else. \
Answer none if no note is needed."""

_LONGEST_INPUT = 4_000
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_REASON = re.compile(r":\s|\s[-–—]\s|\s\(")  # noqa: RUF001  # models write all of these
_QUOTES = " \t-*•.,;:\"'`[]()<>"


def choosing(
    ask_model: Callable[[str], Awaitable[str] | str], limit: int | None = None
) -> Callable[[str, Ask], Awaitable[list[str]]]:
    """Return a selector for `Pooled` that lets a model choose from the catalogue.

    `ask_model` sends a text to a model and returns its answer. At most `limit` notes are taken.
    """
    checked_function(ask_model, "ask_model")
    most = None if limit is None else whole(limit, "a limit of notes", least=1)

    async def select(catalogue: str, ask: Ask) -> list[str]:
        text = ask.input.text[:_LONGEST_INPUT] if isinstance(ask.input, Message) else ""
        # Filled in one by one: the catalogue may contain "{input}".
        before, after = _PROMPT.replace("{input}", text or "(not known)").split("{catalogue}", 1)
        answer = await maybe_await(ask_model(f"{before}{catalogue}{after}"))
        if not isinstance(answer, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a model answers with a text, not {type(answer).__name__}")
        return _keys_in(answer, [note.key for note in ask.pool if note.key])[:most]

    return select


def _keys_in(answer: str, keys: Iterable[str]) -> list[str]:
    """Return the keys that an answer names, in its order.

    Keys that stand alone, in a list, in brackets or before a reason are taken. Only if there are none are
    keys searched in the prose, where a short key may be just a word.
    """
    known = {_on_one_line(key).casefold(): key for key in keys}
    exact = {_on_one_line(key): key for key in known.values()}
    names = [_on_one_line(piece) for line in answer.splitlines() for piece in _pieces(line)]
    found = [exact.get(name) or known.get(name.casefold()) for name in names]
    if not any(found) and exact:
        pattern = "|".join(map(re.escape, sorted(exact, key=len, reverse=True)))
        found = [exact[name] for name in re.findall(rf"(?<![\w-])(?:{pattern})(?![\w-])", answer)]
    return list(dict.fromkeys(filter(None, found)))


def _pieces(line: str) -> list[str]:
    """Return the parts of a line that may be a key."""
    text = _BULLET.sub("", line)
    pieces = [line, text, *re.findall(r"\[([^\[\]]+)\]", line), *re.split("[,;]", text)]
    return [line.strip(), *(piece.strip(_QUOTES) for piece in (*pieces, _REASON.split(text)[0]))]


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


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
