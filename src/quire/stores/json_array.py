"""A file that is a JSON array of items and nothing else, after each append."""

from quire.stores.elements import ARRAY
from quire.stores.file_store import FileStore


class JSONStore(FileStore):
    """One `.json` file, for a person or a program to read; an append writes its own bytes and the bracket.

    A file that somebody wrote by hand, in any layout, is read as it is, and brought to one item per line when
    something is first appended.
    """

    form = ARRAY
