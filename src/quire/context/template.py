"""The template: sections in order, with a budget. A template never changes; `add` returns another."""

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
"""The model to count for if no other is known."""

_MOST_COUNTS = 16_384
"""How many counts of items outside of transcripts are remembered."""


@hint_attributes
class Template:
    """The sections of a request in order, with a budget. It never changes."""

    @hint_options
    def __init__(self, *sections: Section, budget: Budget | int, model: str | None = None) -> None:
        budget = Budget(budget) if isinstance(budget, int) else budget
        if not isinstance(budget, Budget):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType("Template(budget=…) is a number of tokens, or a Budget(8_000, reserve=1_000)")
        self.sections = sections
        self.budget = budget
        self.model = model
        self._counts = _Counts()
        names = [settings_of(section).name for section in sections]
        for name in names:
            if names.count(name) > 1:
                raise InvalidValue(
                    f"two sections have the name {cut(name)!r}: give one another, with `name=`"
                )
        for name in budget.shares:
            if name not in names:
                given = ", ".join(map(repr, names))
                raise InvalidValue(f"the budget has a share for {cut(name)!r}; the sections are {given}")
        for section in map(settings_of, sections):
            _check_share(section, budget)

    def __repr__(self) -> str:
        return f"<Template {', '.join(section.name for section in self.sections)}>"

    def add(self, section: Section, *, before: str | None = None, after: str | None = None) -> "Template":
        """Return a template with one more section: last, or before or after another."""
        if before is not None and after is not None:
            raise InvalidValue("a section is added before another or after one, not both")
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
        """Ask the sections and fit what they have to show.

        `previous` is the context of the turn before. `output` is the answer schema that goes with the
        request, and is counted with the rest.
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
        """Fit pieces that were gathered. Pure; the `observer` keeps receipts of what is sent.

        With `shortens_new`, results that were just given are shortened if there is no other way to fit.

        `cuts` and what was `selected` are those of the last request, if there is no context of it.
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
        root = ask.conversation.partition("/")[0]  # a fork begins as its origin does
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
    """Ask each enabled section in order, so that one can set parameters for a later one."""
    return tuple([await gather_section(section, ask) for section in enabled_sections(sections)])


def enabled_sections(sections: Sequence[Section]) -> list[Section]:
    """Return the sections to ask."""
    return [section for section in sections if settings_of(section).enabled]


Read = Callable[[Section, Ask], Awaitable[Content]]
"""Reads what a section gives."""


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
    """Refuse a maximum that could not be kept."""
    share = budget.shares.get(section.name, section.share)
    if share is None or share.maximum is None or not section.required or section.keeps == "newest":
        return
    raise InvalidValue(
        f"section {cut(section.name)!r} is required, so it is shown whole: a maximum is for "
        'an optional section, or for one that keeps="newest"'
    )


def _reads_back(tools: Sequence[Definition]) -> bool:
    """Whether the tool is offered by which a model reads what is not shown whole."""
    return any(read_definition(tool)[0] == READ_BACK["name"] for tool in single_definitions(tools))


def _absent_input(fitted: Sequence[Fitted], item: Item | None) -> Iterator[str]:
    """Warn if no section shows the input."""
    if item is not None and not any(item.id in Shown(part.shown) for part in fitted):
        yield (
            f"the input {cut(item.id)!r} is not shown: no section of the template has it. "
            "Add an Input, or the History of the transcript that it is in."
        )


def _advice(fitted: Sequence[Fitted]) -> Iterator[str]:
    """Warn of each volatile section before a history, with what it keeps from the cache."""
    last = max((index for index, part in enumerate(fitted) if part.piece.is_elastic), default=0)
    for index, part in enumerate(fitted[:last]):
        if part.stability == "volatile" and part.counted:
            behind = sum(later.counted for later in fitted[index + 1 : last + 1])
            yield (
                f"{part.name!r} changes from call to call and stands before the history: no cache can serve "
                f"the {behind:,} tokens behind it. Put it after the history."
            )


class _Counts:
    """Counts that are kept from turn to turn: of items outside of transcripts, and of schemas.

    Items and schemas are known by their hashes alone: what was forgotten is not held here.
    """

    def __init__(self) -> None:
        self._items: dict[int, int] = {}
        self._schemas: dict[object, tuple[int, int]] = {}

    def of_items(self, counter: Counter) -> Callable[[Item], int]:
        """Return a count that remembers."""
        known = self._items

        def count(item: Item) -> int:
            try:
                key = hash((counter.key, item))
            except TypeError:  # it holds an object that has no hash
                return counter.count(item)
            found = known.get(key)
            if found is None:
                if len(known) >= _MOST_COUNTS:
                    known.clear()
                found = known[key] = counter.count(item)
            return found

        return count

    def of_schema(self, schema: T, counter: Counter, tokens: Callable[[T, Counter], int]) -> int:
        """Return the counts of tool definitions or of an answer schema, which rarely change."""
        # Uncorrected: a counter that learns corrects the total of the request.
        plain = counter.counter if isinstance(counter, Calibrated) else counter
        content = hash((plain.key, repr(schema)))  # a dictionary may have been changed since the last turn
        known = self._schemas.get(tokens)
        if known is None or known[0] != content:
            known = self._schemas[tokens] = content, tokens(schema, plain)
        return known[1]
