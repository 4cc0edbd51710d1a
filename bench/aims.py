"""What Quire set out to reach, and whether the run at hand shows it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from tables import Results, Row, Table, number, tables, times

FLAT = 2.0
"""How much dearer the dearest size may be for a cost to be called flat."""


@dataclass(frozen=True)
class Aim:
    """One aim, what was measured, and whether it was met; nothing if there was nothing to judge by."""

    aim: str
    measured: str
    met: bool | None

    @property
    def verdict(self) -> str:
        return {True: "met", False: "fell short", None: "not measured"}[self.met]


def judged(results: Results) -> list[Aim]:
    """All aims, in order."""
    by_key = {table.key: table for table in tables(results)}
    return [*_append(by_key.get("append"), results), *_others(by_key)]


def as_dicts(aims: Sequence[Aim]) -> list[dict[str, object]]:
    """For JSON."""
    return [asdict(aim) | {"verdict": aim.verdict} for aim in aims]


def _append(table: Table | None, results: Results) -> Iterator[Aim]:
    yield _to_floor("append: at most 4 times the floor", table, 4.0)
    rivals = {
        row.library: cost
        for row in (table.rows if table else ())
        if row.is_peer and results["append"][row.library].get("validates")
        if table and (cost := row.at(table.size)) is not None
    }
    ours = _ours(table)
    aim = "append: ahead of every peer that validates"
    if ours is None or not rivals or table is None:
        yield Aim(aim, "-", None)
        return
    nearest = min(rivals, key=lambda name: rivals[name])
    said = f"{number(ours)} µs; the nearest, {nearest}, {number(rivals[nearest])} µs{_where(table)}"
    yield Aim(aim, said, ours < rivals[nearest])


def _others(by_key: dict[str, Table]) -> Iterator[Aim]:
    yield _at_most("memory over the text: at most 350 bytes a message", by_key.get("memory"), 350, "bytes")
    yield _at_most("fork: at most 5 µs", by_key.get("fork"), 5, "µs")
    yield _flat("fork: flat from 100 to 100,000 messages", by_key.get("fork"))
    yield _at_most("truncating to a tenth: at most 0.3 ms", by_key.get("truncate"), 0.3, "ms")
    yield _flat("one more message and the total of tokens: flat, nothing counted again", by_key.get("tokens"))
    yield _to_floor("encode: at most 1.3 times plain msgspec", by_key.get("codec dump"), 1.3)
    yield _to_floor("decode: at most 1.6 times plain msgspec", by_key.get("codec load"), 1.6)
    yield from _render(by_key)
    yield from _turn(by_key)
    yield _import("`import quire`: at most 60 ms", by_key.get("import"), 60)


def _render(by_key: dict[str, Table]) -> Iterator[Aim]:
    openai, more = by_key.get("render openai"), by_key.get("render openai, one more")
    yield _to_floor("render: the whole OpenAI payload in at most 1.5 times a plain loop", openai, 1.5)
    yield _at_most("render: one more message and again in at most 0.1 ms", more, 0.1, "ms")
    for wire in ("Anthropic", "Gemini"):
        table = by_key.get(f"render {wire.lower()}")
        aim = f"render: {wire} within 2 times of OpenAI's figure"
        yield _to_other(aim, table, openai.ours if openai else None, 2.0)


def _turn(by_key: dict[str, Table]) -> Iterator[Aim]:
    tenth, whole = by_key.get("turn within a tenth"), by_key.get("turn with all of it")
    yield _at_most("a turn within a tenth: at most 0.3 ms", tenth, 0.3, "ms")
    yield _at_most("a turn with all of it: at most 0.3 ms", whole, 0.3, "ms")


def _at_most(aim: str, table: Table | None, limit: float, unit: str) -> Aim:
    ours = _ours(table)
    if ours is None or table is None:
        return Aim(aim, "-", None)
    return Aim(aim, f"{number(ours)} {unit}{_where(table)}", ours <= limit)


def _import(aim: str, table: Table | None, limit: float) -> Aim:
    found = {row.how: row.at(0) for row in table.rows if row.library == "quire"} if table else {}
    ours = found.get("`import quire`")
    if ours is None:
        return Aim(aim, "-", None)
    # The top module may leave its rooms for later, so what they take is said too.
    return Aim(aim, ", ".join(f"{how} {number(cost)} ms" for how, cost in found.items()), ours <= limit)


def _to_floor(aim: str, table: Table | None, limit: float) -> Aim:
    return _to_other(aim, table, table.floor if table else None, limit)


def _to_other(aim: str, table: Table | None, other: Row | None, limit: float) -> Aim:
    ratio = table.ratio(table.ours, other) if table and table.ours else None
    if ratio is None or table is None:
        return Aim(aim, "-", None)
    return Aim(aim, f"{times(ratio)}{_where(table)}", ratio <= limit)


def _flat(aim: str, table: Table | None) -> Aim:
    costs = _costs(table.ours) if table and table.ours else {}
    if not {100, 100_000} <= costs.keys():
        return Aim(aim, "-", None)
    said = ", ".join(f"{number(cost)} µs at {size:,}" for size, cost in costs.items())
    return Aim(aim, said, max(costs.values()) <= FLAT * min(costs.values()))


def _costs(row: Row) -> dict[int, float]:
    return {size: line["best"] for size, line in sorted(row.cells.items())}


def _ours(table: Table | None) -> float | None:
    return table.ours.at(table.size) if table and table.ours else None


def _where(table: Table) -> str:
    return f" at N = {table.size:,}" if table.size else ""
