"""A program in a model's answer, found and checked: what is wrong is said with its line."""

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from quire.models import answer_text
from quire.programs.asking import unfinished
from quire.programs.awaiting import unawaited
from quire.programs.blocks import PYTHON, Block, blocks_in
from quire.programs.faults import Kind, ProgramFault, at_line
from quire.programs.sandbox import Sandbox
from quire.programs.sandbox.awaited import OURS, called_by
from quire.programs.sandbox.naming import Declared, bindings, declared_in, uses
from quire.programs.sandbox.source import THERE_WHEN_RUN, declares_output, tree_of
from quire.programs.stubs import stubs_of
from quire.providers import Parsed
from quire.stores.threads import COMPUTING

_BY_TEXT = frozenset(("eval", "exec", "locals"))
"""Those that the sandbox has."""

_Fault = tuple[int, Kind, str]
"""Its line, what sort it is, and what is wrong."""


class Program(msgspec.Struct, frozen=True):
    """A program that was checked, and the functions that it may call."""

    code: str
    calls: tuple[str, ...]


def code_in(answer: str, *, is_whole: bool = True) -> str:
    """The program in a model's answer: its only fenced block, the only one of Python, or all of it.

    Which of several is meant nobody knows: a draft before the program would do what the program does. Of an
    answer that may not be whole, a block that was not closed is none: what is left of it is another program.
    """
    answer = answer.replace("\r\n", "\n")
    blocks = [*blocks_in(answer)]
    said = [block for block in blocks if block.language in PYTHON] or blocks
    written = [block for block in said or [Block("", answer, True)] if block.text.strip()]
    if not written:
        raise ProgramFault("syntax", "there is no program in the answer: write one, in one ```python block")
    if len(written) > 1:
        several = f"there are {len(written)} blocks in the answer, and none of them was run"
        raise ProgramFault("syntax", f"{several}: write the whole program in one ```python block")
    if written[0].is_open and not is_whole:
        text = "the program has no end, and nothing of it was run: write all of it in one ```python block"
        raise ProgramFault("syntax", text)
    code = written[0].text.strip("\n").rstrip()
    if not blocks or not written[0].is_open:
        _check_text(code, is_fenced=bool(blocks))
    return code


def written_in(parsed: Parsed) -> str:
    """What a model said that was to write a program, or a fault where that is not all of it.

    A part of a program is often a program too, and does what nobody wrote.
    """
    words, why = answer_text(parsed), unfinished(parsed)
    if why is not None:
        text = f"there is no whole program in the answer, and nothing of it was run: {why}"
        raise ProgramFault("syntax", text + (": write a shorter one" if parsed.finish == "length" else ""))
    if parsed.finish != "stop":
        code_in(words, is_whole=False)
    return words


def _check_text(code: str, *, is_fenced: bool) -> None:
    """Raise a fault where a text without a fence is no program, or a fence ended a program too soon."""
    try:
        tree_of(code)
    except ProgramFault as fault:
        if not is_fenced:
            raise
        if "unterminated" in str(fault):
            why = "a line of ``` or ~~~ ends the block, within a text too: make such a line in another way"
            raise ProgramFault("syntax", f"{fault} ({why})", fault.line) from None


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
    calls = await COMPUTING.do(_looked_through, code, tree, declared, functions)
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
    """Functions that a program defines itself: what they give would be taken for a result of theirs.

    So would be what it binds to the names by which the sandbox calls them, and counts that.
    """
    for line, name in bindings(tree):
        if called_by(name) in functions:  # also by the name that the host has for it
            yield line, "names", f"`{name}` exists already; do not define it"
        elif name.startswith(OURS):
            yield line, "names", f"`{name}` is a name of the sandbox's own; choose one without `{OURS}`"


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
    found = {*THERE_WHEN_RUN, *(name for _, name in bindings(tree))}
    for line, name in uses(tree):
        if name in declared.types and name not in found:
            yield line, "names", f"`{name}` is a type, for annotations alone: write a plain value, as a dict"


def _unawaited(tree: ast.Module, functions: Collection[str]) -> Iterator[_Fault]:
    for line, name in unawaited(tree, functions):
        text = f"the call of `{name}` is not awaited, and does nothing: write `await {name}(...)`"
        yield line, "types", text
