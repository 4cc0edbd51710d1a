"""Recorded conversations: what ways to trim do to the bill, and whether every request is taken and fits.

Usage: python bench/recorded.py PATH [--budget N] [--volatile N] [--policies NAME ...] [--limit N] [--json]
       python bench/recorded.py PATH --wires [--limit N] [--json]

The file has one JSON object a line, with `id` and `messages` as OpenAI's chat API has them. A model call is
due before each message of the assistant.

Conversations that begin with the same instructions are joined in tens behind one copy of these, as one
agent's shift, and each request is built, rendered and checked. `cached share` is the part of all tokens sent
that a request shares with the beginning of the one before it. `bill` is 0.1 for a token that is shared and
1.25 for one that is not, with what summaries cost beside (1 for each token read, 5 for each written), as a
ratio to keeping everything. With `default +N` a block of N tokens that changes with each call stands after
the history.

With `--wires`, what comes before each call is truncated to several limits, rendered to each wire and checked.
`refused` are those where what must stay is larger than the limit: nothing is sent. Of the rest, `over` are
those that are larger by the counter that truncated.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import page
from quire.cli.simulate import KEEP_ALL, POLICIES, USUAL_PRICES, Replay, figures, replay
from quire.errors import Irreducible
from quire.items import Item
from quire.providers import PROVIDERS
from quire.state import Transcript, truncate
from quire.tokens import counter_for

MODELS = {
    "openai": "gpt-5.6",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
}
MODEL = MODELS["openai"]
LIMITS = (1_000, 2_000, 4_000, 8_000)
COUNTED = ("calls", "refused", "truncated", "faults", "over")
FIGURES = ("cached_share", "bill", "invalid", "over_budget", "refused", "compactions", "peak", "mean")
TOGETHER = 10
LEAST = 2
"""Conversations behind the same instructions, for them to be joined at all."""


def conversations(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


# --- the bill --------------------------------------------------------------------------------------------


def shifts(path: Path) -> Iterator[list[Item]]:
    """Conversations with the same instructions, ten in a row behind one copy of these."""
    alike: dict[str, list[list[dict[str, Any]]]] = {}
    for conversation in conversations(path):
        first, *rest = conversation["messages"]
        if first["role"] == "system":
            alike.setdefault(json.dumps(first), []).append(rest)
    read = PROVIDERS["openai"].read_history
    for instructions, told in alike.items():
        for start in range(0, len(told) if len(told) >= LEAST else 0, TOGETHER):
            said = [item for messages in told[start : start + TOGETHER] for item in read(messages)]
            yield [*read([json.loads(instructions)]), *said]


def measured(shifts: Sequence[list[Item]], name: str, budget: int, volatile: int) -> list[Replay]:
    """One policy on all shifts."""
    policy, _, block = name.partition(" +")
    counter, replays = counter_for(MODEL), list[Replay]()
    for number, items in enumerate(shifts, 1):
        print(f"\r{name:20} {number} of {len(shifts)} shifts ", end="", file=sys.stderr)
        tokens, changes = None if policy == KEEP_ALL else budget, volatile if block else 0
        done = replay(items, POLICIES[policy], tokens=tokens, counter=counter, model=MODEL, volatile=changes)
        replays.append(done)
    print(file=sys.stderr)
    return replays


def bills(options: argparse.Namespace) -> dict[str, Any]:
    """The figures of each policy."""
    found = list(islice(shifts(options.path), options.limit))
    if not found:
        raise SystemExit("no two conversations in it begin with the same instructions")
    names = [*options.policies, *(f"{n} +{options.volatile}" for n in options.policies if n == "default")]
    names = list(dict.fromkeys((*names, KEEP_ALL)))
    replays = {name: measured(found, name, options.budget, options.volatile) for name in names}
    base = sum(replay.bill() for replay in replays[KEEP_ALL])
    policies = {name: figures(done, USUAL_PRICES, False, base) for name, done in replays.items()}
    return {"budget": options.budget, "shifts": len(found), "policies": policies}


# --- every wire, within a limit --------------------------------------------------------------------------

Tally = dict[tuple[int, str], Counter[str]]


def wires(options: argparse.Namespace) -> dict[str, Any]:
    """The counts of each limit and wire."""
    tally: Tally = {(limit, wire): Counter() for limit in LIMITS for wire in MODELS}
    start, number = time.perf_counter(), 0
    for number, conversation in enumerate(islice(conversations(options.path), options.limit), 1):
        speak(conversation, tally)
        print(f"\r{number} conversations", end="", file=sys.stderr)
    print(file=sys.stderr)
    rows = [
        {"limit": limit, "wire": wire, **{what: counts[what] for what in COUNTED}}
        for (limit, wire), counts in tally.items()
    ]
    return {"conversations": number, "seconds": round(time.perf_counter() - start, 1), "rows": rows}


def speak(conversation: dict[str, Any], tally: Tally) -> None:
    """All calls of one conversation: its transcript grows, and each call has a fork to cut."""
    transcript, messages = Transcript(), conversation["messages"]
    read = PROVIDERS["openai"].read_history
    whole = iter(read(messages))  # read as one history, so that results know the names of their tools
    for number, message in enumerate(messages):
        if message["role"] == "assistant" and number:
            for limit, wire in tally:
                judge(transcript, limit, wire, tally[limit, wire])
        transcript.extend(islice(whole, len(read([message]))))


def judge(transcript: Transcript, limit: int, wire: str, counts: Counter[str]) -> None:
    """One call within one limit on one wire."""
    counts["calls"] += 1
    # A fork closes calls that wait; where there are some, it is read anew, and they still wait.
    fork = Transcript(transcript.recorded()) if transcript.view.pending() else transcript.fork()
    model, counter = MODELS[wire], counter_for(MODELS[wire])
    try:
        edit = truncate(fork.view, tokens=limit, counter=counter)
    except Irreducible:
        counts["refused"] += 1
        return
    if edit is not None:
        fork.append(edit)
        counts["truncated"] += 1
    payload = PROVIDERS[wire].render(fork.view, model=model).payload
    counts["faults"] += len(PROVIDERS[wire].check(payload, model))
    counts["over"] += fork.view.tokens(counter) > limit


# --- the report ------------------------------------------------------------------------------------------


def table(rows: Sequence[Sequence[Any]]) -> str:
    """Columns for a terminal, the first to the left."""
    cells = [[f"{cell:,}" if isinstance(cell, int | float) else str(cell) for cell in row] for row in rows]
    return "\n".join(f"{row[0]:20}" + "".join(f"{cell:>17}" for cell in row[1:]) for row in cells)


def as_text(report: dict[str, Any]) -> str:
    if "rows" in report:
        lines = [[row["wire"], row["limit"], *(row[what] for what in COUNTED)] for row in report["rows"]]
        head = f"{report['conversations']} conversations, {report['seconds']} s"
        return f"{head}\n\n{table([['wire', 'limit', *COUNTED], *lines])}"
    lines = [[name, *(row[figure] for figure in FIGURES)] for name, row in report["policies"].items()]
    head = f"{report['shifts']} shifts, budget {report['budget']:,} tokens"
    return f"{head}\n\n{table([['policy', *FIGURES], *lines])}"


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--wires", action="store_true")
    parser.add_argument("--budget", type=int, default=8_000)
    parser.add_argument("--volatile", type=int, default=300, help="tokens of the block that changes")
    parser.add_argument("--policies", nargs="+", choices=[*POLICIES], default=[*POLICIES])
    parser.add_argument("--limit", type=int, help="so many shifts, or conversations")
    options = parser.parse_args()
    report = wires(options) if options.wires else bills(options)
    print(json.dumps(report) if options.json else as_text(report))


if __name__ == "__main__":
    main()
