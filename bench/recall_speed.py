"""How long it takes to index a leaf and to find: ours beside SQLite's full text search and bm25s, in one run.

What is found is told within a budget (search and packing together, `building`) or only ranked (`search`).
SQLite and bm25s rank by plain BM25; bm25s has no way to add to what it holds, so it is made anew. All
questions are asked in rounds, and the figures of a library are those of its best round.
"""

import gc
import json
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from locomo import Conversation, made_up
from quire.memory.found import once
from quire.memory.index import Index
from quire.memory.leaf import Leaf
from quire.memory.quotes import Quotes
from quire.memory.ranking import Question
from quire.memory.recall import HitQuotes
from recall_scores import count

SIZES = (700, 100_000)
BUDGET = 2_048
_LIMIT = 200
_ASKED = 200
"""Questions of each: enough for one in a hundred, and few enough for those that are slow."""
_ROUNDS = 3
_WORD = re.compile(r"\w+")

Timings = dict[str, float]


def speed(found: Sequence[Conversation], peers: Path | None, sizes: Sequence[int] = SIZES) -> dict[str, Any]:
    """Milliseconds by size, by library and by what is done."""
    questions = [question.text for one in found for question in one.questions][:_ASKED]
    report: dict[str, Any] = {}
    for size in sizes:
        leaves = made_up(found, size)
        print(f"{size} leaves", file=sys.stderr)
        report[str(size)] = {"quire": _ours(leaves, questions), "sqlite fts5": _sqlite(leaves, questions)}
        if peers is not None:
            report[str(size)]["bm25s"] = _bm25s(peers, leaves, questions)
    return report


def _ours(leaves: Sequence[Leaf], questions: Sequence[str]) -> dict[str, Timings]:
    index, now = Index(), leaves[-1].at + 1.0

    def search(text: str) -> Any:
        return index.search(Question.of(text, now), limit=_LIMIT)

    def build(text: str) -> Any:
        quotes = HitQuotes(once(search(text).hits), "made up")
        return Quotes(quotes).select(BUDGET, count)

    indexing = _timed(lambda leaf: index.put((leaf,)), leaves)
    return {"indexing": indexing, "search": _best(search, questions), "building": _best(build, questions)}


def _sqlite(leaves: Sequence[Leaf], questions: Sequence[str]) -> dict[str, Timings]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE VIRTUAL TABLE said USING fts5(text, tokenize='porter unicode61')")

    def put(leaf: Leaf) -> Any:
        connection.execute("INSERT INTO said VALUES (?)", (leaf.text,))

    def search(text: str) -> Any:
        any_of = " OR ".join(f'"{word}"' for word in _WORD.findall(text))
        chosen = "SELECT rowid FROM said WHERE said MATCH ? ORDER BY bm25(said) LIMIT ?"
        return connection.execute(chosen, (any_of, _LIMIT)).fetchall()

    return {"indexing": _timed(put, leaves), "search": _best(search, questions)}


def _bm25s(python: Path, leaves: Sequence[Leaf], questions: Sequence[str]) -> dict[str, Timings]:
    """In the Python that has it; `indexing` is the whole made anew, shared out over the leaves."""
    asked = {"questions": questions, "limit": _LIMIT, "rounds": _ROUNDS}
    given = json.dumps({"texts": [leaf.text for leaf in leaves], **asked})
    script = Path(__file__).with_name("recall_bm25s.py")
    ran = subprocess.run([python, script], input=given, capture_output=True, text=True, check=False)
    if ran.returncode:
        print(ran.stderr[-500:], file=sys.stderr)
        return {}
    told = json.loads(ran.stdout)
    return {"indexing": figures(told["indexing"]), "search": figures(told["search"])}


def _best(call: Callable[[Any], Any], questions: Sequence[str]) -> Timings:
    """The round that took least."""
    return min((_timed(call, questions) for _ in range(_ROUNDS)), key=lambda one: one["mean"])


def _timed(call: Callable[[Any], Any], given: Sequence[Any]) -> Timings:
    """A call for each of what is given, with the collector of garbage at work as it would be."""
    gc.collect()
    taken: list[float] = []
    for one in given:
        start = time.perf_counter()
        call(one)
        taken.append(time.perf_counter() - start)
    return figures(taken)


def figures(taken: Sequence[float]) -> Timings:
    """Milliseconds: the mean, the median, and what one in a hundred is above."""
    ordered = sorted(taken)
    return {
        "mean": 1e3 * sum(ordered) / len(ordered),
        "p50": 1e3 * ordered[len(ordered) // 2],
        "p99": 1e3 * ordered[len(ordered) * 99 // 100],
    }


def as_text(report: dict[str, Any]) -> str:
    """A line for each size, library and what it does."""
    lines = [f"{'leaves':>8}  {'library':14}{'what':12}{'mean ms':>10}{'p50 ms':>10}{'p99 ms':>10}"]
    for size, libraries in report.items():
        for name, done in libraries.items():
            for what, one in done.items():
                times = "".join(f"{one[key]:>10.3f}" for key in ("mean", "p50", "p99"))
                lines.append(f"{size:>8}  {name:14}{what:12}{times}")
    return "\n".join(lines)
