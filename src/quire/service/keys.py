"""API keys: the callers, their scopes and their limits.

A file of keys holds SHA-256 digests, never the keys. A key is compared with all digests in constant time, and
appears in no log and no error.
"""

import hashlib
import hmac
import re
import secrets
import time
import tomllib
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from quire.errors import InvalidValue
from quire.items import prepared, without_content
from quire.service.problems import Problem
from quire.stores import place_at

_DIGEST = re.compile("[0-9a-f]{64}")
_MAX_USER = 100


@prepared
class Key(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of the file of keys."""

    name: str
    """For logs."""
    sha256: str
    """The digest of the key, in hexadecimal digits."""
    scope: str
    users: bool = False
    """Whether each request names a user in `Quire-User`, who has a scope of its own below this one."""
    agents: tuple[str, ...] | None = None
    """The agents that it may use; by default all."""
    requests_per_minute: float | None = None
    concurrent: int | None = None
    """How many requests may be open at a time, streams included."""
    metrics: bool = False
    """Whether it may read `/metrics`, which cover all keys."""
    erases: bool = False
    """Whether it may erase its whole scope, with all nested scopes."""


@prepared
class _File(msgspec.Struct, forbid_unknown_fields=True):
    keys: list[Key]


class Caller(NamedTuple):
    """The sender of a request: the name of the key, its scope, and its permissions."""

    key: str = "-"
    scope: str = ""
    agents: tuple[str, ...] | None = None
    reads_metrics: bool = True
    may_erase: bool = False


class Keys:
    """The accepted keys, and how much each has used of its limits in this process."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self._keys = list(keys)
        _check(self._keys)
        self._digests = [bytes.fromhex(key.sha256) for key in self._keys]
        self._limits = [_Limit(key) for key in self._keys]

    @staticmethod
    def read(data: bytes) -> "Keys":
        """The keys of a TOML file."""
        try:
            file = msgspec.convert(tomllib.loads(data.decode()), _File)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
            raise InvalidValue(f"the file of keys is not TOML: {type(fault).__name__}") from None
        except msgspec.ValidationError as fault:
            text, place = without_content(fault)
            raise InvalidValue(f"the file of keys{place}: {text}") from None
        return Keys(file.keys)

    @contextmanager
    def admit(self, authorization: str, user: str | None) -> Generator[Caller]:
        """The caller with these headers; the block counts as one request of the key."""
        scheme, _, secret = authorization.partition(" ")
        digest = hashlib.sha256(secret.strip().encode("utf-8", "surrogateescape")).digest()
        index = None
        for at, accepted in enumerate(self._digests):  # all of them, so that the time reveals nothing
            if hmac.compare_digest(digest, accepted):
                index = at
        if index is None or scheme.lower() != "bearer":
            raise Problem(401, "a valid key is needed", {"www-authenticate": "Bearer"})
        key = self._keys[index]
        caller = Caller(key.name, _scope_of(key, user), key.agents, key.metrics, key.erases)
        with self._limits[index].use():
            yield caller


def new_key(name: str) -> tuple[str, str]:
    """A new key, and its row for the file of keys."""
    key = f"quire_{secrets.token_urlsafe(32)}"
    quoted = msgspec.json.encode(name).decode()
    digest = hashlib.sha256(key.encode()).hexdigest()
    return key, f'[[keys]]\nname = {quoted}\nsha256 = "{digest}"\nscope = {quoted}\n'


def _scope_of(key: Key, user: str | None) -> str:
    """The scope of a request. No two users share one, whatever their names."""
    if not key.users:
        if user is not None:
            raise Problem(400, "this key has no users: leave out Quire-User")
        return key.scope
    if not user or len(user) > _MAX_USER or not user.isascii() or not user.isprintable():
        raise Problem(400, f"this key needs Quire-User: 1 to {_MAX_USER} printable ASCII characters")
    return f"{key.scope}/{quote(user, safe='')}"


def _check(keys: Sequence[Key]) -> None:
    if not keys:
        raise InvalidValue("the file of keys has no key")
    for key in keys:
        label = f"the key {key.name!r}"
        place_at(scope=f"{key.scope}/user" if key.users else key.scope)  # raises if the scope is invalid
        if not _DIGEST.fullmatch(key.sha256):
            raise InvalidValue(f"{label}: sha256 must have 64 hexadecimal digits, in lower case")
        if key.requests_per_minute is not None and key.requests_per_minute <= 0:
            raise InvalidValue(f"{label}: requests_per_minute must be above 0")
        if key.concurrent is not None and key.concurrent <= 0:
            raise InvalidValue(f"{label}: concurrent must be above 0")
        prefix = f"{key.scope}/"
        if key.users and any(other.scope.startswith(prefix) for other in keys):
            raise InvalidValue(f"{label} has users, so no other key may have a scope below its own")
    if len({key.sha256 for key in keys}) < len(keys) or len({key.name for key in keys}) < len(keys):
        raise InvalidValue("two keys have the same name or the same sha256")


class _Limit:
    """The limits of a key: requests per minute, as a token bucket, and concurrent requests."""

    def __init__(self, key: Key) -> None:
        self._per_second = (key.requests_per_minute or 0.0) / 60.0
        self._capacity = max(key.requests_per_minute or 0.0, 1.0)
        self._available, self._refilled_at = self._capacity, time.monotonic()
        self._concurrent, self._open = key.concurrent, 0

    @contextmanager
    def use(self) -> Generator[None]:
        if self._concurrent is not None and self._open >= self._concurrent:
            raise Problem(429, "too many requests at a time", {"retry-after": "1"})
        if self._per_second:
            moment = time.monotonic()
            refilled = self._available + (moment - self._refilled_at) * self._per_second
            self._available = min(refilled, self._capacity)
            self._refilled_at = moment
            if self._available < 1.0:
                wait = int((1.0 - self._available) / self._per_second) + 1
                raise Problem(429, "too many requests in a minute", {"retry-after": str(wait)})
            self._available -= 1.0
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
