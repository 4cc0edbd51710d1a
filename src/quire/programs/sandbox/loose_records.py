"""Records that a program was given and puts keys of its own into: they are plain dicts when it is run."""

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence

from quire.programs.sandbox.loose_owned import Owned
from quire.programs.sandbox.parsing import expression_of

TYPING = "quire_typing"
"""What the module is called in stubs: they may have a use for its own name."""

_ANYTHING = f"{TYPING}.NotRequired[{TYPING}.Any]"


def keys_put(program: ast.Module, given: Collection[str]) -> set[str]:
    """The keys that a program puts into dicts that are there, but for those that it made itself.

    `given` are the names of what it has from elsewhere.
    """
    own = Owned(program, given)
    stores = (store for node in ast.walk(program) if (store := _store_of(node)) is not None)
    keys = (key for into, keys in stores if not own.has(into) for key in keys)
    return {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}


def _store_of(node: ast.AST) -> tuple[ast.expr, Sequence[ast.expr | None]] | None:
    """What keys are put into, and the keys."""
    match node:
        case ast.Subscript(value=into, slice=key, ctx=ast.Store()):
            return into, [key]
        case ast.Call(func=ast.Attribute(value=into, attr="setdefault"), args=[key, *_]):
            return into, [key]
        case ast.Call(func=ast.Attribute(value=into, attr="update"), args=[], keywords=keywords):
            return into, [ast.Constant(one.arg) for one in keywords]
        case ast.Call(func=ast.Attribute(value=into, attr="update"), args=[ast.Dict(keys=keys)]):
            return into, keys
        case ast.AugAssign(target=into, op=ast.BitOr(), value=ast.Dict(keys=keys)):
            return into, keys
        case _:
            return None


def with_keys(record: ast.stmt, keys: set[str]) -> ast.stmt:
    """A record that may hold anything under these keys too; what is no record stays as it is.

    It is written as a call: in a class not every key can be, and one of the name of a type would hide that.
    """
    found = _record_in(record)
    if found is None:
        return record
    name, kind, types = found
    types |= {key: expression_of(_ANYTHING) for key in sorted(keys - {*types})}
    every = ast.Dict([ast.Constant(key) for key in types], [*types.values()])
    call = ast.Call(kind, [ast.Constant(name), every], [])
    return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], call), record)


def keys_in(stubs: ast.Module) -> dict[str, tuple[set[str], set[str]]]:
    """The keys of each record, and those of them that it has to have."""
    records = (found for node in stubs.body if (found := _record_in(node)) is not None)
    return {name: ({*types}, {*_needed(types)}) for name, _, types in records}


def types_by_key(stubs: ast.Module, program: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The keys of all records, and of classes of a program's own, each with a type that it has."""
    for record in filter(None, map(_record_in, stubs.body)):
        yield from record[2].items()
    for node in ast.walk(program):
        yield from _of_class(node.body) if isinstance(node, ast.ClassDef) else ()


def _needed(types: dict[str, ast.expr]) -> Iterator[str]:
    for key, kind in types.items():
        name = kind.value if isinstance(kind, ast.Subscript) else kind
        if "NotRequired" not in (getattr(name, "id", ""), getattr(name, "attr", "")):
            yield key


def _record_in(node: ast.stmt) -> tuple[str, ast.expr, dict[str, ast.expr]] | None:
    """The name of a record, what it is said to be, and the types under its keys."""
    match node:
        case ast.ClassDef(name=name, bases=[kind], body=body):
            return name, kind, dict(_of_class(body))
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=kind, args=[_, ast.Dict() as rows])):
            return name, kind, dict(_of_dict(rows))
        case _:
            return None


def _of_class(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.annotation


def _of_dict(rows: ast.Dict) -> Iterator[tuple[str, ast.expr]]:
    for key, kind in zip(rows.keys, rows.values, strict=True):
        if isinstance(key, ast.Constant):
            yield str(key.value), kind
