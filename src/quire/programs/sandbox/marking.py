"""Places in the text of a program, and texts of ours that are put there: all lines stay where they are."""

import ast
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple


class Span(NamedTuple):
    """Where a node begins and ends, in bytes of the text: the tree counts in those."""

    start: int
    end: int


class Place(NamedTuple):
    """Where something stands as the type checker says it: by lines and characters, the first of each is 1."""

    line: int
    column: int
    end_line: int
    end_column: int


class Faulty(NamedTuple):
    """Where the type checker found fault.

    `refused` are values that do not fit what they are declared to be, `unmatched` calls that fit none of the
    ways to call their functions.
    """

    refused: Collection[Place] = ()
    unmatched: Collection[Place] = ()


class Text:
    """The text of a program with the places of its nodes."""

    def __init__(self, code: str) -> None:
        self.data = code.encode()
        self._lines = [0]
        for line in self.data.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def span(self, node: ast.stmt | ast.expr) -> Span:
        """Where a node stands."""
        last = self.start_of(node.end_lineno or node.lineno)
        return Span(self.start_of(node.lineno) + node.col_offset, last + (node.end_col_offset or 0))

    def start_of(self, line: int) -> int:
        """Where a line begins; the first is 1."""
        return self._lines[line - 1]

    def spans_at(self, place: Place) -> Iterator[Span]:
        """What may stand at a place: the checker takes parentheses around it for a part of it, or not."""
        start, end = self._at(place.line, place.column), self._at(place.end_line, place.end_column)
        yield Span(start, end)
        while self.data[start : start + 1] == b"(" and self.data[end - 1 : end] == b")":
            inner = self.data[start + 1 : end - 1]
            start, end = end - 1 - len(inner.lstrip()), start + 1 + len(inner.rstrip())
            yield Span(start, end)

    def _at(self, line: int, column: int) -> int:
        if not 0 < line < len(self._lines):
            return len(self.data)
        start, end = self._lines[line - 1 : line + 1]
        return start + len(self.data[start:end].decode()[: column - 1].encode())

    def around(self, node: ast.stmt | ast.expr) -> tuple[bytes, bytes, bytes]:
        """What comes before a node, itself, and what comes after."""
        start, end = self.span(node)
        return self.data[:start], self.data[start:end], self.data[end:]

    def marked(self, marks: Iterable[tuple[int, str]]) -> str:
        """The text with others put in at places of it; of those at one place the first comes first."""
        pieces, at = list[bytes](), 0
        for place, mark in sorted(marks, key=lambda one: one[0]):
            pieces += [self.data[at:place], mark.encode()]
            at = place
        return b"".join([*pieces, self.data[at:]]).decode()
