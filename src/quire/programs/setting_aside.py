"""Files of kept programs that are put out of the way, though others may do the same or write there anew."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from quire.errors import Damaged, StoreFailed
from quire.programs.kept_files import Kept, read_kept

Outcome = Literal["moved", "gone", "stuck"]
"""What became of a file: "gone" is one that somebody else moved or wrote anew, "stuck" one that stays."""

IsMeant = Callable[[Path], bool]
"""Says whether what is in a file is what is to be put out of the way."""


def put_aside(path: Path, is_meant: IsMeant) -> Outcome:
    """Give a file another name, if that can be done: somebody may have put work into it."""
    if not is_meant(path):
        return "gone"
    try:
        path.rename(other := _free_name(path))
    except FileNotFoundError:
        return "gone"
    except OSError:
        return "stuck"
    if is_meant(other):
        return "moved"
    _give_back(other, path)
    return "gone"


def holds(kept: Kept) -> IsMeant:
    """Whether a file holds this program: it may have been edited since, or written anew."""

    def is_meant(path: Path) -> bool:
        try:
            found = read_kept(path, kept.version)
        except (Damaged, StoreFailed):
            return False
        return found is not None and found.program.code == kept.program.code

    return is_meant


def is_damaged(version: str) -> IsMeant:
    """Whether a file is none of a program of this version."""

    def is_meant(path: Path) -> bool:
        try:
            read_kept(path, version)
        except Damaged:
            return True
        except StoreFailed:
            return False
        return False

    return is_meant


def _free_name(path: Path) -> Path:
    number = 1
    while (other := path.with_suffix(f".py.{number}")).exists():
        number += 1
    return other


def _give_back(other: Path, path: Path) -> None:
    """Put a file back that was written between the look and the move; one that is there by now stays."""
    try:
        os.link(other, path)
        other.unlink()
    except OSError:
        return  # it has the other name then, and is not lost
