"""The application: all commands, and the demonstration."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from quire.cli.chat import chat
from quire.cli.check import check, convert, tokens
from quire.cli.conversations import follow, forget, log, ls, show, undo
from quire.cli.fit import explain, fit
from quire.cli.memory import knowledge, recall
from quire.cli.program import program
from quire.cli.simulate import simulate
from quire.cli.terminal import errors_reported
from quire.cli.transfer import export, import_, migrate
from quire.errors import InvalidValue

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

_HERE = Path(__file__).parent
_EXAMPLES = (_HERE / "support.py", _HERE.parents[2] / "examples" / "support.py")
"""The demonstration: beside this file in an installed package, under `examples/` in a checkout."""

_SECONDS = 60.0


@app.callback()
def quire() -> None:
    """Keep all that happened. Choose what the model sees. Know why."""


@app.command()
def demo(
    store: Annotated[
        str | None, typer.Option(help="the store to keep it in; by default a new one for temporary files")
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0, help="time for the real model; with 0 everything comes from a script")
    ] = _SECONDS,
) -> None:
    """Play a support conversation on the embedded model, and show what it sees and why."""
    with errors_reported():
        example = next((path for path in _EXAMPLES if path.exists()), None)
        if example is None:
            raise InvalidValue("the demonstration is not part of this installation")
        runpy.run_path(str(example))["play"](store, seconds)


for _command in (chat, program, check, convert, tokens, fit):
    app.command()(_command)
app.command(context_settings={"ignore_unknown_options": True})(explain)  # -1 is an item, not an option
app.command()(simulate)

_ON_STORES: dict[str, Callable[..., None]] = {
    "ls": ls,
    "show": show,
    "log": log,
    "follow": follow,
    "undo": undo,
    "forget": forget,
    "export": export,
    "import": import_,
    "migrate": migrate,
    "recall": recall,
}
_PANEL = "On stores"
for _name, _verb in _ON_STORES.items():
    app.command(_name, rich_help_panel=_PANEL)(_verb)
app.add_typer(knowledge, name="knowledge", rich_help_panel=_PANEL)
