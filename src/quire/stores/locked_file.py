"""One file that several threads and processes write to: opened, locked, extended, replaced as a whole.

The lock is on the file itself, not on one beside it: a lock file would have to stay behind for ever, in
folders that are not ours. The price is that a file can be replaced while somebody waits for its lock; so
whoever gets the lock looks whether the path still leads to that file, and begins again if not. The system
gives the lock back when a process dies.
"""

import contextlib
import fcntl
import os
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from quire.errors import StoreError, StoreFailed
from quire.stores.store import Durability

_OWNER_ALONE = 0o600
_BOTH_WAYS = os.O_RDWR | os.O_CLOEXEC


class LockedFile:
    """A file by its path. `identity` changes when the path leads to another file."""

    def __init__(self, path: Path, durable: Durability) -> None:
        # Through links: replacing a link by a file would leave what it leads to as it was.
        self.path = Path(os.path.realpath(path))
        self._beside = self.path.with_name(f"{self.path.name}.new")
        self._is_synced = durable == "power"
        self._process = os.getpid()
        with Failing(f"{self.path} cannot be opened"):
            self.fd = self._made()

    def close(self) -> None:
        """Let go of the file, and of its lock with it."""
        os.close(self.fd)

    @property
    def identity(self) -> tuple[int, int]:
        """Which file this is."""
        found = os.fstat(self.fd)
        return found.st_dev, found.st_ino

    def seen(self) -> tuple[tuple[int, int], int]:
        """Which file the path leads to now, and how long it is: a look without a lock."""
        with Failing(f"{self.path} cannot be read"):
            found = os.stat(self.path)
        return (found.st_dev, found.st_ino), found.st_size

    def renew(self) -> None:
        """Open it again: a lock belongs to an opening, and a forked process shares that of its parent."""
        self._open_again()
        self._process = os.getpid()

    @contextmanager
    def locked(self) -> Generator[None, None, None]:
        """Alone with the file that the path leads to."""
        with Failing(f"{self.path} cannot be locked"):
            self._lock()
        try:
            yield
        finally:
            fcntl.flock(self.fd, fcntl.LOCK_UN)

    def extend(self, at: int, data: bytes, closing: bytes) -> None:
        """Write from some byte on, where `closing` stands now; if that fails, it stands there again."""
        try:
            with Failing(f"{self.path} cannot be written"):
                self._write(at, data)
        except BaseException:
            # What was there before needs no room that it did not have.
            with contextlib.suppress(OSError):
                self.cut(at, closing)
            raise

    def cut(self, at: int, closing: bytes) -> None:
        """Leave nothing from some byte on but the closing."""
        with Failing(f"{self.path} cannot be written"):
            os.ftruncate(self.fd, at + len(closing))
            self._write(at, closing)

    def replace(self, pieces: Iterable[bytes]) -> None:
        """Put another file in the place of this one, at once; it is locked as this one was."""
        with Failing(f"{self.path} cannot be replaced"):
            self.clear_beside()
            try:
                fd = self._written_beside(pieces)
            except BaseException:
                self.clear_beside()
                raise
            os.rename(self._beside, self.path)
            os.close(self.fd)
            self.fd = fd
            self._sync_folder()

    def clear_beside(self) -> None:
        """Take away what a crash left of a replacement: somebody may have wanted it forgotten."""
        with Failing(f"{self._beside} cannot be removed"):
            self._beside.unlink(missing_ok=True)

    def _written_beside(self, pieces: Iterable[bytes]) -> int:
        before = os.fstat(self.fd)
        fd = os.open(self._beside, _BOTH_WAYS | os.O_CREAT | os.O_EXCL, _OWNER_ALONE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            with open(fd, "wb", closefd=False) as file:
                file.writelines(pieces)
            with contextlib.suppress(PermissionError):
                os.fchown(fd, before.st_uid, before.st_gid)
            os.fchmod(fd, stat.S_IMODE(before.st_mode))
            os.fsync(fd)  # at any durability: a rename that outlives its content would lose everything
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _lock(self) -> None:
        if self._process != os.getpid():
            self.renew()
        while True:
            fcntl.flock(self.fd, fcntl.LOCK_EX)
            if self.seen()[0] == self.identity:
                return
            self._open_again()

    def _open_again(self) -> None:
        before, self.fd = self.fd, os.open(self.path, _BOTH_WAYS)
        os.close(before)

    def _made(self) -> int:
        try:
            fd = os.open(self.path, _BOTH_WAYS)
        except FileNotFoundError:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(self.path, _BOTH_WAYS | os.O_CREAT, _OWNER_ALONE)
            self._sync_folder()
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise StoreFailed(f"{self.path} cannot be opened: it is not a file")
        return fd

    def _write(self, at: int, data: bytes) -> None:
        left = memoryview(data)
        while left:
            done = os.pwrite(self.fd, left, at)
            left, at = left[done:], at + done
        if self._is_synced:
            os.fsync(self.fd)

    def _sync_folder(self) -> None:
        if self._is_synced:
            fd = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)


class Failing:
    """Errors of the system in the words of a store."""

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        """Nothing is done before something fails: a class, because this is on the way of each append."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and not isinstance(error, StoreError):
            reason = error.strerror or type(error).__name__
            raise StoreFailed(f"{self._what}: {reason}") from error
