"""The way to files: below one folder, name by name from an open descriptor, and never through a link.

1. A path is never passed to the system as a whole. Each name is opened relative to the descriptor of its
   folder, with O_NOFOLLOW; an open descriptor stays what it is, whatever happens to the name.
2. A name is examined before it is opened, because opening a device may have effects, and the descriptor is
   examined after. A pipe does not block, because of O_NONBLOCK.
3. A file with a second name (a hard link) may be a file from elsewhere: it is neither read nor written.
"""

import errno
import fcntl
import os
import secrets
import stat
import time
import unicodedata
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

from quire.errors import InvalidValue, QuireError, TooLarge, cut
from quire.session import Session

Visibility = Literal["all", "agent", "scope", "conversation"]
"""Who shares files."""

Kind = Literal["file", "folder", "link", "special"]

MAX_DEPTH: Final = 40
"""The most folders that a path leads through: in a walk, each one costs an open descriptor."""

SECONDS: Final = 10.0
"""The longest that a walk takes, or that a change waits for another one."""

_MAX_ENTRIES = 20_000
"""The most files and folders that a walk looks at."""

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PAUSE = 0.01
_CONTROLS = ("Cc", "Cs", "Zl", "Zp")  # control characters, surrogates, line and paragraph separators
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")
_ROOT = "the folder of the file tools"  # errors do not name its place on the disk
_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "does not lead through folders alone, and links are never followed",
    errno.ELOOP: "is a link, and links are never followed",
}


def names_in(path: str) -> tuple[str, ...]:
    """The names of a path, none for the folder itself. A path that leads elsewhere is refused."""
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    if path.startswith(("/", "~")) or ".." in names or "\0" in path:
        raise InvalidValue(f"{shown(path)} is refused: paths are relative, such as notes/plan.md, without ..")
    if len(names) > MAX_DEPTH:
        raise TooLarge(f"the path leads through {len(names)} folders; {MAX_DEPTH} are the most")
    return names


def file_names_in(path: str) -> tuple[str, ...]:
    """The names of a path to a file: at least one."""
    names = names_in(path)
    if not names:
        raise InvalidValue("a path to a file is needed, such as notes/plan.md")
    return names


def shown(path: str | Sequence[str]) -> str:
    """A path as it stands in an answer: on one line, control characters escaped, and cut if it is long."""
    return cut(visible(path if isinstance(path, str) else "/".join(path))) or "the folder"


def visible(text: str) -> str:
    """A name on one line, with control characters escaped."""
    return "".join(
        one.encode("unicode_escape").decode() if unicodedata.category(one) in _CONTROLS else one
        for one in text
    )


@contextmanager
def readable_errors(path: str | Sequence[str]) -> Generator[None]:
    """Errors of the system in words for a model, with the path that the model gave and no other."""
    try:
        yield
    except OSError as error:
        if isinstance(error, QuireError):
            raise
        reason = _REASONS.get(error.errno or 0) or f"cannot be used: {error.strerror}"
        raise InvalidValue(f"{shown(path)} {reason}") from None


class Rooms:
    """The folders below one root: one for everybody, or one for each agent, scope or conversation.

    Rooms lie beside each other, never one within another.
    """

    def __init__(self, root: str | Path, visibility: Visibility, agent: str = "") -> None:
        if visibility not in get_args(Visibility):
            raise InvalidValue(f"visibility is one of {', '.join(get_args(Visibility))}")
        if visibility == "agent" and not agent:
            raise InvalidValue('visibility="agent" needs the name of the agent')
        self._root = os.path.realpath(root)  # a link to the root, or above it, is its owner's choice
        self._visibility = visibility
        self._agent = agent

    @contextmanager
    def opened(self, session: Session | None) -> Generator[int]:
        """The room of a session, as a descriptor; it is made if it is not there."""
        names = self._names(session)
        with readable_errors(_ROOT):
            os.makedirs(self._root, 0o700, exist_ok=True)
            root = os.open(self._root, _FOLDER)
        try:
            with open_folder(root, names, make=True, called=_ROOT) as room:
                yield room
        finally:
            os.close(root)

    @contextmanager
    def changing(self, session: Session | None) -> Generator[int]:
        """The room of a session, locked against changes by others."""
        with self.opened(session) as room:
            until = time.monotonic() + SECONDS
            while True:  # not a lock that waits for ever: another process may hold it
                try:
                    fcntl.flock(room, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        words = f"others have been changing these files for {SECONDS:g} s: try again"
                        raise QuireError(words) from None
                    time.sleep(_PAUSE)
            yield room  # closing it releases the lock

    def _names(self, session: Session | None) -> tuple[str, ...]:
        if self._visibility == "all":
            return ("all",)
        if self._visibility == "agent":
            return "agent", _folder_name(self._agent)
        if session is None:
            raise InvalidValue(f"files of a {self._visibility} need a session, and there is none")
        place = session.place
        names = (place.scope,) if self._visibility == "scope" else (place.scope, place.conversation)
        return self._visibility, *map(_folder_name, (self._agent, *names))


def _folder_name(name: str) -> str:
    """A folder for a name: no two names share one, also where a file system ignores case."""
    data = name.encode("utf-8", "surrogatepass")
    escaped = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in data) or "%"
    return escaped if len(escaped) <= 200 else f"{escaped[:100]}%%{sha256(data).hexdigest()}"


@contextmanager
def open_folder(
    above: int, names: Sequence[str], *, make: bool = False, called: str | None = None
) -> Generator[int]:
    """The folder at the end of some names, as a descriptor; `called` is its name in errors."""
    fd = os.open(".", _FOLDER, dir_fd=above)
    try:
        for index, name in enumerate(names):
            with readable_errors(called or names[: index + 1]):
                if make:
                    with suppress(FileExistsError):  # if it is a link, opening it fails
                        os.mkdir(name, 0o700, dir_fd=fd)
                        os.fsync(fd)
                below = os.open(name, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


def examine(folder: int, name: str) -> os.stat_result:
    """The status of a name; of a link, that of the link itself."""
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


def check_plain(found: os.stat_result, path: Sequence[str]) -> None:
    """Refuse all but files that have no other name."""
    if stat.S_ISLNK(found.st_mode):
        raise InvalidValue(f"{shown(path)} is a link, and links are never followed")
    if stat.S_ISDIR(found.st_mode):
        raise InvalidValue(f"{shown(path)} is a folder, not a file")
    if not stat.S_ISREG(found.st_mode):
        raise InvalidValue(f"{shown(path)} is a pipe, a socket or a device, not a file")
    if found.st_nlink > 1:
        raise InvalidValue(f"{shown(path)} has a second name (a hard link), and may be a file from elsewhere")


def read_bytes(folder: int, path: Sequence[str], most: int) -> bytes:
    """All of the file at the end of a path in its folder, if it is a plain file and not too large."""
    with readable_errors(path):
        check_plain(examine(folder, path[-1]), path)
        with open(path[-1], "rb", opener=lambda name, _: os.open(name, _FILE, dir_fd=folder)) as file:
            check_plain(os.fstat(file.fileno()), path)
            data = file.read(most + 1)  # it may grow while it is read
    if len(data) > most:
        raise TooLarge(f"{shown(path)} has more than {most:,} bytes")
    return data


def replace_file(folder: int, path: Sequence[str], data: bytes) -> bool:
    """Write a file as a whole or not at all, and say whether there was one before; its permissions are kept.

    A rename never goes through what was there: a link that appears meanwhile is replaced, not followed.
    """
    name, beside = path[-1], f".quire-{secrets.token_hex(16)}.tmp"
    with readable_errors(path):
        try:
            before = examine(folder, name)
            check_plain(before, path)
        except FileNotFoundError:
            before = None
        try:
            fd = os.open(beside, _NEW, 0o600, dir_fd=folder)
            with open(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fchmod(fd, 0o600 if before is None else stat.S_IMODE(before.st_mode) & 0o777)
                os.fsync(fd)
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside, dir_fd=folder)
            raise
    return before is not None


class Found(NamedTuple):
    """An entry of a folder: its names from where a walk began, and its folder, open until the next step."""

    names: tuple[str, ...]
    kind: Kind
    folder: int


class Walk:
    """A walk through a folder and all below it, in order of names, within limits, and through no link."""

    def __init__(self) -> None:
        self._until = time.monotonic() + SECONDS
        self._seen = self._unread = 0
        self._stopped = ""

    def through(self, folder: int, above: tuple[str, ...] = ()) -> Generator[Found]:
        """All entries of an open folder: each one, then those below it."""
        with os.scandir(folder) as found:
            some = islice(found, _MAX_ENTRIES - self._seen + 1)
            kinds: dict[str, Kind] = {entry.name: _kind_of(entry) for entry in some}
        for name in sorted(kinds):
            self._seen += 1
            if self._seen > _MAX_ENTRIES:
                self._stopped = f"only {_MAX_ENTRIES:,} files and folders were looked at"
            elif time.monotonic() > self._until:
                self._stopped = f"stopped after {SECONDS:g} s"
            if self._stopped:
                return
            names = (*above, name)
            yield Found(names, kinds[name], folder)
            if kinds[name] == "folder":
                yield from self._below(folder, names)

    def left_out(self) -> Iterator[str]:
        """What was not looked at, in words."""
        if self._stopped:
            yield f"{self._stopped}: name a folder below"
        if self._unread:
            yield f"folders not looked into (closed, or more than {MAX_DEPTH} deep): {self._unread:,}"

    def _below(self, folder: int, names: tuple[str, ...]) -> Generator[Found]:
        below = -1
        if len(names) < MAX_DEPTH:
            with suppress(OSError):  # it is gone, or a link by now, or not ours to read
                below = os.open(names[-1], _FOLDER, dir_fd=folder)
        if below < 0:
            self._unread += 1
            return
        try:
            yield from self.through(below, names)
        finally:
            os.close(below)


def _kind_of(entry: "os.DirEntry[str]") -> Kind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "special"
