"""Checks of a program before it runs: its syntax and size, its names, calls without `await`, its types.

The type checker is Monty's. It reads the loose stubs of the task, and diagnostics that right programs cause
too are ignored. A fault that is not found here is met in the run.
"""

import ast
import builtins
import difflib
import re
from collections import deque
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple, cast

from quire.programs.sandbox import Diagnostic, shared_sandbox
from quire.programs.source import (
    RESERVED,
    Kind,
    ProgramFault,
    answer_of,
    async_functions,
    at_line,
    bindings,
    parse,
)
from quire.programs.stubs import names_in
from quire.programs.task import Task
from quire.stores.threads import COMPUTING

_MAX_SHOWN = 8
_MAX_NAMES = 30

_BY_TEXT = frozenset(("eval", "exec", "locals"))
"""Functions that find names by text: what a program rebinds or calls through them cannot be checked."""

_Found = tuple[int, Kind, str]
"""A line, the kind of the fault, and what is wrong."""


async def check(code: str, task: Task) -> None:
    """Raise the `ProgramFault` that is found without running the program, if there is one."""
    known = _known(task)
    await COMPUTING.do(_check_tree, code, known)
    diagnostics = await shared_sandbox().diagnose(code, task.checker_stubs)
    found = [one for one in diagnostics if _counts(one, parse(code), known)]
    if found:
        texts = [at_line(code, one.line, _explained(one, known)) for one in found[:_MAX_SHOWN]]
        texts += ["and more"] if len(found) > _MAX_SHOWN else []
        raise ProgramFault(_kind(found[0], texts[0]), "\n".join(texts), found[0].line)


def _check_tree(code: str, known: "_Known") -> None:
    """Raise the first fault that the syntax tree shows."""
    tree = parse(code)
    answer_of(tree)
    first = min((*_name_faults(tree, known), *_unawaited(tree, known.functions)), default=None)
    if first is not None:
        line, kind, text = first
        raise ProgramFault(kind, at_line(code, line, text), line)


# Names


class _Known(NamedTuple):
    """The names of a task. `types` are known to the type checker alone."""

    functions: Collection[str]
    variables: Collection[str]
    types: frozenset[str]


def _known(task: Task) -> _Known:
    functions = [*task.tools, *task.models]
    others = [name for name in task.names if name not in functions]
    return _Known(functions, others, frozenset(names_in(task.checker_stubs)).difference(functions, others))


def _name_faults(tree: ast.Module, known: _Known) -> Iterator[_Found]:
    """Tools that a program defines itself, names of the sandbox, and types that it needs when it runs."""
    bound, used = [*bindings(tree)], [*_uses(tree)]
    defined = {"Any", *known.functions, *known.variables, *(name for _, name in bound)}
    for line, name in bound:
        if name in known.functions:  # its results would be taken for results of the tool
            yield line, "names", f"`{name}` exists already; do not define it"
    for line, name in (*bound, *used):
        if name.startswith(RESERVED):
            yield line, "names", f"`{name}` is a name of the sandbox; choose one without `{RESERVED}`"
    for line, name in used:
        if name in _BY_TEXT and name not in known.variables:
            yield line, "names", f"`{name}` is not for programs: write out what it would do"
        elif name in known.types and name not in defined:
            yield line, "names", f"`{name}` is a type, for annotations alone: write a plain value, as a dict"


def _uses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that a program looks up when it runs, with its line: annotations are not looked up."""
    waiting = deque([tree])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.lineno, node.id
        for field, found in ast.iter_fields(node):
            if field not in ("annotation", "returns"):
                several = cast("list[object]", found) if isinstance(found, list) else [found]
                waiting.extend(child for child in several if isinstance(child, ast.AST))


# Calls without `await`

_USING = (
    *(ast.Expr, ast.FormattedValue, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Attribute, ast.Subscript),
    *(ast.For, ast.comprehension, ast.If, ast.While),
)
"""Nodes that use, or drop, the values of their direct children at once."""


def _unawaited(tree: ast.Module, functions: Collection[str]) -> Iterator[_Found]:
    """Calls of async functions whose coroutine is dropped, or used as if it were the result.

    A call that is stored may be awaited later. The sandbox counts those that never are.
    """
    awaited = {"asyncio.gather", *functions, *async_functions(tree)}
    for node in ast.walk(tree):
        if isinstance(node, _USING):
            for value in ast.iter_child_nodes(node):
                if isinstance(value, ast.Call) and (name := ast.unparse(value.func)) in awaited:
                    text = f"the call of `{name}` is not awaited, and does nothing: write `await {name}(...)`"
                    yield value.lineno, "types", text


# Diagnostics of the type checker

_IGNORED = frozenset(
    {
        "invalid-return-type",
        "missing-typed-dict-key",
        "no-matching-overload",
        "redundant-condition",
        "unsupported-operator",
    }
)
"""Rules that right programs break as often as wrong ones: the values in question are known in the run."""

_UNLISTED = frozenset(
    ("ImportError", "PermissionError", "callable", "filter", "format", "getattr", "hasattr", "map", "setattr")
)
"""Builtins that the sandbox has and the stubs of its checker lack."""

_PART_OF_PYTHON = "the sandbox has only a part of Python: write it another way"
_UNKNOWN_NAME = re.compile(r"Name `(\w+)` used when not defined")
_CONVERTED = re.compile(r"\b(tuple|set|frozenset|date|datetime|time|Decimal|dict|None|Any)\b")
"""Types of values that JSON turns into others, or whose content the checker does not know."""

_EMPTY = ("list[Unknown]", 'Literal[""]')
_ASSIGNED = re.compile(r"`([^`]*)` is not")


def _counts(one: Diagnostic, tree: ast.Module, known: _Known) -> bool:
    """Whether a diagnostic is a fault of the program."""
    match one.rule:
        case "invalid-argument-type":
            return _is_wrong_argument(one.message, known)
        case "invalid-assignment":
            return one.line in _answer_lines(tree) and not _is_converted(one.message)
        case "invalid-key":  # a program may add keys to a record, and compute keys
            key = re.search(r'[Uu]nknown key "([^"]*)"', one.message)
            is_added = key is not None and key[1] in _assigned_keys(tree)
            return not is_added and "can only be subscripted" not in one.message
        case "unresolved-attribute":  # of records alone: a program means their keys
            first = {re.split(r"\W", text)[0] for text in re.findall(r"`([^`]*)`", one.message)}
            return bool(first & known.types - {"Any"})
        case "unresolved-reference":
            unknown = _UNKNOWN_NAME.search(one.message)
            return unknown is None or unknown[1] not in _UNLISTED
        case _:
            return one.rule not in _IGNORED and "__future__" not in one.message


def _is_wrong_argument(message: str, known: _Known) -> bool:
    key = re.search(r"on TypedDict `(\w+)`: value of type `([^`]*)`", message)
    if key is not None:
        return key[1] in known.types and _CONVERTED.search(key[2]) is None
    called = re.search(r"Argument to (?:async )?function `(\w+)`", message)
    if called is None or called[1] not in known.functions:
        return False
    expected = re.search(r"Expected `([^`]*)`, found `([^`]*)`", message)
    if expected is None:
        return True
    wanted, found = expected[1], expected[2]
    is_by_number = wanted.startswith("dict[str") and found.startswith("dict[int")
    return not is_by_number and not (found in ("str", "LiteralString") and "Literal[" in wanted)


def _is_converted(message: str) -> bool:
    """Whether an answer may become one of the right type, or begins empty."""
    found = _ASSIGNED.search(message)
    return found is not None and (found[1] in _EMPTY or _CONVERTED.search(found[1]) is not None)


def _answer_lines(tree: ast.Module) -> Collection[int]:
    """The lines that set the answer."""
    last = answer_of(tree)
    if last is not None:
        return range(last.lineno, (last.end_lineno or last.lineno) + 1)
    return {line for line, name in bindings(tree) if name == "output"}


def _assigned_keys(tree: ast.Module) -> set[Any]:
    stored = (n for n in ast.walk(tree) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
    return {one.slice.value for one in stored if isinstance(one.slice, ast.Constant)}


def _kind(one: Diagnostic, text: str) -> Kind:
    if one.rule == "unresolved-import" or _PART_OF_PYTHON in text:
        return "missing"
    kinds: dict[str, Kind] = {"unresolved-reference": "names", "invalid-syntax": "syntax"}
    return kinds.get(one.rule, "types")


def _explained(one: Diagnostic, known: _Known) -> str:
    unknown = _UNKNOWN_NAME.search(one.message)
    if unknown is None:
        return one.message
    if hasattr(builtins, unknown[1]):
        return f"there is no `{unknown[1]}`: {_PART_OF_PYTHON}"
    names = [*known.functions, *known.variables]
    near = difflib.get_close_matches(unknown[1], names, 1)
    hint = f"did you mean `{near[0]}`? " if near else ""
    return f"there is no `{unknown[1]}`: {hint}there are {', '.join(names[:_MAX_NAMES]) or 'no names'}"
