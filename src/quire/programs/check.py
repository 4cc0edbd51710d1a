"""Checks of a program before it runs: its syntax and size, its names, calls without `await`, its types.

The type checker is Monty's. It reads the loose stubs of the task, and a table says which of its diagnostics
count: those that right programs cause too are ignored. A fault that is not found here is met in the run.
"""

import ast
import builtins
import difflib
import re
import warnings
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, cast

import msgspec

from quire.programs.faults import Kind, ProgramFault, at_line
from quire.programs.task import Task
from quire.stores.threads import COMPUTING

RESERVED = "_quire"
"""The prefix of names that the sandbox keeps for itself."""

_MAX_CHARACTERS = 50_000
_MAX_NODES = 20_000
_MAX_DEPTH = 200
_MAX_SHOWN = 8
_MAX_NAMES = 30
_TYPING = ("Any", "Literal", "NotRequired", "TypedDict")
_STUB = re.compile(r"^(?:class |async def )?(\w+)(?: = |[(:])", re.MULTILINE)
"""A name that stubs declare."""

_BY_TEXT = frozenset(("eval", "exec", "locals"))
"""Functions that find names by text: what a program rebinds or calls through them cannot be checked."""

_Functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_Found = tuple[int, Kind, str]
"""A line, the kind of the fault, and what is wrong."""


class Program(msgspec.Struct, frozen=True):
    """A program that passed its checks, and the functions that it may call."""

    code: str
    calls: tuple[str, ...]


class Diagnostic(NamedTuple):
    """One finding of the type checker: the name of its rule, the line of the program, the message."""

    rule: str
    line: int
    message: str


class TypeChecker(Protocol):
    """What `check` needs of a sandbox."""

    async def diagnose(self, code: str, stubs: str) -> list[Diagnostic]:
        """The findings of the type checker."""
        ...


async def check(code: str, task: Task, sandbox: TypeChecker) -> Program:
    """The checked program, or the `ProgramFault` that is found without running it."""
    known = _known(task)
    calls = await COMPUTING.do(_check_tree, code, known)
    found = [one for one in await sandbox.diagnose(code, task.checker_stubs) if _counts(one, code, known)]
    if found:
        told = [at_line(code, one.line, _explained(one, known)) for one in found[:_MAX_SHOWN]]
        told += ["and more"] if len(found) > _MAX_SHOWN else []
        kind = "missing" if _PART_OF_PYTHON in told[0] else _KINDS.get(found[0].rule, "types")
        raise ProgramFault(kind, "\n".join(told), found[0].line)
    return Program(code, calls)


def _check_tree(code: str, known: "_Known") -> tuple[str, ...]:
    """The functions that a program may call, or the first fault that its tree shows."""
    tree = parse(code)
    answer_of(tree)
    first = min(_name_faults(tree, known), default=None) or min(
        _unawaited(tree, known.functions), default=None
    )
    if first is not None:
        line, kind, text = first
        raise ProgramFault(kind, at_line(code, line, text), line)
    return tuple(dict.fromkeys(name for _, name in uses(tree) if name in known.functions))


# The text of a program


def parse(code: str) -> ast.Module:
    """The tree of a program, which must not be changed, or a fault of its syntax or size."""
    if len(code) > _MAX_CHARACTERS:
        raise ProgramFault(
            "syntax", f"the program has {len(code)} characters; at most {_MAX_CHARACTERS} are allowed"
        )
    return _parsed(code)


@lru_cache(4)  # each step of a check reads the same program
def _parsed(code: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a program is no concern of the host
            tree = ast.parse(code)
    except SyntaxError as wrong:
        text = at_line(code, wrong.lineno, f"SyntaxError: {wrong.msg}")
        raise ProgramFault("syntax", text, wrong.lineno) from None
    except (ValueError, RecursionError, MemoryError) as wrong:
        raise ProgramFault("syntax", f"this is no program: {type(wrong).__name__}: {wrong}") from None
    _check_size(tree)
    return tree


def _check_size(tree: ast.Module) -> None:
    """Refuse a tree that takes long to check, or that recursion cannot walk."""
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
    """Whether the program binds `output` at its top level, perhaps under a condition, or as a global."""
    waiting: deque[tuple[ast.AST, bool]] = deque([(tree, True)])
    while waiting:
        node, is_top = waiting.popleft()
        if (is_top or isinstance(node, ast.Global)) and "output" in bound_by(node):
            return True
        is_top = is_top and not isinstance(node, (*_Functions, ast.ClassDef))
        waiting.extend((child, is_top) for child in ast.iter_child_nodes(node))
    return False


Wrap = tuple[ast.expr | ast.stmt, str, str]
"""A node, and the texts to put before and after it."""


def wrapped(code: str, wraps: Sequence[Wrap]) -> str:
    """The program with texts around some of its nodes, outer nodes first; all lines stay where they are."""
    data, starts = code.encode(), [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    texts = list[tuple[int, bool, int, str]]()  # at one place, what ends comes first
    for order, (node, before, after) in enumerate(wraps):
        texts.append((starts[node.lineno - 1] + node.col_offset, True, order, before))
        last = starts[(node.end_lineno or node.lineno) - 1]
        texts.append((last + (node.end_col_offset or 0), False, -order, after))
    pieces, at = list[bytes](), 0
    for place, _, _, text in sorted(texts):
        pieces += [data[at:place], text.encode()]
        at = place
    return b"".join([*pieces, data[at:]]).decode()


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


def names_in(stubs: str) -> list[str]:
    """The names at the top level of stubs."""
    return [*_TYPING, *_STUB.findall(stubs)]


def bindings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that a program binds, with its line."""
    return ((getattr(node, "lineno", 1), name) for node in ast.walk(tree) for name in bound_by(node))


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
        case _:  # newer Pythons have parameters of types
            is_parameter = type(node).__name__ in ("TypeVar", "ParamSpec", "TypeVarTuple")
            return [str(cast("Any", node).name)] if is_parameter else []


def uses(tree: ast.AST) -> Iterator[tuple[int, str]]:
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


def _name_faults(tree: ast.Module, known: _Known) -> Iterator[_Found]:
    """Tools that a program defines itself, names of the sandbox, and types that it needs when it runs."""
    bound, used = [*bindings(tree)], [*uses(tree)]
    found = {"Any", *known.functions, *known.variables, *(name for _, name in bound)}
    for line, name in bound:
        if name in known.functions:  # its results would be taken for results of the tool
            yield line, "names", f"`{name}` exists already; do not define it"
    for line, name in (*bound, *used):
        if name.startswith(RESERVED):
            yield line, "names", f"`{name}` is a name of the sandbox; choose one without `{RESERVED}`"
    for line, name in used:
        if name in _BY_TEXT and name not in known.variables:
            yield line, "names", f"`{name}` is not for programs: write out what it would do"
        elif name in known.types and name not in found:
            yield line, "names", f"`{name}` is a type, for annotations alone: write a plain value, as a dict"


# Calls without `await`


def _unawaited(tree: ast.Module, functions: Collection[str]) -> Iterator[_Found]:
    """Calls of async functions whose coroutine is dropped, or used as if it were the result.

    A call that is stored may be awaited later. The sandbox counts those that never are.
    """
    bound = Counter(name for _, name in bindings(tree))
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)}
    awaited = {*functions, *(name for name in own if bound[name] == 1)}
    for node in ast.walk(tree):
        for value in _used_at_once(node, functions):
            if (name := _called(value)) in awaited or name == "asyncio.gather":
                text = f"the call of `{name}` is not awaited, and does nothing: write `await {name}(...)`"
                yield value.lineno, "types", text


def _used_at_once(node: ast.AST, functions: Collection[str]) -> Iterator[ast.expr]:
    """The expressions whose values a node uses, or drops, at once."""
    match node:
        case ast.Expr(value=value) | ast.FormattedValue(value=value) | ast.UnaryOp(operand=value):
            yield from _held(value)
        case ast.Attribute(value=value) | ast.Subscript(value=value):
            yield value
        case ast.BinOp(left=left, right=right):
            yield from (left, right)
        case ast.Compare(left=left, comparators=others):
            yield from (left, *others)
        case ast.For(iter=value) | ast.comprehension(iter=value) | ast.If(test=value) | ast.While(test=value):
            yield value
        case ast.Assign(targets=[ast.Tuple() | ast.List()], value=value):
            yield value
        case ast.Assign(targets=[ast.Name(id="output")], value=value):
            yield from _held(value)
        case ast.Call(func=ast.Name(id=name)) if name in functions or _is_plain_builtin(name):
            for given in (*node.args, *(one.value for one in node.keywords)):
                yield from _held(given)
        case _:
            pass


def _is_plain_builtin(name: str) -> bool:
    """Whether this is a builtin that uses values and does not keep them."""
    return hasattr(builtins, name) and name not in ("dict", "enumerate", "list", "map", "set", "tuple", "zip")


def _held(value: ast.expr) -> Iterator[ast.expr]:
    """A value, and the values in it if it is a list, a dict or the like that is written out."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        yield one
        match one:
            case ast.List(elts=several) | ast.Tuple(elts=several) | ast.Set(elts=several):
                waiting += several
            case ast.Dict(values=several):
                waiting += several
            case ast.ListComp(elt=inner) | ast.SetComp(elt=inner) | ast.GeneratorExp(elt=inner):
                waiting.append(inner)
            case ast.DictComp(value=inner) | ast.Starred(value=inner):
                waiting.append(inner)
            case ast.IfExp(body=first, orelse=second):
                waiting += (first, second)
            case _:
                pass


def _called(value: ast.expr) -> str:
    match value:
        case ast.Call(func=ast.Name(id=name)):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name)):
            return f"{module}.{name}"
        case _:
            return ""


# Diagnostics of the type checker

_KINDS: Mapping[str, Kind] = {
    "unresolved-reference": "names",
    "unresolved-import": "missing",
    "invalid-syntax": "syntax",
}
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
_QUOTED = re.compile(r"`([^`]*)`")
_CONVERTED = re.compile(
    r"`[^`]*\b(tuple|set|frozenset|date|datetime|time|Decimal|dict|None|Any)\b[^`]*` is not"
)
"""Values that JSON turns into others, or whose content the checker does not know."""

_EMPTY = re.compile(r"`(list\[Unknown\]|Literal\[\"\"\])` is not")


def _counts(one: Diagnostic, code: str, known: _Known) -> bool:
    """Whether a diagnostic is a fault of the program."""
    if one.rule in _IGNORED or "__future__" in one.message:
        return False
    rule = _RULES.get(one.rule)
    return rule is None or rule(one, parse(code), known)


def _is_unknown(one: Diagnostic, tree: ast.Module, known: _Known) -> bool:
    unknown = _UNKNOWN_NAME.search(one.message)
    return unknown is None or unknown[1] not in _UNLISTED


def _is_unknown_key(one: Diagnostic, tree: ast.Module, known: _Known) -> bool:
    """A program may add keys to a record, and compute keys."""
    if "can only be subscripted" in one.message:
        return False
    key = re.search(r'[Uu]nknown key "([^"]*)"', one.message)
    return key is None or key[1] not in _assigned_keys(tree)


def _assigned_keys(tree: ast.Module) -> set[Any]:
    stored = (n for n in ast.walk(tree) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
    return {one.slice.value for one in stored if isinstance(one.slice, ast.Constant)}


def _is_of_record(one: Diagnostic, tree: ast.Module, known: _Known) -> bool:
    """Only attributes of records count: a program means their keys."""
    first = {re.split(r"\W", text)[0] for text in _QUOTED.findall(one.message)}
    return bool(first & known.types - {"Any"})


def _is_wrong_argument(one: Diagnostic, tree: ast.Module, known: _Known) -> bool:
    key = re.search(r"on TypedDict `(\w+)`: value of type `([^`]*)`", one.message)
    if key is not None:
        return key[1] in known.types and _CONVERTED.search(f"`{key[2]}` is not") is None
    called = re.search(r"Argument to (?:async )?function `(\w+)`", one.message)
    if called is None or called[1] not in known.functions:
        return False
    expected = re.search(r"Expected `([^`]*)`, found `([^`]*)`", one.message)
    if expected is None:
        return True
    wanted, found = expected[1], expected[2]
    is_by_number = wanted.startswith("dict[str") and found.startswith("dict[int")
    return not is_by_number and not (found in ("str", "LiteralString") and "Literal[" in wanted)


def _is_wrong_answer(one: Diagnostic, tree: ast.Module, known: _Known) -> bool:
    """Only the answer counts; a program may begin with an empty one."""
    return one.line in _answer_lines(tree) and not (
        _CONVERTED.search(one.message) or _EMPTY.search(one.message)
    )


def _answer_lines(tree: ast.Module) -> Collection[int]:
    """The lines that set the answer."""
    last = answer_of(tree)
    if last is not None:
        return range(last.lineno, (last.end_lineno or last.lineno) + 1)
    return {line for line, name in bindings(tree) if name == "output"}


_RULES: Mapping[str, Callable[[Diagnostic, ast.Module, _Known], bool]] = {
    "invalid-argument-type": _is_wrong_argument,
    "invalid-assignment": _is_wrong_answer,
    "invalid-key": _is_unknown_key,
    "unresolved-attribute": _is_of_record,
    "unresolved-reference": _is_unknown,
}
"""Rules whose diagnostics count only in part."""


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
