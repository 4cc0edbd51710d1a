"""Copies: of a file, or of a folder that appears as a whole once all of it is there."""

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import closing

from quire.agent.builtin.files.limits import FileLimits
from quire.agent.builtin.files.opening import (
    OWNER_ALONE,
    is_same,
    look,
    look_if_there,
    open_file,
    open_folder,
    telling,
)
from quire.agent.builtin.files.paths import counted, shown
from quire.agent.builtin.files.walking import Walk
from quire.agent.builtin.files.writing import beside, remove_tree, replace_file, sync, write_new
from quire.errors import InvalidValue, QuireError, TooLarge

_CHUNK = 1 << 20


class Copying:
    """One copy, and how much it has written."""

    def __init__(self, limits: FileLimits) -> None:
        self._limits = limits
        self._bytes = 0
        self._files = 0
        self._left_out = 0

    def copy(self, above: int, source: tuple[str, ...], below: int, target: tuple[str, ...]) -> None:
        """Copy what is at a name in one folder to a name in another."""
        with telling(source):
            found = look(above, source[-1])
        if stat.S_ISDIR(found.st_mode):
            self._copy_folder(above, source, below, target)
            return
        there = look_if_there(below, target[-1])
        if there is not None and is_same(found, there):  # where case makes no difference
            raise InvalidValue(f"{shown(source)} and {shown(target)} are the same file")
        with open_file(above, source[-1], source) as file:
            replace_file(below, target[-1], target, self._pieces(file, source))
        self._files += 1

    def told(self) -> str:
        """What was done, in words."""
        left_out = f"; links and special files left out: {self._left_out:,}" if self._left_out else ""
        return f"{counted(self._files, 'file')}, {counted(self._bytes, 'byte')}{left_out}"

    def _copy_folder(self, above: int, source: tuple[str, ...], below: int, target: tuple[str, ...]) -> None:
        with beside(below, remove_tree) as unseen:
            with telling(target):
                os.mkdir(unseen, OWNER_ALONE, dir_fd=below)
            with (
                open_folder(above, source[-1:], called=shown(source)) as inside,
                open_folder(below, (unseen,), called=shown(target)) as copy,
            ):
                self._copy_all(inside, source, copy)
            with telling(
                target
            ):  # what has come there meanwhile is no empty folder: it stays, and this fails
                os.rename(unseen, target[-1], src_dir_fd=below, dst_dir_fd=below)
        sync(below, target)

    def _copy_all(self, inside: int, source: tuple[str, ...], copy: int) -> None:
        walk = Walk(self._limits)
        with closing(walk.through(inside, source)) as all_below:
            for found in all_below:
                names = found.names[len(source) :]
                with open_folder(copy, names[:-1], called=shown(found.names)) as folder:
                    if found.kind == "folder":
                        with telling(found.names):
                            os.mkdir(found.name, OWNER_ALONE, dir_fd=folder)
                    else:
                        self._copy_one(found.folder, found.names, folder)
        for fault in walk.left_out():
            raise TooLarge(f"{shown(source)} is not copied in one go: {fault}")

    def _copy_one(self, above: int, path: Sequence[str], folder: int) -> None:
        try:
            with open_file(above, path[-1], path) as file:
                write_new(folder, path[-1], path, self._pieces(file, path))
        except TooLarge:
            raise
        except QuireError:  # a link, a device, a file with a second name, one that is gone
            self._left_out += 1
        else:
            self._files += 1

    def _pieces(self, file: int, path: Sequence[str]) -> Generator[bytes]:
        while piece := os.read(file, _CHUNK):
            self._bytes += len(piece)
            if self._bytes > self._limits.copy_bytes:
                raise TooLarge(
                    f"{shown(path)}: more than {self._limits.copy_bytes:,} bytes are not copied at once"
                )
            yield piece
