"""What lies between the rows of a SQLite file, as its format has it: copies of rows that were moved.

SQLite overwrites what it deletes, and pages that it frees (`secure_delete`). But where it moves rows from one
page to others, what was there may stay in the room that is free now, and nobody overwrites it later.
"""

import os
import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

_LEAF = 13
"""What a page of rows begins with. Others hold keys, the rest of long rows, or nothing."""

_HEADER = 8
_AT_ONCE = 256
_tells = re.compile(rb"[\x20-\xff]{4}").search
"""Something of a text. Shorter is what SQLite itself leaves: places on a page, of which the first byte is
less than any letter."""


class Unclean(NamedTuple):
    """A page with something between its rows: the key of one of them, and the room that it could take."""

    number: int
    key: int
    room: int
    most: int
    """The longest row, in bytes, that goes on a page as a whole."""

    def blank(self, stream: int) -> int:
        """How long a body has to be, beside the name of a stream, to take all of the room."""
        for length in range(self.room, 0, -1):
            row = 2 + _digits(13 + 2 * stream) + _digits(12 + 2 * length) + stream + length
            if row <= self.most and _digits(row) + _digits(self.key) + row <= self.room:
                return length
        return 0


def unclean_in(file: int) -> Iterator[Unclean]:
    """The pages of rows of an open file that have something between the rows."""
    head = os.pread(file, 100, 0)
    size = int.from_bytes(head[16:18], "big")
    size = 65_536 if size == 1 else size
    offset = 0
    while size and (chunk := os.pread(file, size * _AT_ONCE, offset)):
        for start in range(0, len(chunk), size):
            if chunk[start] == _LEAF:
                page = Page(chunk[start : start + size], size - head[20])
                if not page.is_clean:
                    yield page.unclean((offset + start) // size + 1)
        offset += len(chunk)


class Page:
    """A page of rows. One that is being written while it is read may make no sense: it is not clean."""

    def __init__(self, data: bytes, usable: int) -> None:
        self._data, self._usable = data, usable
        self._free, self.is_clean = 0, False
        try:
            self._count, self._start = struct.unpack_from(">HH", data, 3)
            self.is_clean = self._is_gap_clean() & self._are_holes_clean()
        except struct.error:
            self._count = 0

    def unclean(self, number: int) -> Unclean:
        """What is to be known of it to clean it."""
        most = self._usable - 35
        try:
            rows = [self._row(nth) for nth in range(self._count)]
        except (struct.error, IndexError):
            rows = []
        whole = [row for row in rows if row[1] <= most]
        for key, length in (whole or rows)[:1]:
            return Unclean(number, key, self._free + self._cell(key, length), most)
        return Unclean(number, 0, 0, most)

    def _is_gap_clean(self) -> bool:
        """Between the pointers to the rows, which grow upwards, and the rows, which grow downwards."""
        end = _HEADER + 2 * self._count
        gap = self._data[end : self._start]
        self._free += self._start - end + self._data[7]
        return _is_clean(gap)

    def _are_holes_clean(self) -> bool:
        """Between rows, where one was deleted: each hole says where the next is, and how long it is."""
        is_clean, hole = True, struct.unpack_from(">H", self._data, 1)[0]
        while hole:
            following, length = struct.unpack_from(">HH", self._data, hole)
            is_clean &= _is_clean(self._data[hole + 4 : hole + length])
            self._free += length
            hole = following if following > hole else 0
        return is_clean

    def _row(self, nth: int) -> tuple[int, int]:
        """The key of a row, and how long it is."""
        at = struct.unpack_from(">H", self._data, _HEADER + 2 * nth)[0]
        length, at = _number(self._data, at)
        return _number(self._data, at)[0], length

    def _cell(self, key: int, length: int) -> int:
        """How many bytes of the page a row takes; a long one has its rest elsewhere."""
        beside = _digits(length) + _digits(key)
        if length <= self._usable - 35:
            return beside + length
        least = (self._usable - 12) * 32 // 255 - 23
        here = least + (length - least) % (self._usable - 4)
        return beside + 4 + (here if here <= self._usable - 35 else least)


def _is_clean(room: bytes) -> bool:
    return room.count(0) == len(room) or _tells(room) is None  # the first is quick, and true of most


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of up to nine bytes, seven bits each but for the last, and where it ends."""
    found = 0
    for step in range(8):
        found = found << 7 | data[at + step] & 0x7F
        if data[at + step] < 0x80:
            return found, at + step + 1
    return found << 8 | data[at + 8], at + 9


def _digits(number: int) -> int:
    """How many bytes such a number takes."""
    return min(max((number.bit_length() + 6) // 7, 1), 9)
