"""What is shown of programs as they are written, checked, priced and run."""

import sys
from collections.abc import Generator
from contextlib import contextmanager

import typer

from quire.cli.chat_words import call_in_words
from quire.cli.escaping import beginning, readable
from quire.cli.terminal import Terminal
from quire.cli.words import glimpse, named, several
from quire.programs import (
    Answered,
    Asked,
    Called,
    Checked,
    Event,
    Faulted,
    Found,
    Gave,
    NotKept,
    Price,
    Printed,
    SetAside,
    Started,
    Written,
)
from quire.programs.replaying import REPLAYED

_LONGEST_FAULT = 400


class Telling:
    """Lines on standard error, one for each thing that happens; what is printed as it comes, to a person."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._is_live = sys.stderr.isatty()
        self._waiting = ""
        self._held: list[Event] | None = None

    @contextmanager
    def held(self) -> Generator[None]:
        """Show nothing meanwhile, and all of it afterwards: somebody is asked, and types."""
        self.end_line()
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            for event in held:
                self(event)

    def __call__(self, event: Event) -> None:
        """Show what has happened."""
        if self._held is not None:
            self._held.append(event)
            return
        if isinstance(event, Printed):
            self._printed(event.text)
            return
        self.end_line()
        said = in_words(event)
        if said:
            self._terminal.note(said)

    def end_line(self) -> None:
        """Show what was printed without the end of its line."""
        if self._waiting:
            typer.secho("" if self._is_live else f"  | {readable(self._waiting)}", err=True, dim=True)
            self._waiting = ""

    def _printed(self, text: str) -> None:
        if self._is_live:
            typer.secho(readable(text), err=True, dim=True, nl=False)
            self._waiting = text.rpartition("\n")[2]
            return
        *lines, self._waiting = (self._waiting + text).split("\n")
        for line in lines:
            typer.secho(f"  | {readable(line)}", err=True, dim=True)


def in_words(event: Event) -> str:
    """One thing that happened, on a line."""
    match event:
        case Found() | SetAside() | NotKept():
            return _of_files(event)
        case Called() | Gave() | Asked():
            return f"· {_of_calls(event)}"
        case Printed():
            return ""
        case _:
            return f"{named(event.attempt)}: {_of_attempts(event)}"


def _of_attempts(event: Written | Checked | Faulted | Started | Answered) -> str:
    match event:
        case Written():
            return f"round {event.round}, {several(len(event.text.strip().splitlines()), 'line')} written"
        case Checked():
            return f"passed the checks, about {price_in_words(event.price)}"
        case Faulted():
            kind = getattr(event.fault, "kind", type(event.fault).__name__)
            return f"{kind}: {beginning(str(event.fault), _LONGEST_FAULT)}"
        case Started():
            return "runs"
        case Answered():
            return "answered"


def _of_files(event: Found | SetAside | NotKept) -> str:
    if isinstance(event, NotKept):
        why = beginning(event.why, _LONGEST_FAULT)
        return f"{event.path} can be neither used nor moved ({why}): the program is in memory alone"
    if isinstance(event, SetAside):
        return f"{event.path} is set aside: {beginning(event.why, _LONGEST_FAULT)}"
    return "kept before" if event.path is None else f"kept before in {event.path}: no model is asked"


def _of_calls(event: Called | Gave | Asked) -> str:
    if isinstance(event, Called):
        return call_in_words(event.call)
    if isinstance(event, Asked):
        return f"asks {named(event.model)}, in {named(event.transcript)}"
    before = ", made before" if REPLAYED in event.result.extras else ""
    failed = " failed" if event.result.is_error else ""
    return f"{named(event.result.name)}{before}{failed}: {glimpse(event.result)}"


def price_in_words(price: Price) -> str:
    """A price on a line."""
    money = f"{price.money:.4f} USD, " if price.money else ""
    return f"{money}{price.seconds:.1f} s, {several(round(price.calls), 'call')}"
