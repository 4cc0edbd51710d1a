"""Files of the library as the rules of the design see them: where they stand, their text and their tree."""

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path, PurePath
from typing import NamedTuple

SOURCE = Path(__file__).parent.parent.parent / "src" / "quire"
Found = tuple[int, str]
"""A line, and what is wrong with it."""


class Source(NamedTuple):
    """One file; `path` is from the root of the package."""

    path: PurePath
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        return self.path.parts[0].removesuffix(".py")

    @property
    def package(self) -> list[str]:
        return ["quire", *self.path.parts[:-1]]


Rule = Callable[[Source], Iterable[Found]]


def source(path: str | PurePath, text: str) -> Source:
    return Source(PurePath(path), text, ast.parse(text))


@cache
def library() -> list[Source]:
    """Every file of the library."""
    return [
        source(path.relative_to(SOURCE), path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))
    ]


def imports(file: Source) -> Iterator[Found]:
    """Every import in a file, also those inside functions and under TYPE_CHECKING."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = file.package[: len(file.package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield node.lineno, module
            if module == "quire":
                yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def functions(file: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def classes(file: Source) -> Iterator[ast.ClassDef]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.ClassDef):
            yield node
