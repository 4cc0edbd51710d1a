"""The file tools that change something: write, edit, copy, move, remove.

Their docstrings are what a model is told.
"""

import os
import stat
from collections.abc import Sequence

from quire.agent.builtin.files.copying import Copying
from quire.agent.builtin.files.limits import FileLimits
from quire.agent.builtin.files.opening import (
    check_plain,
    look,
    look_if_there,
    open_file,
    open_folder,
    read_bytes,
    telling,
)
from quire.agent.builtin.files.paths import counted, file_names_in, shown
from quire.agent.builtin.files.rooms import Rooms
from quire.agent.builtin.files.texts import bytes_of, replaced, text_of
from quire.agent.builtin.files.walking import Walk
from quire.agent.builtin.files.writing import remove_tree, replace_file, sync
from quire.errors import InvalidValue, TooLarge
from quire.session import Session


class Changing:
    """What may be done to the files of a room. Changes of one room come one after the other."""

    def __init__(self, rooms: Rooms, limits: FileLimits) -> None:
        self._rooms = rooms
        self._limits = limits

    def write_file(self, path: str, content: str, session: Session | None = None) -> str:
        """Write a text file, in place of what was there; folders on the way are made.

        Args:
            path: The file, relative, such as "notes/plan.md".
            content: The whole text of the file.
            session: Whose files these are; the agent fills it in.
        """
        above, name = file_names_in(path)
        full = (*above, name)
        data = bytes_of(content, full, self._limits.text_bytes)
        with (
            self._rooms.changing(session, self._limits.seconds) as room,
            open_folder(room, above, make=True) as folder,
        ):
            was_there = replace_file(folder, name, full, [data])
        return f"{'replaced' if was_there else 'wrote'} {shown(full)}: {counted(len(data), 'byte')}"

    def edit_file(
        self, path: str, old: str, new: str, replace_all: bool = False, session: Session | None = None
    ) -> str:
        """Replace a piece of a text file by another one. The old text must be in the file exactly once.

        Args:
            path: The file, relative, such as "notes/plan.md".
            old: The text to replace, exactly as it is in the file, without line numbers.
            new: The text to put in its place.
            replace_all: Replace the old text wherever it is, once or more often.
            session: Whose files these are; the agent fills it in.
        """
        above, name = file_names_in(path)
        full = (*above, name)
        with (
            self._rooms.changing(session, self._limits.seconds) as room,
            open_folder(room, above) as folder,
        ):
            with open_file(folder, name, full) as file:
                text = text_of(read_bytes(file, full, self._limits.text_bytes), full)
            edited, count = replaced(text, old, new, full, everywhere=replace_all)
            replace_file(folder, name, full, [bytes_of(edited, full, self._limits.text_bytes)])
        return f"edited {shown(full)}: {counted(count, 'place')}"

    def copy_file(
        self, source: str, target: str, overwrite: bool = False, session: Session | None = None
    ) -> str:
        """Copy a file, or a folder with all that is in it. Links are left out.

        Args:
            source: The file or folder to copy, relative.
            target: The path of the copy, relative; folders on the way are made.
            overwrite: Replace a file that is there already. A folder is never replaced.
            session: Whose files these are; the agent fills it in.
        """
        begin, name = file_names_in(source)
        end, new_name = file_names_in(target)
        _check_apart((*begin, name), (*end, new_name))
        copying = Copying(self._limits)
        with (
            self._rooms.changing(session, self._limits.seconds) as room,
            open_folder(room, begin) as above,
            open_folder(room, end, make=True) as below,
        ):
            _check_free(below, new_name, (*end, new_name), overwrite)
            copying.copy(above, (*begin, name), below, (*end, new_name))
        return f"copied {shown((*begin, name))} to {shown((*end, new_name))}: {copying.told()}"

    def move_file(
        self, source: str, target: str, overwrite: bool = False, session: Session | None = None
    ) -> str:
        """Move or rename a file or a folder.

        Args:
            source: The file or folder to move, relative.
            target: Its new path, relative; folders on the way are made.
            overwrite: Replace a file that is there already. A folder is never replaced.
            session: Whose files these are; the agent fills it in.
        """
        begin, name = file_names_in(source)
        end, new_name = file_names_in(target)
        _check_apart((*begin, name), (*end, new_name))
        with (
            self._rooms.changing(session, self._limits.seconds) as room,
            open_folder(room, begin) as above,
            open_folder(room, end, make=True) as below,
        ):
            _check_movable(above, (*begin, name))
            _check_free(below, new_name, (*end, new_name), overwrite)
            with telling((*begin, name)):
                os.rename(name, new_name, src_dir_fd=above, dst_dir_fd=below)
            sync(below, end)
            sync(above, begin)
        return f"moved {shown((*begin, name))} to {shown((*end, new_name))}"

    def remove_file(self, path: str, recursive: bool = False, session: Session | None = None) -> str:
        """Remove a file, or a folder. Of a link, the link itself is removed and nothing else.

        Args:
            path: The file or folder to remove, relative.
            recursive: Remove a folder with all that is in it; without this it must be empty.
            session: Whose files these are; the agent fills it in.
        """
        above, name = file_names_in(path)
        full = (*above, name)
        with (
            self._rooms.changing(session, self._limits.seconds) as room,
            open_folder(room, above) as folder,
        ):
            with telling(full):
                is_folder = stat.S_ISDIR(look(folder, name).st_mode)
            count = self._count(folder, full) if is_folder and recursive else 0
            with telling(full):
                _remove(folder, name, is_folder, recursive)
            sync(folder, above)
        return f"removed {shown(full)}" + (f" and {count:,} in it" if count else "")

    def _count(self, folder: int, path: tuple[str, ...]) -> int:
        """How much is in a folder; before anything of it is removed, all of it was looked at."""
        walk = Walk(self._limits)
        with open_folder(folder, path[-1:], called=shown(path)) as inside:
            for _ in walk.through(inside):
                pass
        for fault in walk.left_out():
            raise TooLarge(f"{shown(path)} is not removed in one go: {fault}")
        return walk.seen


def _remove(folder: int, name: str, is_folder: bool, recursive: bool) -> None:
    if not is_folder:
        os.unlink(name, dir_fd=folder)
    elif recursive:
        remove_tree(name, dir_fd=folder)
    else:
        os.rmdir(name, dir_fd=folder)


def _check_apart(source: Sequence[str], target: Sequence[str]) -> None:
    if target[: len(source)] == source:
        raise InvalidValue(f"{shown(source)} cannot be put onto or into itself")


def _check_movable(above: int, path: Sequence[str]) -> None:
    with telling(path):
        found = look(above, path[-1])
        if not stat.S_ISDIR(found.st_mode):
            check_plain(found, path)


def _check_free(folder: int, name: str, path: Sequence[str], overwrite: bool) -> None:
    with telling(path):
        found = look_if_there(folder, name)
    if found is None:
        return
    check_plain(found, path)
    if not overwrite:
        raise InvalidValue(f"{shown(path)} exists already: it is replaced with overwrite only")
