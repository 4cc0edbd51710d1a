"""A file with one item per line."""

from quire.stores.elements import LINES
from quire.stores.file_store import FileStore


class JSONLinesStore(FileStore):
    """One `.jsonl` file: the plainest of all, and one that other programs can follow as it grows."""

    form = LINES
