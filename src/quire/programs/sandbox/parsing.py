"""Text of Python as a tree, one at a time."""

import ast
from threading import Lock

# The parser of Python 3.11 counts how deep it is for all threads together, and fails where two are at it.
_alone = Lock()


def module_of(text: str) -> ast.Module:
    """The tree of a program or of stubs; what `ast.parse` raises is raised."""
    with _alone:
        return ast.parse(text)


def expression_of(text: str) -> ast.expr:
    """The tree of one expression."""
    with _alone:
        return ast.parse(text, mode="eval").body
