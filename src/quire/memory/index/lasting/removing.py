"""What goes from tables goes in every dialect in which it is there, and is noted down until it is wiped."""

from collections.abc import Collection

from quire.memory.index.lasting.changing import take_away
from quire.memory.index.lasting.known import Scope, scopes_of, source_numbers, transcript_number
from quire.memory.index.lasting.tables import ORDER_BITS, Asked, address
from quire.memory.ranking import Weights


def removed(asked: Asked, name: str, source: str, keys: Collection[str], weights: Weights) -> None:
    """Take leaves of a source away by their keys, in whichever transcript."""
    addresses = [address(key) for key in keys]
    for scope in scopes_of(asked, name):
        for number in source_numbers(asked, scope.number, (source,)):
            query = "SELECT number FROM leaves WHERE source = ? AND address IN (??)"
            _gone(asked, scope, [row[0] for row in asked.rows(query, number, addresses)], weights)


def dropped(asked: Asked, name: str, source: str, transcript: str | None, weights: Weights) -> None:
    """Take away all leaves of a source, or of one of its transcripts."""
    for scope in scopes_of(asked, name):
        for number in source_numbers(asked, scope.number, (source,)):
            _gone(asked, scope, _leaves_of(asked, number, transcript), weights)


def _leaves_of(asked: Asked, source: int, transcript: str | None) -> list[int]:
    query, values = "SELECT number FROM leaves WHERE source = ?", [source]
    if transcript is not None:
        number = transcript_number(asked, source, transcript)
        if number is None:
            return []
        query += " AND number >= ? AND number < ?"
        values += [number << ORDER_BITS, (number + 1) << ORDER_BITS]
    return [row[0] for row in asked.rows(query, *values)]


def _gone(asked: Asked, scope: Scope, numbers: list[int], weights: Weights) -> None:
    if numbers:
        take_away(asked, scope, numbers, weights)
        asked.rows("UPDATE scopes SET changes = changes + 1 WHERE number = ?", scope.number)
        asked.rows("UPDATE about SET unclean = unclean + 1")


def is_unclean(asked: Asked) -> int:
    """How much was deleted since all was wiped."""
    return int(asked.rows("SELECT max(unclean) FROM about")[0][0])


def was_wiped(asked: Asked, unclean: int) -> None:
    """Note that it was, unless more was deleted meanwhile."""
    asked.rows("UPDATE about SET unclean = 0 WHERE unclean = ?", unclean)
