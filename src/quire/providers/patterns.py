r"""Patterns and ids in schemas: OpenAI reads them, and refuses the whole request where it cannot.

Its validator compiles what Python compiles: no `\p{L}`, no `(?<year>…)`. Lookaround it refuses by name,
whether a tool is strict or not.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from quire.providers.json_values import Json, fields_in, own_copy
from quire.providers.pointers import schemas_in

_CLASS = r"\[\^?\]?(?:\\.|[^\]\\])*\]?"  # one that does not end is one, too
_LOOKS_AROUND = re.compile(rf"\\.|{_CLASS}|(?P<found>\(\?<?[=!])", re.DOTALL)
_LOOKS_BACK = re.compile(rf"\\(?P<found>[1-9bBk])|\\.|{_CLASS}|(?P<named>\(\?P=)", re.DOTALL)
_CLASSES = re.compile(rf"\\.|{_CLASS}", re.DOTALL)
_DOUBTFUL = re.compile(r"\\.|(?<=.)[\[&~|]|(?<=-)-", re.DOTALL)
_CHARACTER = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=@:/]|%[0-9A-Fa-f]{2})"
_ADDRESS = re.compile(
    rf"(?:[A-Za-z][A-Za-z0-9+.\-]*:|(?![^/?#]*:))(?://\[[0-9A-Fa-f:.]+\])?{_CHARACTER}*"
    rf"(?:\?(?:{_CHARACTER}|\?)*)?(?:\#(?:{_CHARACTER}|\?)*)?"
)
_PATTERN, _BY_PATTERN, _ID = "pattern", "patternProperties", "$id"


class Vetted(NamedTuple):
    """A schema without what cannot be read, and what that was."""

    schema: Json
    lost: str


def vetted(schema: Json) -> Vetted | None:
    """The schema without patterns and ids that OpenAI refuses; none where there are none, as in most."""
    lost = dict.fromkeys(fault for inner in schemas_in(schema) for fault in _faults(inner))
    if not lost:
        return None
    written = fields_in(own_copy(schema))
    for inner in schemas_in(written):
        _leave_out(inner)
    return Vetted(written, ", ".join(lost))


def is_simple(pattern: str) -> bool:
    """Whether a pattern looks neither around nor back, nor for the ends of words."""
    found = (*_LOOKS_BACK.finditer(pattern),)
    return not _fault(pattern) and not any(one["found"] or one["named"] for one in found)


def _faults(schema: Json) -> Iterator[str]:
    patterns = (schema.get(_PATTERN, ""), *fields_in(schema.get(_BY_PATTERN)))
    yield from filter(None, map(_fault, patterns))
    if not _is_address(schema):
        yield "an $id that is no address"


def _leave_out(schema: Json) -> None:
    if _fault(schema.get(_PATTERN, "")):
        del schema[_PATTERN]
    if _BY_PATTERN in schema:
        kept = fields_in(schema[_BY_PATTERN]).items()
        schema[_BY_PATTERN] = {pattern: inner for pattern, inner in kept if not _fault(pattern)}
    if not _is_address(schema):
        del schema[_ID]


def _fault(pattern: str) -> str:
    if any(one["found"] for one in _LOOKS_AROUND.finditer(pattern)):
        return "a pattern with lookaround"
    try:
        re.compile(_CLASSES.sub(lambda found: _undoubted(found[0]), pattern))
    except (re.error, OverflowError, RecursionError):
        return "a pattern that cannot be read"
    except FutureWarning:
        return ""  # who takes warnings for errors is told of what can be read
    return ""


def _undoubted(piece: str) -> str:
    """A class of characters without what a later Python may read in another way: it warns of that, to all."""
    return _DOUBTFUL.sub(lambda found: found[0] if found[0][0] == "\\" else f"\\{found[0]}", piece)


def _is_address(schema: Json) -> bool:
    return _ADDRESS.fullmatch(schema.get(_ID, "")) is not None
