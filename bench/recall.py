"""Recall on conversations in the format of LoCoMo: how much evidence is shown, how fast, how often wrongly.

Usage: python bench/recall.py PATH ... [--budget N ...] [--kinds] [--peers PYTHON] [--json]
       python bench/recall.py PATH ... --speed [--sizes N ...] [--json]
       python bench/recall.py PATH ... --unrelated PROMPTS

ER@B is the mean share of a question's evidence that is shown in a block of B tokens (cl100k, as the section
`Recall` writes it), with its standard error. A message counts as shown if it is there whole, or if that
sentence of it is there that has most in common with the answer. Questions without evidence are left out. A
speaker called `User` or `Assistant` is recorded under that role, anybody else as a user with a name. `facts`
are the kinds of question that ask for something said. Of questions about a value that changed, `newer` is the
share for which the newer is shown within 256 tokens, `first` that for which it ranks before the older.

`quire` is the library as shipped; `bm25` is the textbook over messages, with stop words and stems; `exchange`
the textbook over exchanges: a message whole and the first words of its reply; `wishes` the standing
instructions and preferences; `last` takes the newest messages. With --peers, the tool for search of Pydantic
AI's Harness ranks the messages. --unrelated counts
prompts, one on a line, for which something is recalled although nothing answers them.
"""

import gc
import json
import re
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from math import log
from pathlib import Path
from random import Random
from statistics import fmean, median, stdev
from typing import Any, Literal

from msgspec.structs import replace

import page
from quire.context import Template
from quire.items import Item, Message, use_clock
from quire.memory import Leaf, Memory, Recall, recalled
from quire.memory.follower import TranscriptLeaves
from quire.memory.hits import group_same_words
from quire.memory.index import Index
from quire.memory.quotes import Quote, Quotes
from quire.memory.ranking import Question
from quire.memory.recall import HitQuotes, quote_leaf
from quire.memory.wishes import quote_wish
from quire.memory.words import language_of, terms
from quire.session import Session
from quire.stores import MemoryStore
from quire.tokens import Budget, Measured

BUDGETS = (1024, 2048, 4096)
ROLES: dict[str, Literal["user", "assistant"]] = {"User": "user", "Assistant": "assistant"}
FACTS = {
    "information_extraction",
    "knowledge_update",
    "contradiction_resolution",
    "temporal_reasoning",
    "multi_session_reasoning",
}
TIGHT = 256
"""Tokens within which the newer of two values is to be shown."""

Ranking = Callable[[str], Sequence[Quote]]
"""A question to quotes, best first."""

# Conversations


@dataclass(frozen=True)
class Asked:
    """A question, its answer, and the ids of the messages that hold it, the newer and older of a change."""

    text: str
    answer: str
    kind: str
    evidence: frozenset[str]
    newer: frozenset[str]
    older: frozenset[str]


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
            role = ROLES.get(turn["speaker"])
            speaker = None if role else turn["speaker"]
            at = begun + 20.0 * nth
            messages.append(Message(role or "user", text, id=name, agent_id=speaker, created_at=at))
    changes = TranscriptLeaves(one["sample_id"], "main").apply(messages)
    asked = list(_questions(one["qa"], {message.id for message in messages}))
    leaves = changes.leaves if changes is not None else []
    return Conversation(one["sample_id"], messages, leaves, messages[-1].created_at + 1.0, asked)


def _questions(questions: list[dict[str, Any]], turns: set[str]) -> Iterator[Asked]:
    def ids(of: Any) -> frozenset[str]:
        found = (re.findall(r"D:?(\d+):(\d+)", one) for one in of or ())
        return frozenset(f"D{int(a)}:{int(b)}" for some in found for a, b in some) & turns

    for question in questions:
        if evidence := ids(question["evidence"]):
            kind = str(question.get("kind") or f"category {question['category']}")
            answer = str(question.get("answer") or question.get("adversarial_answer") or "")
            newer, older = ids(question.get("updated")), ids(question.get("original"))
            yield Asked(question["question"], answer, kind, evidence, newer, older - newer)


# Methods


def quire(conversation: Conversation) -> Ranking:
    """The library as shipped: a session, its memory, and what the section for recall asks it."""
    store = MemoryStore()
    Session.open(scope="bench", conversation=conversation.name, store=store).append(*conversation.messages)
    memory = Memory(store, "bench", index=Index())
    asked = partial(recalled, memory, conversation=conversation.name, at=conversation.now, evident=True)
    return lambda text: asked(text)


def wishes(conversation: Conversation) -> Ranking:
    """Standing instructions and preferences, whatever is asked: for the kinds that are about them."""
    store = MemoryStore()
    Session.open(scope="bench", conversation=conversation.name, store=store).append(*conversation.messages)
    found = Memory(store, "bench", index=Index()).wishes(conversation.name)
    quotes = [*map(quote_wish, found)]
    return lambda _: quotes


def last(conversation: Conversation) -> Ranking:
    """The newest turns, whatever is asked."""
    quotes = [quote_leaf(leaf, conversation.name, str) for leaf in conversation.leaves[::-1]]
    return lambda _: quotes


def bm25(conversation: Conversation) -> Ranking:
    """The textbook over messages."""
    ranked = _textbook([leaf.text for leaf in conversation.leaves])
    quotes = [quote_leaf(leaf, conversation.name, str) for leaf in conversation.leaves]
    return lambda question: [quotes[nth] for nth in ranked(question)]


def exchange(conversation: Conversation) -> Ranking:
    """The textbook over exchanges: the user's message whole, and 60 tokens or so of the reply."""
    exchanges: list[list[Leaf]] = []
    for leaf in conversation.leaves:
        if leaf.after:
            exchanges[-1].append(leaf)
        else:
            exchanges.append([leaf])
    ranked = _textbook(["\n".join(leaf.text for leaf in one) for one in exchanges])

    def ranking(question: str) -> list[Quote]:
        leaves = (leaf for nth in ranked(question) for leaf in exchanges[nth])
        shown = (replace(leaf, text=leaf.text[:_REPLY]) if leaf.after else leaf for leaf in leaves)
        return [quote_leaf(leaf, conversation.name, str)._replace(shorter=None) for leaf in shown]

    return ranking


_REPLY = 240
"""Characters of a reply that the textbook quotes."""


def _textbook(texts: Sequence[str]) -> Callable[[str], list[int]]:
    """Places of texts, best first, by BM25 with stop words left out and stems: k1 = 1.2, b = 0.75."""
    bags = [Counter(terms(text)) for text in texts]
    frequency = Counter(term for bag in bags for term in bag)
    mean = sum(bag.total() for bag in bags) / len(bags)

    def score(asked: set[str], bag: Counter[str]) -> float:
        length = 1.2 * (0.25 + 0.75 * bag.total() / mean)
        rarity = {t: log(1 + (len(bags) - frequency[t] + 0.5) / (frequency[t] + 0.5)) for t in asked}
        return sum(rarity[term] * 2.2 * bag[term] / (bag[term] + length) for term in asked & bag.keys())

    def ranking(question: str) -> list[int]:
        asked = set(terms(question))
        scores = [score(asked, bag) for bag in bags]
        return sorted(range(len(bags)), key=lambda nth: (-scores[nth], nth))

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
    ranked: dict[str, list[int]] = dict(zip(asked["questions"], found["ranked"], strict=True))
    leaves = conversation.leaves
    return lambda text: [quote_leaf(leaves[nth], conversation.name, str) for nth in ranked[text]]


METHODS = {"quire": quire, "bm25": bm25, "exchange": exchange, "wishes": wishes, "last": last}

# Scores

_tokens = Measured("cl100k_base").text


def count(item: Item) -> int:
    """The tokens of a text by itself."""
    assert isinstance(item, Message) and isinstance(item.content, str)
    return _tokens(item.content)


@dataclass(frozen=True)
class Row:
    """One question: shares of its evidence that are shown, by budget; and how a changed value fared."""

    kind: str
    shown: tuple[float, ...]
    newer: float | None = None
    first: float | None = None


def rows(conversation: Conversation, ranking: Ranking, budgets: Sequence[int]) -> list[Row]:
    """Every question of a conversation."""
    texts = {message.id: message.text for message in conversation.messages}
    found: list[Row] = []
    for question in conversation.questions:
        best = ranking(question.text)
        passages = {one: (texts[one], _telling(texts[one], question.answer)) for one in question.evidence}
        blocks = [_shown(best, budget, passages) for budget in (*budgets, TIGHT)]
        shown = tuple(len(block) / len(passages) for block in blocks[:-1])
        newer = first = None
        if question.newer and question.older:
            newer = float(bool(question.newer & blocks[-1]))
            places = {one.id: -nth for nth, one in enumerate(best)}
            newest, oldest = (
                max((places.get(one, -len(best)) for one in ids), default=0)
                for ids in (question.newer, question.older)
            )
            first = float(newest > oldest)
        found.append(Row(question.kind, shown, newer, first))
    return found


def _shown(quotes: Sequence[Quote], budget: int, passages: Mapping[str, tuple[str, str]]) -> set[str]:
    """Which messages a block of quotes shows: whole, or the passage that tells the answer."""
    block = Quotes(quotes).select(budget, count).quotes
    lines = {one.first: _plain(one.line) for one in block if one.first in passages}
    return {one for one, line in lines.items() if any(_plain(text) in line for text in passages[one])}


def _telling(text: str, answer: str) -> str:
    """The sentence of a text that has most in common with an answer."""
    asked = set(terms(answer))
    language = language_of(text)
    sentences = [one for one in _SENTENCES.split(text) if one.strip()]
    return max(sentences, key=lambda one: len(asked & set(terms(one, language=language))), default=text)


_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")


def _plain(text: str) -> str:
    return " ".join(re.sub(r"^\| ?", "", text, flags=re.MULTILINE).split())


def table(by_method: Mapping[str, Sequence[Row]], budgets: Sequence[int], *, kinds: bool) -> list[list[Any]]:
    """A row for each method and group of questions: means in percent with their standard errors."""
    groups: dict[str, Callable[[Row], bool]] = {"all": lambda row: True}
    present = sorted({row.kind for rows in by_method.values() for row in rows})
    if FACTS & set(present):
        groups["facts"] = lambda row: row.kind in FACTS
    if kinds:
        groups |= {kind: lambda row, kind=kind: row.kind == kind for kind in present}  # type: ignore[misc]
    lines: list[list[Any]] = []
    for group, belongs in groups.items():
        for method, found in by_method.items():
            some = [row for row in found if belongs(row)]
            columns = [[row.shown[nth] for row in some] for nth in range(len(budgets))]
            changed = [[one for row in some if (one := getattr(row, name)) is not None] for name in CHANGED]
            lines.append([group, method, len(some), *map(_mean, (*columns, *changed))])
    return lines


CHANGED = ("newer", "first")


def _mean(values: Sequence[float]) -> str:
    """The mean in percent, and its standard error."""
    if not values:
        return "-"
    error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{100 * fmean(values):.1f} ± {100 * error:.1f}"


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
        return Quotes(HitQuotes(group_same_words(search(text).hits), "made up", is_weak=False)).select(
            2_048, count
        )

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
    parser.add_argument("paths", type=Path, nargs="+", metavar="PATH")
    parser.add_argument("--budget", type=int, nargs="+", default=list(BUDGETS), metavar="N")
    parser.add_argument("--kinds", action="store_true", help="a row for each kind of question too")
    parser.add_argument("--peers", metavar="PYTHON", help="the Python that has the peers")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    parser.add_argument("--unrelated", type=Path, metavar="PROMPTS")
    options = parser.parse_args()
    sets = {path.stem: conversations(path) for path in options.paths}
    if options.unrelated:
        prompts = options.unrelated.read_text(encoding="utf-8").splitlines()
        for name, found in sets.items():
            print(f"{name}: {surfaced(found, prompts)}")
        return
    if options.speed:
        found = [one for some in sets.values() for one in some]
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
    tables = dict[str, list[list[Any]]]()
    for name, found in sets.items():
        asked = {
            way: [row for one in found for row in rows(one, method(one), options.budget)]
            for way, method in ways.items()
        }
        tables[name] = table(asked, options.budget, kinds=options.kinds)
    head = ("questions", "method", "n", *(f"ER@{one}" for one in options.budget), *CHANGED)
    texts = {name: page.table(head, lines, left=2) for name, lines in tables.items()}
    page.report(options, texts, {"sets": tables})


if __name__ == "__main__":
    main()
