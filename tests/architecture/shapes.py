"""Sizes and names: small files, functions and classes, called by words of the design."""

import ast
import re
from collections.abc import Iterator

from tests.architecture.source import Found, Source, classes, functions

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 40
MAX_LAMBDA_LINES = 3
MAX_PUBLIC_METHODS = 12
UNUSED_ANYWHERE = ("manager", "handler", "helper", "utils", "processor", "_v2")
UNUSED_ALONE = {"base", "v2"}
"""Not used as whole words: base64 and database are other words."""

_WORDS = re.compile("[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*")


def small(file: Source) -> Iterator[Found]:
    """What is too long."""
    length = len(file.text.splitlines())
    if length > MAX_FILE_LINES:
        yield length, f"the file has {length} lines: split it by what it is about, not by size"
    for node in functions(file):
        if _length(node) > MAX_FUNCTION_LINES:
            yield node.lineno, f"{node.name} has {_length(node)} lines"
    for inner in ast.walk(file.tree):
        if isinstance(inner, ast.Lambda) and _length(inner) > MAX_LAMBDA_LINES:
            yield inner.lineno, f"a lambda has {_length(inner)} lines: name it"


def few_verbs(file: Source) -> Iterator[Found]:
    """Classes with too many public methods. A bridge carries its framework's own surface."""
    for node in classes(file) if file.room != "bridges" else ():
        public = {name for name in map(_public_method, node.body) if name}
        if len(public) > MAX_PUBLIC_METHODS:
            yield node.lineno, f"{node.name} has {len(public)} public methods"


def honest_names(file: Source) -> Iterator[Found]:
    """Names of words that are not used; a bridge has its framework's names, but files of our own."""
    for part in file.path.with_suffix("").parts:
        if is_unused(part):
            yield 1, f"the module or folder {part} has a word that is not used"
    if file.room == "bridges":
        return
    for node in (*classes(file), *functions(file)):
        if is_unused(node.name):
            yield node.lineno, f"{node.name} has a word that is not used"


def is_unused(name: str) -> bool:
    words = {word.lower() for word in _WORDS.findall(name)}
    return bool(words & UNUSED_ALONE) or any(word in name.lower() for word in UNUSED_ANYWHERE)


def told(file: Source) -> Iterator[Found]:
    """A file that does not say what it is."""
    if not ast.get_docstring(file.tree):
        yield 1, "the module has no docstring"


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _public_method(node: ast.stmt) -> str | None:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
        return node.name
    return None
