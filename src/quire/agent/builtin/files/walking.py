"""A walk through a folder and all below it: within limits, in order of names, through no link."""

import os
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, NamedTuple

from quire.agent.builtin.files.limits import MAX_DEPTH, FileLimits
from quire.agent.builtin.files.opening import FOLDER

Kind = Literal["file", "folder", "link", "special"]


class Found(NamedTuple):
    """Something on the way: its names from where the walk began, and its folder, open until the next step."""

    names: tuple[str, ...]
    kind: Kind
    folder: int

    @property
    def name(self) -> str:
        """Its name in its folder."""
        return self.names[-1]


@dataclass
class Walk:
    """One walk, and what it left out."""

    limits: FileLimits
    seen: int = 0
    unread: int = 0
    stopped: str = ""
    until: float = field(default=0.0)

    def __post_init__(self) -> None:
        self.until = time.monotonic() + self.limits.seconds

    def through(self, folder: int, above: tuple[str, ...] = ()) -> Generator[Found]:
        """All in a folder that is open: each thing, then what is below it."""
        for name, kind in self._entries(folder):
            self.seen += 1
            if self._is_over():
                return
            names = (*above, name)
            yield Found(names, kind, folder)
            if kind == "folder":
                yield from self._below(folder, names)

    def left_out(self) -> Iterator[str]:
        """What was not looked at, in words."""
        if self.stopped:
            yield self.stopped
        if self.unread:
            yield f"folders not looked into (closed, or more than {MAX_DEPTH} deep): {self.unread:,}"

    def _below(self, folder: int, names: tuple[str, ...]) -> Generator[Found]:
        if len(names) >= MAX_DEPTH:
            self.unread += 1
            return
        try:
            below = os.open(names[-1], FOLDER, dir_fd=folder)
        except OSError:  # it is gone, or a link by now, or not ours to read
            self.unread += 1
            return
        try:
            yield from self.through(below, names)
        finally:
            os.close(below)

    def _entries(self, folder: int) -> list[tuple[str, Kind]]:
        if self.stopped:
            return []
        # Enough to notice that there are too many, and no more: a folder may hold millions.
        return entries_in(folder, max(0, self.limits.entries - self.seen) + 1)

    def _is_over(self) -> bool:
        if self.stopped:
            return True
        if self.seen > self.limits.entries:
            self.stopped = (
                f"only {self.limits.entries:,} files and folders were looked at: name a folder below"
            )
        elif time.monotonic() > self.until:
            self.stopped = f"stopped after {self.limits.seconds:g} s: name a folder below"
        return bool(self.stopped)


def entries_in(folder: int, most: int) -> list[tuple[str, Kind]]:
    """What is in a folder that is open, by name; if it is more than some, any of it."""
    with os.scandir(folder) as found:
        return sorted((entry.name, _kind_of(entry)) for entry in islice(found, most))


def _kind_of(entry: "os.DirEntry[str]") -> Kind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "special"
