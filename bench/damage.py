"""Damages stores and looks at what they say: refused or read whole, never shorter in silence.

Usage: python bench/damage.py [--flips N] [--cuts N] [--aimed N] [--seed N] [--json] [--page FILE]

A store of several conversations is written, sealed and not. In a copy of its file one random bit is flipped,
the file is cut at a random byte, or a bit is flipped in a row number, a version or a name. Then every verb is
called. Whatever is given back must be as it was written, all of it; otherwise the store must raise an error
of its own. An append must succeed or be refused, within a second. Salvaging must give back every entry that
was not damaged.
"""

import argparse
import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import page
from quire.errors import StoreError
from quire.stores import Entry, Place, Store, Stored
from quire.stores.salvage import LOST, check, salvage

KEY = bytes(range(32))
PLACES = [Place("ana", "q3"), Place("ana", "q4"), Place("bo", "q3"), Place("", "")]
SIZES = (20, 200, 200, 700, 700, 3_000, 12_000)
Log = dict[Place, list[Stored]]


class Kind(NamedTuple):
    """A store to damage."""

    name: str
    file: str
    key: bytes | None


KINDS = (
    Kind("SQLite", "kept.db", None),
    Kind("SQLite, sealed", "kept.db", KEY),
    Kind("JSON lines", "kept.jsonl", None),
    Kind("JSON lines, sealed", "kept.jsonl", KEY),
)


def written(path: Path, key: bytes | None, entries: int, chance: random.Random) -> Log:
    """A store with some entries, and what it holds."""
    with Store.open(path, key=key) as store:
        for number in range(entries):
            place = chance.choice(PLACES)
            words = chance.randbytes(chance.choice(SIZES) // 2).hex()
            body = json.dumps({"kind": "message", "id": f"id-{number:05}", "text": words}).encode()
            store.append(place, [Entry("main", body)], expected=store.version(place))
        return {place: store.read(place) for place in PLACES}


def outcome(path: Path, key: bytes | None, log: Log) -> str:
    """What a damaged store does: `whole`, `refused`, or what it does wrong."""
    found = {verb.__name__: tried(verb, path, key, log) for verb in (reads, lists, appends)}
    wrong = [f"{name}: {said}" for name, said in found.items() if said not in ("whole", "refused")]
    return "; ".join(wrong) or ("refused" if "refused" in found.values() else "whole")


def tried(verb: Callable[[Store, Log], bool], path: Path, key: bytes | None, log: Log) -> str:
    """What a verb does; what takes more than a second is tried again, for the machine may have been busy."""
    for _ in range(2):
        begun = time.monotonic()
        try:
            with Store.open(path, key=key) as store:
                said = "whole" if verb(store, log) or store.reports else "SHORTER IN SILENCE"
        except StoreError:
            said = "refused"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        if time.monotonic() - begun < 1:
            return said
    return "more than a second"


def reads(store: Store, log: Log) -> bool:
    refusals, is_right = 0, True
    for place in PLACES:  # damage to one conversation need not keep others from being read
        try:
            is_right &= store.read(place) == log[place] and store.version(place) == len(log[place])
        except StoreError:
            refusals += 1
    if is_right and refusals:
        raise StoreError
    return is_right


def lists(store: Store, log: Log) -> bool:
    found = {Place(scope, name) for scope in store.scopes() for name in store.conversations(scope)}
    return found == {place for place in PLACES if log[place]}


def appends(store: Store, log: Log) -> bool:
    for place in PLACES:
        store.append(place, [Entry("main", b'{"kind":"more"}')], expected=len(log[place]))
        if [entry.body for entry in store.read(place)] != [
            *(one.body for one in log[place]),
            b'{"kind":"more"}',
        ]:
            return False
    return True


def missing(path: Path, key: bytes | None, log: Log) -> set[tuple[Place, int]]:
    """The entries that salvaging does not give back, after it was made sure that the others are right."""
    target = path.with_name("salvaged.jsonl")
    target.unlink(missing_ok=True)
    try:
        check(path, key=key)
        with Store.open(target, key=key) as store:
            salvage(path, store, key=key)
            given = {
                (place, one.version): one
                for place in PLACES
                for one in store.read(place)
                if one.stream != LOST
            }
    except Exception as error:
        raise SystemExit(f"salvaging raised {type(error).__name__}: {error}") from error
    wanted = {(place, one.version): one for place in PLACES for one in log[place]}
    if any(one != wanted.get(name) for name, one in given.items()):
        raise SystemExit("salvaging gave back what was never written")
    return wanted.keys() - given.keys()


def varint(number: int) -> bytes:
    """A number as SQLite writes it, of up to eight bytes."""
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.append(number & 0x7F | 0x80)
    return bytes(reversed(digits))


def aims(data: bytes, log: Log) -> list[int]:
    """The bytes of row numbers, versions and names."""
    found: list[int] = []
    for number, place in enumerate(PLACES, 1):
        for version in range(1, len(log[place]) + 1):
            at = data.find(varint(number << 32 | version))  # SQLite
            found += range(at, at + 5) if at >= 0 else ()
            at = data.find(f'"version":{version},"sum":'.encode())  # JSON lines
            found += range(at + 10, at + 20) if at >= 0 else ()
        for name in filter(None, place):
            starts = [one.start() for one in re.finditer(re.escape(name.encode()), data)][:20]
            found += [near for at in starts for near in range(at - 8, at + len(name) + 8)]
    return [at for at in found if 0 <= at < len(data)]


def damages(
    data: bytes, log: Log, options: argparse.Namespace, chance: random.Random
) -> Iterator[tuple[str, bytes]]:
    for way, count, bytes_at in (
        ("flip", options.flips, range(len(data))),
        ("aimed flip", options.aimed, aims(data, log)),
    ):
        for _ in range(count):
            changed = bytearray(data)
            changed[chance.choice(bytes_at)] ^= 1 << chance.randrange(8)
            yield way, bytes(changed)
    for _ in range(options.cuts):
        yield "cut", data[: chance.randrange(len(data))]


def may_be_lost(way: str, data: bytes, log: Log, lost: set[tuple[Place, int]]) -> bool:
    """Whether only entries are lost that were damaged: one by a flip, by a cut those beyond it."""
    if way != "cut":
        return len(lost) <= 1
    page = 4096 if data[:6] == b"SQLite" else 1
    rest = data[: len(data) // page * page] if page > 1 else data[: data.rfind(b"\n") + 1]
    bodies = {(place, one.version): one.body for place in PLACES for one in log[place]}
    return not any(len(bodies[name]) < 2_000 and bodies[name][1:] in rest for name in lost)


def measured(kind: Kind, options: argparse.Namespace) -> dict[str, Any]:
    chance = random.Random(options.seed)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, kind.file)
        log = written(path, kind.key, options.entries, chance)
        data = path.read_bytes()
        for way, changed in damages(data, log, options, chance):
            path.write_bytes(changed)
            said = outcome(path, kind.key, log)
            for beside in Path(folder).glob(f"{kind.file}-*"):
                beside.unlink()
            path.write_bytes(changed)
            lost = missing(path, kind.key, log) if said == "refused" else set()
            for beside in Path(folder).glob(f"{kind.file}-*"):
                beside.unlink()
            counts[f"{way}: {said}"] += 1
            if said not in ("whole", "refused"):
                page.progress(f"{kind.name}, {way}: {said}")
            if not may_be_lost(way, changed, log, lost):
                counts[f"{way}: LOST"] += 1
                page.progress(f"{kind.name}, {way}: not salvaged: {sorted(lost)[:5]}")
    return {"store": kind.name, **counts}


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--flips", type=int, default=500)
    parser.add_argument("--cuts", type=int, default=300)
    parser.add_argument("--aimed", type=int, default=200)
    parser.add_argument("--entries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    rows = []
    for kind in KINDS:
        rows.append(measured(kind, options))
        page.progress(str(rows[-1]))
    columns = sorted({name for row in rows for name in row if name != "store"})
    cells = [(row["store"], *(row.get(name, 0) for name in columns)) for row in rows]
    page.report(options, {"damage": page.table(("store", *columns), cells)}, rows)
    if any(name.split(": ")[1] not in ("whole", "refused") for name in columns):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
