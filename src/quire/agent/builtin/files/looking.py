"""The file tools that change nothing: list, read, find, search.

Their docstrings are what a model is told.
"""

import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from itertools import islice

from quire.agent.builtin.files.limits import FileLimits
from quire.agent.builtin.files.opening import check_plain, look, open_file, open_folder, read_bytes, telling
from quire.agent.builtin.files.paths import counted, file_names_in, names_in, shown, visible
from quire.agent.builtin.files.patterns import pattern_matcher
from quire.agent.builtin.files.results import Results
from quire.agent.builtin.files.rooms import Rooms
from quire.agent.builtin.files.texts import numbered, text_of
from quire.agent.builtin.files.walking import Found, Kind, Walk, entries_in
from quire.agent.tools.output import Allowance, fitted
from quire.session import Session

_MARKS: dict[Kind, str] = {
    "folder": "/",
    "link": " (a link: never followed)",
    "special": " (not a file)",
    "file": "",
}


class Looking:
    """What may be asked of the files of a room."""

    def __init__(self, rooms: Rooms, limits: FileLimits) -> None:
        self._rooms = rooms
        self._limits = limits

    def list_files(
        self, path: str = "", session: Session | None = None, allowance: Allowance | None = None
    ) -> str:
        """List what is in a folder: files with their sizes, folders with a slash at the end.

        Args:
            path: The folder, relative, such as "notes/2026"; empty for the top folder.
            session: Whose files these are; the agent fills it in.
            allowance: How much of it is shown; the agent fills it in.
        """
        names = names_in(path)
        with self._rooms.opened(session) as room, open_folder(room, names) as folder, telling(names):
            entries = entries_in(folder, self._limits.entries + 1)
            rows = [_row(folder, name, kind) for name, kind in entries[: self._limits.listed]]
        return fitted(
            lambda few: "\n".join((*rows[:few], self._total(names, len(entries), few))), len(rows), allowance
        )

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
            session: Whose files these are; the agent fills it in.
            allowance: How much of it is shown; the agent fills it in.
        """
        above, name = file_names_in(path)
        full = (*above, name)
        with self._rooms.opened(session) as room, open_folder(room, above) as folder:
            data = self._read(folder, full)
        return numbered(text_of(data, full), full, first, count, self._limits, allowance)

    def find_files(
        self,
        pattern: str,
        path: str = "",
        session: Session | None = None,
        allowance: Allowance | None = None,
    ) -> str:
        """Find files and folders by a pattern for their paths.

        Args:
            pattern: Such as "*.md" (names in any folder), "notes/*.md", or "notes/**/2026-*.txt";
                "*", "?" and "[a-z]" stand for signs within a name, "**" for any folders.
            path: The folder to look in, relative; empty for all.
            session: Whose files these are; the agent fills it in.
            allowance: How much of it is shown; the agent fills it in.
        """
        names, fits = names_in(path), pattern_matcher(pattern)
        walk = Walk(self._limits)
        with (
            self._rooms.opened(session) as room,
            open_folder(room, names) as folder,
            closing(walk.through(folder, names)) as all_below,
        ):
            fitting = (one for one in all_below if _fits(one, names, fits))
            found = list(islice(fitting, self._limits.listed + 1))
        rows = [visible("/".join(one.names)) + _MARKS[one.kind] for one in found[: self._limits.listed]]
        return fitted(
            lambda few: "\n".join((*rows[:few], _found(few, len(rows), len(found), walk))),
            len(rows),
            allowance,
        )

    def search_files(
        self,
        expression: str,
        path: str = "",
        files: str = "*",
        ignore_case: bool = False,
        session: Session | None = None,
        allowance: Allowance | None = None,
    ) -> str:
        """Search text files, line by line, for a regular expression, and show the lines that match.

        Args:
            expression: A regular expression as in Python, such as "total|sum of [0-9]+".
            path: The folder or file to search, relative; empty for all.
            files: A pattern for the files to search, such as "*.py" or "notes/**/*.md".
            ignore_case: Whether capital and small letters are the same.
            session: Whose files these are; the agent fills it in.
            allowance: How much of it is shown; the agent fills it in.
        """
        names, fits = names_in(path), pattern_matcher(files)
        results, walk = Results(self._limits), Walk(self._limits)
        with (
            self._rooms.opened(session) as room,
            closing(_searched(room, names, walk)) as found,
            results.search(expression, ignore_case=ignore_case) as search,
        ):
            for one in found:
                if results.is_full:
                    break
                if one.kind == "file" and _fits(one, names, fits):
                    with results.skipping():
                        data = self._read(one.folder, one.names)
                        results.take(visible("/".join(one.names)), search.lines(data, results.room_left))
        return results.told(walk, allowance)

    def _read(self, folder: int, path: Sequence[str]) -> bytes:
        with open_file(folder, path[-1], path) as file:
            return read_bytes(file, path, self._limits.text_bytes)

    def _total(self, names: Sequence[str], count: int, few: int) -> str:
        if not count:
            return f"[{shown(names)} is empty]"
        if count > self._limits.entries:
            return f"[{shown(names)} holds more than {self._limits.entries:,}: look with find_files]"
        hidden = count - few
        more = f"; {hidden:,} more are not shown: look with find_files" if hidden > 0 else ""
        return f"[{count:,} in {shown(names)}{more}]"


def _row(folder: int, name: str, kind: Kind) -> str:
    if kind != "file":
        return visible(name) + _MARKS[kind]
    try:
        return f"{visible(name)}  {counted(look(folder, name).st_size, 'byte')}"
    except FileNotFoundError:
        return f"{visible(name)}  (gone meanwhile)"


def _found(few: int, rows: int, found: int, walk: Walk) -> str:
    count = f"more than {rows:,}" if found > rows else f"{found:,}"
    cut = (f"only the first {few:,} are shown: narrow the pattern",) if few < found else ()
    return f"[{'; '.join((f'{count} found', *cut, *walk.left_out()))}]"


def _searched(room: int, names: tuple[str, ...], walk: Walk) -> Generator[Found]:
    if names:
        with open_folder(room, names[:-1]) as above, telling(names):
            named = look(above, names[-1])
            if not stat.S_ISDIR(named.st_mode):
                check_plain(named, names)
                yield Found(names, "file", above)
                return
    with open_folder(room, names) as folder:
        yield from walk.through(folder, names)


def _fits(found: Found, below: tuple[str, ...], fits: Callable[[Sequence[str]], bool]) -> bool:
    """A pattern is for the path below the folder that was named; of a named file, for its name."""
    return fits(found.names[len(below) :] or found.names[-1:])
