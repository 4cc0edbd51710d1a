"""The template: sections in order, with a budget. It is immutable; `add` returns a new one."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from quire.compactors import READ_BACK
from quire.context.context import Context, Observer, Receipt
from quire.context.fit import Fitted, Piece, Selected, Shown, fit
from quire.errors import InvalidValue, UnknownKey, WrongType, cut
from quire.guesses import hint_attributes, hint_options
from quire.items import Item
from quire.sections import Ask, Candidates, Content, History, Section, Settings, items_of, settings_of
from quire.state import Cut, View
from quire.tokens import (
    Budget,
    Calibrated,
    Counter,
    Definition,
    answer_tokens,
    counter_for,
    read_definition,
    schema_tokens,
    single_definitions,
)

T = TypeVar("T")

logger = logging.getLogger("quire.context")

DEFAULT_MODEL = "gpt-5.6"
"""The model to count for if none was named."""

_MAX_COUNTS = 16_384
"""How many counts of items outside of transcripts are cached."""


@hint_attributes
class Template:
    """The sections of a request in order, with a budget. Immutable."""

    @hint_options
    def __init__(self, *sections: Section, budget: Budget | int, model: str | None = None) -> None:
        budget = Budget(budget) if isinstance(budget, int) else budget
        if not isinstance(budget, Budget):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType("Template(budget=…) must be a number of tokens or a Budget(8_000, reserve=1_000)")
        self.sections = sections
        self.budget = budget
        self.model = model
        self._counts = _Counts()
        names = [settings_of(section).name for section in sections]
        for name in names:
            if names.count(name) > 1:
                raise InvalidValue(f"two sections are named {cut(name)!r}: rename one, with `name=`")
        for name in budget.shares:
            if name not in names:
                known = ", ".join(map(repr, names))
                raise InvalidValue(f"the budget has a share for {cut(name)!r}; the sections are {known}")
        for section in map(settings_of, sections):
            _check_share(section, budget)

    def __repr__(self) -> str:
        return f"<Template {', '.join(section.name for section in self.sections)}>"

    def add(self, section: Section, *, before: str | None = None, after: str | None = None) -> "Template":
        """Return a template with one more section, at the end, or before or after another section."""
        if before is not None and after is not None:
            raise InvalidValue("a section must be added before another or after one, not both")
        place = len(self.sections)
        if before is not None:
            place = self._index(before)
        elif after is not None:
            place = self._index(after) + 1
        sections = (*self.sections[:place], section, *self.sections[place:])
        return Template(*sections, budget=self.budget, model=self.model)

    async def build(
        self,
        ask: Ask,
        *,
        model: str | None = None,
        counter: Counter | None = None,
        previous: Context | None = None,
        output: Mapping[str, Any] | None = None,
    ) -> Context:
        """Ask the sections for their content, and fit it into the budget.

        `previous` is the context of the last turn. `output` is the answer schema of the request, whose tokens
        are counted too.
        """
        pieces = await gather(self.sections, ask)
        return self.fit(pieces, ask, model=model, counter=counter, previous=previous, output=output)

    def fit(
        self,
        pieces: tuple[Piece, ...],
        ask: Ask,
        *,
        model: str | None = None,
        counter: Counter | None = None,
        previous: Context | None = None,
        cuts: Mapping[str, Cut] | None = None,
        selected: Selected | None = None,
        observer: Observer | None = None,
        output: Mapping[str, Any] | None = None,
        shortens_new: bool = False,
    ) -> Context:
        """Fit gathered pieces into the budget. Pure; the `observer` keeps receipts of requests that are sent.

        `cuts` and `selected` are those of the last request, if there is no `previous` context. With
        `shortens_new`, new results are shortened if nothing else makes the request fit.
        """
        model = model or self.model
        counter = counter or counter_for(model or DEFAULT_MODEL)
        schemas = self._counts.of_schema(ask.tools, counter, schema_tokens) if ask.tools else 0
        answer = self._counts.of_schema(output, counter, answer_tokens) if output else 0
        fitted = fit(
            pieces,
            budget=self.budget,
            counter=counter,
            schemas=schemas,
            output=answer,
            count=self._counts.of_items(counter),
            cuts=cuts if previous is None else previous.cuts,
            shortens_new=shortens_new,
            selected=selected if previous is None else previous.selected,
            readable=ask.views.get("main") if _reads_back(ask.tools) else None,
        )
        advice = [*_absent_input(fitted, ask.input), *_advice(fitted)]
        available, reserve = self.budget.available, self.budget.reserve
        receipt = Receipt(fitted, counter, available, schemas, answer, advice, reserve)
        root = ask.conversation.partition("/")[0]  # a fork shares its beginning with its parent
        key = f"{ask.scope}/{root}" if ask.scope or root else None
        return Context(
            fitted, receipt, tools=ask.tools, model=model, key=key, previous=previous, observer=observer
        )

    def _index(self, name: str) -> int:
        for index, section in enumerate(self.sections):
            if section.name == name:
                return index
        raise UnknownKey(f"no section {cut(str(name))!r} in the template")


async def gather(sections: Sequence[Section], ask: Ask) -> tuple[Piece, ...]:
    """Ask each enabled section in order, so that one can set parameters for the next ones."""
    return tuple([await gather_section(section, ask) for section in enabled_sections(sections)])


def enabled_sections(sections: Sequence[Section]) -> list[Section]:
    """Return the sections whose setting `enabled` is true."""
    return [section for section in sections if settings_of(section).enabled]


Read = Callable[[Section, Ask], Awaitable[Content]]
"""Asks a section for its content."""


async def _read(section: Section, ask: Ask) -> Content:
    return await section.items(ask)


async def gather_section(section: Section, ask: Ask, read: Read = _read) -> Piece:
    """Ask one section. An optional section that fails shows nothing."""
    settings = settings_of(section)
    try:
        source = ask.view(section.transcript) if isinstance(section, History) else None
        content = await read(section, ask)
        shown = content if isinstance(content, View | Candidates) else items_of(content, settings.name)
        return Piece(settings, shown, source=source)
    except Exception as fault:
        if settings.required:
            fault.add_note(f"in section {settings.name!r}")
            raise
        logger.warning("section %s failed and is left out: %s", settings.name, type(fault).__name__)
        return Piece(settings, (), f"it failed: {type(fault).__name__}")


def _check_share(section: Settings, budget: Budget) -> None:
    """Refuse a maximum for a section that is always shown whole."""
    share = budget.shares.get(section.name, section.share)
    if share is None or share.maximum is None or not section.required or section.keeps == "newest":
        return
    raise InvalidValue(
        f"section {cut(section.name)!r} is required, so it is shown whole: a maximum is for "
        'an optional section, or for one that keeps="newest"'
    )


def _reads_back(tools: Sequence[Definition]) -> bool:
    """Whether the model has the tool to read items that are shortened or left out."""
    return any(read_definition(tool)[0] == READ_BACK["name"] for tool in single_definitions(tools))


def _absent_input(fitted: Sequence[Fitted], item: Item | None) -> Iterator[str]:
    """Warn if no section shows the input."""
    if item is not None and not any(item.id in Shown(part.shown) for part in fitted):
        yield (
            f"the input {cut(item.id)!r} is not shown: no section of the template has it. "
            "Add an Input, or the History of the transcript that it is in."
        )


def _advice(fitted: Sequence[Fitted]) -> Iterator[str]:
    """Warn of each volatile section before a history, with the tokens that no cache can serve then."""
    last = max((index for index, part in enumerate(fitted) if part.piece.is_elastic), default=0)
    for index, part in enumerate(fitted[:last]):
        if part.stability == "volatile" and part.counted:
            behind = sum(later.counted for later in fitted[index + 1 : last + 1])
            name = fitted[last].name
            yield (
                f"{part.name!r} changes from call to call and stands before {name!r}: no cache can serve the "
                f"{behind:,} tokens behind it. Put it after {name!r}."
            )


class _Counts:
    """Caches the counts of items outside of transcripts, and of schemas.

    The keys are hashes, so that no content stays in memory after an erasure.
    """

    def __init__(self) -> None:
        self._items: dict[int, int] = {}
        self._schemas: dict[object, tuple[int, int]] = {}

    def of_items(self, counter: Counter) -> Callable[[Item], int]:
        """Return a function that counts an item and caches the count."""
        cached = self._items

        def count(item: Item) -> int:
            try:
                key = hash((counter.key, item))
            except TypeError:  # the item has a value that cannot be hashed
                return counter.count(item)
            size = cached.get(key)
            if size is None:
                if len(cached) >= _MAX_COUNTS:
                    cached.clear()
                size = cached[key] = counter.count(item)
            return size

        return count

    def of_schema(self, schema: T, counter: Counter, count: Callable[[T, Counter], int]) -> int:
        """Return the counts of tool definitions or of an answer schema, which rarely change."""
        # A calibrated counter corrects only the total of the request.
        plain = counter.counter if isinstance(counter, Calibrated) else counter
        content = hash((plain.key, repr(schema)))  # a dictionary may have been changed since the last turn
        cached = self._schemas.get(count)
        if cached is None or cached[0] != content:
            cached = self._schemas[count] = content, count(schema, plain)
        return cached[1]
