"""How a sealed entry is told from others without a key, so that nobody writes others among them."""

import re
from collections.abc import Sequence

from quire.errors import InvalidValue
from quire.stores.place import Place
from quire.stores.store import Entry

KIND = "sealed"

_begins_sealed = re.compile(rb'\s*\{\s*"kind"\s*:\s*"sealed"\s*[,}]').match


def is_sealed(body: bytes) -> bool:
    """Whether this is an entry as `Sealed` writes them: the kind comes first."""
    return _begins_sealed(body) is not None


def check_seal(place: Place, first: bytes, entries: Sequence[Entry]) -> None:
    """Refuse to add to a conversation that is sealed, by its first entry, what is not."""
    if is_sealed(first) and not all(is_sealed(entry.body) for entry in entries):
        raise InvalidValue(f"{place} is sealed: open its store with its key to write to it")
