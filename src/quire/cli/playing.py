"""The command that plays the demonstration."""

from typing import Annotated

import typer

from quire.cli.telling import clear_errors

_SECONDS = 60.0
"""What the real model may take, so that all of it is over within 90 seconds on any machine."""


def demo(
    store: Annotated[
        str | None, typer.Option(help="where to keep it; a new folder for temporary files if left out")
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0, help="that the real model may take; with 0 all is played from a script")
    ] = _SECONDS,
) -> None:
    """Play a support conversation with tools on the embedded model, and show what it sees, and why."""
    from quire.cli.demo import play

    with clear_errors():
        play(store, seconds)
