"""Values that crossed from a program, as plain ones of JSON, within a size."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, NamedTuple, cast

from quire.programs.sandbox.shown import thing_shown
from quire.programs.written import key_written

DEEPEST = 100

MOST_PARTS = 300_000
"""How many parts are looked at, keys included: each takes its time, however little is written in it."""


_SEVERAL = (dict, list, tuple, set, frozenset)
_SINGLE = frozenset((str, int, float, bool, type(None)))
_AS_TEXT = (Decimal, timedelta)
_OF_TIME = (datetime, date, time)


class NotPlain(Exception):
    """A value that is no JSON and cannot be made so; the text says why, without the value."""


class TooLarge(NotPlain):
    """A value that is larger than it may be."""


def plain(value: Any, most: int) -> Any:
    """The value as dict, list, str, int, float, bool and None, in no more than about `most` characters."""
    return Copying(most).of(value)


class _Copied(NamedTuple):
    """A copy, its size, and of what: as long as that is held, nothing else has its identity."""

    copy: Any
    size: int
    of: Any


class Copying:
    """One copying of a value: `size` is how many characters it came to so far.

    What crosses from the sandbox shares its parts: a value of a kilobyte may be a tree without end. So a part
    is copied once for each depth that it is found at, and its size is counted as often as it is there.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts = 0
        self._copied: dict[tuple[int, int], _Copied] = {}
        self.size = 0

    def of(self, value: Any, depth: int = DEEPEST) -> Any:
        """The copy, or `NotPlain`."""
        if not depth:
            raise NotPlain(f"it is nested deeper than {DEEPEST}")
        if type(value) in _SINGLE:
            return self._single(value)
        if getattr(value, "is_dataclass", False) is True:
            return self._once(value, value.attributes, depth)
        if isinstance(value, _SEVERAL):
            return self._once(cast("Any", value), cast("Any", value), depth)
        return self._single(value)

    def _once(self, value: Any, parts: Any, depth: int) -> Any:
        known = self._copied.get((id(value), depth))
        if known is not None:
            self._take(known.size)
            return known.copy
        before = self.size
        copy = self._several(parts, depth - 1)
        self._copied[id(value), depth] = _Copied(copy, self.size - before, value)
        return copy

    def _several(self, value: Any, depth: int) -> Any:
        self._take(3)
        if isinstance(value, dict):
            rows = cast("Mapping[Any, Any]", value).items()
            return {self._key(key): self.of(one, depth) for key, one in rows}
        return [self.of(one, depth) for one in cast("Iterable[Any]", value)]

    def _key(self, key: Any) -> str:
        return key_written(self._single(key))

    def _single(self, value: Any) -> Any:
        if isinstance(value, str):
            self._take(len(value) + 3)
            thing = thing_shown(value)
            if thing is not None:
                raise NotPlain(f"it holds {thing}")
        elif value is None or isinstance(value, bool):
            self._take(5)
        elif isinstance(value, int):
            self._take(value.bit_length() // 3 + 2)
        elif isinstance(value, float) and isfinite(value):
            self._take(4)
        elif isinstance(value, _OF_TIME):
            return self._single(value.isoformat())
        elif isinstance(value, _AS_TEXT):
            return self._single(str(value))
        else:
            raise NotPlain(f"it holds {_told(value)}, which is no value of JSON")
        return value

    def _take(self, characters: int) -> None:
        self.size += characters
        self._parts += 1
        if self.size > self._most + 1:
            raise TooLarge(f"it is larger than {self._most} characters")
        if self._parts > MOST_PARTS:
            raise TooLarge(f"it has more than {MOST_PARTS} parts")


def _told(value: Any) -> str:
    if isinstance(value, float):
        return "a number that is not finite"
    return f"a value of type {getattr(value, 'name', None) or type(value).__name__}"
