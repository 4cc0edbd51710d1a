"""Where the command `quire` comes in: the command line, or what to install for it."""

import sys

from quire.errors import MissingExtra


def main() -> None:
    """Run the command line."""
    try:
        from quire.cli.main import app
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.exit(f"quire: {MissingExtra('the command line', 'cli')}")
    app()
