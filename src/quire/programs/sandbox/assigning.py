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
_ANY = ("Any", "Unknown", "object")
_AS_LISTS = ("frozenset", "list", "set", "tuple")
_AS_TEXTS = ("Decimal", "date", "datetime", "time")
"""What is handed over as JSON in this form, and read from it where it is wanted as what it was."""


def may_do(message: str, records: frozenset[str]) -> bool:
    """Whether a complaint of one type in place of another is only about how a value is said."""
    for said in _SAID:
        found = said.match(message)
        if found and len(message) <= _LONGEST:
            return _may_be(found["found"], found["wanted"], records)
    return False


@lru_cache(256)
def _may_be(found: str, wanted: str, records: frozenset[str]) -> bool:
    try:
        return _Fitting(records).fits(_read(found), _read(wanted))
    except (SyntaxError, RecursionError):
        return False


def _read(said: str) -> ast.expr:
    """A type as it is said, without what is in its dicts: their keys are looked at in the end."""
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
    return expression_of("".join(kept))


class _Fitting:
    """Compares types: records are dicts, and a wider type may hold one of the values that are wanted."""

    def __init__(self, records: frozenset[str]) -> None:
        self._records = records

    def fits(self, found: ast.expr, wanted: ast.expr) -> bool:
        either = _members(wanted)
        return all(any(self._fits_one(one, other) for other in either) for one in _members(found))

    def _fits_one(self, found: ast.expr, wanted: ast.expr) -> bool:
        kind, other = self._kind(found), self._kind(wanted)
        if kind in _ANY or other in _ANY:
            return True
        if "Literal" in (kind, other):
            return self._fits_values(found, wanted)
        if kind in _AS_TEXTS and other == "str":
            return True
        if kind in _AS_LISTS and other == "list":
            return all(self.fits(one, inner) for one in _inner(found) for inner in _inner(wanted))
        return kind == other == "dict" or ast.dump(found) == ast.dump(wanted)

    def _fits_values(self, found: ast.expr, wanted: ast.expr) -> bool:
        values, named = self._values(found), self._values(wanted)
        if values and named:
            return values <= named
        if values:
            return all(type(value).__name__ == self._kind(wanted) for value in values)
        return any(type(value).__name__ == self._kind(found) for value in named)

    def _kind(self, said: ast.expr) -> str:
        name = said.value if isinstance(said, ast.Subscript) else said
        if isinstance(name, ast.Constant):
            return str(name.value)
        found = name.id if isinstance(name, ast.Name) else ""
        return "dict" if found in self._records else found

    def _values(self, said: ast.expr) -> set[object]:
        if self._kind(said) != "Literal":
            return set()
        return {one.value for one in _inner(said) if isinstance(one, ast.Constant)}


def _members(said: ast.expr) -> list[ast.expr]:
    if isinstance(said, ast.BinOp) and isinstance(said.op, ast.BitOr):
        return [*_members(said.left), *_members(said.right)]
    return [said]


def _inner(said: ast.expr) -> list[ast.expr]:
    """What a list or a row is of; the three dots of a row of any length are none."""
    if not isinstance(said, ast.Subscript):
        return []
    several = said.slice.elts if isinstance(said.slice, ast.Tuple) else [said.slice]
    return [one for one in several if not (isinstance(one, ast.Constant) and one.value is ...)]
