"""Calls that a program wrote and never awaited, once it has ended: it may believe that they were made.

A text shows this only in part (a function may give a call back, and its caller lose it). Whoever means to
leave a call alone puts it under a name, or a few under keys, and awaits what it chose. Who gathers calls and
catches what one of them raised, knows that something failed. Those are let be.
"""

import ast
from collections.abc import Collection, Iterator
from typing import Any, cast

from quire.programs.faults import ProgramFault, at_line
from quire.programs.sandbox.gathering import gathering_in


def check_none_left(left: Any, code: str, tree: ast.Module, printed: str) -> None:
    """See that a program began the calls that it wrote; `left` are those that it did not, by function."""
    counts = cast("dict[str, int]", left) if isinstance(left, dict) else {}
    for name, count in counts.items():
        lines = {*_lines_left(name, tree)} if count else set[int]()
        if lines:
            line = lines.pop() if len(lines) == 1 else None
            times = f"{count} times" if count > 1 else "once"
            text = (
                f"`{name}` was called and never awaited, {times}: nothing was done by that. Await each call"
            )
            raise ProgramFault("types", at_line(code, line, text), line, printed)


def _lines_left(name: str, tree: ast.Module) -> Iterator[int]:
    """Where a function is named and its call not awaited at once, nor by a name of its own."""
    awaited = [node.value for node in ast.walk(tree) if isinstance(node, ast.Await)]
    gathering = {*gathering_in(tree)}
    at_once = {
        node
        for one in awaited
        for node in (ast.walk(one) if one in gathering else [one])
        if isinstance(node, ast.Call)
    }
    let_be = {*at_once, *_put_aside(tree, {*map(_holder, awaited)})}
    called = {node.func for node in let_be if isinstance(node.func, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name and node not in called:
            yield node.lineno


def _holder(awaited: ast.expr) -> str:
    """The name that something awaited is under, or that has it by a key."""
    holder = awaited.value if isinstance(awaited, ast.Subscript) else awaited
    return holder.id if isinstance(holder, ast.Name) else ""


def _put_aside(tree: ast.Module, names: Collection[str]) -> Iterator[ast.Call]:
    """The calls that are put under one of some names."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in names:
                yield from _calls_in(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name in names:
                yield from _calls_in(value)
            case _:
                pass


def _calls_in(value: ast.expr) -> Iterator[ast.Call]:
    """A call, or those that are written out one by one."""
    written = value.values if isinstance(value, ast.Dict) else [value]
    yield from (one for one in written if isinstance(one, ast.Call))
