"""Which store a command is about, and the conversation in it.

What only reads must not make anything: a store that is not there is an error, not an empty store.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from quire.cli.files import History
from quire.cli.telling import clear_errors, print_error, print_note
from quire.errors import Conflict, EditRefused, InvalidValue, QuireError, StoreFailed, UnknownId

if TYPE_CHECKING:
    from quire.items import Item
    from quire.session import Session
    from quire.stores import Place, Store

DEFAULT = "quire.db"
_KEY_LENGTH = 32
_SEALED = b'{"kind":"sealed"'


@contextmanager
def told() -> Generator[None]:
    """Say what went wrong in a sentence: exit status 1 where the answer is no, 2 where nothing was asked."""
    with clear_errors():
        try:
            yield
        except QuireError as fault:
            if not isinstance(fault, LookupError | Conflict | EditRefused):
                raise
            print_error(str(fault))
            raise typer.Exit(1) from None


@contextmanager
def at_store(url: str | None, key_file: str | None = None, *, make: bool = False) -> "Generator[Store]":
    """The store that is meant, closed at the end; what it found damaged and mended is said.

    Whatever goes wrong within is said in a sentence.
    """
    with told():
        store = opened(url, key_file, make=make)
        try:
            yield store
        finally:
            reports = store.reports
            store.close()
            for report in reports:
                print_note(History(None), report)


def opened(url: str | None, key_file: str | None, *, make: bool = False) -> "Store":
    """A store that is there; one that is not is made only where that is asked for."""
    from quire.stores import Store

    key = None if key_file is None else key_in(key_file)
    named = url or _default(make=make)
    if named == "memory:":
        raise InvalidValue("what is in memory is gone when a command ends: name a store that stays")
    path = path_of(named)
    if path is not None and not make and not os.path.exists(path):
        raise StoreFailed(f"there is no store at {path}")
    return Store.open(named, key=key)


def path_of(url: str) -> Path | None:
    """The file that a store is in; `None` for one that is in no file."""
    if url.startswith("sqlite:///"):
        return Path(url.removeprefix("sqlite:///"))
    is_address = "://" in url or url.partition(":")[0] in ("sqlite", "postgresql", "postgres")
    return None if is_address else Path(url)


def key_in(name: str) -> bytes:
    """The key in a file: its bytes, or its hexadecimal digits."""
    try:
        data = Path(name).read_bytes()
    except OSError as fault:
        raise InvalidValue(f"the key file {name} cannot be read: {fault.strerror}") from None
    if len(data) == _KEY_LENGTH:
        return data
    try:
        key = bytes.fromhex(data.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != _KEY_LENGTH:
        raise InvalidValue(f"the key file {name} holds neither 32 bytes nor 64 hexadecimal digits")
    return key


def place_of(address: str) -> "Place":
    """The place that an address means."""
    from quire.stores import place_at

    try:
        return place_at(address)
    except UnicodeDecodeError:
        raise InvalidValue("what is escaped in the address is not UTF-8") from None


def standing_place(store: "Store", address: str) -> "Place":
    """The place of a conversation that is there."""
    place = place_of(address)
    if not store.version(place):
        raise UnknownId(f"there is no conversation {place} in this store")
    return place


def known_place(store: "Store", address: str) -> "Place":
    """The place of a conversation that is there, and that can be read with the key at hand."""
    place = standing_place(store, address)
    for last in store.read(place, after=store.version(place) - 1):
        if last.body.startswith(_SEALED):
            raise InvalidValue(f"{place} is sealed: give its key with --key-file")
    return place


def known_session(store: "Store", address: str) -> "Session":
    """The session of a conversation that is there."""
    from quire.session import Session

    place = known_place(store, address)
    return Session.open(scope=place.scope, conversation=place.conversation, store=store)


def recorded(store: "Store", place: "Place", transcript: str) -> "list[Item]":
    """All that a transcript holds, its edits and what it began with included."""
    from quire.session import Session

    session = Session.open(scope=place.scope, conversation=place.conversation, store=store)
    return session.view(transcript).recorded()


def _default(*, make: bool) -> str:
    if os.path.exists(DEFAULT):
        return DEFAULT
    if not make:
        raise InvalidValue(f"which store? Give --store or set QUIRE_STORE; there is no {DEFAULT} here")
    print_note(History(None), f"{DEFAULT} is made in this folder")
    return DEFAULT
