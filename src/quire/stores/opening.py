"""Which store an address means."""

from pathlib import Path

from quire.errors import InvalidValue, WrongType
from quire.stores.store import Durability, Store

_DATABASES = (".db", ".sqlite", ".sqlite3")
_WAYS = (
    "a store is opened by memory:, sqlite:///file.db, postgresql://…, "
    "or a path that ends in .db, .sqlite, .sqlite3, .json or .jsonl"
)


def opened(
    url: "str | Path | Store", *, durable: Durability | None = None, key: bytes | None = None
) -> Store:
    """The store of an address, sealed if a key is given; a store that is open already as it is."""
    if durable not in ("process", "power", None):
        raise InvalidValue("durable is 'process' or 'power'")
    if isinstance(url, Store):
        if key is not None or durable is not None:
            raise InvalidValue(
                "this store is open already: key and durable are given where a store is opened"
            )
        return url
    durable = durable or "process"
    if not isinstance(url, str | Path):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a store is opened by a text or a path, not {type(url).__name__}")
    store = _at_path(url, durable) if isinstance(url, Path) else _at_url(url, durable)
    return store if key is None else _sealed(store, key)


def _at_url(url: str, durable: Durability) -> Store:
    scheme, colon, rest = url.partition(":")
    if colon and scheme == "memory" and not rest:
        from quire.stores.memory import MemoryStore

        return MemoryStore()
    if url.startswith("sqlite:///") and len(url) > len("sqlite:///"):
        return _database(_file_of(url.removeprefix("sqlite:///")), durable)
    if url.startswith(("postgresql://", "postgres://")):
        from quire.stores.postgres import PostgresStore

        return PostgresStore(url, durable=durable)
    if "://" in url or scheme in ("memory", "sqlite", "postgresql", "postgres"):
        # An address may hold a password: none of it is repeated.
        raise InvalidValue(_WAYS)
    return _at_path(Path(url), durable)


def _file_of(name: str) -> Path:
    """The file of a SQLite address; what others write there besides would be a file of that name."""
    if name == ":memory:" or "?" in name:
        raise InvalidValue("sqlite:/// takes a path without options; what is not to be kept goes to memory:")
    return Path(name)


def _at_path(path: Path, durable: Durability) -> Store:
    ending = path.suffix.lower()
    if ending in _DATABASES:
        return _database(path, durable)
    if ending == ".json":
        from quire.stores.json_array import JSONStore

        return JSONStore(path, durable=durable)
    if ending == ".jsonl":
        from quire.stores.json_lines import JSONLinesStore

        return JSONLinesStore(path, durable=durable)
    raise InvalidValue(_WAYS)


def _database(path: Path, durable: Durability) -> Store:
    from quire.stores.sqlite import SQLiteStore

    return SQLiteStore(path, durable=durable)


def _sealed(store: Store, key: bytes) -> Store:
    try:
        from quire.stores.sealing import Sealed

        return Sealed(store, key)
    except BaseException:
        store.close()
        raise
