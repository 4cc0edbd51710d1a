"""Arrays, and objects whose keys are not known beforehand."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from quire.agent.tools.shapes.definitions import Definitions
from quire.agent.tools.shapes.shape import Json, Misfit, Shape, wanted
from quire.errors import cut


class Array(NamedTuple):
    """Any number of values of one type."""

    element: Shape
    make: Callable[[list[Any]], Any]

    @property
    def words(self) -> str:
        """An array."""
        return "an array"

    def schema(self, definitions: Definitions) -> Json:
        """An array of its elements."""
        return {"type": "array", "items": self.element.schema(definitions)}

    def read(self, value: Any, lenient: bool) -> Any:
        """The elements, in what the function wants them in."""
        elements = listed(value, lenient, self.words)
        return _made(
            self.make, [_at(self.element, index, one, lenient) for index, one in enumerate(elements)]
        )


class Row(NamedTuple):
    """So many values, each of its own type."""

    elements: tuple[Shape, ...]

    @property
    def words(self) -> str:
        """An array of so many values."""
        return f"an array of {len(self.elements)} values"

    def schema(self, definitions: Definitions) -> Json:
        """Each element in its place; `items` too, because some providers want it of every array."""
        size = {"minItems": len(self.elements), "maxItems": len(self.elements)}
        placed = [element.schema(definitions) for element in self.elements]
        different = [one for index, one in enumerate(placed) if one not in placed[:index]]
        if len(different) <= 1:
            return {"type": "array", "items": different[0] if different else {}, **size}
        return {"type": "array", "prefixItems": placed, "items": {"anyOf": different}, **size}

    def read(self, value: Any, lenient: bool) -> Any:
        """The elements, as a tuple."""
        values = listed(value, lenient, self.words)
        if len(values) != len(self.elements):
            raise Misfit(f"expected {self.words}, got {len(values)}")
        pairs = zip(self.elements, values, strict=True)
        return tuple([_at(element, index, one, lenient) for index, (element, one) in enumerate(pairs)])


class Table(NamedTuple):
    """Values of one type by key."""

    key: Shape
    value: Shape

    @property
    def words(self) -> str:
        """An object."""
        return "an object"

    def schema(self, definitions: Definitions) -> Json:
        """An object whose values are of one type."""
        return {"type": "object", "additionalProperties": self.value.schema(definitions) or True}

    def read(self, value: Any, lenient: bool) -> Any:
        """The values by key. Keys are text in JSON, whatever the function wants them to be."""
        read: dict[Any, Any] = {}
        for name, inner in fields_of(value, lenient, self.words).items():
            place = f".{cut(str(name))}"
            try:
                key = self.key.read(name, True)
                if key in read:
                    raise Misfit("the key is there twice")
                read[key] = self.value.read(inner, lenient)
            except Misfit as fault:
                raise fault.inside(place) from None
        return read


def listed(value: Any, lenient: bool, words: str) -> list[Any]:
    """The elements of an array; models also send arrays as text."""
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    found = unpacked(value) if lenient else None
    if isinstance(found, list):
        return found  # pyright: ignore[reportUnknownVariableType]
    raise wanted(words, value)


def fields_of(value: Any, lenient: bool, words: str) -> dict[Any, Any]:
    """The fields of an object; models also send objects as text."""
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    found = unpacked(value) if lenient else None
    if isinstance(found, dict):
        return found  # pyright: ignore[reportUnknownVariableType]
    raise wanted(words, value)


def unpacked(value: Any) -> Any:
    """What a text holds that is itself JSON; none where it is none."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


def _at(element: Shape, index: int, value: Any, lenient: bool) -> Any:
    try:
        return element.read(value, lenient)
    except Misfit as fault:
        raise fault.inside(f"[{index}]") from None


def _made(make: Callable[[list[Any]], Any], elements: Iterable[Any]) -> Any:
    try:
        return make(list(elements))
    except TypeError:
        raise Misfit("holds values that cannot be in a set") from None
