"""Recorded conversations: what policies do to the bill, and whether every request is valid and fits.

Usage: python bench/recorded.py PATH [--budget N] [--volatile N] [--limit N] [--json]
       python bench/recorded.py PATH --wires [--limit N] [--json]

The file has one JSON object a line, with `id` and `messages` as OpenAI's chat API has them. A model call is
due before each message of the assistant.

Conversations that begin with the same instructions are joined in tens behind one copy of these, as one
agent's shift. Each shift is replayed under each policy of `quire simulate`; the bill is a ratio to keeping
everything. With `default +N` a block of N tokens that changes with each call stands after the history.

With `--wires`, what comes before each call is truncated to several limits, rendered to each wire and checked.
`refused` are those where what must stay is larger than the limit: nothing is sent. Of the rest, `over` are
those that are larger by the counter that truncated.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import page
from quire.cli.simulate import KEEP_ALL, POLICIES, replay, summed
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
LIMITS = (1_000, 2_000, 4_000, 8_000)
TOGETHER = 10
read = PROVIDERS["openai"].read_history
Rows = list[dict[str, Any]]


def conversations(path: Path) -> Iterator[list[dict[str, Any]]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line)["messages"] for line in lines if line.strip())


# The bill


def shifts(path: Path) -> Iterator[list[Item]]:
    """Conversations with the same instructions, ten in a row behind one copy of these."""
    alike: dict[str, list[list[dict[str, Any]]]] = {}
    for first, *rest in conversations(path):
        if first["role"] == "system":
            alike.setdefault(json.dumps(first), []).append(rest)
    for instructions, found in alike.items():
        for start in range(0, len(found) if len(found) > 1 else 0, TOGETHER):
            joined = [item for messages in found[start : start + TOGETHER] for item in read(messages)]
            yield [*read([json.loads(instructions)]), *joined]


def bills(options: argparse.Namespace) -> Rows:
    """The figures of each policy."""
    found = list(islice(shifts(options.path), options.limit))
    counter, rows = counter_for(MODELS["openai"]), Rows()
    for name in (*POLICIES, f"default +{options.volatile}"):
        page.progress(name)
        policy, _, block = name.partition(" +")
        tokens = None if policy == KEEP_ALL else options.budget
        volatile = int(block or 0)
        replays = [
            replay(items, POLICIES[policy], tokens=tokens, counter=counter, volatile=volatile)
            for items in found
        ]
        rows.append({"policy": name, "bill": sum(one.bill() for one in replays), **summed(replays)})
    kept = next(row["bill"] for row in rows if row["policy"] == KEEP_ALL)
    return [{**row, "bill": round(row["bill"] / kept, 4)} for row in rows]


# Every wire, within a limit


def wires(options: argparse.Namespace) -> Rows:
    """The counts of each limit and wire."""
    tally = {(limit, wire): Counter[str]() for limit in LIMITS for wire in MODELS}
    for messages in islice(conversations(options.path), options.limit):
        transcript = Transcript()
        whole = iter(read(messages))  # read as one history, so that results know the names of their tools
        for number, message in enumerate(messages):
            if message["role"] == "assistant" and number:
                for (limit, wire), counts in tally.items():
                    judge(transcript, limit, wire, counts)
            transcript.extend(islice(whole, len(read([message]))))
    counted = ("calls", "refused", "truncated", "faults", "over")
    return [
        {"wire": wire, "limit": limit, **{what: counts[what] for what in counted}}
        for (limit, wire), counts in tally.items()
    ]


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


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--wires", action="store_true")
    parser.add_argument("--budget", type=int, default=8_000)
    parser.add_argument("--volatile", type=int, default=300, help="tokens of the block that changes")
    parser.add_argument("--limit", type=int, help="so many shifts, or conversations")
    options = parser.parse_args()
    rows = wires(options) if options.wires else bills(options)
    page.report(options, {"": page.table(list(rows[0]), [list(row.values()) for row in rows])}, rows)


if __name__ == "__main__":
    main()
