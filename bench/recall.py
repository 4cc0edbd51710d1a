"""Recall on conversations in the format of LoCoMo: how much evidence is found, how fast, how often wrongly.

Usage: python bench/recall.py PATH [--budget N ...] [--peers PYTHON] [--json]
       python bench/recall.py PATH --speed [--sizes N ...] [--json]
       python bench/recall.py PATH --unrelated PROMPTS

ER@B is the mean share of a question's evidence turns inside a block of B tokens (cl100k, as the section
`Recall` writes it), All@B the share of questions with all of them inside, R@k the mean share among the first
k, MRR the mean of one by the rank of the first. Questions without evidence are left out. `quire` is the
library as shipped, `bm25` has stop words and stems, `last` takes the newest turns. With --peers, the tool for
search of Pydantic AI's Harness ranks the turns, and all else is the same. --unrelated counts prompts, one on
a line, for which something is recalled although nothing answers them.
"""

import gc
import json
import re
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from math import log
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from msgspec.structs import replace

import page
from quire.context import Template
from quire.items import Item, Message, use_clock
from quire.memory import Leaf, Memory, Recall, recalled
from quire.memory.following import TranscriptLeaves
from quire.memory.found import once
from quire.memory.index import Index
from quire.memory.quotes import Quote, Quotes
from quire.memory.ranking import Question
from quire.memory.recall import HitQuotes, quote_leaf
from quire.memory.words import terms
from quire.session import Session
from quire.stores import MemoryStore
from quire.tokens import Budget, Measured

BUDGETS = (512, 1024, 2048, 4096)
CUTS = (1, 5, 10, 25, 50)
Ranking = Callable[[str], Sequence[Quote]]
"""A question to quotes, best first."""

# Conversations


@dataclass(frozen=True)
class Asked:
    """A question, and the ids of the turns that hold its answer."""

    text: str
    evidence: frozenset[str]


@dataclass(frozen=True)
class Conversation:
    """Turns as messages and as leaves, when questions are asked, and the questions."""

    name: str
    messages: list[Message]
    leaves: list[Leaf]
    now: float
    questions: list[Asked]


def conversations(path: Path) -> list[Conversation]:
    """The conversations of a file."""
    return [_conversation(one) for one in json.loads(path.read_text(encoding="utf-8"))]


def _conversation(one: dict[str, Any]) -> Conversation:
    messages: list[Message] = []
    talk = one["conversation"]
    for session in sorted(int(key.split("_")[1]) for key in talk if re.fullmatch(r"session_\d+", key)):
        date = talk[f"session_{session}_date_time"].strip()
        begun = datetime.strptime(date, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).timestamp()
        for nth, turn in enumerate(talk[f"session_{session}"]):
            caption = turn.get("blip_caption")
            text = f"{turn['text']} [shares {caption}]" if caption else str(turn["text"])
            name = f"D{session}:{int(turn['dia_id'].rpartition(':')[2])}"
            messages.append(
                Message("user", text, id=name, agent_id=turn["speaker"], created_at=begun + 20.0 * nth)
            )
    changes = TranscriptLeaves(one["sample_id"], "main").take(messages)
    asked = list(_questions(one["qa"], {message.id for message in messages}))
    leaves = changes.leaves if changes is not None else []
    return Conversation(one["sample_id"], messages, leaves, messages[-1].created_at + 1.0, asked)


def _questions(questions: list[dict[str, Any]], turns: set[str]) -> Iterator[Asked]:
    for question in questions:
        ids = (re.findall(r"D:?(\d+):(\d+)", one) for one in question["evidence"])
        evidence = frozenset(f"D{int(a)}:{int(b)}" for found in ids for a, b in found) & turns
        if evidence:
            yield Asked(question["question"], evidence)


# Methods


def quire(conversation: Conversation) -> Ranking:
    """The library as shipped: a session, its memory, and what the section for recall asks it."""
    store = MemoryStore()
    Session.open(scope="bench", conversation=conversation.name, store=store).append(*conversation.messages)
    memory = Memory(store, "bench", index=Index())
    asked = partial(recalled, memory, conversation=conversation.name, at=conversation.now, evident=True)
    return lambda text: asked(text)


def last(conversation: Conversation) -> Ranking:
    """The newest turns, whatever is asked."""
    quotes = [quote_leaf(leaf, conversation.name, str) for leaf in conversation.leaves[::-1]]
    return lambda _: quotes


def bm25(conversation: Conversation) -> Ranking:
    """The textbook, with stop words left out and stems: k1 = 1.2, b = 0.75."""
    bags = [Counter(terms(leaf.text)) for leaf in conversation.leaves]
    frequency = Counter(term for bag in bags for term in bag)
    mean = sum(bag.total() for bag in bags) / len(bags)

    def score(asked: set[str], bag: Counter[str]) -> float:
        length = 1.2 * (0.25 + 0.75 * bag.total() / mean)
        rarity = {t: log(1 + (len(bags) - frequency[t] + 0.5) / (frequency[t] + 0.5)) for t in asked}
        return sum(rarity[term] * 2.2 * bag[term] / (bag[term] + length) for term in asked & bag.keys())

    def ranking(question: str) -> list[Quote]:
        asked = set(terms(question))
        scores = [score(asked, bag) for bag in bags]
        best = sorted(range(len(bags)), key=lambda nth: (-scores[nth], nth))
        return [quote_leaf(conversation.leaves[nth], conversation.name, str) for nth in best]

    return ranking


def of_the_harness(python: str, conversation: Conversation) -> Ranking:
    """The tool that Pydantic AI's Harness gives a model to search its conversation with."""
    asked = {
        "turns": [f"{leaf.speaker}: {leaf.text}" for leaf in conversation.leaves],
        "questions": [question.text for question in conversation.questions],
    }
    command = [python, str(Path(__file__).with_name("harness.py")), "search"]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    page.progress(f"harness: {median(found['ms']):.1f} ms a search in {len(asked['turns'])} turns")
    ranked = dict(zip(asked["questions"], found["ranked"], strict=True))
    leaves = conversation.leaves
    return lambda text: [quote_leaf(leaves[nth], conversation.name, str) for nth in ranked[text]]


METHODS = {"quire": quire, "bm25": bm25, "last": last}

# Scores

_tokens = Measured("cl100k_base").text


def count(item: Item) -> int:
    """The tokens of a text by itself."""
    assert isinstance(item, Message) and isinstance(item.content, str)
    return _tokens(item.content)


@dataclass(frozen=True)
class Row:
    """One question: shares of its evidence by budget and by cut, and one by the rank of the first."""

    shown: tuple[float, ...]
    ranked: tuple[float, ...]
    first: float


def rows(conversation: Conversation, ranking: Ranking, budgets: Sequence[int]) -> list[Row]:
    """Every question of a conversation."""
    found: list[Row] = []
    for question in conversation.questions:
        best, evidence = ranking(question.text), question.evidence
        blocks = [{one.id for one in Quotes(best).select(budget, count).quotes} for budget in budgets]
        ids = [one.id for one in best]
        shown = tuple(len(evidence & block) / len(evidence) for block in blocks)
        ranked = tuple(len(evidence & set(ids[:cut])) / len(evidence) for cut in CUTS)
        first = next((1 / rank for rank, name in enumerate(ids, 1) if name in evidence), 0.0)
        found.append(Row(shown, ranked, first))
    return found


def figures(found: Sequence[Row], budgets: Sequence[int]) -> dict[str, Any]:
    """The figures of one method, in percent."""
    whole = [[float(share == 1.0) for share in row.shown] for row in found]
    return {
        **dict(
            zip((f"ER@{budget}" for budget in budgets), _means([row.shown for row in found]), strict=True)
        ),
        **dict(zip((f"All@{budget}" for budget in budgets), _means(whole), strict=True)),
        **dict(zip((f"R@{cut}" for cut in CUTS), _means([row.ranked for row in found]), strict=True)),
        "MRR": _means([(row.first,) for row in found])[0],
    }


def _means(shares: Sequence[Sequence[float]]) -> list[float]:
    return [round(100 * sum(column) / len(column), 2) for column in zip(*shares, strict=True)]


def surfaced(found: Sequence[Conversation], prompts: Sequence[str]) -> str:
    """How often the section for recall brings something back for prompts that nothing answers."""
    template = Template(Recall(), budget=Budget(window=16_000))
    total, pairs = 0, len(found) * len(prompts)
    for one in found:
        session = Session.open(scope="bench", conversation=one.name, store=MemoryStore())
        session.append(*one.messages)
        with use_clock(partial(float, one.now)):
            total += sum(bool(session.build(template, input=Message("user", text)).items) for text in prompts)
    return f"false-surface rate: {total} of {pairs}, {100 * total / pairs:.1f} %"


# Speed

SIZES = (700, 100_000)
_LIMIT, _ASKED, _ROUNDS = 200, 200, 3


def speed(found: Sequence[Conversation], sizes: Sequence[int]) -> dict[str, Any]:
    """Milliseconds by size, library and work: ours beside SQLite's full text search, in one run."""
    questions = [question.text for one in found for question in one.questions][:_ASKED]
    leaves = {size: made_up(found, size) for size in sizes}
    return {
        str(size): {"quire": _ours(some, questions), "sqlite fts5": _sqlite(some, questions)}
        for size, some in leaves.items()
    }


def made_up(found: Sequence[Conversation], size: int) -> list[Leaf]:
    """A long history: each leaf is the first half of one turn and the second half of another."""
    chance, turns = Random(7), [leaf for one in found for leaf in one.leaves]

    def mixed(nth: int) -> Leaf:
        one, other = chance.choice(turns), chance.choice(turns)
        first, second = one.text.split(), other.text.split()
        text = " ".join(first[: len(first) // 2 + 1] + second[len(second) // 2 :])
        at, key = turns[0].at + nth // 20 * 43_200.0 + nth * 20.0, f"t{nth}"
        return replace(one, source="", key=key, order=nth, stretch=nth // 20, ids=(key,), at=at, text=text)

    return [mixed(nth) for nth in range(size)]


def _ours(leaves: Sequence[Leaf], questions: Sequence[str]) -> dict[str, Any]:
    index, now = Index(), leaves[-1].at + 1.0

    def search(text: str) -> Any:
        return index.search(Question.of(text, now), limit=_LIMIT)

    def build(text: str) -> Any:
        return Quotes(HitQuotes(once(search(text).hits), "made up")).select(2_048, count)

    indexing = _timed(lambda leaf: index.put((leaf,)), leaves)
    return {"indexing": indexing, "search": _best(search, questions), "building": _best(build, questions)}


def _sqlite(leaves: Sequence[Leaf], questions: Sequence[str]) -> dict[str, Any]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE VIRTUAL TABLE said USING fts5(text, tokenize='porter unicode61')")
    chosen = "SELECT rowid FROM said WHERE said MATCH ? ORDER BY bm25(said) LIMIT ?"

    def search(text: str) -> Any:
        any_of = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        return connection.execute(chosen, (any_of, _LIMIT)).fetchall()

    put = partial(connection.execute, "INSERT INTO said VALUES (?)")
    return {"indexing": _timed(lambda leaf: put((leaf.text,)), leaves), "search": _best(search, questions)}


def _best(call: Callable[[Any], Any], questions: Sequence[str]) -> dict[str, float]:
    return min((_timed(call, questions) for _ in range(_ROUNDS)), key=lambda one: one["mean"])


def _timed(call: Callable[[Any], Any], given: Sequence[Any]) -> dict[str, float]:
    """Milliseconds of a call for each of what is given, with the garbage collector on."""
    gc.collect()
    taken: list[float] = []
    for one in given:
        start = time.perf_counter()
        call(one)
        taken.append(1e3 * (time.perf_counter() - start))
    taken.sort()
    p50, p99 = taken[len(taken) // 2], taken[len(taken) * 99 // 100]
    return {"mean": sum(taken) / len(taken), "p50": p50, "p99": p99}


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--budget", type=int, nargs="+", default=list(BUDGETS), metavar="N")
    parser.add_argument("--peers", metavar="PYTHON", help="the Python that has the peers")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    parser.add_argument("--unrelated", type=Path, metavar="PROMPTS")
    options = parser.parse_args()
    found = conversations(options.path)
    if options.unrelated:
        print(surfaced(found, options.unrelated.read_text(encoding="utf-8").splitlines()))
        return
    if options.speed:
        times = speed(found, options.sizes)
        cells = [
            (size, name, work, *one.values())
            for size, libraries in times.items()
            for name, done in libraries.items()
            for work, one in done.items()
        ]
        text = page.table(
            ("leaves", "library", "work", "mean ms", "median", "99th percentile"), cells, left=3
        )
        page.report(options, {"": text}, {"speed": times})
        return
    ways = dict(METHODS)
    if options.peers:
        ways["pydantic-ai-harness"] = partial(of_the_harness, options.peers)
    asked = {
        name: [row for one in found for row in rows(one, method(one), options.budget)]
        for name, method in ways.items()
    }
    methods = {name: figures(some, options.budget) for name, some in asked.items()}
    text = page.table(("", *methods["quire"]), [(name, *one.values()) for name, one in methods.items()])
    page.report(options, {"": text}, {"methods": methods})


if __name__ == "__main__":
    main()
