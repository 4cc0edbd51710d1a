"""How an entry stands in a file: the form of a JSON array and of JSON lines, and what marks an entry's place.

An element is the entry's body and nothing else in the stream `main` of the place without a name. Anywhere
else one member comes first: `{"at":{"scope":…,"conversation":…,"stream":…},…}`, without those that are as
above. It is put in and taken out as text, so a body comes back byte for byte; a body that begins with an `at`
of its own is marked too. Each element is on one line: a line break within a body can only stand between
tokens, and becomes a space; space around a body is left out.

Entries that were appended together are there together or not at all. So that a torn end can be told, every
line of such a batch but its last begins with a tab: space to a reader of JSON, and to us "more follows".
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from quire.errors import InvalidValue, WrongType
from quire.stores.place import Place, checked_stream, place_at
from quire.stores.store import Entry

MORE_FOLLOWS = b"\t"
MAIN = "main"


class Form(NamedTuple):
    """What stands around the elements of a file."""

    empty: bytes
    """A file without elements."""

    opening: bytes
    """What a file begins with."""

    first: bytes
    """Between the opening and the first element."""

    between: bytes
    closing: bytes
    after: bytes
    """What may come after an element on its line, even where an append was torn."""

    endings: tuple[bytes, ...]
    """What may stand after the last element of a whole file."""

    def lead(self, end: int) -> bytes:
        """What comes between the end of the last element so far, or of the opening, and the next."""
        return self.first if end == len(self.opening) else self.between


ARRAY = Form(b"[\n]\n", b"[", b"\n", b",\n", b"\n]\n", b",]\n", (b"\n]\n", b"\n]"))
LINES = Form(b"", b"", b"", b"\n", b"\n", b"\n", (b"\n", b""))


class Element(NamedTuple):
    """What an element says, and where in it the body goes on after its opening brace."""

    place: Place
    stream: str
    inner: int


class Line(NamedTuple):
    """An element as it is written; the body without its opening brace is its end, of this length."""

    text: bytes
    stream: str
    length: int


class _At(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    scope: str = ""
    conversation: str = ""
    stream: str = MAIN


class _AnyObject(msgspec.Struct):
    """Takes every object and keeps nothing of it: the quickest check that there is."""


_MARKED = re.compile(rb'\{\s*"at"\s*:')
_MARK = re.compile(rb'\{\s*"at"\s*:\s*(\{(?:[^"{}]|"(?:[^"\\]|\\.)*+")*+\})(\s*,)?')
_read_mark = msgspec.json.Decoder(_At).decode
_read_any = msgspec.json.Decoder(_AnyObject).decode
_write_mark = msgspec.json.Encoder().encode
_PLAIN = Place("", "")


def written(place: Place, entries: Sequence[Entry]) -> list[Line]:
    """The lines of entries that are appended together."""
    place = place_at(scope=place.scope, conversation=place.conversation)
    lines = [line_of(place, checked_stream(entry.stream), checked_body(entry.body)) for entry in entries]
    return [line._replace(text=MORE_FOLLOWS + line.text) for line in lines[:-1]] + lines[-1:]


def line_of(place: Place, stream: str, body: bytes) -> Line:
    """The line of one entry."""
    inner = _one_line(body[1:])
    if place == _PLAIN and stream == MAIN and not _MARKED.match(body):
        return Line(b"{" + inner, stream, len(inner))
    mark = _write_mark(_At(place.scope, place.conversation, stream))
    comma = b"" if inner.lstrip().startswith(b"}") else b","
    return Line(b'{"at":' + mark + comma + inner, stream, len(inner))


def checked_body(body: object) -> bytes:
    """A body without space around it, if it is an object of JSON."""
    if not isinstance(body, bytes):
        raise WrongType(f"a body is bytes, not {type(body).__name__}")
    body = body.strip()
    if not is_object(body):
        raise InvalidValue(f"a body is one object of JSON, and {len(body):,} bytes are not")
    return body


def is_object(text: bytes) -> bool:
    """Whether this is one object of JSON, in UTF-8."""
    try:
        _read_any(text)
        return text.isascii() or bool(text.decode())
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False


def understood(text: bytes) -> Element | None:
    """What an element says; `None` if it is no whole element."""
    if not text.startswith(b"{") or not is_object(text):
        return None
    mark = _MARK.match(text)
    if mark is None:
        return Element(_PLAIN, MAIN, 1)
    try:
        at = _read_mark(mark[1])
    except (msgspec.DecodeError, UnicodeError):
        return Element(_PLAIN, MAIN, 1)  # a member of the item's own
    return Element(Place(at.scope, at.conversation), at.stream, mark.end())


def _one_line(text: bytes) -> bytes:
    return text.replace(b"\r", b" ").replace(b"\n", b" ")
