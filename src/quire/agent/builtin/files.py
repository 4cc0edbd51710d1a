"""File tools for a model: list, read, search, write, edit and remove, below one folder.

The docstrings of the tools are written for the model.
"""

import os
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from quire.agent.builtin.files_paths import (
    Entry,
    Folders,
    Kind,
    Visibility,
    Walk,
    check_plain,
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
from quire.errors import InvalidValue, OutOfRange, QuireError, TooLarge
from quire.session import Session, checked_type

_MAX_BYTES = 10_000_000
"""The largest file that is read, searched, edited or written."""

_MAX_LISTED, _MAX_MATCHES = 500, 200
_MAX_READ = 20_000
"""Characters of a file that one call shows."""

_MAX_LINE, _MAX_MATCH, _MAX_PATTERN = 2_000, 300, 500  # characters of a line read, a line found, a pattern
_LEAD = 80
"""Characters of a long line that are shown before a match."""

_MARKS: dict[Kind, str] = {
    "folder": "/",
    "link": " (a link: never followed)",
    "special": " (not a file)",
    "file": "",
}


def file_tools(root: str | Path, visibility: Visibility = "conversation", *, agent: str = "") -> list[Tool]:
    """Tools to list, read, search, write, edit and remove files below a folder.

    `visibility` says who shares files: `"all"`, one `"agent"`, one `"scope"` or one `"conversation"`. Scope
    and conversation are those of the agent's session; with `agent`, no other agent shares them.
    """
    checked_type(root, str | Path, "file_tools: the root must be the path of a folder")
    files = _FileTools(Folders(root, visibility, agent))
    return [
        tool(files.list_files, idempotent=True),
        tool(files.read_file, idempotent=True, max_output=_MAX_READ),
        tool(files.search_files, idempotent=True),
        tool(files.write_file, idempotent=True),
        tool(files.edit_file),
        tool(files.remove_file),
    ]


class _FileTools:
    def __init__(self, folders: Folders) -> None:
        self._folders = folders

    def list_files(self, path: str = "", pattern: str = "*", session: Session | None = None) -> str:
        """List files and folders in a folder and below it: files with their sizes, folders with a slash.

        Args:
            path: The folder, relative, such as "notes/2026"; empty for all.
            pattern: Such as "*.md" (names in any folder) or "notes/*/2026-*.txt"; if the pattern has a slash,
                "*", "?" and "[a-z]" also match slashes.
        """
        names = names_in(path)
        _check_pattern(pattern)
        walk = Walk()
        with (
            self._folders.open_root(session) as root,
            open_folder(root, names) as folder,
            closing(walk.through(folder, names)) as entries,
        ):
            matching = (entry for entry in entries if _matches(entry.names[len(names) :], pattern))
            rows = [_row(entry) for entry in islice(matching, _MAX_LISTED + 1)]
        ending = [f"{len(rows):,} found"]
        if len(rows) > _MAX_LISTED:
            ending = [f"there are more than the {_MAX_LISTED:,} shown: narrow the path or the pattern"]
        return "\n".join((*rows[:_MAX_LISTED], f"[{'; '.join((*ending, *walk.left_out()))}]"))

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
            raise OutOfRange("lines are counted from 1, and at least one must be read")
        with self._folders.open_root(session) as root, open_folder(root, names[:-1]) as folder:
            lines = _lines_of(_text_of(read_bytes(folder, names, _MAX_BYTES), names))
        if not lines:
            return f"[{shown(names)} is empty]"
        if first > len(lines):
            raise OutOfRange(f"{shown(names)} has {_counted(len(lines), 'line')}; there is no line {first:,}")
        rows = [_numbered(row, line) for row, line in enumerate(lines[first - 1 : first - 1 + count], first)]
        while True:
            last = first + len(rows) - 1
            more = f"; continue with first={last + 1}" if last < len(lines) else ""
            text = "\n".join((*rows, f"[lines {first:,} to {last:,} of {len(lines):,}{more}]"))
            if len(rows) == 1 or allowance is None or allowance.holds(text):
                return text
            rows = rows[: max(1, len(rows) * allowance.characters(text) // len(text))]

    def search_files(
        self,
        text: str,
        path: str = "",
        files: str = "*",
        ignore_case: bool = False,
        session: Session | None = None,
    ) -> str:
        """Search text files for a text, and show the lines that contain it.

        Args:
            text: The text, exactly as it is in a line.
            path: The folder or file to search, relative; empty for all.
            files: A pattern for the files to search, such as "*.py" or "notes/*.md".
            ignore_case: Whether capital and small letters are the same.
        """
        names = names_in(path)
        _check_pattern(files)
        if not text or "\n" in text:
            raise InvalidValue("the text to search for must be one line, and not empty")
        walk = Walk()
        rows: list[str] = []
        skipped = 0
        with self._folders.open_root(session) as root, closing(_entries_at(root, names, walk)) as entries:
            for entry in entries:
                if entry.kind != "file" or not _matches(entry.names[len(names) :] or entry.names[-1:], files):
                    continue
                try:
                    data = read_bytes(entry.folder, entry.names, _MAX_BYTES)
                    lines = _lines_of(_text_of(data, entry.names))
                except QuireError:  # not text, too large, a hard link, or removed
                    skipped += 1
                    continue
                rows += _matching_rows(visible("/".join(entry.names)), lines, text, ignore_case)
                if len(rows) > _MAX_MATCHES:
                    break
        ending = [_counted(len(rows), "matching line")]
        if len(rows) > _MAX_MATCHES:
            ending = [f"there are more than the {_MAX_MATCHES} shown: narrow the text, path or files"]
        if skipped:
            ending.append(f"files skipped (not text, too large, not readable): {skipped:,}")
        return "\n".join((*rows[:_MAX_MATCHES], f"[{'; '.join((*ending, *walk.left_out()))}]"))

    def write_file(self, path: str, content: str, session: Session | None = None) -> str:
        """Write a text file, replacing one that exists; missing folders are made.

        Args:
            path: The file, relative, such as "notes/plan.md".
            content: The whole text of the file.
        """
        names = file_names_in(path)
        data = _bytes_of(content, names)
        with self._folders.lock_root(session) as root, open_folder(root, names[:-1], make=True) as folder:
            existed = replace_file(folder, names, data)
        return f"{'replaced' if existed else 'wrote'} {shown(names)}: {_counted(len(data), 'byte')}"

    def edit_file(
        self, path: str, old: str, new: str, replace_all: bool = False, session: Session | None = None
    ) -> str:
        """Replace a piece of a text file. The old text must be in the file exactly once.

        Args:
            path: The file, relative, such as "notes/plan.md".
            old: The text to replace, exactly as it is in the file, without line numbers.
            new: The text to put in its place.
            replace_all: Replace the old text everywhere.
        """
        names = file_names_in(path)
        with self._folders.lock_root(session) as root, open_folder(root, names[:-1]) as folder:
            text = _text_of(read_bytes(folder, names, _MAX_BYTES), names)
            edited, count = _replaced(text, old, new, names, replace_all)
            replace_file(folder, names, _bytes_of(edited, names))
        return f"edited {shown(names)}: {_counted(count, 'place')}"

    def remove_file(self, path: str, session: Session | None = None) -> str:
        """Remove a file, an empty folder, or a link (not the file that it points to).

        Args:
            path: The file or folder to remove, relative.
        """
        names = file_names_in(path)
        with (
            self._folders.lock_root(session) as root,
            open_folder(root, names[:-1]) as folder,
            readable_errors(names),
        ):
            is_folder = stat.S_ISDIR(examine(folder, names[-1]).st_mode)
            (os.rmdir if is_folder else os.unlink)(names[-1], dir_fd=folder)
            os.fsync(folder)
        return f"removed {shown(names)}"


def _row(entry: Entry) -> str:
    path = visible("/".join(entry.names))
    if entry.kind != "file":
        return path + _MARKS[entry.kind]
    try:
        return f"{path}  {_counted(examine(entry.folder, entry.names[-1]).st_size, 'byte')}"
    except FileNotFoundError:
        return f"{path}  (removed meanwhile)"


def _numbered(number: int, line: str) -> str:
    if len(line) > _MAX_LINE:
        line = f"{line[:_MAX_LINE]}… [cut: {len(line):,} characters]"
    return f"{number:>6}\t{line}"


def _entries_at(root: int, names: tuple[str, ...], walk: Walk) -> Generator[Entry]:
    """The file at a path, or all entries below the folder at a path."""
    if names:
        with open_folder(root, names[:-1]) as above, readable_errors(names):
            status = examine(above, names[-1])
            if not stat.S_ISDIR(status.st_mode):
                check_plain(status, names)
                yield Entry(names, "file", above)
                return
    with open_folder(root, names) as folder:
        yield from walk.through(folder, names)


def _check_pattern(pattern: str) -> None:
    if not pattern or len(pattern) > _MAX_PATTERN:
        raise InvalidValue(f"a pattern must have 1 to {_MAX_PATTERN} characters, such as *.md or notes/*.txt")


def _matches(names: Sequence[str], pattern: str) -> bool:
    if "/" not in pattern:
        return fnmatchcase(names[-1], pattern)
    # "**/" also stands for no folder at all.
    return any(fnmatchcase("/".join(names), option) for option in {pattern, pattern.replace("**/", "")})


def _matching_rows(path: str, lines: Sequence[str], text: str, ignore_case: bool) -> Iterator[str]:
    wanted = text.casefold() if ignore_case else text
    for number, line in enumerate(lines, 1):
        at = (line.casefold() if ignore_case else line).find(wanted)
        if at < 0:
            continue
        begin = max(0, min(at - _LEAD, len(line) - _MAX_MATCH))
        end = begin + _MAX_MATCH
        yield f"{path}:{number}: {'…' if begin else ''}{line[begin:end]}{'…' if end < len(line) else ''}"


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


def _bytes_of(text: str, names: Sequence[str]) -> bytes:
    data = text.encode()
    if len(data) > _MAX_BYTES:
        raise TooLarge(f"the text for {shown(names)} has {len(data):,} bytes; at most {_MAX_BYTES:,} fit")
    return data


def _lines_of(text: str) -> list[str]:
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()  # the last line ends with a line break
    return [line.removesuffix("\r") for line in lines]


def _replaced(text: str, old: str, new: str, names: Sequence[str], replace_all: bool) -> tuple[str, int]:
    """A text with one piece replaced, and how often."""
    if not old or old == new:
        raise InvalidValue("the old text is empty, or the same as the new one: nothing would change")
    if old not in text and "\r\n" in text:  # the model sees lines without their ends
        old, new = (each.replace("\r\n", "\n").replace("\n", "\r\n") for each in (old, new))
    count = text.count(old)
    if not count:
        raise InvalidValue(
            f"the old text is not in {shown(names)}: it must match exactly, spaces and lines too"
        )
    if count > 1 and not replace_all:
        raise InvalidValue(
            f"the old text is {count:,} times in {shown(names)}: include more around it, or replace all"
        )
    return text.replace(old, new), count


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
