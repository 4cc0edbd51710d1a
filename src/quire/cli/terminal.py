"""The terminal: the only file that prints, writes files and reads lines. Nothing printed can control it.

Control characters, invisible ones, and those that change the direction of text are printed as escapes. In
JSON an escape means the same as the character, so nothing is lost.
"""

import os
import re
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import typer

from quire.errors import Conflict, Damaged, EditRefused, QuireError, Unencodable

_UNSAFE = (
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_on_a_line = re.compile(_UNSAFE)
_in_lines = re.compile(_UNSAFE.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))  # except line breaks and tabs
_in_json = re.compile(_UNSAFE.replace("\x00-\x1f", ""))  # JSON escapes the others itself


# Escapes


def one_line(text: str) -> str:
    """A text on one line, with escapes for everything that is not a plain character."""
    return _on_a_line.sub(_python_escape, text)


def _python_escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def _json_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


# Output


def say(text: str = "", *, end: str = "\n", to_errors: bool = False, **style: Any) -> None:
    """Print a text to standard output, or to standard error; `style` is bold, dim or a colour."""
    shown = _in_lines.sub(_python_escape, text)
    typer.secho(f"{shown}{end}", nl=False, err=to_errors, **style)


def note(text: str) -> None:
    """Print a remark to standard error."""
    say(one_line(text), to_errors=True)


def error(text: str) -> None:
    """Print what went wrong to standard error."""
    say(f"quire: {one_line(text)}", to_errors=True, fg="red")


def table(rows: list[tuple[str, ...]], left: int = 1) -> None:
    """Print rows in columns. The first `left` columns are aligned to the left, the others to the right."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        aligned = (
            f"{cell:<{width}}" if at < left else f"{cell:>{width}}"
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        say("  ".join(aligned).rstrip())


def write_json(value: Any, name: str | None = None, *, to_errors: bool = False) -> None:
    """Write a value as indented JSON, to a file or to standard output."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    write_text(_in_json.sub(_json_escape, text) + "\n", name, to_errors=to_errors)


def write_lines(values: list[Any], name: str | None = None) -> None:
    """Write values as JSON lines, to a file or to standard output."""
    lines = (_in_json.sub(_json_escape, msgspec.json.encode(value).decode()) for value in values)
    write_text("".join(f"{line}\n" for line in lines), name)


def write_text(text: str, name: str | None, *, to_errors: bool = False) -> None:
    """Write a text to a file that only its owner can read, or to standard output."""
    if name is None or name == "-":
        say(text, end="", to_errors=to_errors)
        return
    try:
        descriptor = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as fault:
        raise Unencodable(f"cannot be written: {fault.strerror}", name) from None


@contextmanager
def errors_reported() -> Generator[None]:
    """Report errors in a sentence. Exit status 1: the answer is no; 2: an input could not be read."""
    try:
        yield
    except RecursionError:
        error("the input is nested too deeply")
    except (LookupError, Conflict, EditRefused) as fault:
        if not isinstance(fault, QuireError):
            raise
        error(str(fault))
        raise typer.Exit(1) from None
    except QuireError as fault:
        error(str(fault))
    else:
        return
    raise typer.Exit(2)


# Input


def read_bytes(name: str) -> bytes:
    """The content of a file; `-` is standard input."""
    if name == "-":
        return sys.stdin.buffer.read()
    if Path(name).is_char_device():  # such as /dev/zero, which never ends
        raise Damaged("it cannot be read: it is a device", name)
    try:
        return Path(name).read_bytes()
    except OSError as fault:
        raise Damaged(f"it cannot be read: {fault.strerror}", name) from None


def confirmed(question: str) -> bool:
    """Ask a person to confirm."""
    return typer.confirm(one_line(question), err=True)


class Terminal:
    """A dialogue: lines come in, answers go to standard output, remarks to standard error."""

    def __init__(self) -> None:
        self.is_person = sys.stdin.isatty()
        self._is_within_line = False
        self._reading = threading.Lock()  # an approval that was cancelled may still read a line
        if self.is_person:
            with suppress(ImportError):
                import_module("readline")  # once imported, it edits the lines of input()

    def line(self, prompt: str) -> str | None:
        """The next line; None at the end of input. Only a person sees the prompt."""
        self.end_line()
        try:
            with self._reading:
                text = input(prompt) if self.is_person else sys.stdin.readline()
        except EOFError:
            say()
            return None
        if self.is_person:
            return text
        return text.rstrip("\r\n") if text else None

    def stream(self, text: str, *, dim: bool = False) -> None:
        """Print a piece of an answer."""
        if text:
            self._is_within_line = not text.endswith("\n")  # before printing, which may be interrupted
            say(text, end="", dim=dim or None)
            sys.stdout.flush()

    def say(self, text: str) -> None:
        """Print one line or several."""
        self.end_line()
        say(text)

    def note(self, text: str) -> None:
        """Print a remark."""
        self.end_line()
        say(text, to_errors=True, dim=True)

    def error(self, text: str) -> None:
        """Print an error."""
        self.end_line()
        error(text)

    def end_line(self) -> None:
        """End the line of a streamed answer."""
        if self._is_within_line:
            say()
            self._is_within_line = False
