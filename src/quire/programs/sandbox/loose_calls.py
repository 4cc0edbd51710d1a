"""Calls as the type checker is to look at them again: by themselves, and with records for dicts.

Of a function that may be called in several ways, such as `sorted`, it says only that none of them fits. Often
that is for what the result is wanted as: what the call gives is looked at by itself, and then whether that
fits. Or it is for a function of the program's own that takes a dict: a record is one when the program is run.
"""

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from quire.programs.sandbox.functions import called_as, functions_in
from quire.programs.sandbox.marking import Span, Text
from quire.programs.sandbox.naming import bindings

LOOSE = "quire_of_any_kind"
"""How all names of ours begin, in a program that is looked at again."""

LOOSE_CALL = f"{LOOSE}_by_itself"
LOOSE_KEY = f"{LOOSE}_taking"
LOOSE_SHOWN = f"{LOOSE}_shown"
TAKEN = ("r", "or", "ro", "rr")
"""What functions take that may be given records: `r` is for one of these, `o` for anything else."""

_UNSHOWN = ast.GeneratorExp | ast.Lambda | ast.Starred
"""What cannot stand by itself, or is known only by what it is given to."""

_ORDERING = ("max", "min", "sorted")
_DICTS = ("dict", "Dict")


class Calls:
    """The calls of a program. `unmatched` are those that fit none of the ways to call their functions."""

    def __init__(self, text: Text, tree: ast.Module, unmatched: Collection[Span]) -> None:
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        bound = Counter(name for _, name in bindings(tree))
        failed = {call for call in calls if text.span(call) in unmatched}
        # What one of these is given may be known only now that another was mended.
        likely = {call for call in calls if called_as(call) in _ORDERING and called_as(call) not in bound}
        self._alone = {call for call in failed | likely if not _writes_dicts(call)}
        self._arguments = {one for call in calls for one in _arguments_of(call)}
        self._shown = {one for call in failed for one in _arguments_of(call)} - {*_how(calls)}
        functions = {name: one for name, one in functions_in(tree).items() if bound[name] == 1}
        self._taken = {name: taken for name, one in functions.items() if (taken := _taken_by(one)) in TAKEN}

    def marks_of(self, node: ast.expr) -> Iterator[tuple[str, str]]:
        """What is put ahead of an expression and behind it, the outermost first."""
        if node in self._alone:
            yield f"{LOOSE_CALL}(*((", "),))"  # out of a row: there is nothing that it would have to be
        if node in self._arguments and isinstance(node, ast.Name) and node.id in self._taken:
            yield f"{LOOSE_KEY}_{self._taken[node.id]}(", ")"
        if node in self._shown and not isinstance(node, _UNSHOWN):
            yield f"{LOOSE_SHOWN}(", ")"


def _arguments_of(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(one.value for one in call.keywords)]


def _how(calls: Iterable[ast.Call]) -> Iterator[ast.expr]:
    """Arguments that only say how, such as `reverse=True`: all of them is written there."""
    rows = (one for call in calls for one in call.keywords)
    return (one.value for one in rows if isinstance(one.value, ast.Constant))


def _writes_dicts(call: ast.Call) -> bool:
    """Whether a call is given dicts that are written there: what they are to be says which keys they have."""
    parts = (part for one in _arguments_of(call) for part in ast.walk(one))
    return any(isinstance(part, ast.Dict) and part.keys for part in parts)


def _taken_by(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """What a function has to be given, in order: nothing where that cannot be said."""
    taken = function.args
    has_others = taken.vararg or taken.kwarg or taken.kwonlyargs
    if has_others or isinstance(function, ast.AsyncFunctionDef):
        return ""
    needed = [*taken.posonlyargs, *taken.args][: -len(taken.defaults) or None]
    return "".join("r" if _is_dict(one.annotation) else "o" for one in needed)


def _is_dict(annotation: ast.expr | None) -> bool:
    kind = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return (kind.id if isinstance(kind, ast.Name) else getattr(kind, "attr", "")) in _DICTS
