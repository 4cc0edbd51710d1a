"""The source of a program: its syntax tree, its answer, the names that it binds, and its faults."""

import ast
import warnings
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Literal

from quire.errors import QuireError, cut

RESERVED = "_quire"
"""The prefix of names that the sandbox keeps for itself."""

MAX_FAULT = 2_000
"""Characters of a fault; a program can raise an error of any length, which a model then reads."""

_MAX_LINE = 160
_MAX_CHARACTERS = 50_000
_MAX_NODES = 20_000
_MAX_PARSES = 10
_MAX_DEPTH = 200
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)

# Faults

Kind = Literal["syntax", "names", "types", "missing", "raised", "limit", "answer"]


class ProgramFault(QuireError, RuntimeError):
    """Why a program cannot run, or has failed; the text is for the model that wrote it.

    Of the kinds, "missing" is a feature of Python that the sandbox lacks, "raised" an error of the program
    itself, "limit" a bound that was reached, "answer" an answer that is missing or invalid. `line` is the
    line of the fault if it is known, `printed` the text that the program had printed. `has_acted` says that
    the program had called tools: a new run calls them again.
    """

    def __init__(self, kind: Kind, text: str, line: int | None = None) -> None:
        super().__init__(kind, text, line)
        self.kind: Kind = kind
        self.text = cut(text, MAX_FAULT)
        self.line = line
        self.printed = ""
        self.has_acted = False

    def __str__(self) -> str:
        return self.text


def at_line(code: str, line: int | None, text: str) -> str:
    """A text about a line of a program, after the number and the content of the line."""
    lines = code.split("\n")
    if line is None or not 1 <= line <= len(lines):
        return text
    return f"line {line}, `{cut(lines[line - 1].strip(), _MAX_LINE)}`: {text}"


# The tree


def parse(code: str) -> ast.Module:
    """The tree of a program, which is shared and must not be changed, or a fault of its syntax or size."""
    if len(code) > _MAX_CHARACTERS:
        raise ProgramFault(
            "syntax", f"the program has {len(code)} characters; at most {_MAX_CHARACTERS} are allowed"
        )
    return _parse_cached(code)


@lru_cache(4)  # each step of a check reads the same program
def _parse_cached(code: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about a program are not for the host
            tree = _parse_with_retry(code)
    except SyntaxError as wrong:
        text = at_line(code, wrong.lineno, f"SyntaxError: {wrong.msg}")
        raise ProgramFault("syntax", text, wrong.lineno) from None
    except (ValueError, RecursionError, MemoryError) as wrong:
        raise ProgramFault("syntax", f"this is not a program: {type(wrong).__name__}: {wrong}") from None
    _check_size(tree)
    return tree


def _parse_with_retry(code: str) -> ast.Module:
    """Parse code, and retry on a `SystemError`: some CPythons count the depth of other threads too."""
    for _ in range(_MAX_PARSES):
        with suppress(SystemError):
            return ast.parse(code)
    return ast.parse(code)


def _check_size(tree: ast.Module) -> None:
    """Refuse a tree that is too large to check, or too deep for recursion."""
    level: list[ast.AST] = [tree]
    nodes = 0
    for _ in range(_MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        nodes += len(level)
        if nodes > _MAX_NODES:
            raise ProgramFault("syntax", "the program is too long: write a shorter one, with loops")
        if not level:
            return
    raise ProgramFault("syntax", f"the program is nested deeper than {_MAX_DEPTH} times")


def answer_of(tree: ast.Module) -> ast.Expr | None:
    """The last expression, if it is the answer of the program; None if the answer is `output`."""
    if _sets_output(tree):
        return None
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        return last
    raise ProgramFault("answer", "the program has no answer: set `output`, or end with an expression")


def _sets_output(tree: ast.Module) -> bool:
    """Whether the program binds `output` at its top level, conditionally or not, or as a global."""
    pending: deque[tuple[ast.AST, bool]] = deque([(tree, True)])
    while pending:
        node, is_top = pending.popleft()
        if (is_top or isinstance(node, ast.Global)) and "output" in bound_by(node):
            return True
        is_top = is_top and not isinstance(node, _SCOPES)
        pending.extend((child, is_top) for child in ast.iter_child_nodes(node))
    return False


Wrap = tuple[ast.expr | ast.stmt, str, str]
"""A node, and the texts to put before and after it."""


def wrap(code: str, wraps: Sequence[Wrap]) -> str:
    """The program with texts around nodes, given from outer to inner; line numbers do not change."""
    data, starts = code.encode(), [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    texts = list[tuple[int, bool, int, str]]()  # position, is it a start, order, text: ends sort first
    for order, (node, before, after) in enumerate(wraps):
        texts.append((starts[node.lineno - 1] + node.col_offset, True, order, before))
        last = starts[(node.end_lineno or node.lineno) - 1]
        texts.append((last + (node.end_col_offset or 0), False, -order, after))
    pieces, copied = list[bytes](), 0
    for position, _, _, text in sorted(texts):
        pieces += [data[copied:position], text.encode()]
        copied = position
    return b"".join([*pieces, data[copied:]]).decode()


# Names


def bindings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that a program binds, with its line."""
    return ((getattr(node, "lineno", 1), name) for node in ast.walk(tree) for name in bound_by(node))


def async_functions(tree: ast.AST) -> set[str]:
    """The async functions that a program defines, without those whose names are bound again."""
    bound = Counter(name for _, name in bindings(tree))
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)}
    return {name for name in defined if bound[name] == 1}


def bound_by(node: ast.AST) -> Sequence[str]:
    """The names that one node binds, without those of its parts."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
            return [name]
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name]
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return names
        case ast.alias(name=name, asname=other):
            return [other or name.partition(".")[0]]
        case _:
            return []
