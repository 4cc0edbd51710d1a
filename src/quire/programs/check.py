"""Checks of a program before it runs: its syntax and size, its names, calls without `await`, its types.

The type checker is that of Monty, the sandbox. It reads stubs whose types are wider than those that the
model sees. Diagnostics that correct programs also cause are ignored: the run finds the remaining faults.
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

_DYNAMIC = frozenset(("eval", "exec", "locals"))
"""Functions that look up names by text, which cannot be checked."""

_Fault = tuple[int, Kind, str]
"""A line, the kind of the fault, and what is wrong."""


async def check(code: str, task: Task) -> None:
    """Raise a `ProgramFault` if the program has a fault that can be found without running it."""
    names = _names_of(task)
    await COMPUTING.do(_check_tree, code, names)
    diagnostics = await shared_sandbox().diagnose(code, task.checker_stubs)
    tree = parse(code)
    faults = [diagnostic for diagnostic in diagnostics if _is_fault(diagnostic, tree, names)]
    if faults:
        texts = [at_line(code, fault.line, _explained(fault, names)) for fault in faults[:_MAX_SHOWN]]
        texts += ["and more"] if len(faults) > _MAX_SHOWN else []
        raise ProgramFault(_kind(faults[0], texts[0]), "\n".join(texts), faults[0].line)


def _check_tree(code: str, names: "_TaskNames") -> None:
    """Raise the first fault that the syntax tree shows."""
    tree = parse(code)
    answer_of(tree)  # raises if the program has no answer
    first_fault = min((*_name_faults(tree, names), *_unawaited(tree, names.functions)), default=None)
    if first_fault is not None:
        line, kind, text = first_fault
        raise ProgramFault(kind, at_line(code, line, text), line)


# Names


class _TaskNames(NamedTuple):
    """The names of a task. Only the type checker knows `types`."""

    functions: Collection[str]
    variables: Collection[str]
    types: frozenset[str]


def _names_of(task: Task) -> _TaskNames:
    functions = [*task.tools, *task.models]
    others = [name for name in task.names if name not in functions]
    types = frozenset(names_in(task.checker_stubs)).difference(functions, others)
    return _TaskNames(functions, others, types)


def _name_faults(tree: ast.Module, names: _TaskNames) -> Iterator[_Fault]:
    """Definitions that hide a tool, names of the sandbox, and types that a program uses at run time."""
    bound, used = [*bindings(tree)], [*_lookups(tree)]
    defined = {"Any", *names.functions, *names.variables, *(name for _, name in bound)}
    for line, name in bound:
        if name in names.functions:  # its results would look like results of the tool
            yield line, "names", f"`{name}` exists already; do not define it"
    for line, name in (*bound, *used):
        if name.startswith(RESERVED):
            yield line, "names", f"`{name}` is a name of the sandbox; choose one without `{RESERVED}`"
    for line, name in used:
        if name in _DYNAMIC and name not in names.variables:
            yield line, "names", f"`{name}` is not allowed: write the code itself"
        elif name in names.types and name not in defined:
            yield line, "names", f"`{name}` is a type for annotations only: write a plain value, as a dict"


def _lookups(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that a program looks up at run time, with its line; annotations are not looked up."""
    pending = deque([tree])
    while pending:
        node = pending.popleft()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.lineno, node.id
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns"):
                children = cast("list[object]", value) if isinstance(value, list) else [value]
                pending.extend(child for child in children if isinstance(child, ast.AST))


# Calls without `await`

_USING = (
    *(ast.Expr, ast.FormattedValue, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Attribute, ast.Subscript),
    *(ast.For, ast.comprehension, ast.If, ast.While),
)
"""Nodes that use or drop the values of their children at once."""


def _unawaited(tree: ast.Module, functions: Collection[str]) -> Iterator[_Fault]:
    """Calls of async functions whose coroutine is dropped, or used as if it were the result.

    A stored call may be awaited later; the sandbox reports calls that never are.
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
"""Rules that correct programs break as often as wrong ones."""

_NOT_IN_STUBS = frozenset(
    ("ImportError", "PermissionError", "callable", "filter", "format", "getattr", "hasattr", "map", "setattr")
)
"""Builtins that the sandbox has and the stubs of its checker lack."""

_PART_OF_PYTHON = "the sandbox has only a part of Python: write it another way"
_UNKNOWN_NAME = re.compile(r"Name `(\w+)` used when not defined")
_CONVERTED = re.compile(r"\b(tuple|set|frozenset|date|datetime|time|Decimal|dict|None|Any)\b")
"""Types that JSON turns into others, or whose content the checker does not know."""

_EMPTY = ("list[Unknown]", 'Literal[""]')
_ASSIGNED = re.compile(r"`([^`]*)` is not")


def _is_fault(diagnostic: Diagnostic, tree: ast.Module, names: _TaskNames) -> bool:
    match diagnostic.rule:
        case "invalid-argument-type":
            return _is_wrong_argument(diagnostic.message, names)
        case "invalid-assignment":
            return diagnostic.line in _answer_lines(tree) and not _may_fit(diagnostic.message)
        case "invalid-key":  # a program may add keys to a record, and compute keys
            key = re.search(r'[Uu]nknown key "([^"]*)"', diagnostic.message)
            is_added = key is not None and key[1] in _assigned_keys(tree)
            return not is_added and "can only be subscripted" not in diagnostic.message
        case "unresolved-attribute":  # only of records, where the program means a key
            first_words = {re.split(r"\W", text)[0] for text in re.findall(r"`([^`]*)`", diagnostic.message)}
            return bool(first_words & names.types - {"Any"})
        case "unresolved-reference":
            unknown = _UNKNOWN_NAME.search(diagnostic.message)
            return unknown is None or unknown[1] not in _NOT_IN_STUBS
        case _:
            return diagnostic.rule not in _IGNORED and "__future__" not in diagnostic.message


def _is_wrong_argument(message: str, names: _TaskNames) -> bool:
    field = re.search(r"on TypedDict `(\w+)`: value of type `([^`]*)`", message)
    if field is not None:
        return field[1] in names.types and _CONVERTED.search(field[2]) is None
    called = re.search(r"Argument to (?:async )?function `(\w+)`", message)
    if called is None or called[1] not in names.functions:
        return False
    types = re.search(r"Expected `([^`]*)`, found `([^`]*)`", message)
    if types is None:
        return True
    wanted, actual = types[1], types[2]
    # JSON turns number keys into texts, and a computed text may be one of the allowed values.
    has_number_keys = wanted.startswith("dict[str") and actual.startswith("dict[int")
    return not has_number_keys and not (actual in ("str", "LiteralString") and "Literal[" in wanted)


def _may_fit(message: str) -> bool:
    """Whether an answer of another type may fit: it starts empty, or JSON converts it."""
    value = _ASSIGNED.search(message)
    return value is not None and (value[1] in _EMPTY or _CONVERTED.search(value[1]) is not None)


def _answer_lines(tree: ast.Module) -> Collection[int]:
    last = answer_of(tree)
    if last is not None:
        return range(last.lineno, (last.end_lineno or last.lineno) + 1)
    return {line for line, name in bindings(tree) if name == "output"}


def _assigned_keys(tree: ast.Module) -> set[Any]:
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Subscript))
    slices = (node.slice for node in nodes if isinstance(node.ctx, ast.Store))
    return {key.value for key in slices if isinstance(key, ast.Constant)}


def _kind(diagnostic: Diagnostic, text: str) -> Kind:
    if diagnostic.rule == "unresolved-import" or _PART_OF_PYTHON in text:
        return "missing"
    kinds: dict[str, Kind] = {"unresolved-reference": "names", "invalid-syntax": "syntax"}
    return kinds.get(diagnostic.rule, "types")


def _explained(diagnostic: Diagnostic, names: _TaskNames) -> str:
    unknown = _UNKNOWN_NAME.search(diagnostic.message)
    if unknown is None:
        return diagnostic.message
    if hasattr(builtins, unknown[1]):
        return f"there is no `{unknown[1]}`: {_PART_OF_PYTHON}"
    choices = [*names.functions, *names.variables]
    near = difflib.get_close_matches(unknown[1], choices, 1)
    hint = f"did you mean `{near[0]}`? " if near else ""
    return f"there is no `{unknown[1]}`: {hint}there are {', '.join(choices[:_MAX_NAMES]) or 'no names'}"
