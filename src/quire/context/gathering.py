"""What the sections of a template have to show, asked one after the other."""

import logging
from collections.abc import Awaitable, Sequence
from typing import NamedTuple

from quire.errors import WrongType, cut
from quire.items import Item
from quire.sections import Ask, History, Input, Quotes, Section, Settings, Sifted, items_of, settings_of
from quire.state import View

logger = logging.getLogger("quire.context")


Content = View | Sequence[Item]
"""What a section has to show: a view as it is, or items."""


class Piece(NamedTuple):
    """One section, and what it has to show: a view as it is, or items; `source` is the view they are from.

    `apart` is the last of the source, where that is the input and another section shows it.
    """

    section: Settings
    content: Content
    failure: str | None = None
    source: View | None = None
    apart: Item | None = None

    @property
    def origin(self) -> View | None:
        """The view that something elastic is from, which says what must stay of it."""
        return self.content if self.source is None and isinstance(self.content, View) else self.source

    @property
    def is_elastic(self) -> bool:
        """Whether it takes what the others leave."""
        return isinstance(self.content, View) or self.section.keeps == "newest"


async def gather(sections: Sequence[Section], ask: Ask) -> tuple[Piece, ...]:
    """What each enabled section has to show, in order, so that one may set parameters for a later one."""
    return tuple([await asked(section, ask) for section in enabled(sections, ask)])


def enabled(sections: Sequence[Section], ask: Ask) -> list[Section]:
    """The sections that are to be asked, the history without an input that has a section of its own."""
    given = checked_ask(ask).input
    shown = [section for section in sections if settings_of(section).enabled]
    if given is not None and any(isinstance(section, Input) for section in shown):
        return [section.without_input() if isinstance(section, History) else section for section in shown]
    return shown


def checked_ask(ask: object) -> Ask:
    """The ask, if it is one."""
    if not isinstance(ask, Ask):
        raise WrongType(f"a template is built for an Ask, not {type(ask).__name__}")
    return ask


async def asked(section: Section, ask: Ask) -> Piece:
    """What one section has to show; one that is optional and fails shows nothing."""
    settings = settings_of(section)
    try:
        source = ask.view(section.transcript) if isinstance(section, History) else None
        apart = section.apart(ask) if isinstance(section, History) else None
        items = section.items(ask)
        if not isinstance(items, Awaitable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"`items` of section {cut(settings.name)!r} is to be an async function")
        content = await items
        shown = content if isinstance(content, View | Sifted | Quotes) else items_of(content, settings.name)
        return Piece(settings, shown, source=source, apart=apart)
    except Exception as fault:
        if settings.required:
            fault.add_note(f"in section {settings.name!r}")
            raise
        logger.warning("section %s failed and is left out: %s", settings.name, type(fault).__name__)
        return Piece(settings, (), f"it failed: {type(fault).__name__}")
