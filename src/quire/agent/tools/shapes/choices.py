"""One of a few values: literals and enumerations."""

from enum import Enum
from typing import Any, NamedTuple

import msgspec

from quire.agent.tools.shapes.definitions import Definitions
from quire.agent.tools.shapes.shape import Json, called, wanted

_JSON_TYPES = {str: "string", int: "integer", bool: "boolean", float: "number"}
_MOST_NAMED = 20  # choices that a message lists


class Choice(NamedTuple):
    """One of a few values: what stands for each in JSON, with what the function is given."""

    options: tuple[tuple[Any, Any], ...]
    names: tuple[tuple[str, Any], ...] = ()
    """Other words for the same, such as the names of an enumeration's members."""

    @property
    def words(self) -> str:
        """The values."""
        listed = [called(shown).removeprefix("the text ") for shown, _ in self.options[:_MOST_NAMED]]
        return " or ".join(listed) + (" or another" if len(self.options) > _MOST_NAMED else "")

    def schema(self, _definitions: Definitions) -> Json:
        """The values, with their type where they have one in common."""
        shown = [option for option, _ in self.options]
        kinds: set[Any] = {type(option) for option in shown}
        kind = _JSON_TYPES.get(kinds.pop()) if len(kinds) == 1 else None
        return {"type": kind, "enum": shown} if kind else {"enum": shown}

    def read(self, value: Any, lenient: bool) -> Any:
        """What the value stands for."""
        for shown, given in self.options:
            # In Python 1, 1.0 and True are equal; a member that was made already is told by identity.
            if value is given or (type(value) is type(shown) and value == shown):
                return given
        if lenient and isinstance(value, str):
            for shown, given in self.options:
                if not isinstance(shown, str) and msgspec.json.encode(shown).decode() == value.strip():
                    return given
            for name, given in self.names:
                if name == value:
                    return given
        if lenient and isinstance(value, float) and value.is_integer():
            return self.read(int(value), False)
        raise wanted(self.words, value)


def of_literals(values: tuple[Any, ...]) -> Choice:
    """One of the values of a `Literal`; a member of an enumeration stands by its value."""
    return Choice(tuple((_shown(value), value) for value in values))


def of_members(kind: type[Enum]) -> Choice:
    """One of the members of an enumeration, by value; by name, where values are no JSON."""
    members = list(kind)
    if all(type(_shown(member)) in _JSON_TYPES for member in members):
        options = tuple((_shown(member), member) for member in members)
        return Choice(options, tuple((member.name, member) for member in members))
    return Choice(tuple((member.name, member) for member in members))


def _shown(value: Any) -> Any:
    inner: Any = value.value if isinstance(value, Enum) else value
    if isinstance(inner, str):
        return str.__str__(inner)
    return inner
