"""The template: sections in order, with a budget. A template never changes: its verbs give another."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from quire.context.advice import absent_input, advice
from quire.context.context import Context, Heard
from quire.context.counts import Counts
from quire.context.fit import fit
from quire.context.gathering import Piece, checked_ask, gather
from quire.context.receipt import Receipt
from quire.errors import InvalidValue, UnknownKey, WrongType, cut
from quire.sections import Ask, Section, Settings, settings_of
from quire.tokens import Budget, Counter, checked_counter, counter_for, named

COMMON = "gpt-5.6"
"""Counted for where nobody says which model it is for."""


class Template:
    """Named slices of what the model sees, in order."""

    def __init__(self, *sections: Section, budget: Budget, model: str | None = None) -> None:
        if not isinstance(budget, Budget):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"the budget of a template is a Budget, not {type(budget).__name__}")
        if not isinstance(model, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"the model of a template is given by its name, not as {type(model).__name__}")
        self.sections = sections
        self.budget = budget
        self.model = model
        self._counts = Counts()
        names = [settings_of(section).name for section in sections]
        for name in names:
            if names.count(name) > 1:
                raise InvalidValue(f"two sections are called {cut(name)!r}")
        for name in budget.shares:
            if name not in names:
                raise InvalidValue(f"the budget has a share for {cut(name)!r}, and there is no such section")
        for section in map(settings_of, sections):
            _check_share(section, budget)

    def __repr__(self) -> str:
        return f"<Template {', '.join(section.name for section in self.sections)}>"

    def __iter__(self) -> Iterator[Section]:
        return iter(self.sections)

    def __contains__(self, name: object) -> bool:
        return any(section.name == name for section in self.sections)

    def find(self, name: str) -> Section:
        """The section with this name."""
        return self.sections[self._index(name)]

    def add(self, section: Section, *, before: str | None = None, after: str | None = None) -> "Template":
        """A template with one section more, last or where it is said."""
        if before is not None and after is not None:
            raise InvalidValue("a section is added before another or after one, not both")
        place = len(self.sections)
        if before is not None:
            place = self._index(before)
        elif after is not None:
            place = self._index(after) + 1
        return self._with(*self.sections[:place], section, *self.sections[place:])

    def remove(self, name: str) -> "Template":
        """A template without a section."""
        place = self._index(name)
        return self._with(*self.sections[:place], *self.sections[place + 1 :])

    def replace(self, name: str, section: Section) -> "Template":
        """A template with another section in the place of one."""
        place = self._index(name)
        return self._with(*self.sections[:place], section, *self.sections[place + 1 :])

    async def build(
        self,
        ask: Ask,
        *,
        model: str | None = None,
        counter: Counter | None = None,
        previous: Context | None = None,
        output: Mapping[str, Any] | None = None,
    ) -> Context:
        """What the model sees this turn; `previous` is the context of the turn before.

        `output` is the schema of the answer that goes with the request: there has to be room for it.
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
        heard: Heard | None = None,
        output: Mapping[str, Any] | None = None,
    ) -> Context:
        """The context of what was gathered: pure, the same for the same. `heard` is told of renderings."""
        model = model or self.model
        counter = counter_for(model or COMMON) if counter is None else checked_counter(counter)
        beside = self._counts.beside(checked_ask(ask).tools, output, counter)
        count = self._counts.of(counter)
        fitted = fit(
            pieces,
            budget=self.budget,
            counter=counter,
            schemas=beside.tools,
            output=beside.output,
            count=count,
        )
        told = [*absent_input(fitted, ask.input), *advice(fitted, model)]
        receipt = Receipt(fitted, counter, self.budget.available, beside, told)
        key = f"{ask.scope}/{ask.conversation}" if ask.scope or ask.conversation else None
        return Context(fitted, receipt, tools=ask.tools, model=model, key=key, previous=previous, heard=heard)

    def _with(self, *sections: Section) -> "Template":
        names = {settings_of(section).name for section in sections}
        shares = {name: share for name, share in self.budget.shares.items() if name in names}
        return Template(*sections, budget=replace(self.budget, shares=shares), model=self.model)

    def _index(self, name: str) -> int:
        named(name, "the name of a section")
        for index, section in enumerate(self.sections):
            if section.name == name:
                return index
        raise UnknownKey(f"no section {cut(name)!r} in the template")


def _check_share(section: Settings, budget: Budget) -> None:
    """Refuse a maximum that could not be kept."""
    share = budget.shares.get(section.name, section.share)
    if share is None or share.maximum is None or not section.required or section.keeps == "newest":
        return
    raise InvalidValue(
        f"section {cut(section.name)!r} is required, so it is shown whole: a maximum is for "
        'an optional section, or for one that keeps="newest"'
    )
