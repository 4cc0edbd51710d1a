"""Safe access to files below one folder: name by name from an open descriptor, and never through a link.

1. A whole path is never passed to the system. Each name is opened relative to the descriptor of its folder,
   with O_NOFOLLOW; an open descriptor stays the same if the name is replaced.
2. A name is examined before it is opened, because opening a device may have effects, and the descriptor is
   examined after. A pipe does not block, because of O_NONBLOCK.
3. A file with a second name (a hard link) may lie outside the folder: it is neither read nor written.
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
"""The most folders in a path: a walk keeps a descriptor open for each of them."""

MAX_SECONDS: Final = 10.0
"""The longest time that a walk takes, or that a change waits for another change."""

_MAX_ENTRIES = 20_000
"""The most files and folders that a walk visits."""

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_POLL_SECONDS = 0.01
_CONTROLS = ("Cc", "Cs", "Zl", "Zp")  # control characters, surrogates, line and paragraph separators
_UNESCAPED = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")
_ROOT = "the folder of the file tools"  # errors do not show its path
_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "does not lead through folders alone, and links are never followed",
    errno.ELOOP: "is a link, and links are never followed",
}


def names_in(path: str) -> tuple[str, ...]:
    """The names of a path, none for the folder itself; `InvalidValue` if the path leads out of it."""
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    if path.startswith(("/", "~")) or ".." in names or "\0" in path:
        raise InvalidValue(f"{shown(path)}: a path must be relative, such as notes/plan.md, without ..")
    if len(names) > MAX_DEPTH:
        raise TooLarge(f"the path leads through {len(names)} folders; at most {MAX_DEPTH} are allowed")
    return names


def file_names_in(path: str) -> tuple[str, ...]:
    """The names of a path to a file: at least one."""
    names = names_in(path)
    if not names:
        raise InvalidValue("a path to a file is needed, such as notes/plan.md")
    return names


def shown(path: str | Sequence[str]) -> str:
    """A path for an answer: on one line, escaped, and cut if it is long."""
    return cut(visible(path if isinstance(path, str) else "/".join(path))) or "the folder"


def visible(text: str) -> str:
    """A name on one line, with control characters escaped."""
    return "".join(
        sign.encode("unicode_escape").decode() if unicodedata.category(sign) in _CONTROLS else sign
        for sign in text
    )


@contextmanager
def readable_errors(path: str | Sequence[str]) -> Generator[None]:
    """Turn errors of the system into errors for a model, which name the model's path and no other."""
    try:
        yield
    except OSError as error:
        if isinstance(error, QuireError):
            raise
        reason = _REASONS.get(error.errno or 0) or f"cannot be used: {error.strerror}"
        raise InvalidValue(f"{shown(path)} {reason}") from None


class Folders:
    """The folders below one root: one for all, or one for each agent, scope or conversation.

    No folder lies inside another.
    """

    def __init__(self, root: str | Path, visibility: Visibility, agent: str = "") -> None:
        if visibility not in get_args(Visibility):
            raise InvalidValue(f"visibility must be one of {', '.join(get_args(Visibility))}")
        if visibility == "agent" and not agent:
            raise InvalidValue('visibility="agent" needs the name of the agent')
        self._root = os.path.realpath(root)  # links to the root, or above it, are followed
        self._visibility = visibility
        self._agent = agent

    @contextmanager
    def open_root(self, session: Session | None) -> Generator[int]:
        """Open the folder of a session, as a descriptor; it is made if it does not exist."""
        names = self._names(session)
        with readable_errors(_ROOT):
            os.makedirs(self._root, 0o700, exist_ok=True)
            root = os.open(self._root, _FOLDER)
        try:
            with open_folder(root, names, make=True, label=_ROOT) as folder:
                yield folder
        finally:
            os.close(root)

    @contextmanager
    def lock_root(self, session: Session | None) -> Generator[int]:
        """Open the folder of a session, locked against changes of other processes."""
        with self.open_root(session) as root:
            until = time.monotonic() + MAX_SECONDS
            while True:  # polls, because a blocking lock could wait for ever
                try:
                    fcntl.flock(root, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise QuireError(
                            f"these files stay locked after {MAX_SECONDS:g} s: try again"
                        ) from None
                    time.sleep(_POLL_SECONDS)
            yield root  # closing it releases the lock

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
    """The folder for a name: no two names share one, even if the file system ignores case."""
    data = name.encode("utf-8", "surrogatepass")
    escaped = "".join(chr(byte) if byte in _UNESCAPED else f"%{byte:02x}" for byte in data) or "%"
    return escaped if len(escaped) <= 200 else f"{escaped[:100]}%%{sha256(data).hexdigest()}"


@contextmanager
def open_folder(
    parent: int, names: Sequence[str], *, make: bool = False, label: str | None = None
) -> Generator[int]:
    """The folder at the end of some names, as a descriptor; `label` is its name in errors."""
    fd = os.open(".", _FOLDER, dir_fd=parent)
    try:
        for index, name in enumerate(names):
            with readable_errors(label or names[: index + 1]):
                if make:
                    with suppress(FileExistsError):  # if it is a link, opening it fails
                        os.mkdir(name, 0o700, dir_fd=fd)
                        os.fsync(fd)
                child = os.open(name, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = child
        yield fd
    finally:
        os.close(fd)


def examine(folder: int, name: str) -> os.stat_result:
    """The status of a name; a link is not followed."""
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


def check_plain(status: os.stat_result, path: Sequence[str]) -> None:
    """Refuse everything but plain files without a second name."""
    if stat.S_ISLNK(status.st_mode):
        raise InvalidValue(f"{shown(path)} is a link, and links are never followed")
    if stat.S_ISDIR(status.st_mode):
        raise InvalidValue(f"{shown(path)} is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise InvalidValue(f"{shown(path)} is a pipe, a socket or a device, not a file")
    if status.st_nlink > 1:
        raise InvalidValue(f"{shown(path)} has a second name (a hard link), and may lie elsewhere")


def read_bytes(folder: int, path: Sequence[str], max_bytes: int) -> bytes:
    """Read the file at the end of a path, if it is a plain file and not too large."""
    with readable_errors(path):
        check_plain(examine(folder, path[-1]), path)
        with open(path[-1], "rb", opener=lambda name, _: os.open(name, _FILE, dir_fd=folder)) as file:
            check_plain(os.fstat(file.fileno()), path)
            data = file.read(max_bytes + 1)  # it may grow while it is read
    if len(data) > max_bytes:
        raise TooLarge(f"{shown(path)} has more than {max_bytes:,} bytes")
    return data


def replace_file(folder: int, path: Sequence[str], data: bytes) -> bool:
    """Write a file completely or not at all, keeping its permissions; return whether it existed.

    A rename does not follow a link that appears meanwhile, but replaces it.
    """
    name, draft = path[-1], f".quire-{secrets.token_hex(16)}.tmp"
    with readable_errors(path):
        try:
            existing = examine(folder, name)
            check_plain(existing, path)
        except FileNotFoundError:
            existing = None
        try:
            fd = os.open(draft, _NEW, 0o600, dir_fd=folder)
            with open(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fchmod(fd, 0o600 if existing is None else stat.S_IMODE(existing.st_mode) & 0o777)
                os.fsync(fd)
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise
    return existing is not None


class Entry(NamedTuple):
    """An entry of a walk: its names from the start, and its folder, open until the next step."""

    names: tuple[str, ...]
    kind: Kind
    folder: int


class Walk:
    """A walk through a folder and everything below it, by name, within limits; links are not followed."""

    def __init__(self) -> None:
        self._until = time.monotonic() + MAX_SECONDS
        self._visited_count = self._unread_count = 0
        self._stop_reason = ""

    def through(self, folder: int, parent: tuple[str, ...] = ()) -> Generator[Entry]:
        """All entries of an open folder: each one, then those below it."""
        with os.scandir(folder) as scanned:
            entries = islice(scanned, _MAX_ENTRIES - self._visited_count + 1)
            kinds: dict[str, Kind] = {entry.name: _kind_of(entry) for entry in entries}
        for name in sorted(kinds):
            self._visited_count += 1
            if self._visited_count > _MAX_ENTRIES:
                self._stop_reason = f"only {_MAX_ENTRIES:,} files and folders were visited"
            elif time.monotonic() > self._until:
                self._stop_reason = f"stopped after {MAX_SECONDS:g} s"
            if self._stop_reason:
                return
            names = (*parent, name)
            yield Entry(names, kinds[name], folder)
            if kinds[name] == "folder":
                yield from self._below(folder, names)

    def left_out(self) -> Iterator[str]:
        """Describe the entries that were not visited."""
        if self._stop_reason:
            yield f"{self._stop_reason}: name a folder below"
        if self._unread_count:
            yield f"folders not visited (not readable, or more than {MAX_DEPTH} deep): {self._unread_count:,}"

    def _below(self, folder: int, names: tuple[str, ...]) -> Generator[Entry]:
        child = -1
        if len(names) < MAX_DEPTH:
            with suppress(OSError):  # removed, replaced by a link, or not readable
                child = os.open(names[-1], _FOLDER, dir_fd=folder)
        if child < 0:
            self._unread_count += 1
            return
        try:
            yield from self.through(child, names)
        finally:
            os.close(child)


def _kind_of(entry: "os.DirEntry[str]") -> Kind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "special"
