"""Who said what, in tables: speakers with their names, as long as something of them is there."""

from collections import Counter
from collections.abc import Collection, Iterable

from quire.memory.index.lasting.known import Scope
from quire.memory.index.lasting.tables import Asked, address
from quire.memory.words import terms

_ADD = (
    "INSERT INTO speakers (scope, address, leaves) VALUES (?, ?, ?) ON CONFLICT (scope, address)"
    " DO UPDATE SET leaves = speakers.leaves + excluded.leaves"
)


def hear(asked: Asked, scope: Scope, speakers: Iterable[str]) -> dict[str, int]:
    """Count what each of some speakers said, once for each time they are given; their numbers."""
    counts = Counter(speakers)
    asked.many(_ADD, [(scope.number, address(name), count) for name, count in counts.items()])
    query = "SELECT address, number FROM speakers WHERE scope = ? AND address IN (??)"
    found = {row[0]: int(row[1]) for row in asked.rows(query, scope.number, list(map(address, counts)))}
    numbers = {name: found[address(name)] for name in counts}
    names = [
        (scope.number, address(term), number) for name, number in numbers.items() for term in terms(name)
    ]
    asked.many("INSERT INTO names VALUES (?, ?, ?) ON CONFLICT DO NOTHING", names)
    return numbers


def unhear(asked: Asked, leaves: Collection[int]) -> None:
    """Count what goes, while it is still there; nothing stays of a speaker of whom nothing does."""
    rows = asked.rows("SELECT speaker, count(*) FROM leaves WHERE number IN (??) GROUP BY 1", list(leaves))
    asked.many("UPDATE speakers SET leaves = leaves - ? WHERE number = ?", [(row[1], row[0]) for row in rows])
    speakers = [row[0] for row in rows]
    query = "SELECT number FROM speakers WHERE leaves = 0 AND number IN (??)"
    silent = [row[0] for row in asked.rows(query, speakers)]
    for statement in ("DELETE FROM names WHERE speaker IN (??)", "DELETE FROM speakers WHERE number IN (??)"):
        asked.rows(statement, silent)


def spoken_by(asked: Asked, scope: Scope, names: Iterable[str]) -> dict[str, dict[int, int]]:
    """For each name that somebody has: the numbers of those speakers, and how many leaves each has."""
    addresses = {address(name): name for name in names}
    query = (
        "SELECT names.address, speaker, leaves FROM names JOIN speakers ON speakers.number = speaker"
        " WHERE names.scope = ? AND names.address IN (??)"
    )
    found: dict[str, dict[int, int]] = {}
    for name, speaker, leaves in asked.rows(query, scope.number, list(addresses)):
        found.setdefault(addresses[name], {})[speaker] = leaves
    return found
