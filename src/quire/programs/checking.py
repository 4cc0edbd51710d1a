"""A program in a model's answer, found and checked: what is wrong is said with its line."""

import ast
import builtins
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from quire.programs.faults import ProgramFault, at_line
from quire.programs.sandbox import Sandbox
from quire.programs.sandbox.source import declares_output, tree_of
from quire.programs.stubs import stubs_of

_FENCE = re.compile(
    r"^[ \t]*(```+|~~~+)[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_PYTHON = {"python", "py", "python3"}
_USES = (
    ast.FormattedValue
    | ast.BinOp
    | ast.Compare
    | ast.BoolOp
    | ast.UnaryOp
    | ast.Subscript
    | ast.Attribute
    | ast.Expr
)
"""What uses the value of a call at once: a call that is put aside may be awaited later."""


class Program(msgspec.Struct, frozen=True):
    """A program that was checked, and the functions it names."""

    code: str
    calls: tuple[str, ...]


def code_in(answer: str) -> str:
    """The program in a model's answer: its fenced blocks, those of Python where one says so, or all."""
    blocks = [(match[2].lower(), _flush(match[3])) for match in _FENCE.finditer(answer)]
    said = [text for language, text in blocks if language in _PYTHON]
    code = "\n".join(said or [text for _, text in blocks] or [answer]).strip("\n").rstrip()
    if not code.strip():
        raise ProgramFault("syntax", "there is no program in the answer: write one, in one ```python block")
    if not blocks:
        tree_of(code)
    return code


async def checked(
    code: str, stubs: str, names: Collection[str], output: Mapping[str, Any] | None, sandbox: Sandbox
) -> Program:
    """The program, once nothing is wrong with it that can be seen without running it.

    `names` are the functions that stubs declare; `output` is the schema of the answer, for stubs without one.
    """
    tree = tree_of(code)
    unawaited = next(_unawaited(tree, names), None)
    if unawaited is not None:
        line, name = unawaited
        text = f"the call of `{name}` is not awaited: write `await {name}(...)`"
        raise ProgramFault("types", at_line(code, line, text), line)
    if output is not None and not declares_output(stubs):
        stubs = f"{stubs}\n{stubs_of((), None, output)}"
    await sandbox.check(code, stubs)
    loaded = (
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    )
    return Program(code, tuple(dict.fromkeys(name for name in loaded if name in names)))


def _unawaited(tree: ast.Module, names: Collection[str]) -> Iterator[tuple[int, str]]:
    """Calls of async functions whose value is used as if it were there."""
    for node in ast.walk(tree):
        if isinstance(node, _USES) or _takes_values(node):
            for child in ast.iter_child_nodes(node):
                if (
                    isinstance(child, ast.Call)
                    and isinstance(child.func, ast.Name)
                    and child.func.id in names
                ):
                    yield child.lineno, child.func.id


def _takes_values(node: ast.AST) -> bool:
    """Whether this calls a function of Python itself, such as `print`: none of them awaits."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id)


def _flush(block: str) -> str:
    """A block of a list stands further right, all of it."""
    lines = block.split("\n")
    least = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    return "\n".join(line[least:] for line in lines)
