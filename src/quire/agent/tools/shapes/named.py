"""A type under a name of its own, which may hold itself."""

from collections.abc import Hashable
from typing import Any

from quire.agent.tools.shapes.definitions import Definitions
from quire.agent.tools.shapes.scalars import ANYTHING
from quire.agent.tools.shapes.shape import Json, Shape


class Named:
    """A type under another name. It is filled in after it is made, because it may hold itself."""

    def __init__(self, kind: Hashable, name: str) -> None:
        self._kind = kind
        self._name = name
        self._inner: Shape = ANYTHING

    def fill(self, inner: Shape) -> None:
        """Say what it stands for."""
        self._inner = inner

    @property
    def words(self) -> str:
        """Its name."""
        return self._name

    def schema(self, definitions: Definitions) -> Json:
        """The schema of what it stands for."""
        return definitions.place(self._kind, self._name, lambda: self._inner.schema(definitions))

    def read(self, value: Any, lenient: bool) -> Any:
        """As what it stands for reads it."""
        return self._inner.read(value, lenient)
