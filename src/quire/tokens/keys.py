"""Short names for framings and costs of media, which counters' keys are made of. Nothing is counted here."""

from typing import Any

import msgspec

from quire.tokens.framing import FRAMINGS, Framing
from quire.tokens.media import MEDIA, Media

_STANDARD: tuple[Framing | Media, ...] = (*FRAMINGS.values(), *MEDIA.values())
"""The rows as they came: the tables can be written to, and a name must not change its meaning."""

_DIGITS = 16


def key_of(part: Framing | Media) -> str:
    """The name of a row that came with the tables; of any other the name and a digest of all its fields.

    No such row has a slash or a tilde in its name, so names joined by slashes cannot be read in two ways.
    """
    if part in _STANDARD:
        return part.name
    # Seldom needed, and slow to import.
    from hashlib import sha256

    return f"{part.name}~{sha256(repr(_fields(part)).encode()).hexdigest()[:_DIGITS]}"


def _fields(value: Any) -> Any:
    """What makes structs equal, in one writing: 10 and 10.0 are the same, two kinds of formula are not."""
    if isinstance(value, msgspec.Struct):
        kind = type(value)
        return (kind.__module__, kind.__qualname__, *map(_fields, msgspec.structs.astuple(value)))
    if isinstance(value, float):
        return int(value) if value.is_integer() else float(value)
    return int(value) if isinstance(value, int) else value
