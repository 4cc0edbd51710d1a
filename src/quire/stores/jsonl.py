"""The JSON lines store: one file that other programs can read and follow as it grows.

The first line holds the size of the file after the last append that returned. Bytes beyond it are an append
that never returned; a file that is shorter was cut. Every other line is an item, with one member more in front:
`{"at":{"scope":…,"conversation":…,"stream":…,"version":…,"sum":…},…}`. The member is put in and taken out as
text, so a body comes back byte for byte; only a line break between two tokens becomes a space.

Files of earlier versions had no first line, no versions and no sums. They are read as they are, and written anew
with the first append.
"""

import fcntl
import logging
import os
import re
import stat
from array import array
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import NamedTuple
from zlib import crc32

import msgspec

from quire.errors import InvalidValue, StoreDamaged, StoreError, StoreFailed
from quire.stores.entries import (
    Row,
    check_bodies,
    check_seal,
    checked,
    conflict,
    entry_sum,
    seed_of,
    sifted,
    summed,
    verified,
)
from quire.stores.store import Damage, Durability, Entry, Place, Standing, Store, Stored
from quire.stores.threads import at_forks

VERSION = 2
"""The version of the format, which is in the first line."""

_HEAD = '{{"quire":2,"size":{:>16},"sum":"{:08x}"}}\n'
_HEAD_SIZE = len(_HEAD.format(0, 0))
_read_head = re.compile(rb'\{"quire":2,"size":( *\d+),"sum":"([0-9a-f]{8})"\}\n').fullmatch
_ends_like_head = re.compile(rb'.{35}"sum":"[0-9a-f]{8}"\}\n', re.DOTALL).match
_read_at = re.compile(rb'\t?\{\s*"at"\s*:\s*(\{(?:[^"{}]|"(?:[^"\\]|\\.)*+")*+\})(\s*,)?').match
_starts = re.compile(rb'\{"at":\{"scope":').finditer
_MOST_ENDS = 8

_log = logging.getLogger("quire.stores")


class _At(msgspec.Struct, forbid_unknown_fields=True):
    """Where an entry belongs."""

    scope: str
    conversation: str
    stream: str
    version: int
    sum: int


class _FirstAt(msgspec.Struct, forbid_unknown_fields=True):
    """The same in files of earlier versions; an entry without it is of the unnamed conversation."""

    scope: str = ""
    conversation: str = ""
    stream: str = "main"


class _AnyObject(msgspec.Struct):
    """Takes every object and keeps nothing of it."""


_decode_at = msgspec.json.Decoder(_At).decode
_decode_first_at = msgspec.json.Decoder(_FirstAt).decode
_decode_object = msgspec.json.Decoder(_AnyObject).decode
_encode = msgspec.json.Encoder().encode


class _Line(NamedTuple):
    """An entry in the file: its body goes on at `offset`, after the opening brace, for `length` bytes."""

    place: Place
    version: int
    stream: str
    sum: int
    offset: int
    length: int


class _Spots:
    """Where the entries of one conversation are: numbers, never what they say."""

    def __init__(self) -> None:
        self.streams: list[str] = []
        self.sums = array("L")
        self.offsets = array("Q")
        self.lengths = array("Q")

    def add(self, line: _Line) -> None:
        same = self.streams and self.streams[-1] == line.stream
        self.streams.append(self.streams[-1] if same else line.stream)  # one string for a run of equal names
        self.sums.append(line.sum)
        self.offsets.append(line.offset)
        self.lengths.append(line.length)

    def __len__(self) -> int:
        return len(self.streams)


class JSONLinesStore(Store):
    """All conversations in one `.jsonl` file."""

    def __init__(self, path: str | os.PathLike[str], *, durable: Durability = "process") -> None:
        if durable not in ("process", "power"):
            raise InvalidValue("durable is 'process' or 'power'")
        # Through links: replacing a link by a file would leave what it leads to as it was.
        self._path = Path(os.path.realpath(path))
        self._is_synced = durable == "power"
        self._guard = RLock()
        self._fd: int | None = None
        self._is_closed = False
        self._start_over()
        with self._failing("cannot be opened"):
            is_new = self._make()
        at_forks(self)
        if self._is_writable:
            with self._alone(may_be_damaged=True):
                self._beside.unlink(missing_ok=True)  # what a crash left of a replacement
                if not is_new and not os.fstat(self._file()).st_size:
                    self._report("was an empty file: a new store was begun in it")
                if not os.fstat(self._file()).st_size:
                    self._write(0, b"")

    def __repr__(self) -> str:
        return f"<JSONLinesStore {str(self._path)!r}>"

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        place = checked(place, entries, expected)
        entries = [Entry(stream, _one_line(body)) for stream, body in entries]
        with self._alone():
            found = self._version(place)
            if found != expected:
                raise conflict(place, expected, found)
            if entries:
                if self._is_first:
                    self._rewrite(place, {})
                if found and place not in self._looked_at:
                    check_seal(place, self._read(place, 0, 1)[0].body, entries)
                self._looked_at.add(place)
                lines = [_line(place, row) for row in summed(place, entries, found)]
                at = self._size
                self._write(at, b"".join(lines))
                self._take(self._scanned(at, self._size, lines), self._size)
            return found + len(entries)

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        with self._current():
            return self._read(place, max(after, 0))

    def version(self, place: Place) -> int:
        with self._current():
            return self._version(place)

    def conversations(self, scope: str) -> dict[str, Standing]:
        with self._current():
            found = {
                place.conversation: len(log) for place, log in self._logs.items() if place.scope == scope
            }
        return {name: Standing(found[name]) for name in sorted(found)}

    def scopes(self) -> list[str]:
        with self._current():
            return sorted({place.scope for place in self._logs})

    def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
        with self._alone():
            check_bodies(place, bodies, self._version(place))
            if bodies:
                self._rewrite(place, {version: _one_line(body) for version, body in bodies.items()})

    def remove(self, place: Place) -> None:
        with self._alone():
            if self._version(place):
                self._rewrite(place, None)

    def verify(self, place: Place | None = None) -> Iterator[Damage]:
        try:
            if place is None:
                with self._current():
                    for one in self._logs:
                        self._read(one, 0)
            else:
                self.read(place)
        except StoreDamaged as fault:
            yield Damage(None, fault.version, str(fault))
            for one, rows in self._rows_found().items():
                if place in (None, one):
                    yield from sifted(one, 0, rows)[1]

    def recover(self) -> Iterator[tuple[Place, Stored]]:
        for place, rows in self._rows_found().items():
            for stored in sifted(place, 0, rows)[0]:
                yield place, stored

    def close(self) -> None:
        with self._guard:
            self._is_closed = True
            self._let_go()

    def before_fork(self) -> None:
        """Wait until nobody is in the middle of a verb."""
        self._guard.acquire()

    def after_fork(self, *, is_child: bool) -> None:
        """Go on; the child opens the file again, since it shares the parent's lock on it."""
        if is_child:
            self._let_go()
        self._guard.release()

    # What is known of the file

    def _start_over(self) -> None:
        self._logs: dict[Place, _Spots] = {}
        self._looked_at: set[Place] = set()
        self._size, self._is_first = 0, False

    @contextmanager
    def _current(self) -> Generator[None, None, None]:
        """With all known that is in the file. Others may write meanwhile: they never change what is there."""
        with self._guard, self._failing("cannot be read"):
            try:
                self._catch_up()
            except StoreDamaged:
                with self._locked():  # a head that is being written may be read in halves
                    self._catch_up()
            yield

    @contextmanager
    def _alone(self, *, may_be_damaged: bool = False) -> Generator[None, None, None]:
        """The same, while nobody else writes."""
        with self._guard, self._failing("cannot be written"):
            if not self._is_writable:
                raise StoreFailed(f"{self._path} may not be written")
            with self._locked():
                with suppress(StoreDamaged) if may_be_damaged else suppress():
                    self._catch_up()
                    self._cut()
                yield

    def _catch_up(self) -> None:
        """Read what was added since the last look."""
        fd = self._file()
        head, size = os.pread(fd, _HEAD_SIZE, 0), os.fstat(fd).st_size
        found = _read_head(head)
        if found is None:
            if _is_headed(head):
                raise StoreDamaged(f"{self._path} is damaged in its first line")
            self._is_first = bool(size)
            if size != self._size:
                self._start_over()
                self._is_first = bool(size)
                self._take(_first_lines(self._lines(0), size, self._path), size)
            return
        end = int(found[1])
        if crc32(found[1]) != int(found[2], 16) or end < max(self._size, _HEAD_SIZE):
            raise StoreDamaged(f"{self._path} is damaged in its first line")
        if size < end:
            raise StoreDamaged(f"{self._path} ends at byte {size:,}, and had {end:,}")
        start = self._size or _HEAD_SIZE
        if end > start:
            self._take(self._scanned(start, end, self._lines(start)), end)
        self._size = end

    def _lines(self, start: int) -> Iterator[bytes]:
        with open(self._file(), "rb", closefd=False) as file:
            file.seek(start)
            yield from file

    def _scanned(self, start: int, end: int, lines: Iterable[bytes]) -> Iterator[_Line]:
        """The entries of some lines; `StoreDamaged` at the first that is not as it was written."""
        at = start
        for line in lines:
            if at >= end:
                return
            found = _whole_line(at, line)
            if found is None:
                raise StoreDamaged(f"{self._path} is damaged at byte {at:,}")
            yield found
            at += len(line)

    def _take(self, lines: Iterable[_Line], size: int) -> None:
        try:
            for line in lines:
                log = self._logs.setdefault(line.place, _Spots())
                if line.version not in (0, len(log) + 1):
                    raise StoreDamaged(
                        f"{self._path} is damaged: {line.place} has no version {len(log) + 1}",
                        place=str(line.place),
                        version=len(log),
                    )
                log.add(line)
        except BaseException:
            self._start_over()  # or what was read so far would be read twice
            raise
        self._size = size

    def _version(self, place: Place) -> int:
        log = self._logs.get(place)
        return 0 if log is None else len(log)

    def _read(self, place: Place, after: int, until: int | None = None) -> list[Stored]:
        count = self._version(place)
        if after >= count:
            return []
        log, fd = self._logs[place], self._file()
        rows: list[Row] = []
        for index in range(after, min(until or count, count)):
            body = b"{" + os.pread(fd, log.lengths[index], log.offsets[index])
            rows.append((index + 1, log.streams[index], body, None if self._is_first else log.sums[index]))
        return verified(place, after, after + len(rows), rows)

    def _rows_found(self) -> dict[Place, list[Row]]:
        """All entries that can be made out in the file, also where lines are damaged."""
        with self._guard, self._failing("cannot be read"):
            text = os.pread(self._file(), os.fstat(self._file()).st_size, 0)
        found: dict[Place, list[Row]] = {}
        if not _is_headed(text[:_HEAD_SIZE]):
            lines = text.splitlines(keepends=True)
            for line in _first_lines(lines, len(text), self._path, may_be_damaged=True):
                rows = found.setdefault(line.place, [])
                rows.append((len(rows) + 1, line.stream, b"{" + _part(text, line), None))
            return found
        begins = [*(start.start() for start in _starts(text)), len(text), len(text) + 1]
        for index, start in enumerate(begins[:-2]):
            # A line ends at its line break, or before the next one begins where that is damaged.
            ends = [text.find(b"\n", start), *(at - 1 for at in begins[index + 1 : index + 1 + _MOST_ENDS])]
            for end in ends:
                whole = _whole_line(start, text[start:end] + b"\n")
                if whole is not None:
                    row = (whole.version, whole.stream, b"{" + _part(text, whole), whole.sum)
                    found.setdefault(whole.place, []).append(row)
                    break
        return found

    # The file

    @property
    def _beside(self) -> Path:
        return self._path.with_name(f"{self._path.name}.new")

    def _make(self) -> bool:
        """Open the file, or make it, for its owner alone; whether it was made."""
        is_new = not self._path.exists()
        if is_new:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._sync_folder()
        self._is_writable = os.access(self._path, os.W_OK) and os.access(self._path.parent, os.W_OK)
        if not self._path.is_file():
            raise StoreFailed(f"{self._path} is not a file")
        self._file()
        return is_new

    def _file(self) -> int:
        """The open file; opened again where the path leads to another one now."""
        if self._is_closed:
            raise StoreFailed(f"the store of {self._path} is closed")
        if self._fd is not None:
            now, known = os.stat(self._path), os.fstat(self._fd)
            if (now.st_dev, now.st_ino) == (known.st_dev, known.st_ino):
                return self._fd
            self._let_go()
        self._fd = os.open(self._path, (os.O_RDWR if self._is_writable else os.O_RDONLY) | os.O_CLOEXEC)
        return self._fd

    def _let_go(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
        self._fd = None
        self._start_over()

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        """The lock is on the file itself, which may be replaced while somebody waits for it."""
        while True:
            fd = self._file()
            fcntl.flock(fd, fcntl.LOCK_EX if self._is_writable else fcntl.LOCK_SH)
            if self._file() == fd:
                break
        try:
            yield
        finally:
            if self._fd is not None:
                fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _write(self, at: int, data: bytes) -> None:
        """Write at the end of the file, then the head: only what the head counts is there."""
        fd, at = self._file(), at or _HEAD_SIZE
        try:
            _write_at(fd, data, at, is_synced=self._is_synced)
            self._size = at + len(data)
            _write_at(fd, _head(self._size), 0, is_synced=self._is_synced)
        except BaseException:
            self._size = at
            with suppress(OSError):  # what was there needs no room that it did not have
                os.ftruncate(fd, at)
                _write_at(fd, _head(at), 0, is_synced=False)
            raise

    def _cut(self) -> None:
        """Remove what an append left that never returned."""
        left = os.fstat(self._file()).st_size - self._size
        if left > 0 and self._size:
            os.ftruncate(self._file(), self._size)
            self._report(
                f"had an unfinished end: {left:,} bytes of an append that never returned were removed"
            )

    def _rewrite(self, place: Place, bodies: Mapping[int, bytes] | None) -> None:
        """Write the file anew, with other bodies in a place, or without the place, and put it in its place."""
        lines = list(self._rewritten(place, bodies))
        before = os.fstat(self._file())
        self._beside.unlink(missing_ok=True)
        fd = os.open(self._beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            with open(fd, "wb", closefd=False) as file:
                file.write(_head(_HEAD_SIZE + sum(map(len, lines))))
                file.writelines(lines)
            with suppress(PermissionError):
                os.fchown(fd, before.st_uid, before.st_gid)
            os.fchmod(fd, stat.S_IMODE(before.st_mode))
            os.fsync(fd)  # at any durability: a rename that outlives its content would lose everything
            os.rename(self._beside, self._path)
        except BaseException:
            os.close(fd)
            self._beside.unlink(missing_ok=True)
            raise
        self._let_go()
        self._fd = fd
        self._sync_folder()
        self._catch_up()

    def _rewritten(self, changed: Place, bodies: Mapping[int, bytes] | None) -> Iterator[bytes]:
        order = sorted(
            (offset, place, index)
            for place, log in self._logs.items()
            if bodies is not None or place != changed
            for index, offset in enumerate(log.offsets)
        )
        for _, place, index in order:
            (stored,) = self._read(place, index, index + 1)
            other = (bodies or {}).get(stored.version) if place == changed else None
            body = stored.body if other is None else other
            yield _line(
                place, (*stored[:2], body, entry_sum(seed_of(place), stored.version, stored.stream, body))
            )

    def _sync_folder(self) -> None:
        if self._is_synced:
            fd = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def _report(self, what: str) -> None:
        self.reports = (*self.reports, f"{self._path} {what}")
        _log.warning("%s", self.reports[-1])

    @contextmanager
    def _failing(self, what: str) -> Generator[None, None, None]:
        try:
            yield
        except StoreError:
            raise
        except OSError as error:
            raise StoreFailed(f"{self._path} {what}: {error.strerror or type(error).__name__}") from error


def _is_headed(head: bytes) -> bool:
    """Whether a file begins with a head, or with a damaged one."""
    return bool(head) and (head[:9] == b'{"quire":'[: len(head)] or _ends_like_head(head) is not None)


def _head(size: int) -> bytes:
    return _HEAD.format(size, crc32(f"{size:>16}".encode())).encode()


def _line(place: Place, row: tuple[int, str, bytes, int]) -> bytes:
    version, stream, body, known = row
    comma = b"" if body[1:].lstrip().startswith(b"}") else b","
    return b'{"at":' + _encode(_At(*place, stream, version, known)) + comma + body[1:] + b"\n"


def _whole_line(at: int, line: bytes) -> _Line | None:
    """The entry of a line, if it is as it was written."""
    found = _read_at(line)
    if found is None or not line.endswith(b"\n"):
        return None
    try:
        mark = _decode_at(found[1])
        seed = seed_of(Place(mark.scope, mark.conversation))
        if entry_sum(seed, mark.version, mark.stream, b"{" + line[found.end() : -1]) != mark.sum:
            return None
    except (msgspec.MsgspecError, ValueError):
        return None
    place, length = Place(mark.scope, mark.conversation), len(line) - 1 - found.end()
    return _Line(place, mark.version, mark.stream, mark.sum, at + found.end(), length)


def _first_lines(
    lines: Iterable[bytes], size: int, path: Path, *, may_be_damaged: bool = False
) -> Iterator[_Line]:
    """The entries of a file of an earlier version. An append that never returned may have left its end torn."""
    batch: list[_Line] = []
    at = 0
    for line in lines:
        element = line.rstrip(b"\n\0")
        found = _first_line(at, element)
        if found is None:
            if (at + len(line) < size or not at) and not may_be_damaged:
                raise StoreDamaged(f"{path} is damaged at byte {at:,}")
        else:
            batch.append(found)
            if not element.startswith(b"\t"):  # a tab says that more of the same append follows
                yield from batch
                batch.clear()
        at += len(line)


def _first_line(at: int, line: bytes) -> _Line | None:
    text = line.lstrip(b"\t")
    if not is_object(text):
        return None
    found, mark = _read_at(line), _FirstAt()
    inner = len(line) - len(text) + 1
    if found is not None:
        try:
            mark = _decode_first_at(found[1])
            inner = found.end()
        except (msgspec.MsgspecError, ValueError):
            if b'"sum":' in found[1]:  # a line of this version, below a damaged head
                return None
    return _Line(Place(mark.scope, mark.conversation), 0, mark.stream, 0, at + inner, len(line) - inner)


def is_object(text: bytes) -> bool:
    """Whether a text is one JSON object, in UTF-8."""
    try:
        _decode_object(text)
        return text.startswith(b"{") and (text.isascii() or bool(text.decode()))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False


def _one_line(body: bytes) -> bytes:
    text = body.strip().replace(b"\r", b" ").replace(b"\n", b" ")
    if not is_object(text):
        raise InvalidValue(f"a body is one JSON object, and {len(text):,} bytes are not")
    return text


def _part(text: bytes, line: _Line) -> bytes:
    return text[line.offset : line.offset + line.length]


def _write_at(fd: int, data: bytes, at: int, *, is_synced: bool) -> None:
    left = memoryview(data)
    while left:
        done = os.pwrite(fd, left, at)
        left, at = left[done:], at + done
    if is_synced:
        os.fsync(fd)
