"""Notes from the pool: what there is of them, and those that were chosen."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Literal, Unpack, cast

from quire.errors import InvalidValue, WrongType
from quire.items import Item, Note
from quire.sections.reading import items_of
from quire.sections.section import Ask, Options, Settings
from quire.sections.waiting import awaited, function

Selector = Callable[[str, Ask], Iterable[str] | Awaitable[Iterable[str]]]
"""Given the catalogue and the ask, the keys of the notes that should be shown."""

_HEADING = "Notes at hand, by key:"


class Catalogue(Settings):
    """One line for each note of the pool, in one message; nothing while there are no notes."""

    def __init__(
        self,
        name: str = "catalogue",
        *,
        heading: str = _HEADING,
        role: Literal["system", "developer", "user"] = "system",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(name, **(Options(required=False) | options))
        if role not in ("system", "developer", "user"):
            raise InvalidValue("a catalogue is told by the system, the developer or the user")
        if not isinstance(heading, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"the heading of a catalogue is a text, not {type(heading).__name__}")
        self._heading = heading
        self._role = role

    async def items(self, ask: Ask) -> tuple[Item, ...]:
        """The catalogue as it is now."""
        if not len(ask.pool):
            return ()
        text = "\n".join(filter(None, (self._heading, ask.pool.catalogue())))
        return items_of([{"role": self._role, "content": text}], self.name)


class Pooled(Settings):
    """Notes of the pool in full: all of them, those with certain keys, or those that a selector names.

    They come in the order in which they were chosen. A key that is not in the pool is passed over: a pool is
    bounded, and a note may have given way since.
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
        self._keys = None if keys is None else _texts(keys)
        self._select = None if select is None else function(select, "a selector of notes")

    async def items(self, ask: Ask) -> tuple[Note, ...]:
        """The notes themselves."""
        if not len(ask.pool):
            return ()
        if self._select is not None:
            keys = _texts(await awaited(self._select(ask.pool.catalogue(), ask)))
        elif self._keys is not None:
            keys = self._keys
        else:
            return tuple(ask.pool)
        return tuple(ask.pool.get(key) for key in keys if key in ask.pool)


def _texts(keys: object) -> tuple[str, ...]:
    """Keys, each once."""
    if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
        raise WrongType(f"the keys of notes are a list of texts, not {type(keys).__name__}")
    found = tuple(dict.fromkeys(cast("Iterable[str]", keys)))
    for key in found:
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"the key of a note is a text, not {type(key).__name__}")
    return found
