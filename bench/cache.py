"""What ways to trim do to the bill: cached share, cost, and whether every request is taken and fits.

Usage: python bench/cache.py PATH [--budget N] [--volatile N] [--json] [--limit N] [--policies NAME ...]
                             [--seeds N]

The file has one JSON object a line, with `id` and `messages` as OpenAI's chat API has them. Conversations
that begin with the same instructions are joined in tens behind one copy of these, as one agent's shift.
Before each message of the assistant the request is built, rendered and checked. `cached share` is the part
of all tokens sent that a request shares with the beginning of the one before it. `bill` is 0.1 for a token
that is shared and 1.25 for one that is not, with what summaries cost beside (1 for each token read, 5 for
each written), as a ratio to keeping everything. With `default +N` a block of N tokens that changes with each
call stands where the template puts what is volatile, after the history. With `--seeds` the conversations are
shuffled so often before they are joined, and cut into halves; what is shown then are the ranges.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from quire.cli.replay import KEEP_ALL, POLICIES, Replay, replay
from quire.items import Item
from quire.providers import PROVIDERS
from quire.tokens import counter_for

MODEL = "gpt-5.6"
TOGETHER = 10
LEAST = 2
"""Conversations behind the same instructions, for them to be joined at all."""


def conversations(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


Told = dict[str, list[list[dict[str, Any]]]]
"""What was said in conversations, by the instructions that they begin with."""


def told_by_instructions(path: Path) -> Told:
    alike: Told = {}
    for conversation in conversations(path):
        first, *rest = conversation["messages"]
        if first["role"] == "system":
            alike.setdefault(json.dumps(first), []).append(rest)
    return {instructions: told for instructions, told in alike.items() if len(told) >= LEAST}


def shifts(alike: Told, limit: int | None = None) -> list[list[Item]]:
    """Conversations with the same instructions, ten in a row behind one copy of these."""
    read = PROVIDERS["openai"].read_history
    found: list[list[Item]] = []
    for instructions, told in alike.items():
        for start in range(0, len(told), TOGETHER):
            items = read([json.loads(instructions)])
            for messages in told[start : start + TOGETHER]:
                items += read(messages)
            found.append(items)
    return found[:limit]


def shuffled(alike: Told, seed: int) -> Iterator[tuple[str, Told]]:
    """The conversations in another order, and the two halves of them."""
    mixed = {one: Random(seed).sample(told, len(told)) for one, told in alike.items()}
    yield "all", mixed
    yield "half", {one: told[: len(told) // 2] for one, told in mixed.items()}
    yield "half", {one: told[len(told) // 2 :] for one, told in mixed.items()}


def ranges(alike: Told, seeds: int, names: Sequence[str], budget: int, volatile: int) -> dict[str, Any]:
    """The least and the most of each figure over shuffles, for all conversations and for halves of them."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for seed in range(seeds):
        for which, told in shuffled(alike, seed):
            joined = shifts(told)
            base = sum(one.bill() for one in measured(joined, KEEP_ALL, budget, 0))
            for name in names:
                figures = summed(measured(joined, name, budget, volatile), base)
                found.setdefault(name, {}).setdefault(which, []).append(figures)
    return {name: {which: _range(rows) for which, rows in kinds.items()} for name, kinds in found.items()}


def _range(rows: list[dict[str, Any]]) -> dict[str, tuple[Any, Any]]:
    """The least and the most of each figure."""
    return {key: (min(row[key] for row in rows), max(row[key] for row in rows)) for key in rows[0]}


def measured(shifts: list[list[Item]], name: str, budget: int, volatile: int) -> list[Replay]:
    """One policy on all shifts."""
    policy, _, _ = name.partition(" +")
    tokens = None if policy == KEEP_ALL else budget
    started = time.perf_counter()
    replays: list[Replay] = []
    for number, items in enumerate(shifts, 1):
        replays.append(
            replay(
                items,
                POLICIES[policy],
                tokens=tokens,
                counter=counter_for(MODEL),
                model=MODEL,
                volatile=volatile if "+" in name else 0,
            )
        )
        spent = time.perf_counter() - started
        print(f"\r{name:20} {number} of {len(shifts)} shifts, {spent:.0f} s ", end="", file=sys.stderr)
    print(file=sys.stderr)
    return replays


def summed(replays: list[Replay], base: float) -> dict[str, Any]:
    tokens = sum(replay.tokens for replay in replays)
    return {
        "cached_share": round(sum(replay.cached for replay in replays) / tokens, 4) if tokens else None,
        "bill": round(sum(replay.bill() for replay in replays) / base, 4),
        "invalid": sum(call.faults > 0 for replay in replays for call in replay.calls),
        "over_budget": sum(call.over_budget for replay in replays for call in replay.calls),
        "refused": sum(replay.refused for replay in replays),
        "calls": sum(len(replay.calls) for replay in replays),
        "compactions": sum(replay.compactions for replay in replays),
        "peak": max(replay.peak for replay in replays),
        "mean": round(tokens / max(sum(len(replay.calls) for replay in replays), 1)),
    }


def as_text(report: dict[str, Any]) -> str:
    titles = ("cached_share", "bill", "invalid", "over_budget", "refused", "compactions", "peak", "mean")
    lines = [f"{report['shifts']} shifts, {report['calls']:,} calls, budget {report['budget']:,} tokens", ""]
    lines.append(f"{'policy':20}" + "".join(f"{title:>14}" for title in titles))
    for name, row in report["policies"].items():
        cells = (f"{row[title]:,}" for title in titles)
        lines.append(f"{name:20}" + "".join(f"{cell:>14}" for cell in cells))
    return "\n".join(lines)


def ranges_as_text(report: dict[str, Any]) -> str:
    titles = ("cached_share", "bill", "invalid", "over_budget", "refused")
    lines = [f"{'policy':20}{'of':6}" + "".join(f"{title:>18}" for title in titles)]
    for name, kinds in report.items():
        for which, row in kinds.items():
            cells = (f"{row[title][0]:,} to {row[title][1]:,}" for title in titles)
            lines.append(f"{name:20}{which:6}" + "".join(f"{cell:>18}" for cell in cells))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("path", type=Path)
    parser.add_argument("--budget", type=int, default=8_000)
    parser.add_argument("--volatile", type=int, default=300, help="tokens of the block that changes")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--limit", type=int, help="so many shifts")
    parser.add_argument("--policies", nargs="+", choices=[*POLICIES], default=[*POLICIES])
    parser.add_argument("--seeds", type=int, help="ranges over so many shuffles, and over halves")
    options = parser.parse_args()
    alike = told_by_instructions(options.path)
    found = shifts(alike, options.limit)
    if not found:
        parser.error("no two conversations in it begin with the same instructions")
    names = [*options.policies, *(f"{n} +{options.volatile}" for n in options.policies if n == "default")]
    if options.seeds:
        spread = ranges(alike, options.seeds, names, options.budget, options.volatile)
        print(json.dumps(spread) if options.json else ranges_as_text(spread))
        return
    replays = {
        name: measured(found, name, options.budget, options.volatile)
        for name in dict.fromkeys((*names, KEEP_ALL))
    }
    base = sum(replay.bill() for replay in replays[KEEP_ALL])
    report = {
        "budget": options.budget,
        "shifts": len(found),
        "calls": sum(len(replay.calls) + replay.refused for replay in replays[KEEP_ALL]),
        "policies": {name: summed(done, base) for name, done in replays.items()},
    }
    print(json.dumps(report) if options.json else as_text(report))


if __name__ == "__main__":
    main()
