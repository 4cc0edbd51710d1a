"""What the sandbox's type checker said of a program, in words that it can be mended by."""

import ast
import difflib
import json
import re
from typing import TYPE_CHECKING, Any

from quire.programs.faults import Kind, ProgramFault, at_line
from quire.programs.sandbox.raising import fault_of

if TYPE_CHECKING:
    from pydantic_monty import MontyError

_AHEAD = 1
"""Lines of ours before the program."""

_MOST_TOLD = 8
_MOST_NAMES = 30
_KINDS: dict[str, Kind] = {
    "unresolved-reference": "names",
    "unresolved-import": "missing",
    "invalid-syntax": "syntax",
}
_UNKNOWN = re.compile(r"Name `(\w+)` used when not defined")
_LOOSE = re.compile(r"(found|of type) `[^`]*\bdict\[")
_EMPTY = re.compile(r"= *(\{ *\}|dict\(\)) *$")


def typed_fault(error: "MontyError", code: str, stubs: str) -> ProgramFault | None:
    """The faults that the checker found, the first of them first; None where none of them counts."""
    from pydantic_monty import MontyTypingError

    if not isinstance(error, MontyTypingError):
        return _moved(error, code)
    rows = [row for row in json.loads(error.display()) if _counts(row, code)]
    if not rows:
        return None
    told = [at_line(code, _line(row), _told(row, stubs)) for row in rows[:_MOST_TOLD]]
    if len(rows) > _MOST_TOLD:
        told.append(f"and {len(rows) - _MOST_TOLD} more")
    return ProgramFault(_KINDS.get(rows[0]["code"], "types"), "\n".join(told), _line(rows[0]))


def _moved(error: "MontyError", code: str) -> ProgramFault:
    """A fault of the parser: its lines are counted from ours on."""
    return fault_of(error, code, "", ahead=_AHEAD)


def _counts(row: dict[str, Any], code: str) -> bool:
    """Leaves out what a program may do all the same: a dict that is filled later has its keys then."""
    if row["code"] in ("invalid-argument-type", "invalid-assignment") and _LOOSE.search(row["message"]):
        return False
    stands = code.split("\n")[max(0, (_line(row) or 1) - 1)]
    return row["code"] != "missing-typed-dict-key" or not _EMPTY.search(stands)


def _line(row: dict[str, Any]) -> int:
    return int(row["location"]["row"]) - _AHEAD


def _told(row: dict[str, Any], stubs: str) -> str:
    message = str(row["message"])
    unknown = _UNKNOWN.match(message)
    if not unknown:
        return message
    names = names_in(stubs)
    near = difflib.get_close_matches(unknown[1], names, 1)
    meant = f"did you mean `{near[0]}`? " if near else ""
    return f"there is no `{unknown[1]}`: {meant}there are {', '.join(names[:_MOST_NAMES]) or 'no names'}"


def names_in(stubs: str) -> list[str]:
    """The functions and variables that stubs declare, in their order."""
    found = (
        node.name
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        else node.target.id
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        else ""
        for node in ast.parse(stubs).body
    )
    return [name for name in found if name]
