"""The text of a program: read into a tree, and written anew so that it ends with its answer."""

import ast
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache

from quire.programs.faults import ProgramFault, at_line

LONGEST = 50_000
"""Characters of a program: it is read here, where nothing else goes on meanwhile."""

DEEPEST = 200
"""How deeply a program may be nested: what goes through it calls itself once for each level, or twice."""

STOP = "quire_checked_until_here"
_OUTPUT = re.compile(r"^(class Output\b|Output\b\s*[:=])", re.MULTILINE)
_ENDING = """
{taking}
import json as _quire_json
try:
    _quire_text = _quire_json.dumps(_quire_answer, allow_nan=False, ensure_ascii=False)[:{most}]
except TypeError as _quire_error:
    _quire_text = [f"{{_quire_error}}", _quire_answer]
_quire_text
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
    tree = _parsed(code)
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return tree
    raise ProgramFault("syntax", f"the program is nested deeper than {DEEPEST} times")


def _parsed(code: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            # An odd escape in a program is no warning about the code of whoever runs it.
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except SyntaxError as wrong:
        text = at_line(code, wrong.lineno, f"SyntaxError: {wrong.msg}")
        raise ProgramFault("syntax", text, wrong.lineno) from None
    except (ValueError, RecursionError, MemoryError) as wrong:
        raise ProgramFault("syntax", f"this is no program: {type(wrong).__name__}: {wrong}") from None


def answering(code: str, most: int) -> str:
    """The program with an ending that hands out its answer as JSON, within `most` characters and one more.

    No line of the program moves. What is no JSON comes as it is, with the reason: a set is taken too.
    """
    sets, last = _answers(tree_of(code))
    if last is not None:
        code = _named(code, last, "_quire_last")
    taking = _EITHER if sets else "_quire_answer = _quire_last"
    return code + _ENDING.format(taking=taking, most=most + 1)


def declaring(code: str, stubs: str) -> tuple[str, str]:
    """A program whose answer is declared as the `Output` of the stubs, where they have one, and the stubs.

    It begins with one line of ours, which is run before all others.
    """
    tree = tree_of(code)
    sets, last = _answers(tree)
    ahead = STOP + "()\n"
    if declares_output(stubs) and sets:
        ahead = f"output: Output; {ahead}" if not _annotates_output(tree) else ahead
    elif declares_output(stubs) and last is not None:
        code = _named(code, last, "_quire_last: Output")
    return ahead + code, f"{stubs}\ndef {STOP}() -> None: ...\n"


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


def _named(code: str, last: ast.Expr, name: str) -> str:
    """The program with its last expression put under a name, on the lines where it stands."""
    lines = code.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: last.lineno - 1])) + last.col_offset
    end = sum(map(len, lines[: (last.end_lineno or last.lineno) - 1])) + (last.end_col_offset or 0)
    text = code.encode()
    return (text[:start] + f"{name} = (".encode() + text[start:end] + b")" + text[end:]).decode()
