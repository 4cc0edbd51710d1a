"""An expression that somebody else wrote, over texts, for as long as it may take and no longer."""

import json
import math
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import IO, Any, NamedTuple

from quire.agent.builtin.files import expressions
from quire.errors import InvalidValue, QuireError, TooLarge, cut

_LONGEST_EXPRESSION = 1_000
_SCRIPT = str(Path(expressions.__file__))


class Line(NamedTuple):
    """A line that matches."""

    number: int
    text: str


class Stopped(QuireError):
    """The process of a search ended before it answered."""


class Search:
    """A process that waits for texts."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin and process.stdout
        self._texts: IO[bytes] = process.stdin
        self._answers: IO[bytes] = process.stdout

    def ask(self, message: bytes) -> Any:
        """Send something, and wait for what is said to it."""
        try:
            self._texts.write(message)
            self._texts.flush()
            answer = self._answers.readline()
        except OSError:
            answer = b""
        if not answer.endswith(b"\n"):
            raise Stopped("the search was stopped")
        return json.loads(answer)

    def lines(self, data: bytes, most: int) -> list[Line] | None:
        """The lines of a text that match, one more than `most` if there are more; None if it is no text."""
        found = self.ask(f"{len(data)} {most}\n".encode() + data)
        return None if found is None else [Line(*one) for one in found]


@contextmanager
def searching(expression: str, *, ignore_case: bool, longest: int, seconds: float) -> Generator[Search]:
    """A search that is ended after some seconds, wherever it is; what it is asked then is `Stopped`."""
    if len(expression) > _LONGEST_EXPRESSION:
        raise TooLarge(
            f"the expression has {len(expression):,} characters; {_LONGEST_EXPRESSION:,} are the most"
        )
    if not sys.executable or getattr(sys, "frozen", False):
        raise QuireError("this program was built without the Python that searches run in")
    with _process() as process:
        clock = Timer(seconds, process.kill)
        clock.daemon = True
        clock.start()
        try:
            search = Search(process)
            asked = {"expression": expression, "ignore_case": ignore_case, "longest": longest}
            answer = search.ask(json.dumps({**asked, "seconds": math.ceil(seconds) + 1}).encode() + b"\n")
            if answer["fault"]:
                raise InvalidValue(f"the expression is wrong: {cut(answer['fault'])}")
            yield search
        finally:
            clock.cancel()


@contextmanager
def _process() -> Generator["subprocess.Popen[bytes]"]:
    # Alone with the standard library (-I, -S): nothing of the surroundings is run or waited for.
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    try:
        command = [sys.executable, "-I", "-S", _SCRIPT]
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere)
    except OSError as error:
        raise QuireError(f"no search can be started here: {error.strerror}") from None
    try:
        yield process
    finally:
        process.kill()
        with suppress(OSError):  # what was not sent to the end is not missed
            process.communicate()
