"""Files that appear as a whole or not at all: written beside, brought to the disk, then given their name.

A rename puts the new file in the place of a name and never goes through what was there; so a link that
somebody puts there meanwhile is replaced, and what it leads to stays as it is.
"""

import errno
import os
import secrets
import stat
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress

from quire.agent.builtin.files.limits import MAX_DEPTH
from quire.agent.builtin.files.opening import FOLDER, check_plain, look_if_there, telling

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OWNER_ALONE = 0o600


def replace_file(folder: int, name: str, path: Sequence[str], pieces: Iterable[bytes]) -> bool:
    """Put a file under a name, and say whether another was there before; its permissions are kept."""
    with telling(path):
        before = look_if_there(folder, name)
        if before is not None:
            check_plain(before, path)
    with beside(folder, os.unlink) as unseen, telling(path):
        _write_new(folder, unseen, pieces, _OWNER_ALONE if before is None else before.st_mode)
        os.rename(unseen, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    return before is not None


def write_new(folder: int, name: str, path: Sequence[str], pieces: Iterable[bytes]) -> None:
    """Write a file in a folder that nobody has seen yet."""
    with telling(path):
        _write_new(folder, name, pieces, _OWNER_ALONE)


@contextmanager
def beside(folder: int, clear: Callable[..., None]) -> Generator[str]:
    """A name that nobody can guess, for what is not finished; where that fails, it is cleared."""
    name = f".quire-{secrets.token_hex(16)}.tmp"
    try:
        yield name
    except BaseException:
        with suppress(OSError):
            clear(name, dir_fd=folder)
        raise


def sync(folder: int, path: Sequence[str]) -> None:
    """Bring the names in a folder to the disk."""
    with telling(path):
        os.fsync(folder)


def remove_tree(name: str, *, dir_fd: int, depth: int = MAX_DEPTH + 1) -> None:
    """Remove a folder and all that is in it; of a link, the link alone."""
    if not depth:  # it was looked at before: somebody is building while we remove
        raise OSError(errno.ENOTEMPTY, "too deep")
    fd = os.open(name, FOLDER, dir_fd=dir_fd)
    try:
        with os.scandir(fd) as found:
            entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
        for below, is_folder in entries:
            if is_folder:
                remove_tree(below, dir_fd=fd, depth=depth - 1)
            else:
                os.unlink(below, dir_fd=fd)
    finally:
        os.close(fd)
    os.rmdir(name, dir_fd=dir_fd)


def _write_new(folder: int, name: str, pieces: Iterable[bytes], mode: int) -> None:
    fd = os.open(name, _NEW, _OWNER_ALONE, dir_fd=folder)
    with open(fd, "wb") as file:
        file.writelines(pieces)
        file.flush()
        os.fchmod(fd, stat.S_IMODE(mode) & 0o777)
        os.fsync(fd)
