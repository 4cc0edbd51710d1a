"""The design, held by tests.

Floors, the purity line, the length of files and functions, names that are not used.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "quire"
FILES = sorted(SOURCE.rglob("*.py"))

# From the ground up. A room imports rooms on lower lines only; rooms that share a line do not know each
# other.
FLOORS = [
    {"errors"},
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
    {"inspector"},
    {"cli"},
]
FLOOR = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
PURE = {room for rooms in FLOORS[:6] for room in rooms}
IMPURE_MODULES = {
    *("asyncio", "threading", "multiprocessing", "concurrent", "subprocess", "signal", "selectors"),
    *("socket", "ssl", "http", "urllib", "sqlite3", "shutil", "tempfile", "pathlib", "io", "glob", "mmap"),
}
IMPURE_CALLS = {"open", "input", "print"}
CLOCK = SOURCE / "items" / "clock.py"

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 40
MAX_PUBLIC_METHODS = 12
UNUSED_WORDS = ("manager", "handler", "helper", "utils", "processor", "_v2")


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(tree: ast.AST, path: Path) -> Iterator[tuple[int, str]]:
    """Every import in a file, also those inside functions and under TYPE_CHECKING."""
    package = ["quire", *path.relative_to(SOURCE).parts[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield node.lineno, module
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names if module == "quire")


def named(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", FILES, ids=named)
def test_imports_go_down_and_never_sideways(path: Path) -> None:
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return
    assert room in FLOOR, f"{named(path)} is in no room of the design"
    for line, module in imports_of(ast.parse(path.read_text()), path):
        if not module.startswith("quire.") and module != "quire":
            continue
        other = module.split(".")[1] if "." in module else "__init__"
        if other == room:
            continue
        assert other in FLOOR, (
            f"{named(path)}:{line} imports {module}: import from the room, not from the root"
        )
        assert FLOOR[other] < FLOOR[room], f"{named(path)}:{line} imports {module}, which is not below {room}"


@pytest.mark.parametrize("path", [path for path in FILES if room_of(path) in PURE], ids=named)
def test_above_the_line_nothing_touches_the_world(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for line, module in imports_of(tree, path):
        root = module.split(".")[0]
        assert root not in IMPURE_MODULES, f"{named(path)}:{line} imports {module}"
        if root in ("time", "datetime", "random", "os", "importlib"):
            assert path == CLOCK, f"{named(path)}:{line}: only the clock knows the time and the process"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in IMPURE_CALLS, f"{named(path)}:{node.lineno} calls {node.func.id}"


@pytest.mark.parametrize("path", FILES, ids=named)
def test_rooms_are_small(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= MAX_FILE_LINES, "split it by what it is about, not by size"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= MAX_FUNCTION_LINES, f"{named(path)}:{node.lineno} {node.name} has {length} lines"


@pytest.mark.parametrize("path", FILES, ids=named)
def test_classes_have_few_verbs_and_honest_names(path: Path) -> None:
    for word in UNUSED_WORDS:
        assert word not in path.stem.lower()
    if room_of(path) == "bridges":
        return  # a bridge carries its framework's own surface and names
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            assert not any(word in node.name.lower() for word in UNUSED_WORDS), node.name
            assert not node.name.startswith("Base"), node.name
            public = {
                inner.name
                for inner in node.body
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
                and not inner.name.startswith("_")
            }
            assert len(public) <= MAX_PUBLIC_METHODS, f"{node.name} has {len(public)} public methods"


@pytest.mark.parametrize("path", FILES, ids=named)
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), f"{named(path)} has no docstring"
