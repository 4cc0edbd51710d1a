"""The text of a program: read into a tree, and written anew so that it ends with its answer."""

import ast
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache

from quire.programs.faults import ProgramFault, at_line
from quire.programs.sandbox.naming import uses

LONGEST = 50_000
"""Characters of a program: it is read here, where nothing else goes on meanwhile."""

DEEPEST = 200
"""How deeply a program may be nested: what goes through it calls itself once for each level, or twice."""

AHEAD = 1
"""Lines of ours before a program, in what the sandbox is given."""

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
_MAP = "map = lambda _function, *_several: [_function(*_each) for _each in zip(*_several)]"
"""The sandbox's own can call no function that is waited for. It is a list at once, as this is."""

_MAP_FOR_NEXT = "map = lambda _function, *_several: iter([_function(*_each) for _each in zip(*_several)])"
"""For programs that take the next of it: a list has none, and what has one cannot be handed over."""

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

    It begins with one line of ours. What is no JSON comes as it is, with the reason: a set is taken too.
    """
    tree = tree_of(code)
    sets, last = _answers(tree)
    ahead = _map_for(tree) if "map" in code else ""
    if last is not None:
        code = _named(code, last, "_quire_last")
    taking = _EITHER if sets else "_quire_answer = _quire_last"
    return f"{ahead}\n{code}" + _ENDING.format(taking=taking, most=most + 1)


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
    return ahead + _without_future(code, tree), f"{stubs}\ndef {STOP}() -> None: ...\n"


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


def _map_for(tree: ast.Module) -> str:
    """The `map` that a program has need of, if any."""
    used = {name for _, name in uses(tree)}
    if "map" not in used:
        return ""
    return _MAP_FOR_NEXT if "next" in used else _MAP


def _named(code: str, last: ast.Expr, name: str) -> str:
    """The program with its last expression put under a name, on the lines where it stands."""
    before, text, after = _around(code, last)
    return (before + f"{name} = (".encode() + text + b")" + after).decode()


def _without_future(code: str, tree: ast.Module) -> str:
    """The program without imports of the future: nothing may come before them, and a line of ours does."""
    for node in reversed(tree.body):  # what comes before stays where the tree says that it is
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            before, text, after = _around(code, node)
            code = (before + b"pass" + b" \\\n" * text.count(b"\n") + after).decode()
    return code


def _around(code: str, node: ast.stmt) -> tuple[bytes, bytes, bytes]:
    """What comes before a statement, itself, and what comes after."""
    text = code.encode()
    lines = text.splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: (node.end_lineno or node.lineno) - 1])) + (node.end_col_offset or 0)
    return text[:start], text[start:end], text[end:]
