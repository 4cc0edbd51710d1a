"""The stores that benches of keeping are run on: files in a folder, and a PostgreSQL of this machine."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def postgres(given: str | None = None) -> Generator[str | None]:
    """The address of a PostgreSQL server: the given one, or one that is started for the run, if possible."""
    if given:
        yield given
        return
    try:
        sys.path.insert(0, str(Path(__file__).parent.parent))
        from tests.stores.server import database
    except ImportError:
        print("no PostgreSQL here", file=sys.stderr)
        yield None
        return
    with database() as url:
        yield url


@contextmanager
def shelves(
    folder: Path, given: str | None = None, files: tuple[str, ...] = (".db",)
) -> Generator[dict[str, str]]:
    """Addresses by the name of the store, with `{}` where the number of a file goes."""
    names = {".db": "SQLite", ".jsonl": "JSONL"}
    found = {names[ending]: f"{folder}/{{}}{ending}" for ending in files}
    with postgres(given) as url:
        yield found if url is None else {**found, "PostgreSQL": url.replace("{", "{{").replace("}", "}}")}
