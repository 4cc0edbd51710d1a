"""A bar that tells how far a long command has come."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

Advance = Callable[[str, int], None]
"""Told what is being done, and how many steps are done more."""


@contextmanager
def progress(steps: int) -> Generator[Advance]:
    """Who is told of each step that is done; shown on standard error where somebody watches."""
    words = TextColumn("{task.description}", markup=False)
    columns = (words, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    with bar:
        task = bar.add_task("", total=steps)
        yield lambda doing, done: bar.update(task, advance=done, description=doing)
