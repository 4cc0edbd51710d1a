"""Fenced blocks of a model's answer."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from quire.models import answer_text
from quire.programs.asking import unfinished
from quire.programs.check import parse
from quire.programs.faults import ProgramFault
from quire.providers import Parsed

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
    try:
        parse(_flush(block))
    except ProgramFault:
        return False
    return True


def _flush(block: str) -> str:
    """A block of a list stands further right, all of it."""
    lines = block.split("\n")
    least = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    return "\n".join(line[least:] for line in lines)


def code_in(answer: str, *, is_whole: bool = True) -> str:
    """The program in a model's answer: its only fenced block, the only one of Python, or all of it.

    Which of several is meant nobody knows: a draft before the program would do what the program does. Of an
    answer that may not be whole, a block that was not closed is none: what is left of it is another program.
    """
    answer = answer.replace("\r\n", "\n")
    blocks = [*blocks_in(answer)]
    said = [block for block in blocks if block.language in PYTHON] or blocks
    written = [block for block in said or [Block("", answer, True)] if block.text.strip()]
    if not written:
        raise ProgramFault("syntax", "there is no program in the answer: write one, in one ```python block")
    if len(written) > 1:
        several = f"there are {len(written)} blocks in the answer, and none of them was run"
        raise ProgramFault("syntax", f"{several}: write the whole program in one ```python block")
    if written[0].is_open and not is_whole:
        text = "the program has no end, and nothing of it was run: write all of it in one ```python block"
        raise ProgramFault("syntax", text)
    code = written[0].text.strip("\n").rstrip()
    if not blocks or not written[0].is_open:
        _check_text(code, is_fenced=bool(blocks))
    return code


def written_in(parsed: Parsed) -> str:
    """What a model said that was to write a program, or a fault where that is not all of it.

    A part of a program is often a program too, and does what nobody wrote.
    """
    words, why = answer_text(parsed), unfinished(parsed)
    if why is not None:
        text = f"there is no whole program in the answer, and nothing of it was run: {why}"
        raise ProgramFault("syntax", text + (": write a shorter one" if parsed.finish == "length" else ""))
    if parsed.finish != "stop":
        code_in(words, is_whole=False)
    return words


def _check_text(code: str, *, is_fenced: bool) -> None:
    """Raise a fault where a text without a fence is no program, or a fence ended a program too soon."""
    try:
        parse(code)
    except ProgramFault as fault:
        if not is_fenced:
            raise
        if "unterminated" in str(fault):
            why = "a line of ``` or ~~~ ends the block, within a text too: make such a line in another way"
            raise ProgramFault("syntax", f"{fault} ({why})", fault.line) from None
