"""What goes from tables goes in every dialect in which it is there, and is noted down until it is wiped.

To wipe takes long where there is much. So it is done once something is forgotten, with all that went before.
"""

from quire.memory.index.index import Gone
from quire.memory.index.lasting.changing import take_away
from quire.memory.index.lasting.known import Scope, scope_of, scopes_of, source_numbers, transcript_number
from quire.memory.index.lasting.marks import unmark
from quire.memory.index.lasting.tables import ORDER_BITS, Asked, address
from quire.memory.ranking import Weights


def taken(asked: Asked, name: str, dialect: str, gone: Gone, weights: Weights) -> None:
    """Take leaves of a source away, in whichever dialect.

    In others than one's own nobody puts what comes in their place: so what is left there is read again.
    """
    own = scope_of(asked, name, dialect)
    for scope in scopes_of(asked, name):
        is_less = taken_here(asked, scope, gone, weights)
        if scope != own and (is_less or gone.is_all):
            unmark(asked, scope, gone.source)
            count_change(asked, scope)
    if gone.is_forgotten:  # also what is here no longer: it may have gone when something took its place
        _count_forgotten(asked)


def taken_here(asked: Asked, scope: Scope, gone: Gone, weights: Weights) -> bool:
    """Take leaves of a source away in one dialect; whether any were there."""
    numbers = [
        number
        for source in source_numbers(asked, scope.number, (gone.source,))
        for number in _leaves_of(asked, source, gone)
    ]
    if numbers:
        take_away(asked, scope, numbers, weights)
        count_change(asked, scope)
        asked.rows("UPDATE about SET unclean = unclean + 1")
        if gone.is_forgotten:
            _count_forgotten(asked)
    return bool(numbers)


def _leaves_of(asked: Asked, source: int, gone: Gone) -> list[int]:
    query, values = "SELECT number FROM leaves WHERE source = ?", list[object]([source])
    if gone.transcript is not None:
        number = transcript_number(asked, source, gone.transcript)
        if number is None:
            return []
        query += " AND number >= ? AND number < ?"
        values += [number << ORDER_BITS, (number + 1) << ORDER_BITS]
    if gone.keys is not None:
        query += " AND address IN (??)"
        values.append([address(key) for key in gone.keys])
    return [row[0] for row in asked.rows(query, *values)]


def count_change(asked: Asked, scope: Scope) -> None:
    """Note that something is not as it was, so that whoever holds some of it looks again."""
    asked.rows("UPDATE scopes SET changes = changes + 1 WHERE number = ?", scope.number)


def _count_forgotten(asked: Asked) -> None:
    asked.rows("UPDATE about SET forgotten = forgotten + 1 WHERE unclean > 0")


def is_unclean(asked: Asked) -> tuple[int, int] | None:
    """How much was deleted since all was wiped, and forgotten, if anything was."""
    unclean, forgotten = map(int, asked.rows("SELECT max(unclean), max(forgotten) FROM about")[0])
    return (unclean, forgotten) if forgotten else None


def was_wiped(asked: Asked, unclean: int, forgotten: int) -> None:
    """Note that it was, unless more was deleted meanwhile."""
    query = "UPDATE about SET unclean = 0, forgotten = 0 WHERE unclean = ? AND forgotten = ?"
    asked.rows(query, unclean, forgotten)
