"""What the sections of a template have to show, asked one after the other."""

import logging
from collections.abc import Sequence
from typing import NamedTuple

from quire.items import Item
from quire.sections import Ask, History, Input, Section, Settings, items_of, settings_of
from quire.state import View

logger = logging.getLogger("quire.context")


class Piece(NamedTuple):
    """One section, and what it has to show: a view where it is elastic, or items."""

    section: Settings
    content: View | tuple[Item, ...]
    failure: str | None = None

    @property
    def is_elastic(self) -> bool:
        """Whether it takes what the others leave."""
        return isinstance(self.content, View) or self.section.keeps == "newest"


async def gather(sections: Sequence[Section], ask: Ask) -> tuple[Piece, ...]:
    """What each enabled section has to show, in order, so that one may set parameters for a later one."""
    shown = [section for section in sections if settings_of(section).enabled]
    if ask.input is not None and any(isinstance(section, Input) for section in shown):
        shown = [section.without_input() if isinstance(section, History) else section for section in shown]
    return tuple([await _asked(section, ask) for section in shown])


async def _asked(section: Section, ask: Ask) -> Piece:
    settings = settings_of(section)
    try:
        content = await section.items(ask)
        return Piece(settings, content if isinstance(content, View) else items_of(content, settings.name))
    except Exception as fault:
        if settings.required:
            raise
        logger.warning("section %s failed and is left out: %s", settings.name, type(fault).__name__)
        return Piece(settings, (), f"it failed: {type(fault).__name__}")


def without_repeats(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The pieces with each item once: in a view, or else in the first that has it."""
    ids: set[str] = set()
    views = [piece.content for piece in pieces if isinstance(piece.content, View)]
    kept: list[Piece] = []
    for piece in pieces:
        content = piece.content
        if not isinstance(content, View):
            content = tuple(item for item in content if item.id not in ids and not _is_in(views, item.id))
            ids.update(item.id for item in content)
        kept.append(piece if len(content) == len(piece.content) else piece._replace(content=content))
    return tuple(kept)


def _is_in(views: Sequence[View], item_id: str) -> bool:
    return any(view.log.find(item_id, view.end) is not None for view in views)
