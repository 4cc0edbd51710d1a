"""Fields: the labelled values in a call and its result, and their text in one line.

Arguments and results are usually JSON, which is flattened. From any other text the identifiers are taken:
paths, addresses, dates, and names with digits.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice
from typing import NamedTuple, cast

import msgspec

from quire.items import Item, Message, ToolCall, ToolResult

_MAX_FIELDS = 400
"""At most so many fields of an item are read."""

_LONGEST_VALUE = 80
"""Characters after which a value is cut."""

_MAX_DEPTH = 12

_IDENTIFIER = re.compile(
    r"""(?<![\w@/.-])(?:
        [\w.+-]+@[\w-]+(?:\.[\w-]+)+                     # an address
      | https?://[^\s"'<>)\]]+
      | (?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?               # a path
      | [\w.-]+(?:/[\w.-]+)+\.\w+ | [\w-]+\.[a-z]{1,4}(?=[\s:,;)'"`]|$)
      | \d{4}-\d\d-\d\d
      | (?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{4,}          # letters and digits
      | \#?\d{4,}
    )""",
    re.VERBOSE,
)

_IDENTIFIER_VALUE = re.compile(
    r"""(?:
        (?!\d{4}-\d\d-\d\dT)(?=\S*\d)(?=\S*[A-Za-z_#/@])\S{3,64} | \d{5,32} | \d[\d-]{5,}\d
      | \S+@\S+\.\w+ | \S*/\S+
    )""",
    re.VERBOSE,
)


class Field(NamedTuple):
    """One labelled value of an item.

    `owner` is the path of the object that holds it, `parent` the label of that object, and `nth` its place in
    a list.
    """

    owner: str
    parent: str
    label: str
    value: str
    nth: int = 0

    @property
    def is_identifier(self) -> bool:
        """Whether the value looks like an identifier: a key, a date, a path, an address."""
        return _is_identifier(self.value)


@lru_cache(maxsize=8192)
def _is_identifier(value: str) -> bool:
    return _IDENTIFIER_VALUE.fullmatch(value) is not None


def is_word_in(value: str, text: str) -> bool:
    """Whether a value is a whole word in a text: `bk-12` is not one in `bk-120` or `bk-12-3`."""
    at = text.find(value)
    while at >= 0:
        before, after = text[max(at - 1, 0) : at], text[at + len(value) : at + len(value) + 1]
        if not (_is_in_words(before) or _is_in_words(after)):
            return True
        at = text.find(value, at + 1)
    return False


def _is_in_words(character: str) -> bool:
    return character.isalnum() or character in ("_", "-")


def call_key(call: ToolCall) -> tuple[str, object]:
    """Return a key that is equal for calls of one tool with equal arguments, however these are formatted."""
    value = _parsed(call.arguments)
    return call.name, call.arguments if value is None else msgspec.json.encode(value, order="sorted")


def fields_of(item: Item) -> list[Field]:
    """Return the fields of a call's arguments, of a result, or of a message."""
    if isinstance(item, ToolCall):
        return _fields(item.arguments)
    if not isinstance(item, Message | ToolResult):
        return []
    texts = [part for part in item.parts if isinstance(part, str)]
    return _fields(item.text) if len(texts) < 2 else [field for text in texts for field in _fields(text)]


@lru_cache(maxsize=2048)
def _fields(text: str) -> list[Field]:
    value = _parsed(text)
    fields = _identifiers_in(text) if value is None else _flattened(value)
    return list(islice(fields, _MAX_FIELDS))


def _parsed(text: str) -> object | None:
    """Return the JSON object or list in a text, or None."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return cast(object, msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError):
        return None


def _flattened(
    value: object, owner: str = "", parent: str = "", label: str = "", nth: int = 0
) -> Iterator[Field]:
    """Yield the values in an object or a list, and in texts that are JSON themselves."""
    if owner.count("/") > _MAX_DEPTH:
        return
    members = _as_object(value)
    if members is not None:
        for key, inner in members.items():
            yield from _flattened_member(key, inner, f"{owner}/{label}.{nth}", label, nth)
    elif isinstance(value, list):
        for number, inner in enumerate(cast("list[object]", value)):
            yield from _flattened(inner, owner, parent, label, number)
    elif isinstance(value, str) and (nested := _parsed(value)) is not None:
        yield from _flattened(nested, owner, parent, label, nth)
    elif value is not None and (text := _value_text(value)):
        yield Field(owner, parent, label, text, nth)


def _as_object(value: object) -> dict[str, object] | None:
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _flattened_member(key: str, value: object, owner: str, label: str, nth: int) -> Iterator[Field]:
    """Yield the values of one member of an object; a key that is an identifier is a value too."""
    if _as_object(value) is None or not _is_identifier(key):
        yield from _flattened(value, owner, label, key, nth)
        return
    own = f"{owner}/{key}"
    yield Field(own, label, "", key, nth)
    for field in _flattened(value, owner, label, key, nth):
        if field.value != key:
            yield field._replace(owner=own, parent=label) if field.parent == key else field


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    first, *rest = str(value).strip().splitlines() or [""]
    return f"{first[:_LONGEST_VALUE]}…" if rest or len(first) > _LONGEST_VALUE else first


def _identifiers_in(text: str) -> Iterator[Field]:
    """Yield the identifiers in a text, each once."""
    for identifier in dict.fromkeys(match[0].rstrip(".,:;") for match in _IDENTIFIER.finditer(text[:20_000])):
        yield Field("", "", "", identifier)


def fields_text(fields: Iterable[Field]) -> str:
    """Return fields in one line: `label: value, label: value; parent.label: value`.

    Of objects with the same labels, only the first shows them.
    """
    pieces: list[str] = []
    shape: tuple[str, ...] = ()
    for _, group in groupby(fields, key=lambda field: (field.owner, field.parent)):
        row = list(group)
        labels = (row[0].parent, *(field.label for field in row))
        values = [field.value for field in row]
        if labels == shape and len(row) > 1:
            pieces.append(", ".join(values))
        elif labels == shape:
            pieces[-1] += f", {values[0]}"
        else:
            pieces.append(_object_text(row))
        shape = labels
    return "; ".join(pieces)


def _object_text(row: Sequence[Field]) -> str:
    """Return the fields of one object as text."""
    parent, last, text = row[0].parent, None, ""
    for field in row:
        if field.label == last:
            text += f", {field.value}"
            continue
        before = f"{parent}." if parent and field.label and not text else ""
        label = field.label or ("" if text else parent)
        text += f"{', ' if text else ''}{before}{label}{': ' if label else ''}{field.value}"
        last = field.label
    return text
