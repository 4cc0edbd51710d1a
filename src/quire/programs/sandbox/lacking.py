"""What of Python itself a program uses and the sandbox has not, though its checker may know it."""

import ast
import builtins
from collections import Counter
from collections.abc import Iterator

from quire.programs.faults import ProgramFault, at_line
from quire.programs.sandbox.attributes import attributes_lacking
from quire.programs.sandbox.functions import Function
from quire.programs.sandbox.gathering import gathering_in
from quire.programs.sandbox.naming import bindings, declared_in, uses
from quire.programs.sandbox.other_names import reads_by_any_name

BUILTINS = frozenset(
    {
        *("ArithmeticError", "AssertionError", "AttributeError", "BaseException", "Ellipsis"),
        *("Exception", "False", "FileExistsError", "FileNotFoundError", "ImportError", "IndexError"),
        *("IsADirectoryError", "KeyError", "KeyboardInterrupt", "LookupError", "MemoryError"),
        *("ModuleNotFoundError", "NameError", "None", "NotADirectoryError", "NotImplemented"),
        *("NotImplementedError", "OSError", "OverflowError", "PermissionError", "RecursionError"),
        *("RuntimeError", "StopIteration", "SyntaxError", "SystemExit", "TimeoutError", "True"),
        *("TypeError", "UnboundLocalError", "UnicodeDecodeError", "UnicodeEncodeError", "ValueError"),
        *("ZeroDivisionError", "__debug__", "__doc__", "__name__", "__package__", "__spec__", "abs"),
        *("all", "any", "bin", "bool", "bytes", "chr", "complex", "dict", "divmod", "enumerate"),
        *("eval", "exec", "filter", "float", "format", "frozenset", "getattr", "hasattr", "hash"),
        *("hex", "id", "int", "isinstance", "iter", "len", "list", "locals", "map", "max", "min"),
        *("next", "object", "oct", "ord", "pow", "print", "property", "range", "repr", "reversed"),
        *("round", "set", "setattr", "slice", "sorted", "str", "sum", "tuple", "type", "zip"),
    }
)
"""Those that programs find when they are run. A test asks the sandbox for each."""

NO_FILES = frozenset(("open",))
"""Those that are there, and of no use: there are no files."""


_GATHERING = (
    "`asyncio.gather` takes no keywords here: to go on where a call fails, "
    "catch that in an async function of your own, and gather its calls"
)


_NAMES = ("__name__", "__qualname__")
_NO_NAME = "a function has no name of its own in the sandbox: write it as a text"


def check_lacking(code: str, tree: ast.Module, stubs: str) -> None:
    """Raise a `ProgramFault` where a program uses what Python has and the sandbox has not."""
    lacking = (
        *_builtins_lacking(tree, stubs),
        *_keywords_lacking(tree),
        *_names_lacking(tree, stubs),
        *attributes_lacking(tree),
    )
    line, text = min(lacking, default=(0, ""))
    if text:
        raise ProgramFault("missing", at_line(code, line, text), line)


def _builtins_lacking(tree: ast.Module, stubs: str) -> Iterator[tuple[int, str]]:
    declared = declared_in(stubs)
    own = {*declared.functions, *declared.variables, *declared.types, *(name for _, name in bindings(tree))}
    for line, name in uses(tree):
        if name not in BUILTINS and name not in own and hasattr(builtins, name):
            why = "there are no files" if name in NO_FILES else "the sandbox has only a part of Python"
            yield line, f"there is no `{name}`: {why}: write it another way"


def _keywords_lacking(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Calls of `gather` that say how: it would refuse them once all that it gathers has begun."""
    return ((call.lineno, _GATHERING) for call in gathering_in(tree) if call.keywords)


def _names_lacking(tree: ast.Module, stubs: str) -> Iterator[tuple[int, str]]:
    """Functions that are asked for their names, by whoever does not see first whether they have any."""
    nodes = [*ast.walk(tree)]
    asking = [one for one in nodes if isinstance(one, ast.Attribute) and one.attr in _NAMES]
    if not asking or any(map(_sees_first, nodes)):
        return
    bound = Counter(name for _, name in bindings(tree))
    methods = {one for node in nodes if isinstance(node, ast.ClassDef) for one in node.body}
    plain = [one for one in nodes if isinstance(one, Function) and not one.decorator_list]
    own = [one.name for one in plain if one not in methods and bound[one.name] == 1]
    given = [name for name in declared_in(stubs).functions if not bound[name]]
    functions = reads_by_any_name((*own, *given), tree)
    yield from ((one.lineno, f"`.{one.attr}`: {_NO_NAME}") for one in asking if one.value in functions)


def _sees_first(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return text in _NAMES
        case ast.Name(id=name):
            return name == "AttributeError"
        case _:
            return False
