"""Reading JSON of any shape without trusting it: what has the type asked for, or a fault with its place."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from quire.providers.checking.faults import Fault, Findings

SHOWN = 40
"""As much of an id, a role or a type is repeated in a fault; one that is longer is most likely content."""

_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (str, "a string"),
    (int, "a number"),
    (float, "a number"),
    (Mapping, "an object"),
    (list, "a list"),
    (tuple, "a list"),
)
_NUMBERS = re.compile(r"(\d+)")


def as_object(value: object) -> Mapping[str, Any] | None:
    """The value, if it is a JSON object."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def as_list(value: object) -> Sequence[Any] | None:
    """The value, if it is a JSON list."""
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else None


def type_of(value: object) -> str:
    """What a value is, in the words of JSON."""
    if value is None:
        return "missing"
    return next((name for kind, name in _TYPES if isinstance(value, kind)), "no JSON value")


def short(name: object) -> str:
    """An id, a role or a type in quotes, cut where it gets too long to be one."""
    text = name if isinstance(name, str) else type_of(name)
    return f"'{text}'" if len(text) <= SHOWN else f"'{text[:SHOWN]}…'"


def in_order(faults: Iterable[Fault]) -> list[Fault]:
    """Faults by their places, with `messages[10]` after `messages[9]`."""
    return sorted(faults, key=lambda fault: _steps(fault.place))


def _steps(place: str) -> list[tuple[bool, int, str]]:
    # A place like `input[7]` may have any number of digits, so length goes before value.
    return [(part.isdigit(), len(part) * part.isdigit(), part) for part in _NUMBERS.split(place)]


class Fields:
    """The fields of one JSON object at one place; a field of the wrong type is noted as a fault."""

    def __init__(self, findings: Findings, place: str, values: Mapping[str, Any]) -> None:
        self.findings = findings
        self.place = place
        self._values = values

    def get(self, key: str) -> Any:
        """What is there, of whatever type, or None."""
        return self._values.get(key)

    def names(self) -> list[str]:
        """The names of the fields that hold something."""
        named = cast("Mapping[Any, Any]", self._values).items()
        return [name for name, value in named if isinstance(name, str) and value is not None]

    def at(self, key: str) -> str:
        """The place of a field."""
        return f"{self.place}.{key}" if self.place else key

    def add(self, key: str, rule: str, text: str) -> None:
        """Note a fault of a field, or with an empty key of the object itself."""
        self.findings.add(self.at(key) if key else self.place, rule, text)

    def text(self, key: str, rule: str = "shape") -> str | None:
        """A string that has to be there."""
        value = self.get(key)
        if isinstance(value, str):
            return value
        self.add(key, rule, f"must be a string, is {type_of(value)}")
        return None

    def optional_text(self, key: str) -> str | None:
        """A string that may be left out."""
        return None if self.get(key) is None else self.text(key)

    def object(self, key: str) -> "Fields | None":
        """An object that has to be there."""
        return opened(self.findings, self.at(key), self.get(key))

    def each(self, key: str) -> Iterator[tuple[str, Any]]:
        """The elements of a list that has to be there, with their places."""
        return each(self.findings, self.at(key), self.get(key))


def opened(findings: Findings, place: str, value: object) -> Fields | None:
    """The fields of a value that has to be an object."""
    values = as_object(value)
    if values is not None:
        return Fields(findings, place, values)
    findings.add(place, "shape", f"must be an object, is {type_of(value)}")
    return None


def each(findings: Findings, place: str, value: object) -> Iterator[tuple[str, Any]]:
    """The elements of a value that has to be a list, with their places."""
    elements = as_list(value)
    if elements is None:
        findings.add(place, "shape", f"must be a list, is {type_of(value)}")
        return
    for index, element in enumerate(elements):
        yield f"{place}[{index}]", element


# Padding and line breaks are left to the provider: what must not pass is a data URL, an address or a path.
# Spaces stand in one way only, or a long run of them would be tried in as many ways as it has spaces.
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-\s]+(?:={1,2}\s*)?")


def is_base64(text: str) -> bool:
    """Whether a text can be base64, of the plain or of the address-safe alphabet."""
    return _BASE64.fullmatch(text) is not None
