"""Fields of records in a program's text: where they are read, and of what."""

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeGuard

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
ITSELF = ""
"""The key that stands for what has a name, and not for a field of it."""


class Field(NamedTuple):
    """A field by its key, and the name of what it is in, at whatever depth; no name where that has none."""

    name: str
    key: str


class Read(NamedTuple):
    """What is read of, and the key."""

    whole: ast.expr
    key: str

    @property
    def field(self) -> Field:
        return Field(root_of(self.whole), self.key)


def root_of(whole: ast.expr) -> str:
    """The name of what something is, or is a field of; nothing where that has none.

    One of several is called by its place among them: what is known of it is known of no other.
    """
    while _is_field(whole):
        whole = whole.value
    return ast.unparse(whole) if isinstance(whole, ast.Name | ast.Subscript) else ""


def _is_field(whole: ast.expr) -> TypeGuard[ast.Subscript]:
    match whole:
        case ast.Subscript(slice=ast.Constant(value=str())):
            return True
        case _:
            return False


def read_by(node: ast.AST) -> Read | None:
    """The field that an expression reads; None where it reads none."""
    match node:
        case ast.Subscript(value=whole, slice=ast.Constant(value=str(key)), ctx=ast.Load()):
            return Read(whole, key)
        case ast.Call(ast.Attribute(whole, "get"), [ast.Constant(str(key)), *_], []):
            return Read(whole, key)
        case ast.Attribute(value=whole, attr=key, ctx=ast.Load()):
            return Read(whole, key)
        case _:
            return None


def changed_by(node: ast.AST) -> Read | None:
    """The field that a statement reads and puts something else into, at once; None where it is none."""
    match node:
        case ast.AugAssign(target=ast.Subscript(value=whole, slice=ast.Constant(value=str(key)))):
            return Read(whole, key)
        case ast.AugAssign(target=ast.Attribute(value=whole, attr=key)):
            return Read(whole, key)
        case _:
            return None


def is_none(node: ast.AST) -> bool:
    """Whether this is None, as it is written."""
    return isinstance(node, ast.Constant) and node.value is None


def may_be_none(kind: ast.expr) -> bool:
    """Whether a type is one of several, and one of these is None."""
    match kind:
        case ast.BinOp(left=one, op=ast.BitOr(), right=other):
            return may_be_none(one) or may_be_none(other)
        case ast.Subscript(slice=inner) if may_be_missing(kind):
            return may_be_none(inner)
        case _:
            return is_none(kind) or _is_called(kind, "Optional")


def may_be_missing(kind: ast.expr) -> bool:
    """Whether a key may not be there: then None is there in its place, for who asks by `get`."""
    return _is_called(kind, "NotRequired")


def _is_called(kind: ast.expr, name: str) -> bool:
    outer = kind.value if isinstance(kind, ast.Subscript) else kind
    return name in (getattr(outer, "id", ""), getattr(outer, "attr", ""))


def binds(target: ast.expr, name: str) -> bool:
    """Whether the target of a loop has this name in it."""
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(target))


def fields_of(values: Iterable[ast.expr]) -> Iterator[Field]:
    """The fields that these are, or the names."""
    for value in values:
        inner = value.value if isinstance(value, ast.NamedExpr) else value
        read = read_by(inner)
        if read is not None:
            yield read.field
        elif isinstance(inner, ast.Name):
            yield Field(inner.id, ITSELF)
