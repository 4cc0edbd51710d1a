"""The command `demo`, which plays `examples/support.py`."""

import runpy
from pathlib import Path
from typing import Annotated

import typer

from quire.cli.terminal import errors_reported
from quire.errors import InvalidValue

_HERE = Path(__file__).parent
_EXAMPLES = (_HERE / "support.py", _HERE.parents[2] / "examples" / "support.py")
"""The paths of the example in an installed package and in a checkout."""


def demo(
    store: Annotated[
        str | None, typer.Option(help="the store to write; by default a new temporary one")
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0, help="time for the model on this machine; with 0 all answers are scripted")
    ] = 20.0,
) -> None:
    """Play a support conversation, and show what the model sees and why."""
    with errors_reported():
        example = next((path for path in _EXAMPLES if path.exists()), None)
        if example is None:
            raise InvalidValue("the demonstration is not part of this installation")
        runpy.run_path(str(example))["play"](store, seconds)
