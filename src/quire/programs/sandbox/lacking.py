"""What of Python itself a program uses and the sandbox has not, though its checker may know it."""

import ast
import builtins
from collections.abc import Iterator

from quire.programs.faults import ProgramFault, at_line
from quire.programs.sandbox.attributes import attributes_lacking
from quire.programs.sandbox.gathering import gathering_in
from quire.programs.sandbox.naming import bindings, declared_in, uses

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


def check_lacking(code: str, tree: ast.Module, stubs: str) -> None:
    """Raise a `ProgramFault` where a program uses what Python has and the sandbox has not."""
    lacking = (*_builtins_lacking(tree, stubs), *_keywords_lacking(tree), *attributes_lacking(tree))
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
