"""Wiping what was deleted from a SQLite file, without keeping others from writing for long."""

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from itertools import islice

from quire.stores.sqlite_file import SQLiteFile
from quire.stores.sqlite_pages import Unclean, unclean_in

Writing = Callable[[], AbstractContextManager[sqlite3.Connection]]
"""A transaction that writes."""

_ROUNDS = 3
_AT_ONCE = 50
"""So many pages are cleaned in one transaction; others may write after it."""

_FIRST_ENTRY = 1 << 32
"""Lesser keys are of other tables."""


def wipe(file: SQLiteFile, writing: Writing, *, waits: bool = True) -> None:
    """Leave nothing that was deleted in a file and in its log.

    Of rows that were moved, copies may lie on other pages, and there are few such pages. To rewrite the whole
    file takes seconds where it is large, and nobody can write meanwhile: that is for what is left after all.
    """
    file.empty_log(waits=waits)
    left = {page.number: page for page in unclean_in(file.bare())}
    for _ in range(_ROUNDS):
        if not left:
            return
        _clean(left.values(), writing)
        file.empty_log(waits=waits)
        # What became unclean since was moved since, and so was not deleted.
        left = {page.number: page for page in unclean_in(file.bare()) if page.number in left}
    with file.guarded(), file.writing:
        file.writer().execute("VACUUM")
    file.empty_log(waits=waits)


def _clean(pages: Iterable[Unclean], writing: Writing) -> None:
    entries = iter([page for page in pages if page.key >= _FIRST_ENTRY])
    while batch := list(islice(entries, _AT_ONCE)):
        with writing() as connection:
            for page in batch:
                _blank_out(connection, page)


def _blank_out(connection: sqlite3.Connection, page: Unclean) -> None:
    """Let a row take all the room of its page for a moment: what it then leaves is overwritten."""
    row = connection.execute("SELECT stream, body FROM entries WHERE at = ?", (page.key,)).fetchone()
    if row is not None:
        stream, body = row
        blank = bytes(page.blank(len(stream.encode())))
        connection.execute("UPDATE entries SET body = ? WHERE at = ?", (blank, page.key))
        connection.execute("UPDATE entries SET body = ? WHERE at = ?", (body, page.key))
