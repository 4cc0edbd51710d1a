"""Checking a store, and writing what can be read of a damaged one into a new one.

A damaged SQLite file is read page by page. The sum of an entry says whether it is whole.
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from quire.errors import InvalidValue, StoreDamaged
from quire.stores.sealed import Seal
from quire.stores.store import Damage, Entry, Place, Row, Store, Stored, is_sealed, whole_entries

LOST = ".lost"
"""The stream of entries that stand for those that could not be read, so that versions stay the same."""

_BITS = 32
_LAST = (1 << _BITS) - 1
_LARGEST_PAGE, _LARGEST_HEAD = 65_536, 16
_WITHOUT_ROWS = (b"", b"\0", b"\2", b"\n")
"""How pages begin that hold the rest of a row, nothing, or a part of an index: no flipped bit makes a page of
rows, which begins with 13, one of these."""

_kept_open: list[int] = []
"""Files that were read page by page: closing one would drop this process's SQLite locks on it."""


class Salvaged(NamedTuple):
    """What was written into a new store."""

    conversations: int
    entries: int
    lost: int
    """Entries that are known to be missing: others may be, at the end of a conversation."""


def check(url: str | Path, *, key: bytes | None = None) -> list[Damage]:
    """The damage to a store; an empty list where it is whole."""
    try:
        with Store.open(url, key=key) as store:
            return list(store.verify())
    except StoreDamaged as fault:
        return [Damage(None, fault.version, str(fault))]


def salvage(url: str | Path, target: Store, *, key: bytes | None = None) -> Salvaged:
    """Write every entry of a store that is whole into an empty one.

    Versions stay the same: an entry in the stream `.lost` stands for one that is lost. An encrypted store
    needs its key; what the key does not open is lost.
    """
    if target.scopes():
        raise InvalidValue("what is salvaged is written into a new store, and this one is not empty")
    found, last = dict[Place, dict[int, Stored]](), Counter[Place]()
    recovered = list(_recovered(url))
    for place, stored in recovered:
        last[place] = max(last[place], stored.version)
    for place, stored in recovered if key is None else Seal(key).opened(recovered):
        if is_sealed(stored.body):
            raise InvalidValue(f"{place} is sealed: give its key")
        found.setdefault(place, {})[stored.version] = stored
    for place, log in found.items():
        entries = [Entry(*log[at][1:]) if at in log else _lost(at) for at in range(1, max(log) + 1)]
        target.append(place, entries, expected=0)
    written = sum(map(len, found.values()))
    return Salvaged(len(found), written, sum(last.values()) - written)


def _recovered(url: str | Path) -> Iterator[tuple[Place, Stored]]:
    try:
        with Store.open(url) as store:
            return iter(list(store.recover()))
    except StoreDamaged:
        path = str(url).removeprefix("sqlite:///")
        if not os.path.isfile(path):
            raise
        return recover_sqlite(path)


def _lost(version: int) -> Entry:
    return Entry(LOST, b'{"kind":"lost","id":"lost-%d","created_at":0.0}' % version)


def recover_sqlite(path: str) -> Iterator[tuple[Place, Stored]]:
    """Every whole entry of a SQLite store, in whatever state its file is."""
    names: dict[int, dict[Place, None]] = {}
    rows: dict[int, list[tuple[int, Row]]] = {}
    for key, values in Pages(path).rows():
        match values:  # the rows of our tables differ in their first values
            case [None, str(scope), str(name), *_]:
                names.setdefault(key, {})[Place(scope, name)] = None
            case [None, int(at), str(stream), bytes(body), int(known)] if at > 0:
                if not at & _LAST:
                    names.setdefault(at >> _BITS, {})[Place(stream, body.decode(errors="replace"))] = None
                rows.setdefault(at >> _BITS, []).append((key, (at & _LAST, stream, body, known)))
            case _:
                continue
    for number, places in names.items():
        # Of an entry that was replaced, an older row may still be found. A damaged name fits no entry.
        found = [row for _, row in sorted(rows.get(number, ()), key=itemgetter(0)) if row[0]]
        logs = [[(place, stored) for stored in whole_entries(place, found)] for place in places]
        yield from max(logs, key=len)


class Pages:
    """The pages of a SQLite file and of its log, as the format has them: https://sqlite.org/fileformat.html."""

    def __init__(self, path: str) -> None:
        self._file = _opened(path)
        size = int.from_bytes(os.pread(self._file, 2, 16), "big")
        size = _LARGEST_PAGE if size == 1 else size
        self._size = size if size >= 512 and not size & (size - 1) else 4096
        self._in_log: dict[int, int] = {}
        with suppress(OSError):
            self._log = _opened(f"{path}-wal")
            self._find_in_log()

    def rows(self) -> Iterator[tuple[int, list[Any]]]:
        """The key and the values of every row that can be made out; nonsense where a page holds no rows."""
        last = max((os.fstat(self._file).st_size + self._size - 1) // self._size, *self._in_log, 0, 0)
        for number in range(1, last + 1):
            for page in dict.fromkeys([self._in_file(number), self._page(number)]):  # the second is newer
                yield from self._rows_of(page, 100 if number == 1 else 0)

    def _rows_of(self, page: bytes, start: int) -> Iterator[tuple[int, list[Any]]]:
        """The rows of one page: each pointer leads to one, and so does the end of the row before it."""
        first = at = start + 8
        begins, lowest = list[int](), len(page)
        if page[start : start + 1] in _WITHOUT_ROWS:
            return
        while at + 2 <= lowest:  # the pointers end where the rows begin
            pointer = int.from_bytes(page[at : at + 2], "big")
            if first <= pointer < len(page):
                begins.append(pointer)
                lowest = min(lowest, pointer)
            at += 2
        seen = set[int]()
        while begins:
            begin = len(page) - len(page[begins.pop() :].lstrip(b"\0"))  # deleted rows are zeros
            if begin not in seen:
                seen.add(begin)
                with suppress(LookupError, ValueError, OverflowError):
                    key, payload, after = self._cell(page, begin)
                    begins.append(after)
                    yield key, _values(payload)

    def _cell(self, page: bytes, at: int) -> tuple[int, bytes, int]:
        """The key and the payload of the row at an offset, and where the row ends."""
        length, at = _varint(page, at)
        key, at = _varint(page, at)
        most = self._size - 35
        if length <= most:
            return key, page[at : at + length], at + length
        least = (self._size - 12) * 32 // 255 - 23
        here = least + (length - least) % (self._size - 4)
        here = here if here <= most else least
        parts, left = [page[at : at + here]], length - here
        following = int.from_bytes(page[at + here : at + here + 4], "big")
        while left > 0 and following:
            rest = self._page(following)
            if not rest:
                break
            parts.append(rest[4 : 4 + left])
            left, following = left - len(parts[-1]), int.from_bytes(rest[:4], "big")
        return key, b"".join(parts), at + here + 4

    def _page(self, number: int) -> bytes:
        if number in self._in_log:
            return os.pread(self._log, self._size, self._in_log[number])
        return self._in_file(number)

    def _in_file(self, number: int) -> bytes:
        return os.pread(self._file, self._size, (number - 1) * self._size)

    def _find_in_log(self) -> None:
        """The last frame of each page in the log, whether or not SQLite would still read it."""
        salts, at = os.pread(self._log, 8, 16), 32
        while len(head := os.pread(self._log, 24, at)) == 24:
            if head[8:16] == salts:
                self._in_log[int.from_bytes(head[:4], "big")] = at + 24
            at += 24 + self._size


def _opened(path: str) -> int:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    _kept_open.append(fd)
    return fd


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of up to nine bytes, seven bits each but for the last, and where it ends."""
    found = 0
    for step in range(8):
        found = found << 7 | data[at + step] & 0x7F
        if data[at + step] < 0x80:
            return found, at + step + 1
    return found << 8 | data[at + 8], at + 9


_SIZES = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 8: 0, 9: 0}
"""The sizes of NULL and of numbers, by the codes of their types. The last two are the numbers 0 and 1."""


def _values(payload: bytes) -> list[Any]:
    """The values of a row."""
    end, at = _varint(payload, 0)
    if end > _LARGEST_HEAD:
        raise ValueError("this is no row of ours")
    codes: list[int] = []
    while at < end:
        code, at = _varint(payload, at)
        codes.append(code)
    found: list[Any] = []
    for code in codes:
        size = (code - 12) // 2 if code >= 12 else _SIZES[code]
        if at + size > len(payload):
            raise ValueError("the row is cut")
        found.append(_value(code, payload[at : at + size]))
        at += size
    return found


def _value(code: int, data: bytes) -> Any:
    if code >= 12:
        return data.decode() if code % 2 else data
    return {0: None, 8: 0, 9: 1}.get(code, int.from_bytes(data, "big", signed=True))
