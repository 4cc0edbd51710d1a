"""Evidence: what a call and its result say, as fields with values, and how some of these read in one line.

Arguments and results are usually JSON, which is taken apart. Of any other text the identifiers are found:
paths, addresses, dates, and names with digits.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice
from typing import NamedTuple, cast

import msgspec

from quire.items import Item, Message, ToolCall, ToolResult

MOST_FIELDS = 400
"""So many fields of one item are read."""

_LONGEST_VALUE = 80
"""A longer value is told by its beginning."""

_DEEPEST = 12

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

_OPAQUE = re.compile(
    r"""(?:
        (?!\d{4}-\d\d-\d\dT)(?=\S*\d)(?=\S*[A-Za-z_#/@])\S{3,64} | \d{5,32} | \d[\d-]{5,}\d
      | \S+@\S+\.\w+ | \S*/\S+
    )""",
    re.VERBOSE,
)


class Field(NamedTuple):
    """One value of an item, by its label. `owner` names the object it is in, and `parent` the field of that.

    `nth` counts the objects of a list.
    """

    owner: str
    parent: str
    label: str
    value: str
    nth: int = 0

    @property
    def is_identifier(self) -> bool:
        """Whether the value looks like the name of one thing: a key, a date, a path, an address."""
        return _is_identifier(self.value)


@lru_cache(maxsize=8192)
def _is_identifier(value: str) -> bool:
    return _OPAQUE.fullmatch(value) is not None


def stands(value: str, text: str) -> bool:
    """Whether a value stands in a text as a word of its own: `bk-12` does not in `bk-120` or `bk-12-3`."""
    at = text.find(value)
    while at >= 0:
        before, after = text[max(at - 1, 0) : at], text[at + len(value) : at + len(value) + 1]
        if not (_continues(before) or _continues(after)):
            return True
        at = text.find(value, at + 1)
    return False


def _continues(sign: str) -> bool:
    return sign.isalnum() or sign in ("_", "-")


def call_key(call: ToolCall) -> tuple[str, object]:
    """Return what is equal for calls of one tool with equal arguments, however these are written."""
    value = _decoded(call.arguments)
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
    value = _decoded(text)
    found = _identified(text) if value is None else _taken_apart(value)
    return list(islice(found, MOST_FIELDS))


def _decoded(text: str) -> object | None:
    """Return the object or the list that a text is in JSON, else None."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return cast(object, msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError):
        return None


def _taken_apart(
    value: object, owner: str = "", parent: str = "", label: str = "", nth: int = 0
) -> Iterator[Field]:
    """Yield the values in an object or a list, and those in a text that is JSON."""
    if owner.count("/") > _DEEPEST:
        return
    members = _members(value)
    if members is not None:
        for key, inner in members.items():
            yield from _member(key, inner, f"{owner}/{label}.{nth}", label, nth)
    elif isinstance(value, list):
        for number, inner in enumerate(cast("list[object]", value)):
            yield from _taken_apart(inner, owner, parent, label, number)
    elif isinstance(value, str) and (nested := _decoded(value)) is not None:
        yield from _taken_apart(nested, owner, parent, label, nth)
    elif value is not None and (text := _plain(value)):
        yield Field(owner, parent, label, text, nth)


def _members(value: object) -> dict[str, object] | None:
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _member(key: str, value: object, owner: str, label: str, nth: int) -> Iterator[Field]:
    """Yield the values of one member of an object; a key that names one thing is a value of its own."""
    if _members(value) is None or not _is_identifier(key):
        yield from _taken_apart(value, owner, label, key, nth)
        return
    own = f"{owner}/{key}"
    yield Field(own, label, "", key, nth)
    for field in _taken_apart(value, owner, label, key, nth):
        if field.value != key:
            yield field._replace(owner=own, parent=label) if field.parent == key else field


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    first, *rest = str(value).strip().splitlines() or [""]
    return f"{first[:_LONGEST_VALUE]}…" if rest or len(first) > _LONGEST_VALUE else first


def _identified(text: str) -> Iterator[Field]:
    """Yield the identifiers in a text, each once."""
    for found in dict.fromkeys(match[0].rstrip(".,:;") for match in _IDENTIFIER.finditer(text[:20_000])):
        yield Field("", "", "", found)


def told(fields: Iterable[Field]) -> str:
    """Return fields in one line: `label: value, label: value; parent.label: value`.

    Of objects that are alike, only the first has its labels.
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
            pieces.append(_labelled(row))
        shape = labels
    return "; ".join(pieces)


def _labelled(row: Sequence[Field]) -> str:
    """Return the fields of one object."""
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
