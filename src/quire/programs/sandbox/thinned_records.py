"""Records that a program takes out of what they are in, for what they lack."""

import ast
from collections.abc import Iterable, Iterator

from quire.programs.sandbox.field_places import Loop, Places
from quire.programs.sandbox.fields import binds
from quire.programs.sandbox.functions import called_as

_TAKING_OUT = ("discard", "pop", "remove")
_OF_ALL = {
    *("enumerate", "len", "list", "range", "reversed", "set", "sorted", "tuple"),
    *(".copy", ".items", ".keys", ".values"),
}
"""What gives all that it is given, or the places of that."""

Thinned = tuple[ast.Name, str, Loop]
"""What they were in, the key of what they lack, and the loop that took all of them out."""


def thinned_in(nodes: Iterable[ast.AST], places: Places) -> Iterator[Thinned]:
    """What only such records are left in as have something under a key."""
    for node in nodes:
        for whole, one in _taken_out_by(node):
            loop = places.loop_around(node)
            if loop is not None and _is_for_each(loop, whole, places.step_of(node)):
                spared = places.spared(node) or set()
                names = {*_names_of(one, whole, loop)}
                yield from ((whole, key, loop) for name, key in spared if name in names)


def goes_to_its_end(loop: Loop) -> bool:
    """Whether a loop leaves out none of what it goes through."""
    return not any(isinstance(node, ast.Break | ast.Return) for node in ast.walk(loop))


def _taken_out_by(node: ast.AST) -> Iterator[tuple[ast.Name, ast.expr]]:
    """What something is taken out of, and what is said of it: itself, its place or its key."""
    match node:
        case ast.Call(ast.Attribute(ast.Name() as whole, method), [one, *_]) if method in _TAKING_OUT:
            yield whole, one
        case _:
            pass


def _is_for_each(loop: Loop, whole: ast.Name, step: ast.stmt) -> bool:
    """Whether a step of a loop is for each that is in something."""
    through = loop.iter if isinstance(loop, ast.For) else loop.test
    is_of_it = any(isinstance(one, ast.Name) and one.id == whole.id for one in ast.walk(through))
    is_whole = not _is_itself(through) if isinstance(loop, ast.For) else _stays_at_a_gap(step)
    return is_of_it and is_whole and step in loop.body and goes_to_its_end(loop) and not _is_a_part(through)


def _stays_at_a_gap(step: ast.stmt) -> bool:
    """Whether a loop that counts looks at a place again, out of which something was taken."""
    return isinstance(step, ast.If) and (bool(step.orelse) or isinstance(step.body[-1], ast.Continue))


def _is_a_part(through: ast.expr) -> bool:
    parts = [*ast.walk(through)]
    slices = (one for one in parts if isinstance(one, ast.Slice))
    is_cut = any(one.lower or one.upper or one.step for one in slices)
    called = (called_as(one) for one in parts if isinstance(one, ast.Call))
    is_chosen = any(one.ifs for one in parts if isinstance(one, ast.comprehension))
    return is_cut or is_chosen or any(name not in _OF_ALL for name in called)


def _is_itself(through: ast.expr) -> bool:
    """Whether a loop goes through something and not through a copy: it leaves out what comes after a gap."""
    match through:
        case ast.Name() | ast.Call(func=ast.Name("enumerate"), args=[ast.Name(), *_]):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(), attr="items" | "keys" | "values")):
            return True
        case _:
            return False


def _names_of(one: ast.expr, whole: ast.Name, loop: Loop) -> Iterator[str]:
    """What the program may call the record that is taken out."""
    yield ast.unparse(one)
    yield ast.unparse(ast.Subscript(whole, one, ast.Load()))
    if isinstance(loop, ast.For) and isinstance(one, ast.Name) and binds(loop.target, one.id):
        yield from (part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name))
