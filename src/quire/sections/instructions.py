"""Instructions: what the model is told before all else."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from quire.errors import InvalidValue
from quire.items import Item
from quire.sections.reading import items_of
from quire.sections.section import Ask, Options, Settings


class Instructions(Settings):
    """A text, or items as they are. They are made once, and are the same ones in every turn."""

    def __init__(
        self,
        told: str | Sequence[Item | Mapping[str, Any]],
        name: str = "instructions",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(name, **(Options(stability="static") | options))
        if isinstance(told, str) and not told.strip():
            raise InvalidValue("instructions are empty")
        self._items = items_of(system_message(told) if isinstance(told, str) else told, name)

    async def items(self, ask: Ask) -> tuple[Item, ...]:
        """The same items, always."""
        return self._items


def system_message(text: str) -> list[Mapping[str, Any]]:
    """A text as the content of a section."""
    return [{"role": "system", "content": text}]
