"""What a value is made of, as it is written."""

import ast
from collections.abc import Iterator, Sequence


def parts_of(value: ast.expr) -> list[ast.expr]:
    """What a value is one of, is made of or is a part of, as far as that can be said."""
    match value:
        case ast.Await(value=inner) | ast.Starred(value=inner) | ast.NamedExpr(value=inner):
            return [inner]
        case ast.Subscript(value=inner):
            return [inner]
        case (
            ast.ListComp(elt=one) | ast.SetComp(elt=one) | ast.GeneratorExp(elt=one) | ast.DictComp(value=one)
        ):
            return [one]
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            return [one, other]
        case ast.BoolOp(op=ast.And(), values=[*_, last]):
            return [last]
        case ast.BoolOp(values=several) | ast.List(elts=several) | ast.Set(elts=several):
            return several
        case ast.Dict(values=several) | ast.Tuple(elts=several):
            return several
        case _:
            return []


def place_of(key: str, keys: Sequence[ast.expr | None]) -> int | None:
    """Where a dict has a key, as it is written; the last one counts, and no others may come after it."""
    for at in reversed(range(len(keys))):
        match keys[at]:
            case ast.Constant(value=found) if found == key:
                return at
            case ast.Constant():
                pass
            case _:
                return None
    return None


def values_of(loop: ast.comprehension, name: str) -> Iterator[str]:
    """What a loop calls the values in something that has a name."""
    match loop:
        case ast.comprehension(
            target=ast.Tuple(elts=[_, ast.Name(id=value)]),
            iter=ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr="items")),
        ) if of == name:
            yield value
        case _:
            pass
