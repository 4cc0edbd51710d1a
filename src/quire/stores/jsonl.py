"""The JSON lines store: one file that other programs can read and follow as it grows.

The first line holds the size of the file after the last append that returned. Bytes beyond it are an append
that never returned; a shorter file was truncated. Every other line is an item, with one more member in front:
`{"at":{"scope":…,"conversation":…,"stream":…,"version":…,"sum":…},…}`. The member is added and removed
as text, so a body comes back byte for byte. A process that has the file open holds all of it in memory.
"""

import fcntl
import logging
import os
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import msgspec

from quire.errors import InvalidValue, StoreDamaged, StoreError, StoreFailed
from quire.stores.memory import MemoryStore
from quire.stores.store import (
    Durability,
    Entry,
    Place,
    Stored,
    check_process,
    checked_path,
    checksum_entry,
    checksummed_rows,
    waits_for_disk,
)

_HEAD = '{{"quire":2,"size":{:>16},"sum":"{:08x}"}}\n'
_HEAD_SIZE = len(_HEAD.format(0, 0))
_read_head = re.compile(rb'\{"quire":2,"size":( *\d+),"sum":"([0-9a-f]{8})"\}\n').fullmatch
_read_at = re.compile(rb'\{"at":(\{(?:[^"{}]|"(?:[^"\\]|\\.)*+")*+\})(,)?').match
_find_line_starts = re.compile(rb'\{"at":\{"scope":').finditer

_log = logging.getLogger("quire.stores")


class _At(msgspec.Struct, forbid_unknown_fields=True):
    """Where an entry belongs."""

    scope: str
    conversation: str
    stream: str
    version: int
    sum: int


class _AnyObject(msgspec.Struct):
    """Decodes any object, to check it, and keeps nothing."""


_decode_at = msgspec.json.Decoder(_At).decode
_decode_object = msgspec.json.Decoder(_AnyObject).decode


class JSONLinesStore(MemoryStore):
    """All conversations in one `.jsonl` file."""

    is_quick = False

    def __init__(self, path: str | os.PathLike[str], *, durable: Durability = "process") -> None:
        # Resolve links: a rewrite would replace the link, and leave the file behind it as it was.
        self._path = Path(os.path.realpath(checked_path(path)))
        self._new_path = self._path.with_name(f"{self._path.name}.new")
        self._is_synced = waits_for_disk(durable)
        self._process = os.getpid()  # a forked process would share the lock of its parent
        self._fd: int | None = None
        self._size = _HEAD_SIZE
        super().__init__()
        with self._wrapped_errors("cannot be opened"), self._guard:
            is_new = not self._path.exists()
            if is_new:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            elif not self._path.is_file():
                raise StoreFailed(f"{self._path} cannot be opened: it is not a file")
            with self._locked():
                self._prepare(is_new)

    def __repr__(self) -> str:
        return f"<JSONLinesStore {str(self._path)!r}>"

    @property
    def path(self) -> str:
        """Where the file is."""
        return str(self._path)

    def recover(self) -> Iterator[tuple[Place, Stored]]:
        with self._wrapped_errors("cannot be read"):
            text = self._path.read_bytes()
        starts = [*(match.start() for match in _find_line_starts(text)), len(text) + 1]
        logs: dict[Place, dict[int, Stored]] = {}
        for start, next_start in pairwise(starts):
            # A line ends at its line break; where that is damaged, before the next line.
            for end in (text.find(b"\n", start), next_start - 1):
                line = _whole_line(text[start:end])
                if line is not None:
                    logs.setdefault(line[0], {})[line[1].version] = line[1]
                    break
        return ((place, log[version]) for place, log in logs.items() for version in sorted(log))

    def close(self) -> None:
        super().close()
        with self._guard:
            self._close_file()

    @contextmanager
    def _caught_up(self) -> Generator[None, None, None]:
        """Run the block with the whole file read. Others may append meanwhile."""
        with self._wrapped_errors("cannot be read"), self._guard:
            try:
                self._catch_up()
            except StoreDamaged:  # perhaps the head was read while it was written
                with self._locked():
                    self._catch_up()
            yield

    @contextmanager
    def _write_locked(self) -> Generator[None, None, None]:
        with self._wrapped_errors("cannot be written"), self._guard, self._locked():
            self._catch_up()
            self._truncate()
            yield

    def _add(self, place: Place, entries: list[Entry]) -> None:
        text = b"".join(_lines(place, entries, len(self._logs.get(place, ()))))
        self._write(self._size, text)
        self._size += len(text)
        super()._add(place, entries)

    def _put(self, place: Place, log: list[Entry]) -> None:
        """Rewrite the file with another log for a place. Reading the new file replaces what is in memory."""
        if place in self._logs:
            logs = {**self._logs, place: log}
            self._rewrite(line for at, entries in logs.items() for line in _lines(at, entries))

    # The file

    def _prepare(self, is_new: bool) -> None:
        """Write the head of an empty file, or truncate an append that never returned."""
        self._new_path.unlink(missing_ok=True)  # left by a crash during a rewrite
        head = os.pread(self._file(), _HEAD_SIZE, 0)
        if not head:
            self._write(_HEAD_SIZE, b"")
            if not is_new:
                self._report("was an empty file: a new store was begun in it")
        else:
            with suppress(StoreDamaged):  # every later call but `recover` raises it
                self._catch_up()
                self._truncate()

    def _catch_up(self) -> None:
        """Read the lines since the last call; `StoreDamaged` unless all of them are as they were written."""
        fd = self._file()
        head, size = _read_head(os.pread(fd, _HEAD_SIZE, 0)), os.fstat(fd).st_size
        end = int(head[1]) if head and crc32(head[1]) == int(head[2], 16) else -1
        if end < self._size:
            raise StoreDamaged(f"{self._path} is damaged in its first line, or is not a store")
        if size < end:
            raise StoreDamaged(f"{self._path} ends at byte {size:,}, and had {end:,}")
        if end == self._size:
            return
        with open(fd, "rb", closefd=False) as file:
            file.seek(self._size)
            lines = file.read(end - self._size).split(b"\n")
        lines = lines if lines[-1] else lines[:-1]  # a last line without a break fails its checksum below
        for text in lines:
            line = _whole_line(text)
            log = [] if line is None else self._logs.setdefault(line[0], [])
            if line is None or line[1].version != len(log) + 1:
                at = self._size
                self._close_file()  # the lines so far must not be read twice
                raise StoreDamaged(f"{self._path} is damaged at byte {at:,}")
            log.append(Entry(*line[1][1:]))
            self._count_change(line[0])
            self._size += len(text) + 1

    def _file(self) -> int:
        """The open file; opened again if the path leads to another file now."""
        self._check_open()
        if self._fd is not None:
            if os.path.samestat(os.stat(self._path), os.fstat(self._fd)):
                return self._fd
            self._close_file()
        self._fd = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        return self._fd

    def _close_file(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
        self._fd, self._logs, self._size = None, {}, _HEAD_SIZE
        self._changed = {}
        # The path may lead to another file now, so `changes` must list everything.
        self._changes = self._removal = self._changes + 1

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        """Hold the lock of the file, which another process may replace while this one waits."""
        while True:
            fd = self._file()
            fcntl.flock(fd, fcntl.LOCK_EX)
            if os.path.samestat(os.stat(self._path), os.fstat(fd)):  # it was not replaced meanwhile
                break
        try:
            yield
        finally:
            if self._fd is not None:
                fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _write(self, at: int, data: bytes) -> None:
        """Write at the end of the file, then the head: bytes beyond the size in the head do not count."""
        fd = self._file()
        try:
            _write_at(fd, data, at, is_synced=self._is_synced)
            _write_at(fd, _head(at + len(data)), 0, is_synced=self._is_synced)
        except BaseException:
            with suppress(OSError):  # shrinking works on a full disk too
                os.ftruncate(fd, at)
                _write_at(fd, _head(at), 0, is_synced=False)
            raise

    def _truncate(self) -> None:
        """Remove the bytes of an append that never returned."""
        extra = os.fstat(self._file()).st_size - self._size
        if extra > 0:
            os.ftruncate(self._file(), self._size)
            self._report(
                f"had an unfinished end: {extra:,} bytes of an append that never returned were removed"
            )

    def _rewrite(self, lines: Iterable[bytes]) -> None:
        """Write a new file, then replace the old one by it."""
        text, before = b"".join(lines), os.fstat(self._file())
        self._new_path.unlink(missing_ok=True)
        fd = os.open(self._new_path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            with suppress(PermissionError):
                os.fchown(fd, before.st_uid, before.st_gid)
            os.fchmod(fd, before.st_mode & 0o7777)
            # Synced at any durability: a rename that outlives its content would lose everything.
            _write_at(fd, _head(_HEAD_SIZE + len(text)) + text, 0, is_synced=True)
            os.rename(self._new_path, self._path)
        except BaseException:
            os.close(fd)
            self._new_path.unlink(missing_ok=True)
            raise
        self._close_file()
        self._fd = fd
        self._catch_up()

    def _report(self, repair: str) -> None:
        self.reports = (*self.reports, f"{self._path} {repair}")
        _log.warning("%s", self.reports[-1])

    @contextmanager
    def _wrapped_errors(self, failure: str) -> Generator[None, None, None]:
        check_process(self._process)
        try:
            yield
        except StoreError:
            raise
        except OSError as error:
            raise StoreFailed(f"{self._path} {failure}: {error.strerror or type(error).__name__}") from error


def _head(size: int) -> bytes:
    return _HEAD.format(size, crc32(f"{size:>16}".encode())).encode()


def _lines(place: Place, entries: Iterable[Entry], after: int = 0) -> Iterator[bytes]:
    """The lines of entries that follow the version `after`."""
    for version, stream, body, checksum in checksummed_rows(place, entries, after):
        if b"\n" in body or b"\r" in body or not _is_object(body):
            raise InvalidValue(f"a body of {len(body):,} bytes is not one JSON object on one line")
        comma = b"" if body[1:].lstrip().startswith(b"}") else b","
        at = msgspec.json.encode(_At(*place, stream, version, checksum))
        yield b'{"at":' + at + comma + body[1:] + b"\n"


def _whole_line(text: bytes) -> tuple[Place, Stored] | None:
    """The place and the entry of a line; None if the line is damaged."""
    match = _read_at(text)
    if match is None:
        return None
    try:
        at = _decode_at(match[1])
        place, body = Place(at.scope, at.conversation), b"{" + text[match.end() :]
        is_whole = checksum_entry(*place, at.version, at.stream, body) == at.sum
    except (msgspec.MsgspecError, ValueError):
        return None
    return (place, Stored(at.version, at.stream, body)) if is_whole else None


def _is_object(text: bytes) -> bool:
    try:
        _decode_object(text)
        return text.startswith(b"{") and (text.isascii() or bool(text.decode()))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False


def _write_at(fd: int, data: bytes, at: int, *, is_synced: bool) -> None:
    remaining = memoryview(data)
    while remaining:
        count = os.pwrite(fd, remaining, at)
        remaining, at = remaining[count:], at + count
    if is_synced:
        os.fsync(fd)
