"""What it costs on PostgreSQL that an append tells who watches, and what partitions would cost.

Usage: python bench/watching.py [--rounds N] [--conversations N] [--json] [--page FILE]

All ways are taken in turns in one run, and compared by the best round: an append that does not look for those
who watch, one that looks and finds nobody, one that is watched; and verbs on one table of entries and on
sixteen partitions of it.
"""

import re
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

import page
from quire.stores import Entry, Place, PostgresStore, postgres
from quire.stores.notifications import IS_WATCHED
from service import server

BODY = Entry("main", b'{"kind":"message","text":"%s"}' % (b"x" * 800))
EACH, ENTRIES = 40, 60
DOCUMENTED = Path(__file__).parents[1] / "docs/how-to/postgresql.md"


def compared(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The best microseconds of each way, taken in turns."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            taken[name].append((time.perf_counter() - start) / EACH * 1e6)
    return {name: min(times) for name, times in taken.items()}


def append_to(store: PostgresStore, place: Place) -> None:
    version = store.version(place)
    for _ in range(EACH):
        version = store.append(place, [BODY], expected=version)


def appends(url: str, rounds: int) -> dict[str, float]:
    """What looking for those who watch, and telling them, adds to an append."""
    with PostgresStore(url) as store, PostgresStore(url) as watching:
        told = list[float]()
        places = {name: Place("appends", name) for name in ("without looking", "nobody watches", "watched")}
        end = watching.watch(places["watched"], lambda: told.append(time.perf_counter()))
        time.sleep(1)
        looking = postgres._ADD

        def without() -> None:
            postgres._ADD = looking.replace(IS_WATCHED, "(%s::bytea IS NULL)")
            append_to(store, places["without looking"])
            postgres._ADD = looking

        others = {name: lambda name=name: append_to(store, places[name]) for name in list(places)[1:]}
        found = compared({"without looking": without, **others}, rounds)
        late = list[float]()
        for _ in range(rounds):
            time.sleep(0.1)
            seen, sent = len(told), time.perf_counter()
            store.append(places["watched"], [BODY], expected=store.version(places["watched"]))
            while len(told) == seen:
                time.sleep(0.0005)
            late.append((told[seen] - sent) * 1e3)
        end()
    return {**found, "told after, ms": median(late)}


def partitioned(url: str) -> None:
    """Partition the entries of an empty store, as the page on PostgreSQL says."""
    (statements,) = re.findall(r"^```sql\n(DROP TABLE.*?)^```", DOCUMENTED.read_text(), re.M | re.S)
    with psycopg.connect(make_conninfo(url), autocommit=True) as connection:
        connection.execute(statements.encode())


def verbs(stores: dict[str, PostgresStore], conversations: int, rounds: int) -> list[tuple[object, ...]]:
    """Verbs on each store: a row of the table each."""
    places = [Place("verbs", str(number)) for number in range(conversations)]
    for store in stores.values():
        for place in places:
            store.append(place, [BODY] * ENTRIES, expected=0)
        store.write_checkpoint(places[0], ENTRIES, b"x" * 2_000, range(1, ENTRIES - 20), {})
        store.link.run(lambda connection: connection.execute("VACUUM ANALYZE"))
    some = places[1 : EACH + 1]
    work: dict[str, Callable[[PostgresStore], Any]] = {
        "append": lambda store: append_to(store, places[-1]),
        f"read {ENTRIES} entries": lambda store: [store.read(place) for place in some],
        "read the last two": lambda store: [store.read(place, after=ENTRIES - 2) for place in some],
        "read three by their versions": lambda store: [store.read_at(place, [3, 30, 50]) for place in some],
        "open from a checkpoint": lambda store: [store.open_checkpoint(places[0]) for _ in some],
    }
    rows = []
    for name, verb in work.items():
        page.progress(name)
        ways = {kind: (lambda store=store, verb=verb: verb(store)) for kind, store in stores.items()}
        plain, parts = compared(ways, rounds).values()
        rows.append((name, plain, parts, parts / plain))
    return rows


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--conversations", type=int, default=2_000)
    given = parser.parse_args()
    with server() as first, server() as second:
        told = appends(first, given.rounds)
        for url in (first, second):
            PostgresStore(url).close()
        partitioned(second)
        with PostgresStore(first) as plain, PostgresStore(second) as parts:
            rows = verbs({"one table": plain, "16 partitions": parts}, given.conversations, given.rounds)
    base = told["without looking"]
    head = ("an append", "µs", "times without looking")
    looking = [(name, told[name], told[name] / base) for name in told if name != "told after, ms"]
    text = page.table(head, looking) + f"\n\nWho watches is told after {told['told after, ms']:.0f} ms."
    split = page.table(("verb", "one table, µs", "16 partitions, µs", "times"), rows)
    page.report(given, {"watching": text, "partitions": split}, {"watching": told, "partitions": rows})


if __name__ == "__main__":
    main()
