"""Encryption at rest: a store that wraps another one and hides all content from it."""

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from quire.errors import InvalidValue, MissingExtra, StoreDamaged
from quire.stores.store import (
    SEALED,
    Changes,
    Entry,
    LogVersion,
    Opening,
    Place,
    Recent,
    Store,
    Stored,
    check_bodies,
    checked_append,
    checked_checkpoint,
    damaged,
    is_sealed,
)

KEY_LENGTH = 32
_NONCE_LENGTH = 12
_MAX_PLACES = 10_000


class _Shell(msgspec.Struct, omit_defaults=True, gc=False):
    """The item that the inner store sees: of an unknown kind, with the id and time of the original."""

    kind: str
    id: str | None = None
    created_at: float | None = None
    sealed: str = ""


_read_shell = msgspec.json.Decoder(_Shell).decode


class Seal:
    """Encrypts bodies with AES-256-GCM. Each body is bound to its place, version and stream."""

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, bytes) or len(key) != KEY_LENGTH:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidValue(f"a key must be {KEY_LENGTH} bytes")
        try:
            from cryptography.exceptions import InvalidTag
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError as missing:
            raise MissingExtra("cryptography", "sealed") from missing
        self._cipher: Any = AESGCM(key)
        self._invalid: type[Exception] = InvalidTag

    def seal(self, place: Place, version: int, stream: str, body: bytes) -> bytes:
        """Encrypt a body."""
        shell = _shell_of(body)
        nonce = os.urandom(_NONCE_LENGTH)
        hidden = self._cipher.encrypt(nonce, body, _associated_data(place, version, stream, shell))
        shell.sealed = b64encode(nonce + hidden).decode()
        return msgspec.json.encode(shell)

    def unseal(self, place: Place, stored: Stored) -> Stored:
        """Decrypt an entry; `StoreDamaged` if the key is wrong, or the entry was changed or moved."""
        version, stream, body = stored
        if not is_sealed(body):
            raise damaged(place, version - 1, f"entry {version} was written without a key")
        try:
            shell = _read_shell(body)
            data = b64decode(shell.sealed, validate=True)
            bound = _associated_data(place, version, stream, shell)
            clear = self._cipher.decrypt(data[:_NONCE_LENGTH], data[_NONCE_LENGTH:], bound)
        except (self._invalid, msgspec.MsgspecError, ValueError, RecursionError):
            reason = f"entry {version} was sealed with another key, changed or moved"
            raise damaged(place, version - 1, reason) from None
        return Stored(version, stream, bytes(clear))

    def seal_part(self, place: Place, part: int, version: int, body: bytes) -> bytes:
        """Encrypt a part of a checkpoint."""
        nonce = os.urandom(_NONCE_LENGTH)
        return nonce + bytes(self._cipher.encrypt(nonce, body, _associated_part_data(place, part, version)))

    def unseal_part(self, place: Place, part: int, version: int, body: bytes) -> bytes | None:
        """Decrypt a part; `None` if the key is wrong, or the part was changed or moved."""
        bound = _associated_part_data(place, part, version)
        try:
            return bytes(self._cipher.decrypt(body[:_NONCE_LENGTH], body[_NONCE_LENGTH:], bound))
        except (self._invalid, ValueError):
            return None

    def unseal_all(self, entries: Iterable[tuple[Place, Stored]]) -> Iterator[tuple[Place, Stored]]:
        """Decrypt the entries that have this key, and skip the others."""
        for place, stored in entries:
            with suppress(StoreDamaged):
                yield place, self.unseal(place, stored)


class Sealed(Store):
    """Encrypts bodies and checkpoints with a key of 32 bytes that only the caller keeps.

    Names of scopes, conversations and streams, ids, times and sizes stay readable. A wrong key
    raises `StoreDamaged`, for an append before anything is written. So does an entry that was written without
    a key: a conversation is encrypted as a whole.
    """

    def __init__(self, store: Store, key: bytes) -> None:
        self._seal = Seal(key)
        self.inside = store
        """The store that holds what is encrypted."""
        # The last version that this key opened: the next append need not check the key again.
        self._opened: dict[Place, int] = {}
        self.has_checkpoints, self.knows_open_jobs = store.has_checkpoints, store.knows_open_jobs

    def __repr__(self) -> str:
        return f"<Sealed {self.inside!r}>"

    @property
    def reports(self) -> tuple[str, ...]:  # type: ignore[override]  # pyright: ignore[reportIncompatibleVariableOverride]
        """What the store inside repaired since it was opened."""
        return self.inside.reports

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int, settled: bool = False) -> int:
        place = checked_append(place, entries, expected)
        if expected > 0 and self._opened.get(place) != expected:
            for last in self.inside.read(place, after=expected - 1)[:1]:
                self._seal.unseal(place, last)
        sealed = [
            Entry(stream, self._seal.seal(place, version, stream, body))
            for version, (stream, body) in enumerate(entries, expected + 1)
        ]
        options = {"settled": settled} if self.knows_open_jobs else {}
        version = self.inside.append(place, sealed, expected=expected, **options)
        if len(self._opened) >= _MAX_PLACES:
            self._opened.clear()
        self._opened[place] = version
        return version

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        return [self._seal.unseal(place, stored) for stored in self.inside.read(place, after=after)]

    def read_at(self, place: Place, versions: Sequence[int]) -> list[Stored]:
        return [self._seal.unseal(place, stored) for stored in self.inside.read_at(place, versions)]

    def versions_of(
        self, place: Place, stream: str, *, before: int | None = None, limit: int | None = None
    ) -> list[int]:
        return self.inside.versions_of(place, stream, before=before, limit=limit)

    def version(self, place: Place) -> int:
        return self.inside.version(place)

    def conversations(self, scope: str) -> dict[str, LogVersion]:
        return self.inside.conversations(scope)

    def changes(self, scope: str, since: Any = None) -> Changes:
        return self.inside.changes(scope, since)

    def scopes(self) -> list[str]:
        return self.inside.scopes()

    def recent(self, scope: str | None = None) -> list[Recent]:
        return self.inside.recent(scope)  # times stay readable

    def with_open_jobs(self, scope: str | None = None) -> list[Place]:
        return self.inside.with_open_jobs(scope)

    def open_checkpoint(self, place: Place) -> Opening | None:
        opening = self.inside.open_checkpoint(place)
        head = opening and self._seal.unseal_part(place, 0, opening.version, opening.head)
        if opening is None or head is None:
            return None
        entries = [self._seal.unseal(place, stored) for stored in opening.entries]
        # Decryption needs the stream of each entry, so the needed entries are read one by one.
        needed = (self._seal.unseal(place, stored) for stored in self.inside.read_at(place, opening.needs))
        return opening._replace(
            head=head, entries=entries, needed_bodies=b",".join(stored.body for stored in needed)
        )

    def read_parts(self, place: Place, parts: Sequence[int]) -> dict[int, bytes]:
        sealed = self.inside.read_parts(place, parts)
        clear = {part: self._seal.unseal_part(place, part, 0, body) for part, body in sealed.items()}
        return {part: body for part, body in clear.items() if body is not None}

    def write_checkpoint(
        self, place: Place, version: int, head: bytes, needs: Sequence[int], parts: Mapping[int, bytes]
    ) -> bool:
        checked_checkpoint(place, version, head, needs, parts)
        sealed = {part: self._seal.seal_part(place, part, 0, body) for part, body in parts.items()}
        hidden = self._seal.seal_part(place, 0, version, head)
        return self.inside.write_checkpoint(place, version, hidden, needs, sealed)

    def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
        check_bodies(place, bodies, self.inside.version(place))
        sealed = {
            at: self._seal.seal(place, at, stream, bodies[at])
            for at, stream, _ in self.inside.read_at(place, list(bodies))
        }
        self.inside.replace(place, sealed)

    def remove(self, place: Place) -> None:
        self.inside.remove(place)
        self._opened.pop(place, None)

    def scrub(self, *, wait: bool = True) -> None:
        self.inside.scrub(wait=wait)

    def vacuum(self) -> None:
        self.inside.vacuum()

    def watch(self, place: Place, changed: Callable[[], object]) -> Callable[[], None]:
        return self.inside.watch(place, changed)

    def wait(self, place: Place, version: int, timeout: float) -> int:
        return self.inside.wait(place, version, timeout)

    def recover(self) -> Iterator[tuple[Place, Stored]]:
        return self._seal.unseal_all(self.inside.recover())

    def close(self) -> None:
        self.inside.close()


def _shell_of(body: bytes) -> _Shell:
    try:
        item = _read_shell(body)
        return _Shell(SEALED, item.id, item.created_at)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _Shell(SEALED)


def _associated_data(place: Place, version: int, stream: str, shell: _Shell) -> bytes:
    return json.dumps([*place, version, stream, shell.id, shell.created_at]).encode()


def _associated_part_data(place: Place, part: int, version: int) -> bytes:
    return json.dumps(["checkpoint", *place, part, version]).encode()
