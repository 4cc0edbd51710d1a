"""Faults with paths, and a reader for JSON of any shape. The rules of a wire are in its own module."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import msgspec

from quire.errors import InvalidValue
from quire.items import MAX_DEPTH
from quire.providers.media import is_sound, noun_of, start_of
from quire.providers.types import HISTORY, Fault
from quire.providers.values import dumped
from quire.tokens import UNKNOWN, ModelFacts, facts_for

_SHOWN = 40
"""Characters of an id, a role or a type that a fault repeats; a longer one is most likely content."""

_DEEPEST = 2 * MAX_DEPTH


class Rule(NamedTuple):
    """What a rule says, and its source.

    A source is a page of the provider, a public report (owner/repository#number), or the answer of the API in
    quotes. Sources were read in 2026-11. A rule without a source does not belong in the table.
    """

    text: str
    source: str


def _read_rules() -> dict[str, dict[str, Rule]]:
    data = Path(__file__).with_name("rules.json").read_bytes()
    tables = msgspec.json.decode(data, type=dict[str, dict[str, Rule]])
    return {wire: tables["every wire"] | tables[wire] for wire in HISTORY}


RULES: Mapping[str, Mapping[str, Rule]] = _read_rules()
"""The rules by wire and name; the table is `rules.json`."""


class Findings:
    """Collects the faults of one payload; each names a rule of its wire."""

    def __init__(self, wire: str) -> None:
        self._rules = RULES[wire]
        self.faults: list[Fault] = []

    def add(self, place: str, rule: str, text: str = "") -> None:
        """Add a fault; its text is what the rule says, unless there is more to say."""
        self.faults.append(Fault(place, rule, text or self._rules[rule].text))

    def any_of(self, rules: Iterable[str]) -> bool:
        """Whether a fault of one of these rules was found."""
        return not {fault.rule for fault in self.faults}.isdisjoint(rules)

    def in_order(self) -> list[Fault]:
        """The faults sorted by place, with `messages[10]` after `messages[9]`."""
        return sorted(self.faults, key=lambda fault: _sort_key(fault.place))


_NUMBERS = re.compile(r"(\d+)")


def _sort_key(place: str) -> list[tuple[bool, int, str]]:
    # A number may have any count of digits, so its length goes before its value.
    return [(part.isdigit(), len(part) * part.isdigit(), part) for part in _NUMBERS.split(place)]


def as_object(value: object) -> Mapping[str, Any] | None:
    """The value, if it is a JSON object."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def as_list(value: object) -> Sequence[Any] | None:
    """The value, if it is a JSON list."""
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else None


def objects_in(value: object) -> list[Mapping[str, Any]]:
    """The elements of a list; each that is no object counts as an empty one, so that positions stay."""
    return [as_object(element) or {} for element in as_list(value) or ()]


def type_of(value: object) -> str:
    """The JSON type of a value, in words."""
    match value:
        case None:
            return "missing"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return "no JSON value"


def short(name: object) -> str:
    """An id, a role or a type in quotes, cut after 40 characters."""
    text = name if isinstance(name, str) else type_of(name)
    return f"'{text}'" if len(text) <= _SHOWN else f"'{text[:_SHOWN]}…'"


class Fields:
    """The fields of one JSON object with its path; a field of the wrong type becomes a `shape` fault."""

    def __init__(self, findings: Findings, place: str, values: Mapping[str, Any]) -> None:
        self.findings = findings
        self.place = place
        self.values = values

    def get(self, key: str) -> Any:
        """The value of a field, of whatever type; None where it is missing."""
        return self.values.get(key)

    def has(self, *keys: str) -> bool:
        """Whether one of these fields has a value."""
        return any(self.get(key) is not None for key in keys)

    def names(self) -> list[str]:
        """The names of the fields that have a value."""
        named = cast("Mapping[Any, Any]", self.values).items()
        return [name for name, value in named if isinstance(name, str) and value is not None]

    def at(self, key: str) -> str:
        """The path of a field; with an empty key, of the object itself."""
        return f"{self.place}.{key}" if self.place and key else self.place or key

    def add(self, key: str, rule: str, text: str = "") -> None:
        """Add a fault of a field; with an empty key, of the object itself."""
        self.findings.add(self.at(key), rule, text)

    def must_be(self, key: str, wanted: str, rule: str = "shape") -> None:
        """Add a fault of a field that has the wrong type."""
        self.add(key, rule, f"must be {wanted}, is {type_of(self.get(key))}")

    def dict(self, key: str) -> Mapping[str, Any]:
        """The object in a field; an empty one where it is missing or something else."""
        return as_object(self.get(key)) or {}

    def text(self, key: str, rule: str = "shape") -> str | None:
        """A required string."""
        value = self.get(key)
        if isinstance(value, str):
            return value
        self.must_be(key, "a string", rule)
        return None

    def optional_text(self, key: str) -> str | None:
        """A string that may be missing."""
        return None if self.get(key) is None else self.text(key)

    def within(self, place: str, values: Mapping[str, Any]) -> Self:
        """The fields of another object of the payload."""
        return type(self)(self.findings, place, values)

    def opened(self, place: str, value: Any) -> Self | None:
        """The fields of a value that must be an object."""
        values = as_object(value)
        if values is None:
            self.findings.add(place, "shape", f"must be an object, is {type_of(value)}")
        return None if values is None else self.within(place, values)

    def object(self, key: str) -> Self | None:
        """A required object."""
        return self.opened(self.at(key), self.get(key))

    def each(self, key: str) -> Iterator[tuple[str, Any]]:
        """The elements of a required list, with their paths."""
        elements = as_list(self.get(key))
        if elements is None:
            self.must_be(key, "a list")
        for index, element in enumerate(elements or ()):
            yield f"{self.at(key)}[{index}]", element

    def each_object(self, key: str) -> Iterator[Self | None]:
        """The elements of a required list, each of which must be an object; None for one that is not."""
        return (self.opened(place, element) for place, element in self.each(key))


class ToolNames(set[str]):
    """The names of the tools of a request."""

    complete = True
    """Whether all names are known, so that a name that is not here is known to be missing."""

    def read(self, name: object) -> None:
        """Add the name of a tool; one that cannot be read may be any name."""
        if isinstance(name, str):
            self.add(name)
        else:
            self.complete = False

    def may_have(self, name: object) -> bool:
        """Whether a tool may have this name."""
        return name in self or not self.complete


# Objects of a client.

_SCALARS = frozenset((str, int, float, bool, bytes, type(None)))


def to_json(value: Any, depth: int = _DEEPEST) -> Any:
    """The payload with each object of a client as the JSON that the client sends.

    What holds no such object is returned as it is. A payload that contains itself is an `InvalidValue`.
    """
    if depth == 0:
        raise InvalidValue(f"the payload nests deeper than {_DEEPEST} levels, or contains itself")
    if isinstance(value, Mapping):
        fields = cast("dict[Any, Any]", value)
        changed = {
            key: made
            for key, inner in fields.items()
            if type(inner) not in _SCALARS and (made := to_json(inner, depth - 1)) is not inner
        }
        return {**fields, **changed} if changed else fields
    if isinstance(value, list | tuple):
        elements = cast("Sequence[Any]", value)
        made = [one if type(one) in _SCALARS else to_json(one, depth - 1) for one in elements]
        return made if any(new is not old for new, old in zip(made, elements, strict=True)) else elements
    sent = dumped(value)
    return to_json(sent, depth - 1) if isinstance(sent, Mapping | list | tuple) else value


# Texts and bytes.


def check_texts(body: Fields) -> int:
    """Find each text that is not valid Unicode; return the count of characters of all texts."""
    size, broken = _measure(body.values)
    for place in broken:
        body.findings.add(place.lstrip("."), "not_unicode")
    return size


def _measure(value: Any) -> tuple[int, Sequence[str]]:
    """The count of characters in a value, and the paths within it of texts that are not valid Unicode."""
    if isinstance(value, str):
        return len(value), () if is_unicode(value) else ("",)
    fields, size, broken = as_object(value), 0, list[str]()
    entries: Iterable[tuple[Any, Any]] = enumerate(as_list(value) or ()) if fields is None else fields.items()
    for step, inner in entries:
        if isinstance(step, str) and not is_unicode(step):
            broken.append("")
            continue
        length, paths = _measure(inner)
        size += length
        if paths:
            broken += (f"[{step}]{path}" if fields is None else f".{step}{path}" for path in paths)
    return size, broken


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8, which has no lone surrogates."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


# Padding and line breaks are the provider's concern; a data URL, an address or a path is not base64.
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-\s]+(?:={1,2}\s*)?")


def is_base64(text: str) -> bool:
    """Whether a text can be base64, of the plain or of the URL-safe alphabet."""
    return _BASE64.fullmatch(text) is not None


def check_signature(fields: Fields, rule: str, media_type: Any, data: Any, key: str = "data") -> None:
    """Check that data declared as an image or a PDF begins as one."""
    if not isinstance(media_type, str) or not isinstance(data, str | bytes) or not data:
        return
    kind = media_type.lower().replace("image/jpg", "image/jpeg")
    start = data if isinstance(data, bytes) else start_of(data)
    if not is_sound(kind, start) and (isinstance(data, bytes) or is_base64(data)):
        fields.add(key, rule, f"type {short(media_type)}, but the bytes are no {noun_of(kind)}")


def version_in(name: str, pattern: re.Pattern[str]) -> tuple[int, int]:
    """The version in the name of a model, by the two groups of a pattern; zeros where it has none."""
    found = pattern.search(name)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def known_model(name: str | None) -> ModelFacts:
    """What the table of models has on a name; `UNKNOWN` for no name, and for one without a row."""
    try:
        return facts_for(name) if name else UNKNOWN
    except InvalidValue:  # nothing is left of the name without its route
        return UNKNOWN
