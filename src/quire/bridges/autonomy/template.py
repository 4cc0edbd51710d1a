"""Autonomy's context template: sections in order, as messages or as a template of the engine."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from quire.bridges.autonomy.memory import Memory
from quire.bridges.autonomy.messages import items_in
from quire.bridges.autonomy.pairing import paired
from quire.bridges.autonomy.sections import HISTORY, Section
from quire.errors import InvalidValue, WrongType, cut
from quire.items import Item
from quire.sections import Ask, Section as EngineSection, Settings

logger = logging.getLogger("quire.bridges.autonomy")


class ContextTemplate:
    """Named slices of what the model sees, in order. Sections may be added, taken out and switched off."""

    def __init__(self, sections: Iterable[Section] = ()) -> None:
        self._sections: list[Section] = []
        for section in sections:
            self.add_section(section)

    def __repr__(self) -> str:
        return f"<ContextTemplate {', '.join(self.get_section_names())}>"

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections, in order."""
        return tuple(self._sections)

    def get_section(self, name: str) -> Section | None:
        """The section with this name, if there is one."""
        return next((section for section in self._sections if section.name == name), None)

    def add_section(self, section: Section, index: int | None = None) -> None:
        """Add a section, last or at a place."""
        if not hasattr(section, "name") or not callable(getattr(section, "get_messages", None)):
            raise WrongType(f"a section has a name and get_messages; {type(section).__name__} has not")
        if self.get_section(section.name) is not None:
            raise InvalidValue(f"two sections are called {cut(section.name)!r}")
        self._sections.insert(len(self._sections) if index is None else index, section)

    def remove_section(self, name: str) -> bool:
        """Take a section out; whether it was there."""
        before = len(self._sections)
        self._sections = [section for section in self._sections if section.name != name]
        return len(self._sections) < before

    def get_section_names(self) -> list[str]:
        """The names, in order."""
        return [section.name for section in self._sections]

    async def build_context(
        self, memory: Memory, scope: str, conversation: str, params: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """What the sections have to show, one after the other, with parameters that they share.

        A section that fails is an error, unless it says that it is not `required`; then it is left out.
        """
        shared = dict(params or {})
        built: list[dict[str, Any]] = []
        for section in self._sections:
            if not getattr(section, "enabled", True):
                continue
            try:
                shown = await section.get_messages(memory, scope, conversation, shared)
                built += cast("Sequence[dict[str, Any]]", shown)
            except Exception as fault:
                if getattr(section, "required", True):
                    fault.add_note(f"in section {section.name!r}")
                    raise
                logger.warning("section %s failed and is left out: %s", section.name, type(fault).__name__)
        return built


class Foreign:
    """A section of somebody's own, as one of the engine's, for the agent of a name."""

    def __init__(self, section: Section, memory: Memory, agent: str) -> None:
        self._section = section
        self._memory = memory
        self._before = f"{agent}/"

    @property
    def name(self) -> str:
        """As it calls itself."""
        return self._section.name

    @property
    def enabled(self) -> bool:
        """As it says now."""
        return bool(getattr(self._section, "enabled", True))

    @property
    def required(self) -> bool:
        """Whether its failure is an error."""
        return bool(getattr(self._section, "required", True))

    @property
    def keeps(self) -> str:
        """What is called a history gives way at its beginning, where there is no room for all of it."""
        return "newest" if self.name == HISTORY else "first"

    async def items(self, ask: Ask) -> Sequence[Item]:
        """What it gives, as items; a call and its result are shown both, or neither."""
        scope = ask.scope.removeprefix(self._before)
        given = await self._section.get_messages(self._memory, scope, ask.conversation, ask.parameters)
        session = self._memory.session(scope, ask.conversation)
        return paired(items_in(given, self.name), lambda: session.view().recorded())


def engine_sections(template: ContextTemplate, memory: Memory, agent: str) -> list[EngineSection]:
    """The sections of a template as the engine's: those that are of the engine as they are."""
    return [
        section if isinstance(section, Settings) else Foreign(section, memory, agent)  # type: ignore[misc]
        for section in template.sections
    ]
