"""Pieces: what the sections of a template have to show in one turn."""

import logging
from collections.abc import Awaitable, Collection, Sequence
from typing import NamedTuple

from quire.errors import WrongType, cut
from quire.items import Item
from quire.sections import Ask, Candidates, History, Input, Section, Settings, items_of, settings_of
from quire.state import View, newest_from, protected_positions

logger = logging.getLogger("quire.context")

Content = View | Sequence[Item]
"""A view, items, or candidates that are selected last."""


class Piece(NamedTuple):
    """One section and its content. `source` is the view that the content of a history is from.

    `apart` is the last item of the source, if that is the input and another section shows it. `failure` says
    why an optional section has no content.
    """

    section: Settings
    content: Content
    failure: str | None = None
    source: View | None = None
    apart: Item | None = None

    @property
    def origin(self) -> View | None:
        """The view that decides what must stay of the content."""
        return self.content if self.source is None and isinstance(self.content, View) else self.source

    @property
    def is_elastic(self) -> bool:
        """Whether it takes the room that the other sections leave."""
        return self.origin is not None or self.section.keeps == "newest"

    def stays(self) -> Collection[str] | None:
        """Return the ids of items that must stay because of the source, if there is one."""
        if self.source is None:
            return None
        return {self.source.log.item(position).id for position in protected_positions(self.source)}

    def protected(self) -> list[Item]:
        """Return the items that no cut leaves out."""
        if isinstance(self.content, View):
            view = self.origin or self.content
            found = list(newest_from(view, len(view)).before)
        else:
            whole = self.content if self.apart is None else (*self.content, self.apart)
            found = list(newest_from(whole, len(whole), self.stays()).before)
        return [item for item in found if self.apart is None or item.id != self.apart.id]


async def gather(sections: Sequence[Section], ask: Ask) -> tuple[Piece, ...]:
    """Ask each enabled section in order, so that one can set parameters for a later one."""
    return tuple([await gather_section(section, ask) for section in enabled_sections(sections, ask)])


def enabled_sections(sections: Sequence[Section], ask: Ask) -> list[Section]:
    """Return the sections to ask; a history leaves out the input if that has a section of its own."""
    shown = [section for section in sections if settings_of(section).enabled]
    if ask.input is None or not any(isinstance(section, Input) for section in shown):
        return shown
    return [section.without_input() if isinstance(section, History) else section for section in shown]


async def gather_section(section: Section, ask: Ask) -> Piece:
    """Ask one section. An optional section that fails shows nothing."""
    settings = settings_of(section)
    try:
        source = ask.view(section.transcript) if isinstance(section, History) else None
        apart = section.shown_elsewhere(ask) if isinstance(section, History) else None
        given = section.items(ask)
        if not isinstance(given, Awaitable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"`items` of section {cut(settings.name)!r} must be an async function")
        content = await given
        shown = content if isinstance(content, View | Candidates) else items_of(content, settings.name)
        return Piece(settings, shown, source=source, apart=apart)
    except Exception as fault:
        if settings.required:
            fault.add_note(f"in section {settings.name!r}")
            raise
        logger.warning("section %s failed and is left out: %s", settings.name, type(fault).__name__)
        return Piece(settings, (), f"it failed: {type(fault).__name__}")
