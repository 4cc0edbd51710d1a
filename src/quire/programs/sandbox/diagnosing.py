"""What the sandbox's type checker said of a program, in words that it can be mended by."""

import ast
import builtins
import difflib
import json
import re
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

from quire.programs.faults import Kind, ProgramFault, at_line
from quire.programs.sandbox.assigning import may_do
from quire.programs.sandbox.naming import bindings, declared_in
from quire.programs.sandbox.raising import fault_of
from quire.programs.sandbox.source import AHEAD

if TYPE_CHECKING:
    from pydantic_monty import MontyError

_MOST_TOLD = 8
_MOST_NAMES = 30
_KINDS: dict[str, Kind] = {
    "unresolved-reference": "names",
    "unresolved-import": "missing",
    "invalid-syntax": "syntax",
}
_UNKNOWN = re.compile(r"Name `(\w+)` used when not defined")
_OF_TYPES = ("invalid-argument-type", "invalid-assignment", "invalid-return-type")
_COMPUTED = re.compile(
    r"TypedDict .* can only be subscripted .*, got key of type `(str|LiteralString|Any|Unknown)`"
)
_EMPTY = re.compile(r"= *(\{ *\}|dict\(\)) *$")
_FOR_NOW = re.compile(r"""output *= *(None|\[ *\]|""|'') *(#.*)?$""")


def typed_fault(error: "MontyError", code: str, tree: ast.Module, stubs: str) -> ProgramFault | None:
    """The faults that the checker found, the first of them first; None where none of them counts."""
    from pydantic_monty import MontyTypingError

    if not isinstance(error, MontyTypingError):
        return fault_of(error, code, "")
    rows = list(islice(_Reading(code, tree, stubs).counting(json.loads(error.display())), _MOST_TOLD + 1))
    if not rows:
        return None
    told = [at_line(code, _line(row), _told(row, stubs)) for row in rows[:_MOST_TOLD]]
    if len(rows) > _MOST_TOLD:
        told.append("and more")
    return ProgramFault(_KINDS.get(rows[0]["code"], "types"), "\n".join(told), _line(rows[0]))


class _Reading:
    """What is said of one program; it is read once, however much is said."""

    def __init__(self, code: str, tree: ast.Module, stubs: str) -> None:
        self._lines = code.split("\n")
        self._records = declared_in(stubs).records
        self._sets_again = sum(name == "output" for _, name in bindings(tree)) > 1
        self._spread = {
            (node.lineno, self._column(node))
            for node in ast.walk(tree)
            if isinstance(node, ast.Dict) and None in node.keys
        }

    def _column(self, node: ast.Dict) -> int:
        """Where a dict begins, in characters; the tree counts bytes."""
        return len(self._lines[node.lineno - 1].encode()[: node.col_offset].decode()) + 1

    def counting(self, rows: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        """The rows without those of what a program may do all the same."""
        return (row for row in rows if not self._is_forgiven(row))

    def _is_forgiven(self, row: dict[str, Any]) -> bool:
        stands = self._lines[max(0, min(_line(row), len(self._lines)) - 1)]
        if row["code"] == "missing-typed-dict-key":
            # Its keys come later, or from another dict.
            return bool(_EMPTY.search(stands)) or (_line(row), row["location"]["column"]) in self._spread
        unknown = _UNKNOWN.match(str(row["message"]))
        if unknown:
            # The checker does not know all of them. Those that are not there were looked for before.
            return hasattr(builtins, unknown[1])
        if row["code"] == "invalid-key":
            return bool(_COMPUTED.match(str(row["message"])))  # which key it is, nobody knows yet
        if row["code"] not in _OF_TYPES:
            return False
        for_now = self._sets_again and _FOR_NOW.match(stands.strip())
        return bool(for_now) or may_do(str(row["message"]), self._records)


def _line(row: dict[str, Any]) -> int:
    return int(row["location"]["row"]) - AHEAD


def _told(row: dict[str, Any], stubs: str) -> str:
    message = str(row["message"])
    unknown = _UNKNOWN.match(message)
    if not unknown:
        return message
    declared = declared_in(stubs)
    names = [*declared.functions, *declared.variables]
    near = difflib.get_close_matches(unknown[1], names, 1)
    meant = f"did you mean `{near[0]}`? " if near else ""
    return f"there is no `{unknown[1]}`: {meant}there are {', '.join(names[:_MOST_NAMES]) or 'no names'}"
