"""Opens the store of a command.

A command that only reads creates nothing: a store that does not exist is an error, not an empty store.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from quire.cli.terminal import errors_reported, note, read_bytes
from quire.errors import InvalidValue, StoreFailed
from quire.stores import Store

DEFAULT = "quire.db"
_KEY_LENGTH = 32


@contextmanager
def at_store(url: str | None, key_file: str | None = None, *, make: bool = False) -> Generator[Store]:
    """Open a store for the block. Errors, and repairs of the store, are reported."""
    with errors_reported():
        name = url or _default(make=make)
        if name == "memory:":
            raise InvalidValue("a store in memory ends with the command: name a file or a URL")
        path = path_of(name)
        if path is not None and not make and not path.exists():
            raise StoreFailed(f"there is no store at {path}")
        store = Store.open(name, key=key_in(key_file))
        try:
            yield store
        finally:
            reports = store.reports
            store.close()
            for report in reports:
                note(report)


def _default(*, make: bool) -> str:
    if not os.path.exists(DEFAULT):
        if not make:
            raise InvalidValue(f"which store? Name one, or set QUIRE_STORE; there is no {DEFAULT} here")
        note(f"{DEFAULT} is created in this folder")
    return DEFAULT


def path_of(url: str) -> Path | None:
    """The file of a store; None if it has none."""
    if url.startswith("sqlite:///"):
        return Path(url.removeprefix("sqlite:///"))
    is_address = "://" in url or url.partition(":")[0] in ("sqlite", "postgresql", "postgres")
    return None if is_address else Path(url)


def key_in(name: str | None) -> bytes | None:
    """The key in a file: its bytes, or its hexadecimal digits."""
    if name is None:
        return None
    data = read_bytes(name)
    if len(data) == _KEY_LENGTH:
        return data
    try:
        key = bytes.fromhex(data.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != _KEY_LENGTH:
        raise InvalidValue(f"the key file {name} must have 32 bytes or 64 hexadecimal digits")
    return key
