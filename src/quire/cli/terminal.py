"""Where a person types and reads, or where lines come from a pipe and go to one."""

import sys
from contextlib import suppress
from importlib import import_module

import typer

from quire.cli.escaping import readable
from quire.cli.interrupts import interrupts_to, raising
from quire.cli.telling import print_error


class Terminal:
    """Lines in, words out. What was said is on standard output; what is said about it, on standard error."""

    def __init__(self) -> None:
        self.is_person = sys.stdin.isatty()
        self._is_within_line = False
        if self.is_person:
            with suppress(ImportError):
                import_module("readline")  # input() edits lines with it, where it was imported

    def line(self, prompt: str) -> str | None:
        """The next line; none at the end of input. A prompt is for a person alone.

        Only here is an interrupt an exception: nothing else would stop the wait for a line.
        """
        self.end_line()
        try:
            with interrupts_to(raising):
                text = input(prompt) if self.is_person else sys.stdin.readline()
        except EOFError:
            typer.echo()
            return None
        if not self.is_person:
            return text.rstrip("\r\n") if text else None
        return text

    def words(self, text: str, *, dim: bool = False) -> None:
        """Words as they come, with nothing after them."""
        if text:
            self._is_within_line = not text.endswith("\n")  # first: an interrupt may come while it is written
            typer.secho(readable(text), nl=False, dim=dim or None)
            sys.stdout.flush()

    def say(self, text: str) -> None:
        """A line, or several."""
        self.end_line()
        typer.echo(readable(text))

    def note(self, text: str) -> None:
        """A remark on what goes on."""
        self.end_line()
        typer.secho(readable(text), err=True, dim=True)

    def fault(self, text: str) -> None:
        """What went wrong."""
        self.end_line()
        print_error(text)

    def end_line(self) -> None:
        """End the line that words stand on, if there is one."""
        if self._is_within_line:
            typer.echo()
            self._is_within_line = False
