"""What the sandbox's type checker said of a program, in words that it can be mended by."""

import ast
import builtins
import difflib
import json
import re
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from quire.errors import cut
from quire.programs.faults import Kind, ProgramFault, at_line
from quire.programs.sandbox.assigning import may_do
from quire.programs.sandbox.loose_calls import LOOSE_CALL, LOOSE_SHOWN
from quire.programs.sandbox.loose_results import Results
from quire.programs.sandbox.marking import Faulty, Place, Span, Text
from quire.programs.sandbox.naming import bindings, declared_in
from quire.programs.sandbox.none_told import Unsure
from quire.programs.sandbox.raising import fault_of
from quire.programs.sandbox.source import AHEAD, parsed, tree_of

if TYPE_CHECKING:
    from pydantic_monty import MontyError

_Row = dict[str, Any]
_MOST_TOLD = 8
_MOST_NAMES = 30
_KINDS: dict[str, Kind] = {
    "unresolved-reference": "names",
    "unresolved-import": "missing",
    "invalid-syntax": "syntax",
}
_UNKNOWN = re.compile(r"Name `(\w+)` used when not defined")
_OF_TYPES = ("invalid-argument-type", "invalid-assignment", "invalid-return-type")
_OF_RECORDS = ("missing-typed-dict-key", "invalid-key")
_TO_WHAT_IT_MADE = "Argument to bound method"
"""Of a list of its own, which may hold other kinds than it began with. One of the answer is known by name."""

_UNMATCHED = "no-matching-overload"
_TO_BE_SHOWN = f"{LOOSE_SHOWN}(".encode()
_COMPUTED = re.compile(
    r"TypedDict .* can only be subscripted .*, got key of type `(str|LiteralString|Any|Unknown)`"
)
_OF_OBJECTS = ("not-subscriptable", "unresolved-attribute", "unsupported-operator")
_INTO_A_DICT = re.compile(r"Invalid subscript assignment .* on object of type `dict\[")
_INTO = re.compile(r"(\w+)\[")
_EMPTY = re.compile(r"= *(\{ *\}|dict\(\)) *$")
_RAISED = re.compile(r"Cannot raise object of type `([^`]+)`")
_FOR_NOW = re.compile(r"""output *= *(None|\[ *\]|""|'') *(#.*)?$""")


class Found(NamedTuple):
    """What is wrong with a program, and where."""

    fault: ProgramFault
    places: Faulty


def typed_fault(error: "MontyError", code: str, checked: str, stubs: str) -> Found | None:
    """The faults that the checker found, the first of them first; None where none of them counts.

    `checked` is the text of the program as the checker was given it.
    """
    from pydantic_monty import MontyTypingError

    if not isinstance(error, MontyTypingError):
        return Found(fault_of(error, code, ""), Faulty())
    reading, said = _Reading(code, checked, stubs), json.loads(error.display())
    shown = [row for row in said if reading.is_shown(row)]
    rows = list(reading.counting(row for row in said if row not in shown))
    if not rows:
        return None
    refused = [_place(row) for row in rows if _is_refused(row) or reading.is_spread(row)]
    unmatched = [_place(row) for row in rows if row["code"] == _UNMATCHED]
    told = [
        at_line(code, _line(row), _told(row, stubs) + _given_there(row, shown) + reading.none_at(row))
        for row in rows[:_MOST_TOLD]
    ]
    return Found(_fault(rows, told), Faulty(refused, unmatched))


def _fault(rows: list[_Row], told: list[str]) -> ProgramFault:
    if len(rows) > _MOST_TOLD:
        told.append("and more")
    return ProgramFault(_KINDS.get(rows[0]["code"], "types"), "\n".join(told), _line(rows[0]))


class _Reading:
    """What is said of one program; it is read once, however much is said."""

    def __init__(self, code: str, checked: str, stubs: str) -> None:
        self._lines = code.split("\n")
        self._checked, self._text, self._stubs = checked, Text(checked), stubs
        self._records = declared_in(stubs).records
        self._results = Results(tree_of(code), stubs)
        self._sets_again = sum(name == "output" for _, name in bindings(tree_of(code))) > 1

    @cached_property
    def _spread(self) -> set[Span]:
        """Where dicts stand that have keys from others."""
        dicts = (node for node in ast.walk(parsed(self._checked)) if isinstance(node, ast.Dict))
        return {self._text.span(node) for node in dicts if None in node.keys}

    @cached_property
    def _lambdas(self) -> list[Span]:
        nodes = ast.walk(parsed(self._checked))
        return [self._text.span(node) for node in nodes if isinstance(node, ast.Lambda)]

    @cached_property
    def _declared(self) -> set[str]:
        """Names of which the program itself says the type, and that of the answer."""
        nodes = [*ast.walk(parsed(self._checked))]
        own = {node.arg for node in nodes if isinstance(node, ast.arg) and node.annotation is not None}
        said = (node.target for node in nodes if isinstance(node, ast.AnnAssign))
        return {"output", *own, *(target.id for target in said if isinstance(target, ast.Name))}

    @cached_property
    def _unsure(self) -> Unsure:
        return Unsure(self._text, parsed(self._checked), self._stubs)

    def none_at(self, row: _Row) -> str:
        """Which field may be None there, in words: that may be all that the checker means."""
        if row["code"] != _UNMATCHED and "None" not in str(row["message"]):
            return ""
        return self._unsure.told(next(self._text.spans_at(_place(row))))

    def is_shown(self, row: _Row) -> bool:
        """Whether this is no fault: it says of what type a value is that we have it say."""
        start = min(start for start, _ in self._text.spans_at(_place(row)))
        return row["code"] == "revealed-type" and self._text.data[:start].endswith(_TO_BE_SHOWN)

    def is_spread(self, row: _Row) -> bool:
        """Whether this is of a dict that is spread into a call."""
        start, _ = next(self._text.spans_at(_place(row)))
        return self._text.data[start : start + 2] == b"**"

    def counting(self, rows: Iterable[_Row]) -> Iterable[_Row]:
        """The rows without those of what a program may do all the same."""
        return (row for row in rows if not self._is_forgiven(row))

    def _is_forgiven(self, row: _Row) -> bool:
        stands = self._lines[max(0, min(_line(row), len(self._lines)) - 1)]
        if row["code"] == "redundant-condition":
            return True  # a value may be another by then; calls that nobody awaits are looked for elsewhere
        if row["code"] == "missing-typed-dict-key":
            # Its keys come later, or from another dict.
            spans = self._text.spans_at(_place(row))
            return bool(_EMPTY.search(stands)) or not self._spread.isdisjoint(spans)
        unknown = _UNKNOWN.match(str(row["message"]))
        if unknown:
            # The checker does not know all of them. Those that are not there were looked for before.
            return hasattr(builtins, unknown[1])
        if row["code"] == "invalid-key":
            return bool(_COMPUTED.match(str(row["message"])))  # which key it is, nobody knows yet
        if row["code"] in _OF_OBJECTS:
            return "`object`" in row["message"] and self._is_in_lambda(row)
        raised = _RAISED.match(str(row["message"]))
        if raised:
            return _may_be_raised(raised[1].split(" | "))
        if row["code"] not in _OF_TYPES:
            return False
        if _INTO_A_DICT.match(str(row["message"])):
            into = _INTO.match(stands.strip())
            return into is not None and into[1] not in self._declared
        for_now = self._sets_again and _FOR_NOW.match(stands.strip())
        if for_now or not may_do(str(row["message"]), self._records, is_whole=self._is_whole(row)):
            return bool(for_now)
        return not self._is_alone(row) or self._results.may_do(str(row["message"]))

    def _is_whole(self, row: _Row) -> bool:
        """Whether this is of a dict or a list that is written there."""
        start = min(start for start, _ in self._text.spans_at(_place(row)))
        return self._text.data[start : start + 1] in (b"{", b"[")

    def _is_alone(self, row: _Row) -> bool:
        """Whether this is of what a call gives that was looked at by itself."""
        place = _place(row)
        lines = self._checked.split("\n")[place.line - 1 : place.end_line]
        return any(LOOSE_CALL in line for line in lines)

    def _is_in_lambda(self, row: _Row) -> bool:
        """Whether this is of what a lambda is given: where any value will do, the checker knows no more."""
        spans = self._text.spans_at(_place(row))
        return any(begin <= start and end <= until for start, end in spans for begin, until in self._lambdas)


def _may_be_raised(either: list[str]) -> bool:
    """Whether this is None only as long as nothing was caught that is raised again."""
    others = {*either} - {"None"}
    kinds = [getattr(builtins, one, None) for one in others - {"Any", "Unknown"}]
    return 0 < len(others) < len(either) and all(
        isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds
    )


def _is_refused(row: _Row) -> bool:
    """Whether this is of a value that does not fit."""
    is_own = str(row["message"]).startswith(_TO_WHAT_IT_MADE)
    return row["code"] in _OF_RECORDS or (row["code"] in _OF_TYPES and not is_own)


def _place(row: _Row) -> Place:
    start, end = row["location"], row["end_location"]
    return Place(start["row"], start["column"], end["row"], end["column"])


def _line(row: _Row) -> int:
    return int(row["location"]["row"]) - AHEAD


def _given_there(row: _Row, shown: list[_Row]) -> str:
    """What a call was given that fits none of the ways to call its function: the checker says only that."""
    if row["code"] != _UNMATCHED:
        return ""
    place = _place(row)
    within = (one for one in shown if place[:2] <= _place(one)[:2] and _place(one)[2:] <= place[2:])
    given = [cut(str(one["message"]).removeprefix("Revealed type: ")) for one in within]
    return f": it is given {', '.join(given)}" if given else ""


def _told(row: _Row, stubs: str) -> str:
    message = str(row["message"])
    unknown = _UNKNOWN.match(message)
    if not unknown:
        return message
    declared = declared_in(stubs)
    names = [*declared.functions, *declared.variables]
    near = difflib.get_close_matches(unknown[1], names, 1)
    meant = f"did you mean `{near[0]}`? " if near else ""
    return f"there is no `{unknown[1]}`: {meant}there are {', '.join(names[:_MOST_NAMES]) or 'no names'}"
