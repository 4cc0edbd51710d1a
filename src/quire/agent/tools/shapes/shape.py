"""What the type of a parameter comes to: a JSON schema for the model, and a way to read what it sends.

Reading is exact first. Where that fails it takes what models get wrong without harm, such as `"3"` for 3, and
nothing that could mean something else.
"""

from typing import Any, Protocol

from quire.agent.tools import arguments
from quire.agent.tools.shapes.definitions import Definitions
from quire.errors import cut

Json = dict[str, Any]


class Shape(Protocol):
    """One type, as a schema and as a reader."""

    @property
    def words(self) -> str:
        """What it is, in words for a message: `a whole number`."""
        ...

    def schema(self, definitions: Definitions, /) -> Json:
        """The schema, for the caller to keep."""
        ...

    def read(self, value: Any, lenient: bool, /) -> Any:
        """The value as the function wants it, or a `Misfit`."""
        ...


class Misfit(arguments.Misfit):
    """A value that a tool cannot take: where it is, and why. It is told to the model, not raised further."""

    def __init__(self, why: str, where: str = "") -> None:
        self.why = why
        self.where = where
        super().__init__(str(self))

    def __str__(self) -> str:
        return f"{self.where.removeprefix('.')}: {self.why}" if self.where else self.why

    def inside(self, place: str) -> "Misfit":
        """The same fault, seen from one level further out."""
        return Misfit(self.why, place + self.where)


def wanted(words: str, value: Any) -> Misfit:
    """The fault of a value that is something else."""
    return Misfit(f"expected {words}, got {called(value)}")


def called(value: Any) -> str:
    """A value in words, short."""
    if value is None:
        return "null"
    if isinstance(value, bool | int | float):
        return cut(repr(value)) if not isinstance(value, bool) else str(value).lower()
    if isinstance(value, str):
        return f"the text {cut(value)!r}"
    if isinstance(value, dict):
        return "an object"
    return "an array" if isinstance(value, list | tuple) else f"a {type(value).__name__}"
