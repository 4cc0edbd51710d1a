"""The types of one schema that have names.

Each is written where it is used. One that holds itself cannot be, and stands in `$defs`.
"""

from collections.abc import Callable, Hashable
from typing import Any


class Definitions:
    """What one schema keeps in `$defs`."""

    def __init__(self) -> None:
        self._names: dict[Hashable, str] = {}
        self._open: set[Hashable] = set()
        self._inner: set[Hashable] = set()
        self.kept: dict[str, dict[str, Any]] = {}

    def place(self, key: Hashable, name: str, schema: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The schema of a named type, or a reference to it where the type holds itself."""
        if key in self._open or self._names.get(key) in self.kept:
            self._inner.add(key)
            return self._reference(key, name)
        self._open.add(key)
        try:
            written = schema()
        finally:
            self._open.discard(key)
        if key not in self._inner:
            return written
        reference = self._reference(key, name)
        self.kept[self._names[key]] = written
        return reference

    def written(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A schema with the definitions that it refers to."""
        return {**schema, "$defs": self.kept} if self.kept else schema

    def _reference(self, key: Hashable, name: str) -> dict[str, Any]:
        if key not in self._names:
            taken, number, free = set(self._names.values()), 1, name
            while free in taken:
                number += 1
                free = f"{name}{number}"
            self._names[key] = free
        return {"$ref": f"#/$defs/{self._names[key]}"}
