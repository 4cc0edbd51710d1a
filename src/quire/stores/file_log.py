"""The log in one file: what is known of it, how that is kept up with other writers, and how it grows.

An append takes the lock, reads what others added since, and writes at the end of the file: it costs the same
at any length. In memory there is where each entry is, not what it says.
"""

import logging
import os
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from quire.errors import StoreDamaged, StoreFailed
from quire.stores.contents import Contents, Spot, gathered
from quire.stores.elements import Form, Line, line_of
from quire.stores.forking import watch
from quire.stores.locked_file import Failing, LockedFile
from quire.stores.place import Place
from quire.stores.scanning import scan
from quire.stores.store import Durability

logger = logging.getLogger("quire.stores")


class FileLog:
    """The elements of one file. What it knows is to be asked within `current` or `alone` only."""

    def __init__(self, path: Path, form: Form, durable: Durability, report: Callable[[str], None]) -> None:
        self._form = form
        self._report = report
        self._file = LockedFile(path, durable)
        self._guard = threading.RLock()
        self._is_closed = False
        self._end, self._by_hand, self._known = 0, False, (self._file.identity, -1)
        self.path = self._file.path
        self.contents = Contents()
        watch(self)
        try:
            with self.alone():
                self._file.clear_beside()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        with self._guard:
            if not self._is_closed:
                self._is_closed = True
                self._file.close()

    def hold(self) -> None:
        """At a fork: nobody is in the middle of a verb."""
        self._guard.acquire()

    def let_go(self) -> None:
        """After a fork."""
        self._guard.release()

    def begin_anew(self) -> None:
        """In a process that was forked off: open the file again."""
        if not self._is_closed:
            with suppress(OSError):  # the next verb tries it again, and says what is wrong
                self._file.renew()

    @contextmanager
    def current(self) -> Generator[None, None, None]:
        """With all known that is in the file. Others may write: what is known never changes its place."""
        with self._guard:
            self._check_open()
            if self._file.seen() != self._known:
                with self._file.locked():
                    self._catch_up()
            yield

    @contextmanager
    def alone(self) -> Generator[None, None, None]:
        """The same, while nobody else writes."""
        with self._guard:
            self._check_open()
            with self._file.locked():
                self._catch_up()
                yield

    def bodies(self, spots: list[Spot]) -> Iterator[bytes]:
        """What entries say, from the file."""
        for run in gathered(spots):
            start, end = run[0].offset, run[-1].offset + run[-1].length
            with Failing(f"{self.path} cannot be read"):
                text = os.pread(self._file.fd, end - start, start)
            if len(text) < end - start:
                raise StoreDamaged(f"{self.path} ends at byte {start + len(text):,}, and had {end:,}")
            for _, offset, length in run:
                yield b"{" + text[offset - start : offset - start + length]

    def extend(self, place: Place, lines: Sequence[Line]) -> None:
        """Add entries of one place at the end, all or none."""
        if self._by_hand:
            self.rewrite(place, {})
        form, at = self._form, self._end
        lead = form.lead(at)
        text = lead + form.between.join(line.text for line in lines)
        self._file.extend(at, text + form.closing, form.closing if at else b"")
        end = at + len(lead) - len(form.between)
        for line in lines:
            end += len(form.between) + len(line.text)
            self.contents.add(place, Spot(line.stream, end - line.length, line.length))
        self._end, self._known = end, (self._known[0], end + len(form.closing))

    def rewrite(self, place: Place, bodies: Mapping[int, bytes] | None) -> None:
        """Write the file anew, one element per line, with other bodies in a place, or without the place."""
        self._file.replace(self._rewritten(place, bodies))
        self._start_over()
        self._catch_up()

    def _rewritten(self, changed: Place, bodies: Mapping[int, bytes] | None) -> Iterator[bytes]:
        lead = self._form.opening + self._form.first
        entries = self._entries(None if bodies is not None else changed)
        texts = self.bodies([spot for _, _, spot in entries])
        for (place, version, spot), body in zip(entries, texts, strict=True):
            other = bodies.get(version) if bodies and place == changed else None
            yield lead + line_of(place, spot.stream, body if other is None else other).text
            lead = self._form.between
        yield self._form.closing if entries else self._form.empty

    def _entries(self, without: Place | None) -> list[tuple[Place, int, Spot]]:
        """All entries in the order of the file."""
        contents = self.contents
        entries = [
            (place, version, spot)
            for place in contents.places()
            if place != without
            for version, spot in enumerate(contents.spots(place), 1)
        ]
        return sorted(entries, key=lambda entry: entry[2].offset)

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreFailed(f"the store of {self.path} is closed")

    def _catch_up(self) -> None:
        seen = self._file.seen()
        if seen == self._known:
            return
        if seen[0] != self._known[0] or seen[1] < self._known[1] or self._by_hand:
            self._start_over()
        try:
            self._look_through(seen[1])
        except BaseException:
            self._start_over()  # or what was read so far would be read twice
            raise

    def _start_over(self) -> None:
        self.contents = Contents()
        self._end, self._by_hand, self._known = 0, False, (self._file.identity, -1)

    def _look_through(self, size: int) -> None:
        if not size:
            self._file.extend(0, self._form.empty, b"")
        with Failing(f"{self.path} cannot be read"), open(self._file.fd, "rb", closefd=False) as file:
            scanned = scan(file, self._form, self.contents, self._end, str(self.path))
        if scanned.torn is not None:
            self._mend(scanned.end, scanned.torn)
        self._end, self._by_hand = scanned.end, scanned.by_hand
        self._known = self._file.seen()

    def _mend(self, end: int, torn: int) -> None:
        self._file.cut(end, self._form.closing if end else self._form.empty)
        report = f"its end was torn: {torn:,} bytes of an append that never returned are cut off"
        logger.warning("%s: %s; %d entries stay", self.path, report, self.contents.count)
        self._report(f"{self.path}: {report}; {self.contents.count:,} entries stay")
