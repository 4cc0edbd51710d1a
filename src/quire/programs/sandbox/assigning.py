"""Whether a value that the type checker refuses may do all the same.

Records are plain dicts at run time and rows become lists; what comes out of it is checked in the end.
"""

import ast
import re
from functools import lru_cache

from quire.programs.sandbox.parsing import expression_of

_SAID = (
    re.compile(r"Object of type `(?P<found>[^`]+)` is not assignable to `(?P<wanted>[^`]+)`"),
    re.compile(r".*\b[Ee]xpected `(?P<wanted>[^`]+)`, found `(?P<found>[^`]+)`"),
    re.compile(r"Invalid .* declared type `(?P<wanted>[^`]+)` on .*: value of type `(?P<found>[^`]+)`"),
)
_LONGEST = 1_000
_STAR = re.compile(r"""("(?:[^"\\]|\\.)*")|(?<=\w)\*(?=[],| ]|$)""")
"""A star after the name of a type says that nobody said it. Within a text it is a part of that."""

_ANY = ("Any", "Divergent", "Unknown", "object")
_DICTS = ("Counter", "defaultdict")
_AS_LISTS = ("frozenset", "list", "set", "tuple")
_AS_TEXTS = ("Decimal", "date", "datetime", "time")
"""What is handed over as JSON in this form, and read from it where it is wanted as what it was."""

_NO_KEYS = ("dict", *_AS_LISTS)
"""What cannot be a key in JSON. All else is written as a text."""


def may_do(message: str, records: frozenset[str], *, is_whole: bool = False) -> bool:
    """Whether a complaint of one type in place of another is only about how a value is said.

    Of one that `is_whole` all is written where it stands. In others, None may only have kept a place.
    """
    said = said_in(message)
    return said is not None and len(message) <= _LONGEST and _may_be(*said, records, is_whole)


def said_in(message: str) -> tuple[str, str] | None:
    """The type that a complaint says was found, and the one that was wanted."""
    matches = (said.match(message) for said in _SAID)
    found = next((one for one in matches if one), None)
    return None if found is None else (found["found"], found["wanted"])


@lru_cache(256)
def _may_be(found: str, wanted: str, records: frozenset[str], is_whole: bool) -> bool:
    try:
        return _Fitting(records, is_whole).fits(_read(found), _read(wanted))
    except (SyntaxError, RecursionError):
        return False


def _read(said: str) -> ast.expr:
    """A type as it is said; where that is none of Python's, without what is in its dicts."""
    said = _STAR.sub(r"\1", said)
    try:
        return expression_of(said)
    except SyntaxError:
        return expression_of(_without_dicts(said))


def _without_dicts(said: str) -> str:
    kept: list[str] = []
    depth = 0
    for part in re.split(r"(\bdict\[|[\[\]])", said):
        if depth:
            depth += part.endswith("[")
            depth -= part == "]"
        elif part == "dict[":
            kept.append("dict")
            depth = 1
        else:
            kept.append(part)
    return "".join(kept)


class _Fitting:
    """Compares types: records are dicts, and a wider type may hold one of the values that are wanted."""

    def __init__(self, records: frozenset[str], is_whole: bool) -> None:
        self._records = records
        self._is_whole = is_whole

    def fits(self, found: ast.expr, wanted: ast.expr) -> bool:
        either = _members(wanted)
        return all(any(self._fits_one(one, other) for other in either) for one in _members(found))

    def _fits_one(self, found: ast.expr, wanted: ast.expr) -> bool:
        kind, other = self._kind(found), self._kind(wanted)
        if kind in _ANY or other in _ANY:
            return True
        if "Literal" in (kind, other):
            return self._fits_values(found, wanted)
        if _is_read_as(kind, other):
            return True
        if kind in _AS_LISTS and other == "list":
            return all(self.fits(one, inner) for one in _inner(found) for inner in _inner(wanted))
        if kind == other == "dict":
            return self._fits_dict(_inner(found), _inner(wanted))
        return ast.dump(found) == ast.dump(wanted)

    def _fits_dict(self, found: list[ast.expr], wanted: list[ast.expr]) -> bool:
        """Compares keys and values; of records it is not said here what they hold."""
        match found, wanted:
            case [key, value], [_, inner]:
                has_keys = all(self._kind(one) not in _NO_KEYS for one in _members(key))
                values = [one for one in _members(value) if self._is_whole or not _is_none(one)]
                return has_keys and all(self.fits(one, inner) for one in values)
            case _:
                return True

    def _fits_values(self, found: ast.expr, wanted: ast.expr) -> bool:
        values, named = self._values(found), self._values(wanted)
        if values and named:
            return values <= named
        if values:
            other = self._kind(wanted)
            return all(kind == other or _is_read_as(kind, other) for kind, _ in values)
        return any(kind == self._kind(found) for kind, _ in named)

    def _kind(self, said: ast.expr) -> str:
        name = said.value if isinstance(said, ast.Subscript) else said
        if isinstance(name, ast.Constant):
            return str(name.value)
        found = name.id if isinstance(name, ast.Name) else ""
        return "dict" if found in self._records or found in _DICTS else found

    def _values(self, said: ast.expr) -> set[tuple[str, object]]:
        """The values that are named, by their kinds: 1 is equal to True."""
        if self._kind(said) != "Literal":
            return set()
        constants = (one.value for one in _inner(said) if isinstance(one, ast.Constant))
        return {(type(value).__name__, value) for value in constants}


def _is_read_as(kind: str, wanted: str) -> bool:
    """Whether a value of one kind is read as another."""
    return (kind in _AS_TEXTS and wanted == "str") or (kind, wanted) == ("int", "float")


def _is_none(said: ast.expr) -> bool:
    return isinstance(said, ast.Constant) and said.value is None


def _members(said: ast.expr) -> list[ast.expr]:
    if isinstance(said, ast.BinOp) and isinstance(said.op, ast.BitOr):
        return [*_members(said.left), *_members(said.right)]
    if isinstance(said, ast.BinOp) and isinstance(said.op, ast.BitAnd):  # what it is, and what it is not
        return _members(said.left if isinstance(said.right, ast.UnaryOp) else said.right)
    return [said]


def _inner(said: ast.expr) -> list[ast.expr]:
    """What a list or a row is of; the three dots of a row of any length are none."""
    if not isinstance(said, ast.Subscript):
        return []
    several = said.slice.elts if isinstance(said.slice, ast.Tuple) else [said.slice]
    return [one for one in several if not (isinstance(one, ast.Constant) and one.value is ...)]
