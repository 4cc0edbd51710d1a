"""How far places were read: kept in tables, and at hand as long as nobody else changed anything."""

from quire.memory.index.lasting.known import Scope, scope_of
from quire.memory.index.lasting.sums import summed, unsummed
from quire.memory.index.lasting.tables import Asked, Tables, address, stored, told

_SET = "INSERT INTO marks VALUES (?, ?, ?, ?) ON CONFLICT (scope, address) DO UPDATE SET mark = excluded.mark"


class Marks:
    """The marks of one scope. There may be very many, and all are asked for at each turn."""

    def __init__(self, tables: Tables, scope: str, dialect: str) -> None:
        self._tables, self._scope, self._dialect = tables, scope, dialect
        self._kept: dict[str, bytes] = {}
        self._changes = -1

    def all(self) -> dict[str, bytes]:
        """The marks by place, as they are now."""
        self._tables.read(self._read)
        return self._kept

    def known(self) -> dict[str, bytes]:
        """The marks by place, as they were when all were last asked for; to be behind does no harm."""
        return self._kept if self._changes >= 0 else self.all()

    def now(self, asked: Asked, scope: Scope, place: str) -> bytes | None:
        """The mark of a place, as it is in this moment."""
        query = "SELECT mark FROM marks WHERE scope = ? AND address = ?"
        found = asked.rows(query, scope.number, address(place))
        return bytes(unsummed(found[0][0])) if found else None

    def set(self, asked: Asked, scope: Scope, place: str, mark: bytes | None) -> None:
        """Write one down; what is at hand is read again, should this not last."""
        if mark is None:
            unmark(asked, scope, place)
        else:
            asked.rows(_SET, scope.number, address(place), stored(place), summed(mark))

    def changed(self, changes: int, place: str, mark: bytes | None) -> None:
        """One was written down: it is the only change, or else all are read again."""
        if mark is None:
            self._kept.pop(place, None)
        else:
            self._kept[place] = mark
        self._changes = changes if changes == self._changes + 1 else -1

    def let_go(self) -> None:
        """What is at hand is not what is in the tables: it is read again."""
        self._changes = -1

    def _read(self, asked: Asked) -> None:
        scope = scope_of(asked, self._scope, self._dialect)
        changes = 0 if scope is None else scope.changes
        if changes != self._changes:
            rows = asked.rows("SELECT place, mark FROM marks WHERE scope = ?", scope.number if scope else 0)
            self._kept = {told(place): bytes(unsummed(mark)) for place, mark in rows}
            self._changes = changes


def unmark(asked: Asked, scope: Scope, place: str) -> None:
    """Keep nothing of how far a place was read."""
    asked.rows("DELETE FROM marks WHERE scope = ? AND address = ?", scope.number, address(place))
