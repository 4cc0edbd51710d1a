"""The application. A command's module is imported when the command runs, so that `quire --help` is quick."""

from importlib import import_module
from keyword import iskeyword
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

_STORES = "On stores"

COMMANDS: dict[str, tuple[str, str | None, str]] = {
    "demo": ("demo", None, "Play a support conversation, and show what the model sees and why."),
    "chat": ("chat", None, "Chat with a model in a stored conversation."),
    "continue": ("continued", None, "Continue a conversation that another program wrote to a file."),
    "check": ("check", None, "Validate a history against a provider's rules, or verify a store."),
    "convert": ("check", None, "Write a history in another format."),
    "tokens": ("check", None, "Count the tokens of a history, by kind of item and in all."),
    "fit": ("fit", None, "Write what a model would see of a history within a budget, and why."),
    "explain": ("fit", None, "Explain the fate of one item of a history within a budget."),
    "simulate": ("simulate", None, "Replay histories under compaction policies, and compare the costs."),
    "serve": ("serve", None, "Serve the agents of a node over HTTP."),
    "work": ("work", None, "Do the jobs that services on PostgreSQL accept."),
    "proxy": ("proxy", None, "Pass the requests of any program on unchanged, and record and explain them."),
    "ls": ("conversations", _STORES, "List the conversations of a store."),
    "show": ("conversations", _STORES, "Show the view of a conversation, or what a model saw."),
    "log": ("conversations", _STORES, "Print every entry of a conversation, and what edits do."),
    "follow": ("conversations", _STORES, "Print new entries of a conversation as they are added."),
    "undo": ("conversations", _STORES, "Undo an edit of a conversation."),
    "forget": ("conversations", _STORES, "Erase items, a conversation, or a whole scope, for good."),
    "export": ("transfer", _STORES, "Write a conversation, or a whole scope, to a file."),
    "import": ("transfer", _STORES, "Read a history of any format into a conversation."),
    "copy": ("transfer", _STORES, "Copy every conversation of a store into another one."),
    "prune": ("upkeep", _STORES, "Remove idle conversations for good."),
    "vacuum": ("upkeep", _STORES, "Shrink the files of a store to what they hold."),
    "migrate": ("upkeep", _STORES, "Create the tables of a database."),
    "recall": ("memory", _STORES, "List what a question recalls, with scores and reasons."),
    "knowledge": ("memory", _STORES, "Add, list and remove the documents of a scope."),
    "why": ("why", _STORES, "Say whether the model saw the items with some words, and why not."),
    "report": ("report", _STORES, "Summarise what requests cost, what caches served, and what was wasted."),
    "inspect": ("inspect", _STORES, "Open a page that shows what the model saw of conversations, and why."),
    "mcp": ("mcp", _STORES, "Serve the conversations of a store to clients of the Model Context Protocol."),
}
"""Each command with its module, its panel in the help, and one line about it."""


class Commands(TyperGroup):
    """Imports a command when it runs, or to show its help."""

    is_listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command; for the list of all commands, a placeholder with a line of help."""
        if cmd_name not in COMMANDS:
            return None
        module, panel, line = COMMANDS[cmd_name]
        if self.is_listing:
            return TyperCommand(cmd_name, help=line, rich_help_panel=panel)
        function = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command = getattr(import_module(f"quire.cli.{module}"), function)
        if isinstance(command, typer.Typer):
            return get_command(command)
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        # A negative number, as in `explain FILE -1`, is an argument and not an option.
        single.command(cmd_name, context_settings={"ignore_unknown_options": cmd_name == "explain"})(command)
        return get_command(single)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List the commands without importing them."""
        self.is_listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self.is_listing = False


app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"quire {import_module('quire').__version__}")
        raise typer.Exit


@app.callback()
def quire(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Keep all that happened. Choose what the model sees. Know why."""
