"""The one way to files and folders: name by name, from a folder that is open already, never through a link.

Rules that keep everything in the room, whatever others do to it meanwhile:

1. A path is never handed to the system as a whole. Each name is opened relative to the descriptor of the
   folder before it, with O_NOFOLLOW; what was opened stays what it is, whoever gets its name.
2. What a name leads to is looked at before it is opened (a device may do something when it is opened) and
   again after, on the descriptor; a pipe does not block, because of O_NONBLOCK.
3. A file with a second name (a hard link) may be a file from elsewhere: it is neither read nor written.
"""

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from quire.agent.builtin.files.paths import shown
from quire.errors import InvalidValue, QuireError, TooLarge

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
OWNER_ALONE: Final = 0o700
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_TRIES = 50
_CHUNK = 1 << 20

_WORDS = {
    errno.ENOENT: "does not exist",
    errno.EEXIST: "exists already",
    errno.ENOTEMPTY: "is a folder that is not empty",
    errno.EISDIR: "is a folder",
    errno.ENOTDIR: "does not lead through folders alone, and links are never followed",
    errno.ELOOP: "is a link, and links are never followed",
    errno.EACCES: "may not be used: the system allows it to others only",
    errno.EPERM: "may not be used: the system allows it to others only",
    errno.EROFS: "cannot be changed: everything here is read only",
    errno.ENOSPC: "cannot be written: there is no space left",
    errno.EDQUOT: "cannot be written: there is no space left",
}


@contextmanager
def telling(path: str | Sequence[str]) -> Generator[None]:
    """Errors of the system in words for a model, with the path that it knows and no other."""
    try:
        yield
    except OSError as error:
        if isinstance(error, QuireError):
            raise
        words = _WORDS.get(error.errno or 0) or f"cannot be used: {error.strerror or type(error).__name__}"
        raise InvalidValue(
            f"{shown(path)} {words}"
        ) from None  # the system's own words name places on the disk


@contextmanager
def open_folder(
    above: int, names: Sequence[str], *, make: bool = False, called: str | None = None
) -> Generator[int]:
    """The folder at the end of some names, as a descriptor; `called` is what errors call it."""
    with telling(called or names):
        fd = os.open(".", FOLDER, dir_fd=above)
    try:
        for index, name in enumerate(names):
            with telling(called or names[: index + 1]):
                fd = _step(fd, name, make)
        yield fd
    finally:
        os.close(fd)


def _step(above: int, name: str, make: bool) -> int:
    try:
        below = os.open(name, FOLDER, dir_fd=above)
    except FileNotFoundError:
        if not make:
            raise
        with suppress(FileExistsError):  # another made it meanwhile, or it is a link: the next line tells
            os.mkdir(name, OWNER_ALONE, dir_fd=above)
            os.fsync(above)
        below = os.open(name, FOLDER, dir_fd=above)
    os.close(above)
    return below


@contextmanager
def open_file(folder: int, name: str, path: Sequence[str]) -> Generator[int]:
    """A plain file to read from, as a descriptor."""
    with telling(path):
        fd = _opened(folder, name, path)
    try:
        yield fd
    finally:
        os.close(fd)


def _opened(folder: int, name: str, path: Sequence[str]) -> int:
    for _ in range(_TRIES):
        check_plain(look(folder, name), path)
        fd = os.open(name, _FILE, dir_fd=folder)
        try:
            found = os.fstat(fd)
            check_plain(found, path)
            # A hard link that is taken away after the opening leaves no trace in the count of links; so the
            # name must still be there, and be of this file.
            again = look(folder, name)
            if found.st_nlink == again.st_nlink == 1 and is_same(found, again):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # it was replaced meanwhile: look at what is there now
    raise InvalidValue(f"{shown(path)} is changed by others all the time: try again")


def look(folder: int, name: str) -> os.stat_result:
    """What a name leads to: of a link, the link itself."""
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


def look_if_there(folder: int, name: str) -> os.stat_result | None:
    """What a name leads to, or nothing."""
    try:
        return look(folder, name)
    except FileNotFoundError:
        return None


def is_same(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether two looks found one file."""
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def check_plain(found: os.stat_result, path: Sequence[str]) -> None:
    """Refuse what is not a file of this room alone."""
    if stat.S_ISLNK(found.st_mode):
        raise InvalidValue(f"{shown(path)} is a link, and links are never followed")
    if stat.S_ISDIR(found.st_mode):
        raise InvalidValue(f"{shown(path)} is a folder, not a file")
    if not stat.S_ISREG(found.st_mode):
        raise InvalidValue(f"{shown(path)} is a pipe, a socket or a device, not a file")
    if found.st_nlink > 1:
        raise InvalidValue(f"{shown(path)} has a second name (a hard link), and may be a file from elsewhere")


def read_bytes(file: int, path: Sequence[str], most: int) -> bytes:
    """All of a file, if it is not too large; it may grow while it is read."""
    size = os.fstat(file).st_size
    if size > most:
        raise TooLarge(f"{shown(path)} has {size:,} bytes; {most:,} are the most")
    pieces: list[bytes] = []
    left = most + 1
    with telling(path):
        while left and (piece := os.read(file, min(left, _CHUNK))):
            pieces.append(piece)
            left -= len(piece)
    if not left:
        raise TooLarge(f"{shown(path)} has more than {most:,} bytes")
    return b"".join(pieces)
