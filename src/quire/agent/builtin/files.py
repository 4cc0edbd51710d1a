"""File tools for a model: list, read, find, search, write, edit, move and remove, below one folder.

The docstrings of the tools are written for the model.
"""

import os
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from quire.agent.builtin.files_paths import (
    Found,
    Kind,
    Rooms,
    Visibility,
    Walk,
    check_plain,
    entries_in,
    examine,
    file_names_in,
    names_in,
    open_folder,
    read_bytes,
    readable_errors,
    replace_file,
    shown,
    visible,
)
from quire.agent.tools import Allowance, Tool, tool
from quire.agent.tools.output import fitted
from quire.errors import InvalidLimit, InvalidValue, OutOfRange, QuireError, TooLarge
from quire.session import Session, checked_type

_LONGEST_PATTERN = 500
_LONGEST_MATCH = 300
_LEAD = 80
"""Characters of a long line that are shown before a match."""

_MARKS: dict[Kind, str] = {
    "folder": "/",
    "link": " (a link: never followed)",
    "special": " (not a file)",
    "file": "",
}


class FileLimits(NamedTuple):
    """The limits of one call of a file tool. What is beyond them is refused or left out, in words."""

    text_bytes: int = 10_000_000
    """The largest file that is read, searched, edited or written."""
    entries: int = 20_000
    """The most files and folders that one call looks at."""
    listed: int = 500
    """The most names that one call shows."""
    matches: int = 200
    """The most lines that one search shows."""
    line_characters: int = 2_000
    """The most characters of a line that are shown."""
    shown_characters: int = 40_000
    """The most characters of a file that one call shows."""
    seconds: float = 10.0
    """The longest that a find or a search takes, or that a change waits for another one."""


def file_tools(
    root: str | Path,
    visibility: Visibility = "conversation",
    *,
    agent: str = "",
    limits: FileLimits | None = None,
) -> list[Tool]:
    """Tools to list, read, find, search, write, edit, move and remove files below a folder.

    `visibility` says who shares files: `"all"`, one `"agent"`, one `"scope"` or one `"conversation"`. Scope
    and conversation are those of the agent's session; with `agent`, their files are that agent's alone.
    """
    checked_type(root, str | Path, "file_tools: the root is the path of a folder")
    limits = limits or FileLimits()
    for name, value in limits._asdict().items():
        if not value > 0:
            raise InvalidLimit(f"the limit {name} is more than 0, not {value}")
    files = _Files(Rooms(root, visibility, agent), limits)
    repeatable = (files.list_files, files.read_file, files.find_files, files.search_files, files.write_file)
    return [
        *(tool(one, idempotent=True) for one in repeatable),
        *(tool(one) for one in (files.edit_file, files.move_file, files.remove_file)),
    ]


class _Files:
    """The tools, for one root."""

    def __init__(self, rooms: Rooms, limits: FileLimits) -> None:
        self._rooms = rooms
        self._limits = limits

    def list_files(
        self, path: str = "", session: Session | None = None, allowance: Allowance | None = None
    ) -> str:
        """List what is in a folder: files with their sizes, folders with a slash at the end.

        Args:
            path: The folder, relative, such as "notes/2026"; empty for the top folder.
        """
        names = names_in(path)
        with self._rooms.opened(session) as room, open_folder(room, names) as folder, readable_errors(names):
            entries = entries_in(folder, self._limits.entries + 1)
            rows = [_row(folder, name, kind) for name, kind in entries[: self._limits.listed]]

        def text_of(few: int) -> str:
            if not entries:
                return f"[{shown(names)} is empty]"
            count, more = f"{len(entries):,}", ""
            if len(entries) > self._limits.entries:
                count = f"more than {self._limits.entries:,}"
            if len(entries) > few:
                more = f"; only {few:,} are shown: look with find_files"
            return "\n".join((*rows[:few], f"[{count} in {shown(names)}{more}]"))

        return fitted(text_of, len(rows), allowance)

    def read_file(
        self,
        path: str,
        first: int = 1,
        count: int = 1_000,
        session: Session | None = None,
        allowance: Allowance | None = None,
    ) -> str:
        """Read lines of a text file. Each comes with its number and a tab, which are not part of the file.

        Args:
            path: The file, relative, such as "notes/plan.md".
            first: The number of the first line to read, counted from 1.
            count: How many lines to read at most.
        """
        names = file_names_in(path)
        if first < 1 or count < 1:
            raise OutOfRange("lines are counted from 1, and at least one is read")
        with self._rooms.opened(session) as room, open_folder(room, names[:-1]) as folder:
            lines = _lines_of(_text_of(read_bytes(folder, names, self._limits.text_bytes), names))
        if not lines:
            return f"[{shown(names)} is empty]"
        if first > len(lines):
            raise OutOfRange(f"{shown(names)} has {_counted(len(lines), 'line')}; there is no line {first:,}")
        rows = list(self._numbered(lines[first - 1 : first - 1 + count], first))

        def text_of(few: int) -> str:
            last = first + few - 1
            going_on = f"; go on with first={last + 1}" if last < len(lines) else ""
            return "\n".join((*rows[:few], f"[lines {first:,} to {last:,} of {len(lines):,}{going_on}]"))

        return fitted(text_of, len(rows), allowance)

    def find_files(
        self,
        pattern: str,
        path: str = "",
        session: Session | None = None,
        allowance: Allowance | None = None,
    ) -> str:
        """Find files and folders by a pattern for their paths.

        Args:
            pattern: Such as "*.md" (names in any folder) or "notes/*/2026-*.txt"; "*", "?" and "[a-z]" stand
                for characters, also for slashes where the pattern has one.
            path: The folder to look in, relative; empty for all.
        """
        names = names_in(path)
        _check_pattern(pattern)
        walk = Walk(self._limits.entries, self._limits.seconds)
        with (
            self._rooms.opened(session) as room,
            open_folder(room, names) as folder,
            closing(walk.through(folder, names)) as entries,
        ):
            matching = (one for one in entries if _matches(one.names[len(names) :], pattern))
            found = list(islice(matching, self._limits.listed + 1))
        rows = [visible("/".join(one.names)) + _MARKS[one.kind] for one in found[: self._limits.listed]]

        def text_of(few: int) -> str:
            count = f"more than {len(rows):,}" if len(found) > len(rows) else f"{len(found):,}"
            narrow = (f"only the first {few:,} are shown: narrow the pattern",) if few < len(found) else ()
            return "\n".join((*rows[:few], f"[{'; '.join((f'{count} found', *narrow, *walk.left_out()))}]"))

        return fitted(text_of, len(rows), allowance)

    def search_files(
        self,
        text: str,
        path: str = "",
        files: str = "*",
        ignore_case: bool = False,
        session: Session | None = None,
        allowance: Allowance | None = None,
    ) -> str:
        """Search text files for a text, and show the lines that contain it.

        Args:
            text: What to look for, exactly as it is in a line.
            path: The folder or file to search, relative; empty for all.
            files: A pattern for the files to search, such as "*.py" or "notes/*.md".
            ignore_case: Whether capital and small letters are the same.
        """
        names = names_in(path)
        _check_pattern(files)
        if not text or "\n" in text:
            raise InvalidValue("the text to search for is one line, and not empty")
        walk = Walk(self._limits.entries, self._limits.seconds)
        rows: list[str] = []
        skipped = 0
        with self._rooms.opened(session) as room, closing(_entries_at(room, names, walk)) as entries:
            for one in entries:
                if one.kind == "file" and _matches(one.names[len(names) :] or one.names[-1:], files):
                    try:
                        data = read_bytes(one.folder, one.names, self._limits.text_bytes)
                        lines = _lines_of(_text_of(data, one.names))
                    except QuireError:  # no text, too large, a hard link, or gone
                        skipped += 1
                        continue
                    rows += _matching(visible("/".join(one.names)), lines, text, ignore_case)
                if len(rows) > self._limits.matches:
                    break
        shown_rows = list(self._within(rows[: self._limits.matches]))

        def text_of(few: int) -> str:
            ending = [_counted(few, "matching line")]
            if few < len(rows):
                ending.append("there are more: narrow the text, the path or the files")
            if skipped:
                ending.append(f"files left out (no text, too large, or closed to these tools): {skipped:,}")
            return "\n".join((*shown_rows[:few], f"[{'; '.join((*ending, *walk.left_out()))}]"))

        return fitted(text_of, len(shown_rows), allowance)

    def write_file(self, path: str, content: str, session: Session | None = None) -> str:
        """Write a text file, in place of what was there; folders on the way are made.

        Args:
            path: The file, relative, such as "notes/plan.md".
            content: The whole text of the file.
        """
        names = file_names_in(path)
        data = self._bytes_of(content, names)
        with (
            self._rooms.changing(session, self._limits.seconds) as room,
            open_folder(room, names[:-1], make=True) as folder,
        ):
            was_there = replace_file(folder, names, data)
        return f"{'replaced' if was_there else 'wrote'} {shown(names)}: {_counted(len(data), 'byte')}"

    def edit_file(
        self, path: str, old: str, new: str, replace_all: bool = False, session: Session | None = None
    ) -> str:
        """Replace a piece of a text file by another one. The old text must be in the file exactly once.

        Args:
            path: The file, relative, such as "notes/plan.md".
            old: The text to replace, exactly as it is in the file, without line numbers.
            new: The text to put in its place.
            replace_all: Replace the old text wherever it is, once or more often.
        """
        names = file_names_in(path)
        with (
            self._rooms.changing(session, self._limits.seconds) as room,
            open_folder(room, names[:-1]) as folder,
        ):
            text = _text_of(read_bytes(folder, names, self._limits.text_bytes), names)
            edited, count = _replaced(text, old, new, names, replace_all)
            replace_file(folder, names, self._bytes_of(edited, names))
        return f"edited {shown(names)}: {_counted(count, 'place')}"

    def move_file(
        self, source: str, target: str, overwrite: bool = False, session: Session | None = None
    ) -> str:
        """Move or rename a file or a folder.

        Args:
            source: The file or folder to move, relative.
            target: Its new path, relative; folders on the way are made.
            overwrite: Replace a file that is there already. A folder is never replaced.
        """
        old, new = file_names_in(source), file_names_in(target)
        if new[: len(old)] == old:
            raise InvalidValue(f"{shown(old)} cannot be moved onto or into itself")
        with (
            self._rooms.changing(session, self._limits.seconds) as room,
            open_folder(room, old[:-1]) as above,
            open_folder(room, new[:-1], make=True) as below,
        ):
            with readable_errors(old):
                found = examine(above, old[-1])
                if not stat.S_ISDIR(found.st_mode):
                    check_plain(found, old)
            _check_free(below, new, overwrite)
            with readable_errors(old):
                os.rename(old[-1], new[-1], src_dir_fd=above, dst_dir_fd=below)
                os.fsync(below)
                os.fsync(above)
        return f"moved {shown(old)} to {shown(new)}"

    def remove_file(self, path: str, session: Session | None = None) -> str:
        """Remove a file, or an empty folder. Of a link, the link itself is removed and nothing else.

        Args:
            path: The file or folder to remove, relative.
        """
        names = file_names_in(path)
        with (
            self._rooms.changing(session, self._limits.seconds) as room,
            open_folder(room, names[:-1]) as folder,
            readable_errors(names),
        ):
            is_folder = stat.S_ISDIR(examine(folder, names[-1]).st_mode)
            (os.rmdir if is_folder else os.unlink)(names[-1], dir_fd=folder)
            os.fsync(folder)
        return f"removed {shown(names)}"

    def _bytes_of(self, text: str, names: Sequence[str]) -> bytes:
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise InvalidValue(
                f"the text for {shown(names)} has half of a surrogate pair at {error.start:,}"
            ) from None
        if len(data) > self._limits.text_bytes:
            most = self._limits.text_bytes
            raise TooLarge(f"the text for {shown(names)} has {len(data):,} bytes; {most:,} are the most")
        return data

    def _numbered(self, lines: Sequence[str], first: int) -> Iterator[str]:
        most = self._limits.line_characters
        rows: list[str] = []
        for number, line in enumerate(lines, first):
            cut = f"{line[:most]}… [cut: {len(line):,} characters]" if len(line) > most else line
            rows.append(f"{number:>6}\t{cut}")
        return self._within(rows)

    def _within(self, rows: Sequence[str]) -> Iterator[str]:
        """The first rows that are shown, and one in any case."""
        left = self._limits.shown_characters
        for index, row in enumerate(rows):
            left -= len(row)
            if left < 0 and index:
                return
            yield row


def _row(folder: int, name: str, kind: Kind) -> str:
    if kind != "file":
        return visible(name) + _MARKS[kind]
    try:
        return f"{visible(name)}  {_counted(examine(folder, name).st_size, 'byte')}"
    except FileNotFoundError:
        return f"{visible(name)}  (gone meanwhile)"


def _entries_at(room: int, names: tuple[str, ...], walk: Walk) -> Generator[Found]:
    """The file at a path, or all entries below the folder at a path."""
    if names:
        with open_folder(room, names[:-1]) as above, readable_errors(names):
            found = examine(above, names[-1])
            if not stat.S_ISDIR(found.st_mode):
                check_plain(found, names)
                yield Found(names, "file", above)
                return
    with open_folder(room, names) as folder:
        yield from walk.through(folder, names)


def _check_pattern(pattern: str) -> None:
    if len(pattern) > _LONGEST_PATTERN:
        raise TooLarge(f"the pattern has {len(pattern):,} characters; {_LONGEST_PATTERN} are the most")
    if not pattern or pattern.startswith("/") or ".." in pattern.split("/"):
        raise InvalidValue("a pattern is relative and never goes up, such as *.md or notes/*.txt")


def _matches(names: Sequence[str], pattern: str) -> bool:
    if "/" not in pattern:
        return fnmatchcase(names[-1], pattern)
    # "**/" also stands for no folder at all.
    return any(fnmatchcase("/".join(names), one) for one in {pattern, pattern.replace("**/", "")})


def _matching(path: str, lines: Sequence[str], text: str, ignore_case: bool) -> Iterator[str]:
    wanted = text.casefold() if ignore_case else text
    for number, line in enumerate(lines, 1):
        at = (line.casefold() if ignore_case else line).find(wanted)
        if at < 0:
            continue
        begin = max(0, min(at - _LEAD, len(line) - _LONGEST_MATCH))
        end = begin + _LONGEST_MATCH
        yield f"{path}:{number}: {'…' if begin else ''}{line[begin:end]}{'…' if end < len(line) else ''}"


def _check_free(folder: int, names: Sequence[str], overwrite: bool) -> None:
    with readable_errors(names):
        try:
            found = examine(folder, names[-1])
        except FileNotFoundError:
            return
        check_plain(found, names)
    if not overwrite:
        raise InvalidValue(f"{shown(names)} exists already: it is replaced with overwrite only")


def _text_of(data: bytes, names: Sequence[str]) -> str:
    if b"\x00" in data:
        raise InvalidValue(f"{shown(names)} is binary ({_counted(len(data), 'byte')}), not text")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidValue(
            f"{shown(names)} is not UTF-8: byte {error.start:,} (0x{data[error.start]:02x}), in line {line:,}"
        ) from None


def _lines_of(text: str) -> list[str]:
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()  # the end of the last line, not a line of its own
    return [line.removesuffix("\r") for line in lines]


def _replaced(text: str, old: str, new: str, names: Sequence[str], replace_all: bool) -> tuple[str, int]:
    """A text with one piece replaced, and in how many places."""
    if not old or old == new:
        raise InvalidValue("the old text is empty, or the same as the new one: nothing would change")
    if old not in text and "\r\n" in text:  # the model sees lines without their ends
        old, new = (one.replace("\r\n", "\n").replace("\n", "\r\n") for one in (old, new))
    count = text.count(old)
    if not count:
        raise InvalidValue(
            f"the old text is not in {shown(names)}: it must match exactly, spaces and lines too"
        )
    if count > 1 and not replace_all:
        raise InvalidValue(
            f"the old text is {count:,} times in {shown(names)}: take in more around it, or replace all"
        )
    return text.replace(old, new), count


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
