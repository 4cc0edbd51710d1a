"""The line of purity: what the rooms above it may import and name."""

import ast
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec

from tests.architecture.floors import PURE
from tests.architecture.source import Found, Source, imports

# A list of what is allowed, module by module: what nobody thought of is refused. It is what these rooms need
# today, and grows by what computes and touches nothing.
ALLOWED = {
    *("abc", "array", "base64", "binascii", "bisect", "collections", "collections.abc", "contextlib", "enum"),
    *(
        "functools",
        "hashlib",
        "html",
        "itertools",
        "json",
        "logging",
        "math",
        "operator",
        "re",
        "types",
        "typing",
    ),
    *("msgspec", "msgspec.json", "msgspec.structs"),
}
# For one file alone: the clock knows the time and the process, others meet what may not be installed.
ALLOWED_IN = {
    "items/clock.py": {"os", "time"},
    "items/foreign.py": {"pydantic_core", "pydantic_core.core_schema"},
    "tokens/exact.py": {"splintr"},
    "providers/checking/plugin.py": {"pytest"},
}
REFUSED_NAMES = {
    *("open", "input", "print", "breakpoint"),
    *("__import__", "__builtins__", "__loader__", "__spec__", "exec", "eval", "compile", "globals"),
}
# Under any owner: builtins.open, codecs.open, the modules that an allowed module happens to hold.
REFUSED_ATTRIBUTES = {
    *("open", "__import__", "import_module", "__builtins__", "__loader__", "__globals__"),
    *("builtins", "importlib", "sys", "os", "io", "codecs"),
    *("basicConfig", "FileHandler", "StreamHandler"),
}


def untouched(file: Source) -> Iterator[Found]:
    """What in a file of a pure room could touch the world."""
    if file.room in PURE:
        yield from _foreign_imports(file)
        for node in ast.walk(file.tree):
            yield from _reaching_out(node)


def _foreign_imports(file: Source) -> Iterator[Found]:
    allowed = ALLOWED | ALLOWED_IN.get(file.path.as_posix(), set())
    for line, module in (*imports(file), *_submodules(file)):
        if module != "quire" and not module.startswith("quire.") and module not in allowed:
            yield line, f"imports {module}, which is not on the list of what pure rooms may import"


def _submodules(file: Source) -> Iterator[Found]:
    """Modules that are imported as names, as in `from logging import handlers`."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from ((node.lineno, name) for name in names if _is_module(name))


@cache
def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # what is before the last dot is no package
        return False


def _reaching_out(node: ast.AST) -> Iterator[Found]:
    match node:
        # Also without a call: a name that is handed on is called elsewhere.
        case ast.Name(id=name, ctx=ast.Load()) if name in REFUSED_NAMES or name in ("importlib", "sys"):
            yield node.lineno, f"names {name}"
        case ast.Attribute(attr=name) if name in REFUSED_ATTRIBUTES:
            yield node.lineno, f"reaches for .{name}"
        case ast.ImportFrom(names=names):
            for alias in names:
                if alias.name in REFUSED_NAMES | REFUSED_ATTRIBUTES:
                    yield node.lineno, f"imports the name {alias.name}"
        case _:
            return
