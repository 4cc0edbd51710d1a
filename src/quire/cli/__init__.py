"""The command line."""

import sys

from quire.errors import MissingExtra


def main() -> None:
    """Run the command line, or say which extra it needs."""
    try:
        from quire.cli.main import app
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.exit(f"quire: {MissingExtra('the command line', 'cli')}")
    app()
