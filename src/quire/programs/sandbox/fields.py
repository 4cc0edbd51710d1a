"""Fields of records in a program's text: where they are read, and what a test says of them."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from quire.programs.sandbox.functions import Function, called_as

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
_TAKING_NONE = ("bool", "isinstance")
"""What may be asked of None too. Others would fail of it."""

_SAYS_SO = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Call)
"""What a function gives that looks at something: a field by itself may be what was wanted of it."""


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
        whole = self.whole
        while isinstance(whole, ast.Subscript):
            whole = whole.value
        return Field(whole.id if isinstance(whole, ast.Name) else "", self.key)


def read_by(node: ast.AST) -> Read | None:
    """The field that an expression reads; None where it reads none."""
    match node:
        case ast.Subscript(value=whole, slice=ast.Constant(value=str(key)), ctx=ast.Load()):
            return Read(whole, key)
        case ast.Call(ast.Attribute(whole, "get"), [ast.Constant(str(key))], []):
            return Read(whole, key)
        case ast.Attribute(value=whole, attr=key, ctx=ast.Load()):
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


class Tests:
    """What the tests of a program say of fields: which are not None where one is true, or where it is not."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._seen: dict[str, set[Field]] = {}

    def known(self, test: ast.expr, is_true: bool = True) -> set[Field]:
        """The fields that are not None once a test came out this way."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return self.known(inner, not is_true)
            case ast.BoolOp(op=op, values=several):
                all_hold = isinstance(op, ast.And) == is_true
                first, *others = (self.known(one, is_true) for one in several)
                return first.union(*others) if all_hold else first.intersection(*others)
            case ast.Compare(left=left, ops=[op], comparators=[other]):
                return _compared(left, op, other, is_true)
            case ast.NamedExpr(value=inner):
                return self.known(inner, is_true)
            case ast.Call(args=args) if read_by(test) is None:
                taken = args if called_as(test) in _TAKING_NONE else ()
                return {*_fields(taken), *self._seen_by(test)} if is_true else set()
            case _:
                return {*_fields([test])} if is_true else set()

    def known_of_all(self, tests: Iterable[ast.expr]) -> set[Field]:
        """The fields that are not None where all of these are true."""
        return {field for test in tests for field in self.known(test)}

    def either(self, test: ast.expr) -> set[Field]:
        """The fields that are not None on one of the ways that a test may go."""
        return self.known(test) | self.known(test, False)

    def kept_by(self, chooser: ast.expr) -> set[str]:
        """The keys that are not None in what a function leaves of several, such as the one of `filter`."""
        match chooser:
            case ast.Lambda(args=ast.arguments(args=[one]), body=body):
                return {key for name, key in self.known(body) if name == one.arg}
            case ast.Name(id=name) if name in self._functions:
                first = self._functions[name].args.args[:1]
                return {key for of, key in self._seen_in(name) for one in first if of == one.arg}
            case _:
                return set()

    def _seen_by(self, call: ast.Call) -> Iterator[Field]:
        """What a function of the program's own looks at, of what it is given first."""
        match call.args:
            case [ast.Name(id=name), *_]:
                yield from (Field(name, key) for key in self.kept_by(call.func))
            case _:
                pass

    def _seen_in(self, name: str) -> set[Field]:
        """What a function of the program's own looks at; what calls itself looks at nothing more by that."""
        if name not in self._seen:
            self._seen[name] = set()
            self._seen[name] = {field for node in ast.walk(self._functions[name]) for field in self._at(node)}
        return self._seen[name]

    def _at(self, node: ast.AST) -> set[Field]:
        match node:
            case ast.Return(value=ast.expr() as value) if isinstance(value, _SAYS_SO):
                return self.known(value)
            case ast.If(test=test):
                return self.either(test)
            case _:
                return set()


def _compared(left: ast.expr, op: ast.cmpop, other: ast.expr, is_true: bool) -> set[Field]:
    if is_none(other):
        is_other = isinstance(op, ast.IsNot | ast.NotEq)
        return {*_fields([left])} if is_other == is_true else set()
    if not isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn):
        return set()  # what cannot be compared with None has to be looked at before
    is_equal = isinstance(op, ast.Eq | ast.In)
    match left:
        case ast.Constant(value=str(key)) if isinstance(op, ast.In | ast.NotIn):
            found = [Read(other, key).field]
        case _:
            found = [*_fields([left])]
    return {*found} if is_equal == is_true else set()


def _fields(values: Iterable[ast.expr]) -> Iterator[Field]:
    for value in values:
        read = read_by(value.value if isinstance(value, ast.NamedExpr) else value)
        if read is not None:
            yield read.field
