"""Fenced blocks of a model's answer."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from quire.programs.faults import ProgramFault
from quire.programs.sandbox.source import LONGEST, parsed

PYTHON = frozenset(("python", "py", "python3"))

# Nothing is given back once it was taken: a long row of ticks is gone through once.
_OPENING = re.compile(r"^[ \t]*+(```++|~~~++)[ \t]*+([\w+-]*+)[^\n]*+\n", re.MULTILINE)
_MOST_ENDINGS = 20
"""Lines that a block may end with, as far as they are tried."""


class Block(NamedTuple):
    """What is in a block, flush left. One that `is_open` was not closed."""

    language: str
    text: str
    is_open: bool


def blocks_in(answer: str) -> Iterator[Block]:
    """The blocks of an answer, in order."""
    at = 0
    while opening := _OPENING.search(answer, at):
        closing = re.compile(rf"^[ \t]*+{re.escape(opening[1])}[ \t]*+$", re.MULTILINE)
        endings = [*islice(closing.finditer(answer, opening.end()), _MOST_ENDINGS)]
        language, begins = opening[2].lower(), opening.end()
        if not endings:
            yield Block(language, _flush(answer[begins:]), True)
            return
        ending = endings[0]
        if len(endings) > 1 and language in {*PYTHON, ""}:
            # A fence in a text of the program ends nothing: up to there the program cannot be read.
            ends = (one for one in endings if _is_program(answer[begins : one.start()]))
            ending = next(ends, ending)
        yield Block(language, _flush(answer[begins : ending.start()]), False)
        at = ending.end()


def _is_program(block: str) -> bool:
    if len(block) > LONGEST:
        return False
    try:
        parsed(_flush(block))
    except ProgramFault:
        return False
    return True


def _flush(block: str) -> str:
    """A block of a list stands further right, all of it."""
    lines = block.split("\n")
    least = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    return "\n".join(line[least:] for line in lines)
