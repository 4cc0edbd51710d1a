"""The checks that all wires share: fields against the shapes in `rules.json`, and calls against results.

Rules of a single wire about order, signatures and caches are in the module of that wire.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from quire.errors import InvalidValue
from quire.items import MAX_DEPTH, replace_surrogates
from quire.providers.media import decode_start, matches_type, type_noun
from quire.providers.rules import NAMES, RULES, read_section
from quire.providers.types import Fault
from quire.providers.values import Json, dump_model, entries_in, fields_in

_MAX_QUOTED = 40
"""Characters of an id, a role or a type that a fault quotes; a longer text is probably content."""

_MAX_DEPTH = 2 * MAX_DEPTH
_LEAVES = (str, int, float, bytes, type(None))
_TYPES: dict[type, str] = {
    **{type(None): "missing", bool: "a boolean", str: "a string", int: "a number", float: "a number"},
    **{dict: "an object", list: "a list"},
}


class Field(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a shape demands of one field.

    `rule`, `breaks` and `empty` name the rules that a wrong type, a wrong value and an empty list break. The
    entry without a field name limits which fields the object has, by its type: `one of` requires at least one
    of `values`, `none of` refuses them, and `only` refuses all others.
    """

    type: str = "a string"
    optional: bool = False
    rule: str = "shape"
    matches: str = ""
    """The row of `rules.NAMES` whose pattern the value must match."""
    values: tuple[str, ...] = ()
    most: int = 0
    """The greatest length of a list."""
    breaks: str = ""
    empty: str = ""
    shape: str = ""
    """The shape of the object in this field, or of each object in its list."""
    selects: bool = False
    """Whether the value names a further shape that the object with this field must have."""
    parts: re.Pattern[str] | None = None
    """If the value may be a list of parts: the pattern for their types."""


_SHAPES = read_section("shapes", dict[str, dict[str, dict[str, Field]]])
_NUMBERS = re.compile(r"(\d+)")
_VERSION = r"-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?"


class Findings:
    """Collects the faults of one payload. Each fault names a rule of the wire."""

    def __init__(self, wire: str) -> None:
        self._rules = RULES[wire]
        self.shapes = _SHAPES[wire]
        self.faults: list[Fault] = []
        self.lists: dict[str, list[Fields]] = {}
        """By path: the objects of each list that was read."""
        self.parts: list[Fields] = []
        """The parts of all messages; a part is listed only if its type is allowed where it stands."""

    def add(self, place: str, rule: str, text: str = "") -> None:
        """Add a fault. Without `text`, the text of the rule is used."""
        self.faults.append(Fault(place, rule, text or self._rules[rule].text))

    def has_any(self, rules: Iterable[str]) -> bool:
        """Whether there is a fault of one of these rules."""
        return not {fault.rule for fault in self.faults}.isdisjoint(rules)

    def in_order(self) -> list[Fault]:
        """The faults without duplicates, sorted by place, with `messages[10]` after `messages[9]`."""
        return sorted(dict.fromkeys(self.faults), key=lambda fault: _sort_key(fault.place))


def _sort_key(place: str) -> list[tuple[bool, int, str]]:
    # Numbers are compared by length, then digit by digit, because they may be too long for `int`.
    return [(part.isdigit(), len(part) * part.isdigit(), part) for part in _NUMBERS.split(place)]


def type_of(value: object) -> str:
    """The JSON type of a value, in words."""
    exact = _TYPES.get(type(value))
    return exact or next((_TYPES[kind] for kind in _TYPES if isinstance(value, kind)), "no JSON value")


def short(name: object) -> str:
    """An id, a role or a type in quotes, cut after 40 characters."""
    text = name if isinstance(name, str) else type_of(name)
    return f"'{text}'" if len(text) <= _MAX_QUOTED else f"'{text[:_MAX_QUOTED]}…'"


def to_json(value: Any, depth: int = _MAX_DEPTH) -> Any:
    """A copy of the payload in dictionaries and lists; objects of a client become the JSON that it sends."""
    kind = value.__class__
    if issubclass(kind, _LEAVES):
        return value
    if depth == 0:
        raise InvalidValue(f"the payload nests deeper than {_MAX_DEPTH} levels, or contains itself")
    if issubclass(kind, (dict, Mapping)):
        return {key: to_json(inner, depth - 1) for key, inner in value.items()}
    if issubclass(kind, (list, tuple)):
        return [to_json(inner, depth - 1) for inner in value]
    fields = dump_model(value)
    return value if fields is None else to_json(fields, depth - 1)


class Fields:
    """The fields of one JSON object with its path. For a part, `kind` is its type; empty if unknown."""

    __slots__ = ("findings", "kind", "place", "values")

    def __init__(self, findings: Findings, place: str, values: Json, kind: str = "") -> None:
        self.findings = findings
        self.place = place
        self.values = values
        self.kind = kind

    def get(self, key: str) -> Any:
        """The value of a field, of any type; None if the field is missing."""
        return self.values.get(key)

    def has(self, *keys: str) -> bool:
        """Whether at least one of these fields has a value."""
        return any(self.get(key) is not None for key in keys)

    def names(self) -> list[str]:
        """The names of the fields that have a value; the providers' names are all ASCII."""
        return [name for name, value in self.values.items() if value is not None and str(name).isascii()]

    def at(self, key: str) -> str:
        """The path of a field, or of the object itself if the key is empty."""
        return f"{self.place}.{key}" if self.place and key else self.place or key

    def add(self, key: str, rule: str, text: str = "") -> None:
        """Add a fault for a field, or for the object itself if the key is empty."""
        self.findings.add(self.at(key), rule, text)

    def must_be(self, key: str, wanted: str, rule: str = "shape") -> None:
        """Add a fault for a field with the wrong type."""
        self.add(key, rule, f"must be {wanted}, is {type_of(self.get(key))}")

    def within(self, place: str, values: Json, kind: str = "") -> "Fields":
        return Fields(self.findings, place, values, kind)

    def child(self, key: str) -> "Fields":
        """The object in a field; an empty object if the field has none."""
        return self.within(self.at(key), fields_in(self.get(key)))

    def children(self, key: str) -> "list[Fields]":
        """The objects of the list in a field, if it has one; an element that is no object is a fault."""
        path, lists = self.at(key), self.findings.lists
        if path not in lists:
            lists[path] = []
            for index, value in enumerate(entries_in(self.get(key))):
                if isinstance(value, dict):
                    lists[path].append(self.within(f"{path}[{index}]", fields_in(value)))
                else:
                    self.findings.add(f"{path}[{index}]", "shape", f"must be an object, is {type_of(value)}")
        return lists[path]

    def check(self, shape: str) -> None:
        """Check the fields that are named in a shape."""
        self.check_fields(self.findings.shapes.get(shape, {}))

    def check_fields(self, fields: Mapping[str, Field]) -> None:
        for key, field in fields.items():
            value = self.get(key)
            if not key:
                self._check_names(field)
            elif value is not None or not field.optional:
                self._check_field(key, value, field)

    def _check_names(self, field: Field) -> None:
        listed = [name for name in self.names() if name in field.values]
        wrong = [name for name in self.names() if name not in listed] if field.type == "only" else listed
        if field.type == "one of" and not self.has(*field.values):
            self.add("", field.rule, f"has none of {', '.join(field.values)}")
        elif field.type != "one of" and wrong:  # one fault for all of them, because they have one cause
            self.add(wrong[0], field.rule, f"no such field here: {', '.join(map(short, wrong[:5]))}")

    def _check_field(self, key: str, value: Any, field: Field) -> None:
        actual = type_of(value)
        if actual == "a string" and value and field.type == "a filled string":
            actual = field.type
        if field.parts and actual != "a string":
            self._check_parts(key, field, field.parts)
        elif field.type != actual:
            self.must_be(key, field.type, field.rule)
        elif field.values and value not in field.values:
            self.add(key, field.breaks, f"is {short(value)}, not {' or '.join(field.values)}")
        elif field.matches and not NAMES[field.matches].accepted.fullmatch(value):
            self.add(key, field.breaks)
        elif field.selects:
            self.check(value)
        elif field.type == "an object":
            self.child(key).check(field.shape)
        elif field.type == "a list":
            self._check_list(key, value, field)

    def _check_list(self, key: str, value: list[Any], field: Field) -> None:
        if field.empty and not value:
            self.add(key, field.empty)
        if field.most and len(value) > field.most:
            self.add(key, field.breaks, f"has {len(value)} elements, more than {field.most}")
        for fields in self.children(key):
            fields.check(field.shape)

    def _check_parts(self, key: str, field: Field, kinds: re.Pattern[str]) -> None:
        if not isinstance(self.get(key), list):
            self.must_be(key, "a string or a list of parts", field.rule)
        for part in self.children(key):
            kind = part.get("type")
            if not isinstance(kind, str):
                part.must_be("type", "a string")
            elif not kinds.fullmatch(kind):
                part.add("type", field.breaks, f"is {short(kind)}, which is not allowed here")
            else:
                part.kind = kind
                part.check(kind)
                self.findings.parts.append(part)


class Turn(NamedTuple):
    """A message or a content of Gemini, with its readable parts."""

    place: str
    role: str
    parts: list[Fields]

    def parts_of(self, kind: str) -> list[Fields]:
        return [part for part in self.parts if part.kind == kind]


class PairCheck:
    """Pairs calls with results by id. A result must follow its call, with no `end` between the two."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._ids: set[str] = set()
        self._open: dict[str, list[str]] = {}

    def call(self, call: Fields, key: str) -> None:
        """Add a call, whose id is in the field `key`; a repeated id is a fault."""
        call_id = call.get(key)
        if call_id in self._ids:
            call.add(key, "duplicate_call_id", f"{short(call_id)} is the id of an earlier call")
        self._ids.add(call_id)
        self._open.setdefault(call_id, []).append(call.at(key))

    def result(self, result: Fields, key: str) -> bool:
        """Add a result, whose call id is in the field `key`; return whether it answers an open call."""
        call_id = result.get(key)
        if self._open.get(call_id):
            self._open[call_id].pop(0)
            return True
        if call_id in self._open:
            result.add(key, "duplicate_result", f"the call {short(call_id)} has a result already")
        else:
            result.add(key, "orphan_result", f"no open call has the id {short(call_id)}")
        return False

    def end(self) -> None:
        """Add a fault for each call without a result; later results do not answer these calls."""
        for call_id, places in self._open.items():
            for place in places:
                self._findings.add(place, "unanswered_call", f"call {short(call_id)} has no result")
        self._open = {}


def check_name(tool: Fields, names: list[Any]) -> None:
    """Check that no earlier tool has the name of this one, and add the name to `names`."""
    name = tool.get("name")
    if name is not None and name in names:
        tool.add("name", "duplicate_tool", f"another tool is named {short(name)}")
    names.append(name)


def check_texts(body: Fields) -> int:
    """Add a fault for each text that is not valid Unicode; return the length of the payload as JSON."""
    text = json.dumps(body.values, ensure_ascii=False, separators=(",", ":"), skipkeys=True, default=str)
    if not is_unicode(text):
        for place in dict.fromkeys(_invalid_texts(body.values, "")):
            body.findings.add(place.lstrip("."), "not_unicode")
    return len(text)


def _invalid_texts(value: Any, path: str) -> Iterator[str]:
    """The paths of texts that are not valid Unicode."""
    if isinstance(value, str) and not is_unicode(value):
        yield path
    for index, inner in enumerate(entries_in(value)):
        yield from _invalid_texts(inner, f"{path}[{index}]")
    for key, inner in fields_in(value).items():
        yield from _invalid_texts(inner, f"{path}.{key}") if is_unicode(str(key)) else (path,)


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    return text.isascii() or replace_surrogates(text) == text


def check_file_type(fields: Fields, rule: str, media_type: Any, data: Any, key: str = "data") -> None:
    """Check that base64 declared as an image or a PDF begins with the bytes of one."""
    if isinstance(media_type, str) and isinstance(data, str) and NAMES["base64"].accepted.fullmatch(data):
        kind = media_type.lower().replace("image/jpg", "image/jpeg")
        if not matches_type(kind, decode_start(data)):
            fields.add(key, rule, f"type {short(media_type)}, but the bytes are no {type_noun(kind)}")


def version_in(name: str, family: str) -> tuple[int, int]:
    """The version after the family in a model's name, such as (4, 5) in claude-opus-4-5; else (0, 0)."""
    version = re.search(family + _VERSION, name)
    return (int(version[1]), int(version[2] or 0)) if version else (0, 0)
