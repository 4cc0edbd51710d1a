"""Pieces: what the sections of a template have to show in one turn."""

import logging
from collections.abc import Awaitable, Collection, Sequence
from typing import NamedTuple

from quire.errors import WrongType, cut
from quire.items import Item
from quire.sections import Ask, Candidates, History, Section, Settings, items_of, settings_of
from quire.state import View, newest_from, protected_positions

logger = logging.getLogger("quire.context")

Content = View | Sequence[Item]
"""A view, items, or candidates that are selected last."""


class Piece(NamedTuple):
    """One section and its content. `source` is the view that the content of a history is from.

    `failure` says why an optional section has no content.
    """

    section: Settings
    content: Content
    failure: str | None = None
    source: View | None = None

    @property
    def origin(self) -> View | None:
        """The view that decides what must stay of the content."""
        return self.content if self.source is None and isinstance(self.content, View) else self.source

    @property
    def is_elastic(self) -> bool:
        """Whether it takes the room that the other sections leave."""
        return self.origin is not None or self.section.keeps == "newest"

    def stays(self) -> Collection[str] | None:
        """Return the ids of items of a list that must stay because of the source, if there is one."""
        if self.source is None or isinstance(self.content, View):
            return None
        return {self.source.log.item(position).id for position in protected_positions(self.source)}

    def protected(self) -> Sequence[Item]:
        """Return the items that no cut leaves out."""
        return newest_from(self.content, len(self.content), self.stays()).before


async def gather(sections: Sequence[Section], ask: Ask) -> tuple[Piece, ...]:
    """Ask each enabled section in order, so that one can set parameters for a later one."""
    return tuple([await gather_section(section, ask) for section in enabled_sections(sections)])


def enabled_sections(sections: Sequence[Section]) -> list[Section]:
    """Return the sections to ask."""
    return [section for section in sections if settings_of(section).enabled]


async def gather_section(section: Section, ask: Ask) -> Piece:
    """Ask one section. An optional section that fails shows nothing."""
    settings = settings_of(section)
    try:
        source = ask.view(section.transcript) if isinstance(section, History) else None
        given = section.items(ask)
        if not isinstance(given, Awaitable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"`items` of section {cut(settings.name)!r} must be an async function")
        content = await given
        shown = content if isinstance(content, View | Candidates) else items_of(content, settings.name)
        return Piece(settings, shown, source=source)
    except Exception as fault:
        if settings.required:
            fault.add_note(f"in section {settings.name!r}")
            raise
        logger.warning("section %s failed and is left out: %s", settings.name, type(fault).__name__)
        return Piece(settings, (), f"it failed: {type(fault).__name__}")
