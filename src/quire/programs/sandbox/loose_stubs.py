"""Stubs as the type checker is to look at a program again: what it is given is taken for less exact."""

import ast
from collections.abc import Iterator

from quire.programs.sandbox.loose_calls import LOOSE, LOOSE_CALL, LOOSE_KEY, LOOSE_SHOWN, TAKEN
from quire.programs.sandbox.loose_records import TYPING, keys_put, with_keys
from quire.programs.sandbox.loose_spread import LOOSE_GIVEN, LOOSE_SPELLED, LOOSE_SPREAD
from quire.programs.sandbox.loose_tested import LOOSE_TESTED
from quire.programs.sandbox.loosening import LOOSE_RECORD, LOOSE_WITHIN
from quire.programs.sandbox.naming import declared_in
from quire.programs.sandbox.parsing import module_of

_DICT = f"quire_builtins.dict[quire_builtins.str, {TYPING}.Any]"
_LIST = f"quire_builtins.list[{TYPING}.Any]"
_ROW = f"quire_builtins.tuple[{TYPING}.Any, ...]"
_RECORD = f"{TYPING}.Mapping[quire_builtins.str, {TYPING}.Any]"
_OURS = f"""
import builtins as quire_builtins
import typing as {TYPING}
def {LOOSE}(value): ...
quire_kind = {TYPING}.TypeVar("quire_kind")
quire_other = {TYPING}.TypeVar("quire_other")
@{TYPING}.overload
def {LOOSE_RECORD}(value: quire_builtins.dict[quire_builtins.str, quire_builtins.object]) -> {TYPING}.Any: ...
@{TYPING}.overload
def {LOOSE_RECORD}(value: quire_kind) -> quire_kind: ...
@{TYPING}.overload
def {LOOSE_WITHIN}(value: {_DICT}) -> {_DICT}: ...
@{TYPING}.overload
def {LOOSE_WITHIN}(value: {_LIST}) -> {_LIST}: ...
@{TYPING}.overload
def {LOOSE_WITHIN}(value: {_ROW}) -> {_ROW}: ...
def {LOOSE_CALL}(value: quire_kind) -> quire_kind: ...
def {LOOSE_TESTED}(value: quire_kind | None) -> quire_kind: ...
@{TYPING}.overload
def {LOOSE_SPREAD}(value: {_DICT}) -> {TYPING}.Any: ...
@{TYPING}.overload
def {LOOSE_SPREAD}(value: quire_kind) -> quire_kind: ...
class {LOOSE}_nothing({TYPING}.TypedDict): ...
def {LOOSE_SPELLED}(value) -> {LOOSE}_nothing: ...
def {LOOSE_GIVEN}(value: quire_kind) -> quire_kind: ...
{LOOSE_SHOWN} = {TYPING}.reveal_type
"""
"""A dict that is made of a record holds objects for the checker. One of a single kind of values does not."""


def _taking(kinds: str) -> str:
    """A function that takes dicts, as one that takes records in their place."""
    dicts = ", ".join(_DICT if kind == "r" else "quire_other" for kind in kinds)
    records = dicts.replace(_DICT, _RECORD)
    called = f"{TYPING}.Callable[[{{}}], quire_kind]"
    return f"def {LOOSE_KEY}_{kinds}(value: {called.format(dicts)}) -> {called.format(records)}: ...\n"


def loose_stubs(stubs: str, program: ast.Module) -> str:
    """Stubs whose variables and results may hold anything in lists of several kinds.

    The answer may not, and neither may what functions are given. A record that is no part of these may hold
    anything under keys that the program puts there itself.
    """
    tree = module_of(stubs)
    for node in _loose_declarations(tree):
        if isinstance(node, ast.AsyncFunctionDef) and node.returns is not None:
            node.returns = _Loosening().visit(node.returns)
        elif isinstance(node, ast.AnnAssign):
            node.annotation = _Loosening().visit(node.annotation)
    keys, given = keys_put(program, declared_in(stubs).variables), _given_by_programs(tree)
    tree.body = [
        with_keys(node, keys) if given.isdisjoint(_names_of_type(node)) else node for node in tree.body
    ]
    return f"{ast.unparse(tree)}\n{_OURS}{''.join(map(_taking, TAKEN))}"


def _loose_declarations(tree: ast.Module) -> Iterator[ast.stmt]:
    """What stubs declare, with the keys of records that programs are given and do not give."""
    given = _given_by_programs(tree)
    for node in tree.body:
        yield node
        if isinstance(node, ast.ClassDef) and node.name not in given:
            yield from node.body


def _given_by_programs(tree: ast.Module) -> set[str]:
    """The names of all types that the answer and the parameters of functions are made of."""
    types = {name: node for node in tree.body for name in _names_of_type(node)}
    functions = [node for node in tree.body if isinstance(node, ast.AsyncFunctionDef)]
    waiting = ["Output", *(name for node in functions for name in _names_in(node.args))]
    found = set[str]()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _names_in(types[name]) if name in types else ()
    return found


def _names_of_type(node: ast.stmt) -> list[str]:
    match node:
        case ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
            return [name]
        case _:
            return []


def _names_in(node: ast.AST) -> list[str]:
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


class _Loosening(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """A list of several kinds becomes one of anything."""
        self.generic_visit(node)
        is_list = "list" in (getattr(node.value, "id", ""), getattr(node.value, "attr", ""))
        several = isinstance(node.slice, ast.BinOp) and not _has_none(node.slice)
        return node.value if is_list and several else node


def _has_none(union: ast.expr) -> bool:
    """Whether one of the kinds is nothing at all: whoever is given that has to look."""
    return any(isinstance(one, ast.Constant) and one.value is None for one in ast.walk(union))
