"""What is told of programs as they are written, checked, priced, run and kept."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from quire.errors import QuireError
from quire.items import ToolCall, ToolResult
from quire.programs.check import Program
from quire.programs.pricing import Price

logger = logging.getLogger("quire.programs")


class Written(NamedTuple):
    """A model answered with a program, or with what is none; `round` counts from one."""

    attempt: str
    round: int
    text: str


class Checked(NamedTuple):
    """A program can be run, and is taken to cost so much."""

    attempt: str
    program: Program
    price: Price


class Faulted(NamedTuple):
    """A program cannot be run, or failed when it was; or no program came."""

    attempt: str
    fault: QuireError


class Started(NamedTuple):
    """A program begins to run."""

    attempt: str
    program: Program


class Called(NamedTuple):
    """A program calls a tool."""

    attempt: str
    call: ToolCall


class Gave(NamedTuple):
    """A tool gave something, or failed."""

    attempt: str
    result: ToolResult


class Asked(NamedTuple):
    """A program asks a model, in a transcript of its own."""

    attempt: str
    transcript: str
    model: str


class Printed(NamedTuple):
    """A program printed something."""

    attempt: str
    text: str


class Answered(NamedTuple):
    """A program answered, in JSON text."""

    attempt: str
    text: str


class Found(NamedTuple):
    """A program was kept before, and no model is asked."""

    path: Path | None


class SetAside(NamedTuple):
    """A file stands where a program is to be kept, and cannot be used; it has another name from now on."""

    path: Path
    why: str


class NotKept(NamedTuple):
    """A file is in the way of a program, and can be neither used nor moved: it is kept in memory alone."""

    path: Path
    why: str


Event = (
    Written
    | Checked
    | Faulted
    | Started
    | Called
    | Gave
    | Asked
    | Printed
    | Answered
    | Found
    | SetAside
    | NotKept
)
Tell = Callable[[Event], object]
"""Hears of what happens, and is not waited for."""


def nobody(_: Event) -> None:
    """Tell nobody."""


def listening(tell: Tell | None) -> Tell:
    """Somebody who hears, or nobody: what fails in listening is logged, and is no fault of what is heard."""
    if tell is None:
        return nobody

    def heard(event: Event) -> None:
        try:
            tell(event)
        except Exception as fault:
            logger.warning("a listener failed at %s: %s", type(event).__name__, type(fault).__name__)

    return heard
