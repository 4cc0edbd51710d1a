"""Faults with paths, a walker for the shapes in `rules.json`, and the pairing of calls with results by id.

What a wire says about order, signatures and caches is in its own module.
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
"""Characters of an id, a role or a type that a fault repeats; a longer one is most likely content."""

_MAX_DEPTH = 2 * MAX_DEPTH
_LEAVES = (str, int, float, bytes, type(None))
_TYPES: dict[type, str] = {
    **{type(None): "missing", bool: "a boolean", str: "a string", int: "a number", float: "a number"},
    **{dict: "an object", list: "a list"},
}


class Field(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a shape says of one field; a value of another type breaks `rule`, any other value `breaks`.

    A field without a name says whether an object has `one of`, `none of` or `only` the fields in `values`.
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
    selects: bool = False
    """Whether the value is a shape of the object that has the field."""
    parts: re.Pattern[str] | None = None
    """The kinds of parts, if the value may be a list of parts."""


_SHAPES = read_section("shapes", dict[str, dict[str, dict[str, Field]]])
_NUMBERS = re.compile(r"(\d+)")
_VERSION = r"-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?"


class Findings:
    """Collects the faults of one payload; each names a rule of its wire."""

    def __init__(self, wire: str) -> None:
        self._rules = RULES[wire]
        self.shapes = _SHAPES[wire]
        self.faults: list[Fault] = []
        self.lists: dict[str, list[Fields]] = {}
        """The fields of the objects in each list that was read, by its path."""
        self.parts: list[Fields] = []
        """The parts that stand where they may."""

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


def type_of(value: object) -> str:
    """The JSON type of a value, in words."""
    exact = _TYPES.get(type(value))
    return exact or next((_TYPES[kind] for kind in _TYPES if isinstance(value, kind)), "no JSON value")


def short(name: object) -> str:
    """An id, a role or a type in quotes, cut after 40 characters."""
    text = name if isinstance(name, str) else type_of(name)
    return f"'{text}'" if len(text) <= _MAX_QUOTED else f"'{text[:_MAX_QUOTED]}…'"


def to_json(value: Any, depth: int = _MAX_DEPTH) -> Any:
    """A copy of the payload in dictionaries and lists, with objects of a client as the JSON that it sends."""
    kind = value.__class__
    if issubclass(kind, _LEAVES):
        return value
    if depth == 0:
        raise InvalidValue(f"the payload nests deeper than {_MAX_DEPTH} levels, or contains itself")
    if issubclass(kind, (dict, Mapping)):
        return {key: to_json(inner, depth - 1) for key, inner in value.items()}
    if issubclass(kind, (list, tuple)):
        return [to_json(inner, depth - 1) for inner in value]
    sent = dump_model(value)
    return value if sent is None else to_json(sent, depth - 1)


class Fields:
    """The fields of one JSON object with its path; `kind` is what a part holds, as far as it was read."""

    __slots__ = ("findings", "kind", "place", "values")

    def __init__(self, findings: Findings, place: str, values: Json, kind: str = "") -> None:
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
        """The names of the fields that have a value; the providers' names are all ASCII."""
        return [name for name, value in self.values.items() if value is not None and str(name).isascii()]

    def at(self, key: str) -> str:
        """The path of a field; with an empty key, of the object itself."""
        return f"{self.place}.{key}" if self.place and key else self.place or key

    def add(self, key: str, rule: str, text: str = "") -> None:
        """Add a fault of a field; with an empty key, of the object itself."""
        self.findings.add(self.at(key), rule, text)

    def must_be(self, key: str, wanted: str, rule: str = "shape") -> None:
        """Add a fault of a field that has the wrong type."""
        self.add(key, rule, f"must be {wanted}, is {type_of(self.get(key))}")

    def within(self, place: str, values: Json, kind: str = "") -> "Fields":
        return Fields(self.findings, place, values, kind)

    def child(self, key: str) -> "Fields":
        """The object in a field; an empty one where it is missing or something else."""
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
        """Check the fields that a shape names."""
        self.check_fields(self.findings.shapes.get(shape, {}))

    def check_fields(self, fields: Mapping[str, Field]) -> None:
        for key, field in fields.items():
            value = self.get(key)
            if not key:
                self._check_names(field)
            elif value is not None or not field.optional:
                self._check_field(key, value, field)

    def _check_names(self, field: Field) -> None:
        found = [name for name in self.names() if (name in field.values) is not (field.type == "only")]
        if field.type == "one of" and not found:
            self.add("", field.rule, f"has none of {', '.join(field.values)}")
        elif field.type != "one of" and found:  # one fault for all of them: they have one cause
            self.add(found[0], field.rule, f"no such field here: {', '.join(map(short, found[:5]))}")

    def _check_field(self, key: str, value: Any, field: Field) -> None:
        found = type_of(value)
        if field.parts and found != "a string":
            self._check_parts(key, field, field.parts)
        elif field.type != found and not (field.type == "a filled string" and found == "a string" and value):
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
                part.add("type", field.breaks, f"is {short(kind)}, which does not stand here")
            else:
                part.kind = kind
                part.check(kind)
                self.findings.parts.append(part)


class Turn(NamedTuple):
    """A message or content, and its readable parts."""

    place: str
    role: str
    parts: list[Fields]

    def parts_of(self, kind: str) -> list[Fields]:
        return [part for part in self.parts if part.kind == kind]


class PairCheck:
    """Pairs calls with results by id; a result answers a call that came before it since the last `end`."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._ids: set[str] = set()
        self._open: dict[str, list[str]] = {}

    def call(self, call: Fields, key: str) -> None:
        """A call with its id in the field `key`; no other call has this id."""
        call_id = call.get(key)
        if call_id in self._ids:
            call.add(key, "duplicate_call_id", f"{short(call_id)} is the id of an earlier call")
        self._ids.add(call_id)
        self._open.setdefault(call_id, []).append(call.at(key))

    def result(self, result: Fields, key: str) -> bool:
        """A result with the id of its call in the field `key`; whether it answers an open call."""
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
        """Find the calls without a result; results that come later do not answer them."""
        for call_id, places in self._open.items():
            for place in places:
                self._findings.add(place, "unanswered_call", f"call {short(call_id)} has no result")
        self._open = {}


def check_name(tool: Fields, names: list[Any]) -> None:
    """Check that no tool before this one has its name, and add the name to theirs."""
    name = tool.get("name")
    if name is not None and name in names:
        tool.add("name", "duplicate_tool", f"another tool is named {short(name)}")
    names.append(name)


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
    for index, inner in enumerate(entries_in(value)):
        yield from _broken(inner, f"{path}[{index}]")
    for key, inner in fields_in(value).items():
        yield from _broken(inner, f"{path}.{key}") if is_unicode(str(key)) else (path,)


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    return text.isascii() or replace_surrogates(text) == text


def check_signature(fields: Fields, rule: str, media_type: Any, data: Any, key: str = "data") -> None:
    """Check that data declared as an image or a PDF begins as one."""
    if isinstance(media_type, str) and isinstance(data, str) and NAMES["base64"].accepted.fullmatch(data):
        kind = media_type.lower().replace("image/jpg", "image/jpeg")
        if not matches_type(kind, decode_start(data)):
            fields.add(key, rule, f"type {short(media_type)}, but the bytes are no {type_noun(kind)}")


def version_in(name: str, family: str) -> tuple[int, int]:
    """The version in the name of a model, after that of its family; zeros where it has none."""
    found = re.search(family + _VERSION, name)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)
