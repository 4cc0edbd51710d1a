"""The text of a program: read into a tree, and written anew so that it ends with its answer."""

import ast
import re
import warnings
from collections.abc import Collection, Iterator
from functools import lru_cache

from quire.programs.faults import ProgramFault, at_line
from quire.programs.sandbox.awaited import LEFT
from quire.programs.sandbox.iterating import iterating_ahead, iterators_marked
from quire.programs.sandbox.loose_calls import LOOSE
from quire.programs.sandbox.loose_stubs import loose_stubs
from quire.programs.sandbox.loose_tested import Tested
from quire.programs.sandbox.loosening import loosened
from quire.programs.sandbox.marking import Faulty, Text
from quire.programs.sandbox.naming import bindings, declared_in
from quire.programs.sandbox.own_calls import own_calls_marked
from quire.programs.sandbox.parsing import module_of
from quire.programs.schema_types import FROM_TYPING

LONGEST = 50_000
"""Characters of a program: it is read here, where nothing else goes on meanwhile."""

DEEPEST = 200
"""How deeply a program may be nested: what goes through it calls itself once for each level, or twice."""

AHEAD = 1
"""Lines of ours before a program, in what the sandbox is given."""

THERE_WHEN_RUN = ("Any",)
"""Those of the types from `typing` that stand for something when a program is run."""

STOP = "quire_checked_until_here"
_OUTPUT = re.compile(r"^(class Output\b|Output\b\s*[:=])", re.MULTILINE)
_ENDING = """
{taking}
import json as _quire_json
try:
    _quire_text = _quire_json.dumps(_quire_answer, allow_nan=False, ensure_ascii=False)[:{most}]
except TypeError as _quire_error:
    _quire_text = [f"{{_quire_error}}", _quire_answer]
[_quire_text, {left}]
"""
_EITHER = """try:
    _quire_answer = output
except NameError:
    _quire_answer = _quire_last"""


def tree_of(code: str) -> ast.Module:
    """The tree of a program, not to be changed, or a fault of its syntax."""
    if len(code) > LONGEST:
        raise ProgramFault(
            "syntax", f"a program of {len(code)} characters is beyond the {LONGEST} it may have"
        )
    return _read(code)


@lru_cache(4)  # each step of a check reads the same program, and a tree takes much room
def _read(code: str) -> ast.Module:
    tree = parsed(code)
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return tree
    raise ProgramFault("syntax", f"the program is nested deeper than {DEEPEST} times")


def parsed(code: str) -> ast.Module:
    """The tree of any text that was made of a program, or a fault of its syntax."""
    try:
        with warnings.catch_warnings():
            # An odd escape in a program is no warning about the code of whoever runs it.
            warnings.simplefilter("ignore")
            return module_of(code)
    except SyntaxError as wrong:
        text = at_line(code, wrong.lineno, f"SyntaxError: {wrong.msg}")
        raise ProgramFault("syntax", text, wrong.lineno) from None
    except (ValueError, RecursionError, MemoryError) as wrong:
        raise ProgramFault("syntax", f"this is no program: {type(wrong).__name__}: {wrong}") from None


def answering(code: str, most: int, taken: Collection[str] = ()) -> str:
    """The program with an ending that hands out its answer as JSON, within `most` characters and one more.

    It begins with one line of ours. What is no JSON comes as it is, with the reason: a set is taken too.
    `taken` are the names of what the program is given.
    """
    tree, text = tree_of(code), Text(code)
    sets, last = _answers(tree)
    marks = [*own_calls_marked(text, tree)]  # lines of their own come before what is put into a line
    marks += [] if last is None else _named(text, last, "_quire_last")
    marks += iterators_marked(text, tree, taken)
    taking = _EITHER if sets else "_quire_answer = _quire_last"
    ending = _ENDING.format(taking=taking, most=most + 1, left=LEFT)
    ahead = (*_imported(THERE_WHEN_RUN, code, taken), iterating_ahead(text, tree, taken))
    return f"{'; '.join(filter(None, ahead))}\n{text.marked(marks)}{ending}"


def declaring(code: str, stubs: str, first: Faulty | None = None) -> tuple[str, str]:
    """A program whose answer is declared as the `Output` of the stubs, where they have one, and the stubs.

    It begins with one line of ours, which is run before all others. Once it was refused, it is looked at less
    exactly: but not what did not fit. `first` are the places of that, in the text that it was then.
    """
    tree, text = tree_of(code), Text(code)
    sets, last = _answers(tree)
    ahead, marks = STOP + "()\n", list[tuple[int, str]]()
    if declares_output(stubs) and sets:
        ahead = f"output: Output; {ahead}" if not _annotates_output(tree) else ahead
    elif declares_output(stubs) and last is not None:
        marks += _named(text, last, "_quire_last: Output")
    given = declared_in(stubs)
    ahead = "; ".join([*_imported(FROM_TYPING, code, (*given.functions, *given.variables)), ahead])
    declared = ahead + _without_future(text.marked(marks), tree)
    if first is not None:
        again = Text(declared)
        refused, unmatched = ({span for one in places for span in again.spans_at(one)} for places in first)
        looked_at = parsed(declared)
        tested = Tested(looked_at, stubs)
        declared = again.marked(loosened(again, looked_at, refused, unmatched, tested))
        stubs = loose_stubs(stubs, tree)
    return declared, f"{stubs}\ndef {STOP}() -> None: ...\n{_shown(stubs)}"


def _imported(names: Collection[str], code: str, taken: Collection[str]) -> list[str]:
    """Names of types that a program may have use for and does not import itself, as one import or none."""
    own = {*taken, *(name for _, name in bindings(tree_of(code)))}
    found = [name for name in names if name in code and name not in own]
    return [f"from typing import {', '.join(found)}"] if found else []


def _shown(stubs: str) -> str:
    """A list of all names where one begins with an underscore: the checker takes that for a private one."""
    declared = declared_in(stubs)
    given = [*declared.functions, *declared.variables]
    if not any(name.startswith("_") for name in given):
        return ""
    ours = {name for name in declared.types if name.startswith(LOOSE)}
    return f"__all__ = {[*given, *sorted(declared.records | ours), 'Output', STOP]}\n"


def declares_output(stubs: str) -> bool:
    """Whether stubs say what the answer is."""
    return _OUTPUT.search(stubs) is not None


def _answers(tree: ast.Module) -> tuple[bool, ast.Expr | None]:
    sets, last = sets_output(tree), tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        return sets, last
    if not sets:
        raise ProgramFault("answer", "the program has no answer: set `output`, or end with an expression")
    return sets, None


def sets_output(tree: ast.Module) -> bool:
    """Whether a program gives the name `output` a value at its top level, perhaps under a condition."""
    return any(
        (isinstance(node, ast.Name) and node.id == "output" and isinstance(node.ctx, ast.Store))
        or (isinstance(node, ast.Global) and "output" in node.names)
        or (isinstance(node, ast.alias) and (node.asname or node.name) == "output")
        for node in _top(tree)
    )


def _annotates_output(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "output"
        for node in ast.walk(tree)
    )


def _top(tree: ast.Module) -> Iterator[ast.AST]:
    """Every node whose names are those of the module, and all `global` statements."""
    inner = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
    waiting: list[tuple[ast.AST, bool]] = [(tree, True)]
    while waiting:
        node, outer = waiting.pop()
        if outer or isinstance(node, ast.Global):
            yield node
        within = outer and not isinstance(node, inner)
        waiting += [(child, within) for child in ast.iter_child_nodes(node)]


def _named(text: Text, last: ast.Expr, name: str) -> list[tuple[int, str]]:
    """Marks that put the last expression of a program under a name, on the lines where it stands."""
    start, end = text.span(last)
    return [(start, f"{name} = ("), (end, ")")]


def _without_future(code: str, tree: ast.Module) -> str:
    """The program without imports of the future: nothing may come before them, and a line of ours does."""
    for node in reversed(tree.body):  # what comes before stays where the tree says that it is
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            before, text, after = Text(code).around(node)
            code = (before + b"pass" + b" \\\n" * text.count(b"\n") + after).decode()
    return code
