"""A program in a model's answer, found and checked: what is wrong is said with its line."""

import ast
import asyncio
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from quire.programs.awaiting import unawaited
from quire.programs.faults import Kind, ProgramFault, at_line
from quire.programs.sandbox import Sandbox
from quire.programs.sandbox.naming import Declared, bindings, declared_in, uses
from quire.programs.sandbox.source import declares_output, tree_of
from quire.programs.stubs import stubs_of

_FENCE = re.compile(
    # Nothing is given back once it was taken: a long row of ticks is gone through once.
    r"^[ \t]*+(```++|~~~++)[ \t]*+([\w+-]*+)[^\n]*+\n(.*?)(?:^[ \t]*+\1[ \t]*+$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_PYTHON = {"python", "py", "python3"}
_BY_TEXT = frozenset(("eval", "exec", "locals"))
"""Those that the sandbox has."""

_Fault = tuple[int, Kind, str]
"""Its line, what sort it is, and what is wrong."""


class Program(msgspec.Struct, frozen=True):
    """A program that was checked, and the functions that it may call."""

    code: str
    calls: tuple[str, ...]


def code_in(answer: str) -> str:
    """The program in a model's answer: its only fenced block, the only one of Python, or all of it.

    Which of several is meant nobody knows: a draft before the program would do what the program does.
    """
    answer = answer.replace("\r\n", "\n")
    blocks = [(match[2].lower(), _flush(match[3])) for match in _FENCE.finditer(answer)]
    said = [text for language, text in blocks if language in _PYTHON] or [text for _, text in blocks]
    written = [text for text in said or [answer] if text.strip()]
    if not written:
        raise ProgramFault("syntax", "there is no program in the answer: write one, in one ```python block")
    if len(written) > 1:
        several = f"there are {len(written)} blocks in the answer, and none of them was run"
        raise ProgramFault("syntax", f"{several}: write the whole program in one ```python block")
    code = written[0].strip("\n").rstrip()
    if not blocks:
        tree_of(code)
    return code


async def checked(
    code: str, stubs: str, names: Collection[str], output: Mapping[str, Any] | None, sandbox: Sandbox
) -> Program:
    """The program, once nothing is wrong with it that can be seen without running it.

    `names` are those that it may use of what stubs declare; `output` is the schema of the answer, for stubs
    without one. An input may be given another value: it is the program's own by then. A function may not.
    """
    tree, declared = tree_of(code), declared_in(stubs)
    functions = {name for name in declared.functions if name in names}
    # A long program takes its time: beside the loop it holds up nobody.
    calls = await asyncio.to_thread(_looked_through, code, tree, declared, functions)
    if output is not None and not declares_output(stubs):
        stubs = f"{stubs}\n{stubs_of((), None, output)}"
    await sandbox.check(code, stubs)
    return Program(code, calls)


def _looked_through(
    code: str, tree: ast.Module, declared: Declared, functions: Collection[str]
) -> tuple[str, ...]:
    """The functions that a program may call, or the fault that its tree shows."""
    for faults in (
        _bound_again(tree, functions),
        _found_by_text(tree, declared),
        _types_used(tree, declared),
        _unawaited(tree, functions),
    ):
        first = min(faults, default=None)
        if first is not None:
            line, kind, text = first
            raise ProgramFault(kind, at_line(code, line, text), line)
    return tuple(dict.fromkeys(name for _, name in uses(tree) if name in functions))


def _bound_again(tree: ast.Module, functions: Collection[str]) -> Iterator[_Fault]:
    """Functions that a program defines itself: what they give would be taken for a result of theirs."""
    for line, name in bindings(tree):
        if name in functions:
            yield line, "names", f"`{name}` exists already; do not define it"


def _found_by_text(tree: ast.Module, declared: Declared) -> Iterator[_Fault]:
    """Functions that find names by texts: what a program binds and calls through them, nobody could see.

    One that has its own of such a name is refused too: which of the two it calls depends on how it goes.
    """
    given = {*declared.functions, *declared.variables}
    for line, name in uses(tree):
        if name in _BY_TEXT and name not in given:
            yield line, "names", f"`{name}` is not for programs: write out what it would do"


def _types_used(tree: ast.Module, declared: Declared) -> Iterator[_Fault]:
    """Types that a program has need of when it is run: they are there for the checker alone."""
    own = {name for _, name in bindings(tree)}
    for line, name in uses(tree):
        if name in declared.types and name not in own:
            yield line, "names", f"`{name}` is a type, for annotations alone: write a plain value, as a dict"


def _unawaited(tree: ast.Module, functions: Collection[str]) -> Iterator[_Fault]:
    for line, name in unawaited(tree, functions):
        yield line, "types", f"the call of `{name}` is not awaited: write `await {name}(...)`"


def _flush(block: str) -> str:
    """A block of a list stands further right, all of it."""
    lines = block.split("\n")
    least = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    return "\n".join(line[least:] for line in lines)
