"""The structure of the library: layers, purity above the I/O line, no import circles.

Imports inside functions and under `TYPE_CHECKING` count like any other.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "quire"

# From the ground up. Packages on one line do not import each other.
LAYERS = [
    {"errors"},
    {"guesses"},
    {"items"},
    {"tokens"},
    {"state"},
    {"compactors", "sections", "providers"},
    {"context"},
    {"stores", "models"},
    {"memory"},
    {"session"},
    {"agent"},
    {"programs"},
    {"node"},
    {"bridges"},
    {"integrations"},
    {"reading"},
    {"inspector", "service", "proxy", "mcp"},
    {"testing"},
    {"cli"},
]
LAYER = {package: level for level, packages in enumerate(LAYERS) for package in packages}
PURE = {package for packages in LAYERS[:7] for package in packages}

# What pure packages may import from outside, and what a single file of them may.
COMPUTING = {
    *("abc", "array", "base64", "binascii", "bisect", "collections", "contextlib", "copy", "dataclasses"),
    *("enum", "functools", "hashlib", "heapq", "html", "itertools", "json", "logging", "math", "operator"),
    *("re", "types", "typing", "unicodedata", "msgspec"),
}
EXCEPTIONS = {
    "guesses.py": {"difflib", "importlib", "tomllib"},  # guesses.toml, once there is an error
    "items/kinds.py": {"os", "time"},
    "items/codec.py": {"pydantic_core"},  # only where pydantic itself asks
    "items/values.py": {"codecs"},  # a check of surrogates
    "tokens/measured.py": {"splintr"},
    "tokens/models.py": {"importlib", "tomllib"},
    "providers/rules.py": {"pathlib"},  # rules.json
    "providers/check/plugin.py": {"pytest"},
    "providers/stream.py": {"pathlib"},  # usage.json
}
IMPURE_NAMES = {"open", "print", "breakpoint", "exec", "eval", "__import__"}
MAY_BE_IMPURE = re.compile(rf"\b({'|'.join(IMPURE_NAMES)})\b")  # reading is faster than walking the tree


@cache
def files() -> dict[str, ast.Module]:
    """Every file of the library by its path below `quire`."""
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    }


def package_of(path: str) -> str:
    return path.partition("/")[0].removesuffix(".py")


@cache
def imports(path: str) -> list[str]:
    """The modules that a file imports, names that are modules included."""
    found: list[str] = []
    for node in statements(files()[path]):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, f"{path}:{node.lineno} imports by a relative path"
            found += [imported_module(node.module, alias.name) for alias in node.names]
    return found


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """A node and the statements below it, without their expressions: nine of ten nodes."""
    yield node
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for inner in getattr(node, field, ()):
            yield from statements(inner)


def imported_module(module: str, name: str) -> str:
    """What `from module import name` depends on: an inner module, unless the package binds the name."""
    package = file_of(module)
    is_inner = file_of(f"{module}.{name}") and package and name not in bound_names(package)
    return f"{module}.{name}" if is_inner else module


@cache
def bound_names(path: str) -> set[str]:
    imported = (node for node in files()[path].body if isinstance(node, ast.ImportFrom))
    return {alias.asname or alias.name for node in imported for alias in node.names}


def file_of(module: str) -> str | None:
    """The file that holds a module of the library, if there is one."""
    inner = module.removeprefix("quire").removeprefix(".").replace(".", "/")
    candidates = (f"{inner}.py", f"{inner}/__init__.py".removeprefix("/"))
    return next((path for path in candidates if path in files()), None) if is_ours(module) else None


def is_ours(module: str) -> bool:
    return module == "quire" or module.startswith("quire.")


def test_imports_go_to_lower_layers_only() -> None:
    wrong: list[str] = []
    for path in files():
        package = package_of(path)
        if package in ("__init__", "__main__"):
            continue
        assert package in LAYER, f"{package} has no layer"
        for module in filter(is_ours, imports(path)):
            other = module.removeprefix("quire").removeprefix(".").partition(".")[0]
            if other != package and LAYER.get(other, len(LAYERS)) >= LAYER[package]:
                wrong.append(f"{path} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_imports_of_pure_packages_go_through_their_root() -> None:
    wrong = [
        f"{path} imports {module}: import it from quire.{other}"
        for path in files()
        for module in filter(is_ours, imports(path))
        if (other := module.removeprefix("quire.").partition(".")[0]) in PURE
        and other != package_of(path)
        and module != f"quire.{other}"
    ]
    assert not wrong, "\n".join(wrong)


def test_pure_packages_do_no_io() -> None:
    wrong: list[str] = []
    for path, tree in files().items():
        if package_of(path) not in PURE:
            continue
        allowed = COMPUTING | EXCEPTIONS.get(path, set())
        roots = {module.partition(".")[0] for module in imports(path) if not is_ours(module)}
        wrong += [f"{path} imports {root}" for root in sorted(roots - allowed)]
        if not MAY_BE_IMPURE.search((SOURCE / path).read_text("utf-8")):
            continue
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        wrong += [f"{path} uses {name}" for name in sorted(names & IMPURE_NAMES)]
    assert not wrong, "\n".join(wrong)


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = {path: [f for m in imports(path) if (f := file_of(m)) and f != path] for path in files()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as fault:
        pytest.fail(" <- ".join(fault.args[1]))
