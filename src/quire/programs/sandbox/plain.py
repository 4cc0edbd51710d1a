"""Values that crossed from a program, as plain ones of JSON, within a size."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, cast

DEEPEST = 100


class NotPlain(Exception):
    """A value that is no JSON and cannot be made so; the text says why, without the value."""


def plain(value: Any, most: int) -> Any:
    """The value as dict, list, str, int, float, bool and None, in no more than about `most` characters.

    What crosses from the sandbox shares its parts: a value of a kilobyte may be a tree without end.
    """
    return _Copy(most).of(value, DEEPEST)


class _Copy:
    """One copying: how many characters are left."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def of(self, value: Any, depth: int) -> Any:
        if not depth:
            raise NotPlain(f"it is nested deeper than {DEEPEST}")
        if isinstance(value, dict):
            return self._mapping(cast("Mapping[Any, Any]", value), depth - 1)
        if isinstance(value, list | tuple | set | frozenset):
            self._take(2)
            return [self.of(one, depth - 1) for one in cast("Iterable[Any]", value)]
        if getattr(value, "is_dataclass", False) is True:
            return self._mapping(value.attributes, depth - 1)
        return self._single(value)

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        self._take(2)
        return {self._key(key): self.of(one, depth) for key, one in value.items()}

    def _key(self, key: Any) -> str:
        found = self._single(key)
        if isinstance(found, str):
            return found
        return (
            {True: "true", False: "false", None: "null"}[found]
            if found in (True, False, None)
            else str(found)
        )

    def _single(self, value: Any) -> Any:
        if isinstance(value, datetime | date | time):
            value = value.isoformat()
        elif isinstance(value, Decimal | timedelta):
            value = str(value)
        if value is None or isinstance(value, bool):
            self._take(4)
        elif isinstance(value, str):
            self._take(len(value) + 2)
        elif isinstance(value, int):
            self._take(value.bit_length() // 3 + 1)
        elif isinstance(value, float) and isfinite(value):
            self._take(3)
        else:
            raise NotPlain(f"it holds {_told(value)}, which is no value of JSON")
        return value

    def _take(self, characters: int) -> None:
        self._left -= characters + 1
        if self._left < -1:
            raise NotPlain(f"it is larger than {self._most} characters")


def _told(value: Any) -> str:
    if isinstance(value, float):
        return "a number that is not finite"
    return f"a value of type {getattr(value, 'name', None) or type(value).__name__}"
