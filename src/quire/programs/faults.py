"""Faults of a program, described so that the model that wrote it can correct it."""

from typing import Literal, get_args

from quire.errors import InvalidValue, QuireError

Kind = Literal["syntax", "names", "types", "missing", "raised", "limit", "answer"]
OWN: frozenset[Kind] = frozenset(("syntax", "names", "types", "missing"))
"""Faults that are surely the program's own. An answer may not fit for what a tool gave this once."""

LONGEST = 2_000
"""Characters of a fault: it is told to a model, and a program can raise as long a text as it likes."""

_LONGEST_LINE = 160


class ProgramFault(QuireError, RuntimeError):
    """A program that cannot be run, or that failed.

    `kind` is what sort of fault: "missing" is a feature of Python that the sandbox lacks, "raised" an error
    of the program's own, "limit" a bound that was reached, "answer" an answer that cannot be taken. `line` is
    where, as far as is known; `printed` what was printed until then. One that `has_acted` had called tools
    before, and who runs it again calls them again.
    """

    def __init__(
        self, kind: Kind, text: str, line: int | None = None, printed: str = "", has_acted: bool = False
    ) -> None:
        if kind not in get_args(Kind):
            raise InvalidValue("a fault of a program has no such kind")
        told = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
        super().__init__(kind, told, line, printed, has_acted)
        self.kind: Kind = kind
        self.line = line
        self.printed = printed
        self.has_acted = has_acted

    def __str__(self) -> str:
        return str(self.args[1])


def at_line(code: str, line: int | None, text: str) -> str:
    """A text with the line that it is about before it, and what stands there."""
    lines = code.split("\n")
    if line is None or not 1 <= line <= len(lines):
        return text
    stands = lines[line - 1].strip()
    shown = stands if len(stands) <= _LONGEST_LINE else f"{stands[:_LONGEST_LINE]}…"
    return f"line {line}, `{shown}`: {text}"
