"""The PostgreSQL store: many processes, many machines, and readers that are told when something was added."""

import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from quire.errors import Conflict, InvalidValue, OutOfRange
from quire.stores.beside import tell
from quire.stores.place import Place
from quire.stores.postgres_link import CameFirst, Link
from quire.stores.postgres_listening import tell_all
from quire.stores.postgres_wiping import wipe
from quire.stores.recalls import begin_forgetting
from quire.stores.seals import check_seal
from quire.stores.store import Durability, Entry, Standing, Store, Stored
from quire.stores.versions import checked, conflict, whole_row
from quire.stores.wiping import Wiping

if TYPE_CHECKING:
    from psycopg import Connection

LOOKING = 5.0
"""Whoever waits looks again after so many seconds: who added something may have died before telling."""

_LAST = (1 << 63) - 1
_REMEMBERED = 10_000

# Without the entry before it nothing is added; where another came first, the primary key refuses.
_ADD = """
    INSERT INTO quire.entries (conversation, version, stream, body)
    SELECT conversation, version + 1, %s, %s FROM quire.entries WHERE conversation = %s AND version = %s"""
_ADD_MANY = """
    INSERT INTO quire.entries (conversation, version, stream, body)
    SELECT %s, %s + nth, stream, body
    FROM unnest(%s::text[], %s::bytea[]) WITH ORDINALITY AS added (stream, body, nth)"""
_NUMBER = "SELECT number FROM quire.conversations WHERE address = %s"
_NEW_NUMBER = """
    INSERT INTO quire.conversations (address, scope, name) VALUES (%s, %s, %s)
    ON CONFLICT (address) DO NOTHING"""
_VERSION = """
    SELECT (SELECT version FROM quire.entries WHERE conversation = number ORDER BY version DESC LIMIT 1)
    FROM quire.conversations WHERE address = %s"""
_STANDINGS = """
    SELECT name, coalesce((SELECT version FROM quire.entries WHERE conversation = number
                           ORDER BY version DESC LIMIT 1), 0), number
    FROM quire.conversations WHERE scope = %s"""
_READ = """
    SELECT version, stream, body FROM quire.conversations JOIN quire.entries ON conversation = number
    WHERE address = %s AND version > %s ORDER BY version"""
_FIRST = "SELECT body FROM quire.entries WHERE conversation = %s AND version = 1"
_REPLACE = "UPDATE quire.entries SET body = %s WHERE conversation = %s AND version = %s"


class PostgresStore(Store):
    """All conversations in the schema `quire` of a database.

    With `durable="process"` an append waits for what the server's keeper chose, which is the server's disk
    unless `synchronous_commit` was changed there; with `"power"` it waits for the disk in any case. `forget`
    deletes, waits for transactions in which it can still be read, and vacuums. The bytes stay in the free
    room of the tables until others are written over them; the server's own log, its copies and backups are
    its keeper's affair, and so is what they may still hold.
    """

    def __init__(self, url: str, *, durable: Durability = "process", pool_size: int = 4) -> None:
        if pool_size < 1:
            raise InvalidValue("pool_size is at least 1")
        self._link = Link(url, durable, pool_size)
        self.wiping = Wiping(self._wipe)
        self._numbers: dict[Place, int] = {}
        # Appends whose connection was lost before the answer came.
        self._unsure: dict[Place, tuple[int, tuple[Entry, ...]]] = {}

    def __repr__(self) -> str:
        return "<PostgresStore>"  # the address may hold a password

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        """Add entries, all or none, and give the new version.

        An append that may have arrived although the connection was lost is recognised when it is tried
        again: it is never added twice.
        """
        place, _ = checked(place, entries)
        doubt = (expected, tuple(entries))
        try:
            version = self._link.run(
                lambda connection: self._append(connection, place, entries, expected),
                lambda: self._unsure.update({place: doubt}),
            )
        except Conflict:
            if self._unsure.pop(place, None) == doubt and self._holds(place, expected, entries):
                return expected + len(entries)
            raise
        self._unsure.pop(place, None)
        return version

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        """The entries of a place from a version on."""
        start = min(max(after, 0), _LAST)
        rows = self._rows(_READ, _address(place), start)
        return whole_row(place, start, list(map(Stored._make, rows)))

    def version(self, place: Place) -> int:
        """How many entries a place has."""
        return self._link.run(lambda connection: _version(connection, place), _nothing)

    def conversations(self, scope: str) -> list[str]:
        """The names of the conversations of one scope."""
        checked(Place(scope, ""), ())
        return sorted(
            row[0] for row in self._rows("SELECT name FROM quire.conversations WHERE scope = %s", scope)
        )

    def standings(self, scope: str) -> dict[str, Standing]:
        """How far every conversation of one scope has come, of one moment."""
        checked(Place(scope, ""), ())
        rows = self._rows(_STANDINGS, scope)
        return {name: Standing(int(version), str(number)) for name, version, number in rows}

    def scopes(self) -> list[str]:
        """All scopes."""
        return sorted(row[0] for row in self._rows("SELECT DISTINCT scope FROM quire.conversations"))

    def forget(self, place: Place, bodies: Mapping[int, bytes] | None = None) -> None:
        """Put other bodies in the place of some, or take away the whole conversation; then vacuum."""
        if bodies is not None:
            self._link.run(lambda connection: _replace(connection, place, bodies), _nothing)
            self.wiping.after(place)
            return
        if not begin_forgetting(self, place):
            return
        with self.wiping.once():
            self._link.run(lambda connection: _remove(connection, place), _nothing)
            self._numbers.pop(place, None)
            self.wiping.after(place)
            tell(self, place)

    def wait(self, place: Place, version: int, timeout: float) -> int:
        """The version of a place once it is another than this one, or the time is over."""
        if timeout <= 0:
            return self.version(place)
        until = time.monotonic() + timeout
        with self._link.listening(_channel(_address(place))) as rest:
            while (found := self.version(place)) == version and (left := until - time.monotonic()) > 0:
                rest(min(left, LOOKING))
        return found

    def close(self) -> None:
        """Close all connections."""
        self._link.close()

    def _append(
        self, connection: "Connection[Any]", place: Place, entries: Sequence[Entry], expected: int
    ) -> int:
        number = self._numbers.get(place)
        if number is not None and len(entries) == 1 and 0 < expected < _LAST:
            stream, body = entries[0]
            try:
                if connection.execute(_ADD, (stream, body, number, expected)).rowcount == 1:
                    tell_all(connection, _channel(_address(place)))
                    return expected + 1
            except CameFirst:
                pass
        return self._append_checked(connection, place, entries, expected)

    def _append_checked(
        self, connection: "Connection[Any]", place: Place, entries: Sequence[Entry], expected: int
    ) -> int:
        while True:
            try:
                with connection.transaction():
                    number = _add_all(connection, place, entries, expected, self._numbers.get(place))
            except CameFirst:  # another came in between: look again
                continue
            if len(self._numbers) >= _REMEMBERED:
                self._numbers.clear()
            if number is not None:
                self._numbers[place] = number
                tell_all(connection, _channel(_address(place)))
            return expected + len(entries)

    def _wipe(self, _: Place) -> None:
        wipe(self._link, "quire.entries, quire.conversations", waits=self.wiping.waits)

    def _holds(self, place: Place, expected: int, entries: Sequence[Entry]) -> bool:
        found = self.read(place, after=expected)[: len(entries)]
        return [Entry(*stored[1:]) for stored in found] == list(entries)

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._link.run(
            lambda connection: connection.execute(query.encode(), values, binary=True).fetchall(), _nothing
        )


def _add_all(
    connection: "Connection[Any]", place: Place, entries: Sequence[Entry], expected: int, known: int | None
) -> int | None:
    # Whoever forgets a conversation keeps writers out: so none writes to one that is being taken away.
    connection.execute("LOCK TABLE quire.entries IN ROW EXCLUSIVE MODE")
    found = _version(connection, place)
    if found != expected:
        raise conflict(place, expected, found)
    if not entries:
        return None
    address = _address(place)
    number = _number(connection, address)
    if number is None:
        connection.execute(_NEW_NUMBER, (address, *place))
        number = _number(connection, address)
    if number != known:
        _look_at(connection, place, number, entries)
    streams, bodies = zip(*entries, strict=True)
    connection.execute(_ADD_MANY, (number, found, list(streams), list(bodies)))
    return number


def _look_at(
    connection: "Connection[Any]", place: Place, number: int | None, entries: Sequence[Entry]
) -> None:
    for (first,) in connection.execute(_FIRST, [number]):
        check_seal(place, first, entries)


def _remove(connection: "Connection[Any]", place: Place) -> None:
    address = _address(place)
    with connection.transaction():
        connection.execute("LOCK TABLE quire.entries IN SHARE ROW EXCLUSIVE MODE")
        number = _number(connection, address)
        connection.execute("DELETE FROM quire.entries WHERE conversation = %s", [number])
        connection.execute("DELETE FROM quire.conversations WHERE number = %s", [number])
    tell_all(connection, _channel(address))


def _replace(connection: "Connection[Any]", place: Place, bodies: Mapping[int, bytes]) -> None:
    with connection.transaction():
        number = _number(connection, _address(place))
        for version, body in bodies.items():
            known = number is not None and 0 < version <= _LAST
            if not known or not connection.execute(_REPLACE, (body, number, version)).rowcount:
                raise OutOfRange(f"{place} has no version {version}")


def _version(connection: "Connection[Any]", place: Place) -> int:
    row = connection.execute(_VERSION, [_address(place)]).fetchone()
    return int(row[0] or 0) if row else 0


def _number(connection: "Connection[Any]", address: bytes) -> int | None:
    row = connection.execute(_NUMBER, [address]).fetchone()
    return int(row[0]) if row else None


def _address(place: Place) -> bytes:
    """What a place is found by. A slash within a part is escaped, so no two places are written alike."""
    try:
        return sha256(str(place).encode()).digest()
    except UnicodeEncodeError:
        raise InvalidValue("a name is made of printable characters") from None


def _channel(address: bytes) -> str:
    return f"quire_{address.hex()[:40]}"


def _nothing() -> None:
    """What is asked for again if the connection was lost may simply be asked for again."""
