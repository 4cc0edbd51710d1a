"""Records that a program was given and puts keys of its own into: they are plain dicts when it is run."""

import ast
from collections.abc import Iterable, Iterator

from quire.programs.sandbox.parsing import expression_of

TYPING = "quire_typing"
"""What the module is called in stubs: they may have a use for its own name."""

_ANYTHING = f"{TYPING}.NotRequired[{TYPING}.Any]"


def keys_put(program: ast.Module) -> set[str]:
    """The keys that a program puts into dicts that are there."""
    keys = (key for node in ast.walk(program) for key in _keys_put_by(node))
    return {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}


def _keys_put_by(node: ast.AST) -> list[ast.expr | None]:
    match node:
        case ast.Subscript(slice=key, ctx=ast.Store()):
            return [key]
        case ast.Call(func=ast.Attribute(attr="setdefault"), args=[key, *_]):
            return [key]
        case ast.Call(func=ast.Attribute(attr="update"), args=[], keywords=keywords):
            return [ast.Constant(one.arg) for one in keywords]
        case ast.Call(func=ast.Attribute(attr="update"), args=[ast.Dict(keys=keys)]):
            return keys
        case ast.AugAssign(op=ast.BitOr(), value=ast.Dict(keys=keys)):
            return keys
        case _:
            return []


def with_keys(record: ast.stmt, keys: set[str]) -> ast.stmt:
    """A record that may hold anything under these keys too; what is no record stays as it is.

    It is written as a call: in a class not every key can be, and one of the name of a type would hide that.
    """
    match record:
        case ast.ClassDef(name=name, bases=[kind], body=body):
            types = dict(_of_class(body))
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=kind, args=[_, ast.Dict() as rows])):
            types = dict(_of_dict(rows))
        case _:
            return record
    types |= {key: expression_of(_ANYTHING) for key in sorted(keys - {*types})}
    every = ast.Dict([ast.Constant(key) for key in types], [*types.values()])
    call = ast.Call(kind, [ast.Constant(name), every], [])
    return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], call), record)


def _of_class(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.annotation


def _of_dict(rows: ast.Dict) -> Iterator[tuple[str, ast.expr]]:
    for key, kind in zip(rows.keys, rows.values, strict=True):
        if isinstance(key, ast.Constant):
            yield str(key.value), kind
