"""Encryption at rest: a store around another one, which then sees no content."""

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from quire.errors import InvalidValue, MissingExtra, OutOfRange, StoreDamaged, StoreFailed
from quire.stores.beside import tell
from quire.stores.place import Place
from quire.stores.recalls import begin_forgetting
from quire.stores.seals import KIND, is_sealed
from quire.stores.store import Entry, Standing, Store, Stored

KEY_LENGTH = 32
_NONCE_LENGTH = 12
_MOST_NAMED = 10


class _Shell(msgspec.Struct, omit_defaults=True, gc=False):
    """What stays readable: an item of a kind that nobody knows, with the id and the time of the real one."""

    kind: str
    id: str | None = None
    created_at: float | None = None
    sealed: str = ""


_read_shell = msgspec.json.Decoder(_Shell).decode


class Sealed(Store):
    """Encrypts bodies with AES-256-GCM and a key of 32 bytes that only the caller keeps.

    Names of scopes, conversations and streams, ids, times and sizes stay readable. Each body is bound to its
    place, version and stream: one that was changed, or moved elsewhere, is `StoreDamaged`, as with a wrong
    key. What was written without a key cannot be read with one.
    """

    def __init__(self, store: Store, key: bytes) -> None:
        if not isinstance(key, bytes) or len(key) != KEY_LENGTH:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidValue(f"a key is {KEY_LENGTH} bytes")
        self._store = store
        self.wiping = store.wiping
        self._cipher = _cipher(key)
        # What the store inside could not say it has. Sealing is never the same twice, on purpose; so what is
        # tried again has to go out as it did, or a store that has it would take it for another's.
        self._tried: dict[Place, tuple[int, list[Entry]]] = {}

    def __repr__(self) -> str:
        return f"<Sealed {self._store!r}>"

    @property
    def reports(self) -> tuple[str, ...]:  # type: ignore[override]  # pyright: ignore[reportIncompatibleVariableOverride]
        """What the store inside found when it was opened."""
        return self._store.reports

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        """Seal entries and add them; those that are tried again after a failure, in the same bytes."""
        sealed = self._sealed_before(place, entries, expected) or [
            Entry(entry.stream, self._seal(place, Stored(version, *entry)))
            for version, entry in enumerate(entries, expected + 1)
        ]
        try:
            return self._store.append(place, sealed, expected=expected)
        except StoreFailed:
            self._tried[place] = (expected, sealed)
            raise

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        """The entries of a place, as they were before they were sealed."""
        found = self._store.read(place, after=after)
        bare = [stored.version for stored in found if not is_sealed(stored.body)]
        if bare:
            raise StoreDamaged(f"{_named(bare)} of {place}: written without a key, and not read with one")
        return [stored._replace(body=self._unseal(place, stored)) for stored in found]

    def version(self, place: Place) -> int:
        """How many entries a place has."""
        return self._store.version(place)

    def conversations(self, scope: str) -> list[str]:
        """The names of the conversations of one scope."""
        return self._store.conversations(scope)

    def standings(self, scope: str) -> dict[str, Standing]:
        """How far every conversation of one scope has come."""
        return self._store.standings(scope)

    def scopes(self) -> list[str]:
        """All scopes."""
        return self._store.scopes()

    def forget(self, place: Place, bodies: Mapping[int, bytes] | None = None) -> None:
        """Put other bodies, sealed too, in the place of some, or take away the whole conversation."""
        self._tried.pop(place, None)
        if bodies is not None:
            self._store.forget(place, self._sealed_at(place, bodies) if bodies else bodies)
            return
        if not begin_forgetting(self, place):
            return
        with self.wiping.once():
            self._store.forget(place)
            tell(self, place)

    def wait(self, place: Place, version: int, timeout: float) -> int:
        """The version of a place once it is another than this one, or the time is over."""
        return self._store.wait(place, version, timeout)

    def close(self) -> None:
        """Close the store inside."""
        self._store.close()

    def _sealed_before(self, place: Place, entries: Sequence[Entry], expected: int) -> list[Entry]:
        """These entries as they were sealed for an append that failed, if they were."""
        tried = self._tried.pop(place, None)
        if tried is None or tried[0] != expected:
            return []
        sealed = [Stored(version, *entry) for version, entry in enumerate(tried[1], expected + 1)]
        said = [Entry(one.stream, self._unseal(place, one)) for one in sealed]
        return tried[1] if said == list(entries) else []

    def _sealed_at(self, place: Place, bodies: Mapping[int, bytes]) -> dict[int, bytes]:
        stored = self._store.read(place, after=min(bodies) - 1)
        streams = {entry.version: entry.stream for entry in stored}
        for version in bodies:
            if version not in streams:
                raise OutOfRange(f"{place} has no version {version}")
        return {
            version: self._seal(place, Stored(version, streams[version], body))
            for version, body in bodies.items()
        }

    def _seal(self, place: Place, stored: Stored) -> bytes:
        shell = _shell_of(stored.body)
        nonce = os.urandom(_NONCE_LENGTH)
        hidden = self._cipher.encrypt(nonce, stored.body, _bound_to(place, stored, shell))
        shell.sealed = b64encode(nonce + hidden).decode()
        return msgspec.json.encode(shell)

    def _unseal(self, place: Place, stored: Stored) -> bytes:
        from cryptography.exceptions import InvalidTag

        where = f"version {stored.version} of {place}"
        try:
            shell = _read_shell(stored.body)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            raise StoreDamaged(f"{where} is no sealed entry") from None
        try:
            data = b64decode(shell.sealed, validate=True)
            bound = _bound_to(place, stored, shell)
            return bytes(self._cipher.decrypt(data[:_NONCE_LENGTH], data[_NONCE_LENGTH:], bound))
        except (InvalidTag, ValueError):
            raise StoreDamaged(f"{where} was sealed with another key, changed or moved") from None


def _named(versions: Sequence[int]) -> str:
    named = ", ".join(map(str, versions[:_MOST_NAMED]))
    more = f" and {len(versions) - _MOST_NAMED:,} more" if len(versions) > _MOST_NAMED else ""
    return f"version{'s' if len(versions) > 1 else ''} {named}{more}"


def _cipher(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as missing:
        raise MissingExtra("cryptography", "sealed") from missing
    return AESGCM(key)


def _shell_of(body: bytes) -> _Shell:
    try:
        item = _read_shell(body)
        return _Shell(KIND, item.id, item.created_at)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _Shell(KIND)


def _bound_to(place: Place, stored: Stored, shell: _Shell) -> bytes:
    return json.dumps([*place, stored.version, stored.stream, shell.id, shell.created_at]).encode()
