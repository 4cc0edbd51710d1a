"""Events of programs: written, checked, run, kept. A listener receives them as they happen."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from quire.errors import QuireError
from quire.items import ToolCall, ToolResult
from quire.programs.price import Price

logger = logging.getLogger("quire.programs")


class Written(NamedTuple):
    """A model answered, with a program or without one; `round` counts from one."""

    attempt: str
    round: int
    text: str


class Checked(NamedTuple):
    """A program passed the checks, and has an estimated price."""

    attempt: str
    code: str
    price: Price


class Faulted(NamedTuple):
    """A program was refused or failed, or the model gave none."""

    attempt: str
    fault: QuireError


class Started(NamedTuple):
    """A program starts to run."""

    attempt: str
    code: str


class Called(NamedTuple):
    """A program calls a tool."""

    attempt: str
    call: ToolCall


class Gave(NamedTuple):
    """A call of a tool ended, with a result or an error."""

    attempt: str
    result: ToolResult


class Asked(NamedTuple):
    """A program asks a model, in a transcript of its own."""

    attempt: str
    transcript: str
    model: str


class Printed(NamedTuple):
    """A program printed a text."""

    attempt: str
    text: str


class Answered(NamedTuple):
    """A program came to an answer; `text` is its JSON."""

    attempt: str
    text: str


class Found(NamedTuple):
    """A kept program was found: no model is asked."""

    path: Path | None


class SetAside(NamedTuple):
    """The file of a kept program cannot be used and was renamed."""

    path: Path
    why: str


Event = Written | Checked | Faulted | Started | Called | Gave | Asked | Printed | Answered | Found | SetAside
"""Any event of a program."""
Tell = Callable[[Event], object]
"""A listener. Its errors are logged and change nothing."""


def listener(tell: Tell | None) -> Tell:
    """A function that passes events to `tell`, if there is one, and logs its errors."""

    def notify(event: Event) -> None:
        if tell is None:
            return
        try:
            tell(event)
        except Exception as error:
            logger.warning("a listener failed at %s: %s", type(event).__name__, type(error).__name__)

    return notify
