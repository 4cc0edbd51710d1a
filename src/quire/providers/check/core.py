"""Faults with paths, a walker for the shapes in `rules.json`, and the pairing of calls with results by id.

What a wire says about order, signatures and caches is in its own module.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self, cast

import msgspec

from quire.errors import InvalidValue
from quire.items import MAX_DEPTH
from quire.providers.media import is_sound, noun_of, start_of
from quire.providers.rules import NAMES, RULES, read_section
from quire.providers.types import Fault
from quire.providers.values import dumped
from quire.tokens import UNKNOWN, ModelFacts, facts_for

_SHOWN = 40
"""Characters of an id, a role or a type that a fault repeats; a longer one is most likely content."""

_DEEPEST = 2 * MAX_DEPTH
_TYPES: dict[type, str] = {
    type(None): "missing",
    bool: "a boolean",
    str: "a string",
    int: "a number",
    float: "a number",
    dict: "an object",
    list: "a list",
    tuple: "a list",
    Mapping: "an object",
}


class Field(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a shape says of one field; a value of another type breaks `rule`, any other value `breaks`.

    The type `one of` says that the object needs one of the fields in `values`.
    """

    type: str = "a string"
    optional: bool = False
    rule: str = "shape"
    matches: str = ""
    """The row of `rules.NAMES` that has the pattern of the value."""
    values: tuple[str, ...] = ()
    most: int = 0
    """The greatest length of a list."""
    breaks: str = ""
    empty: str = ""
    """The rule that an empty list breaks."""
    shape: str = ""
    """The shape of the object, or of each object in the list."""
    opens: str = ""
    """The use of the object in the field that the value names; with the value, it is a shape."""


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which kinds of parts stand in one place, such as the messages of a role.

    A kind that stands elsewhere breaks `rule`, one that the wire does not have breaks `unknown`.
    """

    kinds: re.Pattern[str]
    rule: str
    unknown: str
    elsewhere: re.Pattern[str] = re.compile("")
    at: str = "type"


_SHAPES = read_section("shapes", dict[str, dict[str, dict[str, Field]]])
_PLACES = read_section("places", dict[str, dict[str, Place]])
_NUMBERS = re.compile(r"(\d+)")


class Findings:
    """Collects the faults of one payload; each names a rule of its wire."""

    def __init__(self, wire: str) -> None:
        self._rules = RULES[wire]
        self.shapes = _SHAPES[wire]
        self.places = _PLACES[wire]
        self.faults: list[Fault] = []

    def add(self, place: str, rule: str, text: str = "") -> None:
        """Add a fault; its text is what the rule says, unless there is more to say."""
        self.faults.append(Fault(place, rule, text or self._rules[rule].text))

    def any_of(self, rules: Iterable[str]) -> bool:
        """Whether a fault of one of these rules was found."""
        return not {fault.rule for fault in self.faults}.isdisjoint(rules)

    def in_order(self) -> list[Fault]:
        """Each fault once, sorted by place, with `messages[10]` after `messages[9]`."""
        return sorted(dict.fromkeys(self.faults), key=lambda fault: _sort_key(fault.place))


def _sort_key(place: str) -> list[tuple[bool, int, str]]:
    # A number may have any count of digits, so its length goes before its value.
    return [(part.isdigit(), len(part) * part.isdigit(), part) for part in _NUMBERS.split(place)]


def as_object(value: object) -> Mapping[str, Any] | None:
    """The value, if it is a JSON object."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def as_list(value: object) -> Sequence[Any] | None:
    """The value, if it is a JSON list."""
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else None


def type_of(value: object) -> str:
    """The JSON type of a value, in words."""
    exact = _TYPES.get(type(value))
    return exact or next((_TYPES[kind] for kind in _TYPES if isinstance(value, kind)), "no JSON value")


def short(name: object) -> str:
    """An id, a role or a type in quotes, cut after 40 characters."""
    text = name if isinstance(name, str) else type_of(name)
    return f"'{text}'" if len(text) <= _SHOWN else f"'{text[:_SHOWN]}…'"


def to_json(value: Any, depth: int = _DEEPEST) -> Any:
    """A copy of the payload with each object of a client as the JSON that the client sends."""
    if depth == 0:
        raise InvalidValue(f"the payload nests deeper than {_DEEPEST} levels, or contains itself")
    fields, elements = as_object(value), as_list(value)
    if fields is not None:
        return {key: to_json(inner, depth - 1) for key, inner in fields.items()}
    if elements is not None:
        return [to_json(inner, depth - 1) for inner in elements]
    sent = None if isinstance(value, str | int | bytes) else dumped(value)
    return value if sent is None else to_json(sent, depth - 1)


class Fields:
    """The fields of one JSON object with its path; `kind` is what a part holds, as far as it was read."""

    def __init__(self, findings: Findings, place: str, values: Mapping[str, Any], kind: str = "") -> None:
        self.findings = findings
        self.place = place
        self.values = values
        self.kind = kind

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

    def text(self, key: str) -> str | None:
        """A required string."""
        value = self.get(key)
        if isinstance(value, str):
            return value
        self.must_be(key, "a string")
        return None

    def within(self, place: str, values: Mapping[str, Any] | None, kind: str = "") -> Self:
        """The fields of another object of the payload."""
        return type(self)(self.findings, place, values or {}, kind)

    def inner(self, key: str) -> Self:
        """The object in a field; an empty one where it is missing or something else."""
        return self.within(self.at(key), as_object(self.get(key)))

    def inners(self, key: str) -> list[Self]:
        """The objects of the list in a field, if it has one; what is no object is left out."""
        found = [(at, as_object(one)) for at, one in enumerate(as_list(self.get(key)) or ())]
        return [self.within(f"{self.at(key)}[{at}]", one) for at, one in found if one is not None]

    def opened(self, place: str, value: Any) -> Self | None:
        """The fields of a value that must be an object."""
        values = as_object(value)
        if values is None:
            self.findings.add(place, "shape", f"must be an object, is {type_of(value)}")
        return None if values is None else self.within(place, values)

    def each(self, key: str) -> Iterator[tuple[str, Any]]:
        """The elements of a required list, with their paths."""
        elements = as_list(self.get(key))
        if elements is None:
            self.must_be(key, "a list")
        for index, element in enumerate(elements or ()):
            yield f"{self.at(key)}[{index}]", element

    def objects(self, key: str) -> list[Self]:
        """The elements of a required list, each of which must be an object."""
        return [fields for place, element in self.each(key) if (fields := self.opened(place, element))]

    def check(self, shape: str) -> None:
        """Check the fields that a shape names."""
        for key, field in self.findings.shapes.get(shape, {}).items():
            if field.type == "one of":
                if not self.has(*field.values):
                    self.add("", field.rule, f"has none of {', '.join(field.values)}")
            elif not field.optional or self.has(key):
                self._check_field(key, self.get(key), field)

    def _check_field(self, key: str, value: Any, field: Field) -> None:
        is_filled = isinstance(value, str) and value != ""
        if field.type not in (type_of(value), "a filled string" if is_filled else ""):
            self.must_be(key, field.type, field.rule)
        elif field.values and value not in field.values:
            self.add(key, field.breaks, f"is {short(value)}, not {' or '.join(field.values)}")
        elif field.matches and not NAMES[field.matches].accepted.fullmatch(value):
            self.add(key, field.breaks)
        elif field.opens and (opened := self.opened(self.at(value), self.get(value))):
            opened.check(f"{field.opens} {value}")
        elif field.type == "an object":
            self.inner(key).check(field.shape)
        elif field.type == "a list":
            if field.empty and not value:
                self.add(key, field.empty)
            if field.most and len(value) > field.most:
                self.add(key, field.breaks, f"has {len(value)} elements, more than {field.most}")
            for fields in self.objects(key):
                fields.check(field.shape)

    def parts(self, key: str, name: str, rule: str = "shape") -> Iterator[Self]:
        """The parts in a field that may stand in a place, each checked by its shape; a text has none."""
        place, value = self.findings.places.get(name), self.get(key)
        if isinstance(value, str):
            return
        if place is None or as_list(value) is None:
            self.must_be(key, "a string or a list of parts" if place else "a string", rule)
            return
        for part in self.objects(key):
            if part.text("type") is None:
                continue
            part.kind = part.get("type")
            if place.kinds.fullmatch(part.kind):
                part.check(part.kind)
                yield part
            elif place.elsewhere.fullmatch(part.kind):
                part.add(place.at, place.rule, f"is {part.kind}, which does not stand here ({name})")
            else:
                part.add("type", place.unknown, f"is {short(part.kind)}")


class Turn(NamedTuple):
    """A message or content, and its readable parts."""

    place: str
    role: str
    parts: list[Fields]

    def of(self, kind: str) -> list[Fields]:
        """The parts of a kind."""
        return [part for part in self.parts if part.kind == kind]


class Pairing:
    """Pairs calls with results by id, each result in the round of its call; faults have these rules."""

    def __init__(self, findings: Findings, unanswered: str, orphan: str, late: str, again: str) -> None:
        self._findings = findings
        self._unanswered, self._orphan, self._late, self._again = unanswered, orphan, late, again
        self._open: dict[str, list[str]] = {}
        self._given: Counter[str] = Counter()
        self._early: set[str] = set()
        self._left: dict[str, list[str]] = {}
        self._faults: list[tuple[str, str, str]] = []

    def call(self, call_id: str, place: str) -> str | None:
        """A call; returns the path of another one with this id in the round."""
        places = self._open.setdefault(call_id, [])
        places.append(place)
        return places[0] if len(places) > 1 else None

    def result(self, call_id: str, place: str) -> bool:
        """A result; whether it answers a call of the round."""
        name = short(call_id)
        if self._given[call_id] < len(self._open.get(call_id, ())):
            self._given[call_id] += 1
            return True
        if self._given[call_id]:
            self._faults.append((place, self._again, f"call {name} has a result already"))
        elif self._left.get(call_id):
            call = self._left[call_id].pop()
            self._faults.append((place, self._late, f"the call {name} is at {call}, too far before"))
        else:
            self._early.add(call_id)
            self._faults.append((place, self._orphan, f"no call before it has the id {name}"))
        return False

    def end_round(self) -> None:
        """End the round; results of its calls that come later are late."""
        for call_id, places in self._open.items():
            if not self._given[call_id] and call_id not in self._early:
                self._left.setdefault(call_id, []).append(places[0])
        self._open, self._given, self._early = {}, Counter(), set()

    def end(self, without: Iterable[str] = ()) -> None:
        """Add what was found in the rounds that ended, except faults of some rules."""
        for call_id, places in self._left.items():
            text = f"call {short(call_id)} has no result"
            self._faults += [(place, self._unanswered, text) for place in places]
        for fault in self._faults:
            if fault[1] not in without:
                self._findings.add(*fault)


def check_texts(body: Fields) -> int:
    """Find each text that is not valid Unicode; return the length of the payload in JSON."""
    text = json.dumps(body.values, ensure_ascii=False, separators=(",", ":"), skipkeys=True, default=str)
    for place in () if is_unicode(text) else dict.fromkeys(_broken(body.values, "")):
        body.findings.add(place.lstrip("."), "not_unicode")
    return len(text)


def _broken(value: Any, path: str) -> Iterator[str]:
    """The paths of texts that are not valid Unicode."""
    if isinstance(value, str) and not is_unicode(value):
        yield path
    for index, inner in enumerate(as_list(value) or ()):
        yield from _broken(inner, f"{path}[{index}]")
    for key, inner in (as_object(value) or {}).items():
        yield from _broken(inner, f"{path}.{key}") if is_unicode(str(key)) else (path,)


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8, which has no lone surrogates."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def is_base64(text: str) -> bool:
    """Whether a text can be base64, of the plain or of the URL-safe alphabet."""
    return NAMES["base64"].accepted.fullmatch(text) is not None


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
