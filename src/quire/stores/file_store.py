"""What the stores of one file share: the verbs of a store over a log of elements."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from quire.errors import Conflict, InvalidValue, OutOfRange
from quire.stores.beside import tell
from quire.stores.elements import Form, checked_body, written
from quire.stores.file_log import FileLog
from quire.stores.place import Place
from quire.stores.recalls import begin_forgetting
from quire.stores.seals import check_seal
from quire.stores.store import Durability, Entry, Store, Stored

logger = logging.getLogger("quire.stores")


class FileStore(Store):
    """All conversations in one file; which form it has, the heirs say."""

    form: ClassVar[Form]

    def __init__(self, path: str | Path, *, durable: Durability = "process") -> None:
        if durable not in ("process", "power"):
            raise InvalidValue("durable is 'process' or 'power'")
        self._log = FileLog(Path(path), self.form, durable, self._report)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {str(self._log.path)!r}>"

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        lines = written(place, entries)
        with self._log.alone():
            found = self._log.contents.version(place)
            if found != expected:
                raise Conflict(
                    f"version {expected} of {place} was expected, and {found} found", expected, found
                )
            if lines:
                if place not in self._log.contents.looked_at:
                    self._look_at(place, entries)
                self._log.extend(place, lines)
            return found + len(lines)

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        with self._log.current():
            first = max(after, 0) + 1
            spots = self._log.contents.spots(place, after)
            bodies = self._log.bodies(spots)
            return [
                Stored(version, spot.stream, body)
                for version, (spot, body) in enumerate(zip(spots, bodies, strict=True), first)
            ]

    def version(self, place: Place) -> int:
        with self._log.current():
            return self._log.contents.version(place)

    def conversations(self, scope: str) -> list[str]:
        with self._log.current():
            return sorted(place.conversation for place in self._log.contents.places() if place.scope == scope)

    def scopes(self) -> list[str]:
        with self._log.current():
            return sorted({place.scope for place in self._log.contents.places()})

    def forget(self, place: Place, bodies: Mapping[int, bytes] | None = None) -> None:
        others = None if bodies is None else {at: checked_body(body) for at, body in bodies.items()}
        if others is None and not begin_forgetting(self, place):
            return
        with self._log.alone():
            version = self._log.contents.version(place)
            for at in others or ():
                if not 1 <= at <= version:
                    raise OutOfRange(f"{place} has no version {at}: it has {version}")
            if version and others != {}:
                self._log.rewrite(place, others)
                count = version if others is None else len(others)
                logger.info("%s: %d entries of %s forgotten", self._log.path, count, place)
        if others is None:
            tell(self, place)

    def close(self) -> None:
        self._log.close()

    def _look_at(self, place: Place, entries: Sequence[Entry]) -> None:
        contents = self._log.contents
        for first in self._log.bodies(contents.first(place)):
            check_seal(place, first, entries)
        contents.looked_at.add(place)

    def _report(self, mended: str) -> None:
        self.reports = (*self.reports, mended)
