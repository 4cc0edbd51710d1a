"""A program as the type checker is to look at it again where it found fault: less exactly.

The checker takes a dict of several kinds of values to hold any of them under each key, and a list of several
kinds to hold any of them at each place. A program that made them knows better, and is right about it more
often than not. So what it made of several kinds itself is anything. So is a dict that it made of a record,
where the checker takes it for one of objects: `LOOSE_RECORD` has it look.

That is not so of what has to fit: the answer, an argument, what a function of its own says that it returns.
What was refused there at the first look is left as it is, and is refused again, unless that was for something
else that it was made of. What is spread into a call is no argument by itself: `loose_spread` says how that
is looked at.
"""

import ast
from collections.abc import Collection, Iterator
from typing import TypeGuard

from quire.programs.sandbox.functions import called_as
from quire.programs.sandbox.iterating import is_as_written
from quire.programs.sandbox.loose_calls import LOOSE, Calls
from quire.programs.sandbox.loose_spread import Spreads
from quire.programs.sandbox.loose_tested import Tested
from quire.programs.sandbox.marking import Span, Text

LOOSE_RECORD = f"{LOOSE}_if_a_record"
LOOSE_WITHIN = f"{LOOSE}_within"
_SCOPES = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def loosened(
    text: Text, tree: ast.Module, refused: Collection[Span], unmatched: Collection[Span], tested: Tested
) -> Iterator[tuple[int, str]]:
    """Marks that make anything of what a program made of several kinds, but of nothing that was refused.

    Calls that fit none of the ways to call their functions are looked at by themselves.
    """
    held, calls = _held(text, tree, refused), Calls(text, tree, unmatched)
    spreads = Spreads(text, tree, refused)
    defaults = {one for node in ast.walk(tree) for one in _stands_in_for_none(node)}
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    ends = list[tuple[int, str]]()
    while waiting:
        node, is_in_text = waiting.pop()
        marks = list[tuple[str, str]]()
        if isinstance(node, ast.expr) and not is_in_text:
            yield from spreads.arguments_of(node)
            of_kinds = () if node in held else _marks_of(node, is_default=node in defaults)
            marks += (*spreads.marks_of(node), *of_kinds, *calls.marks_of(node))
        if isinstance(node, ast.expr):
            marks += tested.marks_of(node)
            start, end = text.span(node) if marks else (0, 0)
            # In an f-string the text may not be what the tree says.
            for ahead, behind in marks if not is_in_text or is_as_written(text, node) else ():
                yield start, ahead
                ends.append((end, behind))
        is_in_text = is_in_text or isinstance(node, ast.JoinedStr)
        waiting += [(part, is_in_text) for part in ast.iter_child_nodes(node)]
    yield from reversed(ends)  # where a part ends with what it is a part of, its mark comes first


def _marks_of(node: ast.expr, *, is_default: bool) -> Iterator[tuple[str, str]]:
    """What is put ahead of an expression and behind it. A row may stand without parentheses of its own."""
    if _is_of_several_kinds(node):
        yield f"{LOOSE_WITHIN if is_default else LOOSE}((", "))"
    elif _may_be_of_a_record(node):
        # Out of a row: the checker would take a dict by itself for what the parameter is to be.
        yield f"{LOOSE_RECORD}(*((", "),))"


def _stands_in_for_none(node: ast.AST) -> list[ast.expr]:
    """What a dict is to hold where it held nothing: the checker would take anything at all for None."""
    match node:
        case ast.Call(func=ast.Attribute(attr="setdefault"), args=[_, default]):
            return [default]
        case _:
            return []


def _held(text: Text, tree: ast.Module, refused: Collection[Span]) -> set[ast.AST]:
    """What was refused, with all that it is a part of, and what is put into names that have a type."""
    whole: dict[ast.AST, ast.AST] = {part: node for node in ast.walk(tree) for part in _parts(node)}
    held: set[ast.AST] = {node.value for node in ast.walk(tree) if _names_each(node)}
    # What stands in brackets is a key, or a part of a type.
    held |= {node.slice for node in ast.walk(tree) if isinstance(node, ast.Subscript)}
    for node, declared in _scoped(tree):
        is_refused = isinstance(node, ast.expr) and text.span(node) in refused
        one = node if is_refused else None
        while one is not None and one not in held:
            held.add(one)
            one = whole.get(one)
        waiting = _put_into(declared, node)
        while waiting:
            part = waiting.pop()
            held.add(part)
            waiting += _parts(part)
    return held


def _parts(node: ast.AST) -> list[ast.expr]:
    """The parts of an expression that have to fit where it has to."""
    match node:
        case ast.Dict(keys=keys, values=values):
            return [*(key for key in keys if key is not None), *values]
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
            return [one.value for one in keywords]
        case ast.List(elts=several) | ast.Tuple(elts=several) | ast.Set(elts=several):
            return [*several]
        case ast.ListComp(elt=one) | ast.SetComp(elt=one) | ast.GeneratorExp(elt=one):
            return [one]
        case ast.DictComp(value=one) | ast.Starred(value=one) | ast.NamedExpr(value=one):
            return [one]
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            return [one, other]
        case ast.BoolOp(values=several):
            return [*several]
        case _:
            return []


def _names_each(node: ast.AST) -> TypeGuard[ast.Assign]:
    """Whether each value of a row is given a name at once: of those the checker knows which is which."""
    match node:
        case ast.Assign(targets=[ast.Tuple() | ast.List()], value=ast.Tuple()):
            return True
        case _:
            return False


def _scoped(tree: ast.Module) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """Every part of a program, with the names that have a type where it stands."""
    waiting: list[tuple[ast.AST, frozenset[str]]] = [(tree, frozenset(("output",)))]
    while waiting:
        node, names = waiting.pop()
        yield node, names
        inner = names.union(_declared_in(node)) if isinstance(node, _SCOPES) else names
        waiting += ((part, inner) for part in ast.iter_child_nodes(node))


def _declared_in(scope: ast.AST) -> Iterator[str]:
    """The names that a program or a function says the types of, without those of functions in it."""
    waiting = [*ast.iter_child_nodes(scope)]
    while waiting:
        node = waiting.pop()
        yield from _declared_by(node)
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)


def _declared_by(node: ast.AST) -> list[str]:
    """Names that a program says the types of."""
    match node:
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.arg(arg=name, annotation=ast.expr()):
            return [name]
        case _:
            return []


def _put_into(names: Collection[str], node: ast.AST) -> list[ast.expr]:
    """What these names are given or changed by: as anything it would make anything of what they hold."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return [value] if any(_root_of(one) in names for one in targets) else []
        case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
            return [value] if _root_of(target) in names else []
        case ast.AnnAssign(value=ast.expr() as value):
            return [value]
        case ast.Call(func=ast.Attribute(value=target), args=args):
            return [*args] if _root_of(target) in names else []
        case _:
            return []


def _root_of(target: ast.expr) -> str:
    """The name of what this is or stands in."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def _is_of_several_kinds(node: ast.expr) -> bool:
    match node:
        case ast.Dict(values=values) if len(values) > 1:
            kinds = {_kind_of(value) for value in values}
            return len(kinds) > 1 or None in kinds
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=[_, _, *_]):
            return True
        case ast.List(elts=several, ctx=ast.Load()) | ast.Tuple(elts=several, ctx=ast.Load()):
            return _come_from_several(several)
        case _:
            return False


def _may_be_of_a_record(node: ast.expr) -> bool:
    """Whether this is a dict that may have its keys from a record."""
    match node:
        case ast.DictComp() | ast.Call(func=ast.Name(id="dict"), args=[_, *_]):
            return True
        case ast.BinOp(left=one, op=ast.BitOr(), right=other):
            return any(isinstance(part, ast.Dict) or _may_be_of_a_record(part) for part in (one, other))
        case _:
            return False


def _kind_of(value: ast.expr) -> str | None:
    """The kind of a value, where its text says that."""
    return type(value.value).__name__ if isinstance(value, ast.Constant) else None


def _come_from_several(values: list[ast.expr]) -> bool:
    """Whether values are got by calls of several functions, or under several keys. A slice is no value."""
    called = {called_as(one) for one in values if isinstance(one, ast.Call)}
    keys = {ast.dump(one.slice) for one in values if isinstance(one, ast.Subscript)}
    return max(len(called), len(keys)) > 1 and not any(isinstance(one, ast.Slice) for one in values)
