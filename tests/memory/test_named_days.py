"""A question that names a day is answered from that day, and from the days after it only then."""

from datetime import UTC, datetime

import pytest

from quire import Session
from quire.context import Template
from quire.items import Message
from quire.memory import Memory, Recall
from quire.memory.index import Question
from quire.memory.leaf import Leaf
from quire.sections import History, Instructions
from quire.stores import MemoryStore
from quire.tokens import Budget
from tests.memory.index.every import INDEXES

DAY = 86_400.0
NOW = datetime(2026, 8, 1, 9, tzinfo=UTC).timestamp()
_WORDS = "Alpha Bravo Charlie Delta Echo Foxtrot Golf Hotel India Juliett Kilo Lima Mike"
WORDS = _WORDS.split(" ")


def standups(days: int, each: int) -> MemoryStore:
    store = MemoryStore()
    session = Session.open("ops/notes", store=store)
    for nth in range(days * each):
        name = f"{WORDS[nth % 13]}{WORDS[nth // 13 % 13]}{WORDS[nth // 169 % 13]}"
        at = NOW - (days - nth // each) * DAY + nth % each * 60
        session.append(
            Message("user", f"Standup: the team decided to ship {name} first.", created_at=at),
            Message("assistant", f"Noted for {name}.", created_at=at + 5),
        )
    return store


@pytest.mark.parametrize(
    ("days", "each", "limit", "tokens"),
    [(90, 1, None, 300), (90, 1, 5, 1_024), (90, 4, 5, 1_024), (180, 10, None, 400)],
)
@pytest.mark.parametrize(
    "question",
    [
        "What did the team decide to ship in the standup on 12 June 2026?",
        "What did the team decide in the standup on 2026-06-12?",
        "What did the team decide to ship on June 12?",
    ],
)
def test_the_day_that_is_named_comes_first(
    days: int, each: int, limit: int | None, tokens: int, question: str
) -> None:
    store = standups(days, each)
    best = Memory(store, "ops").search(question, limit=1, at=NOW).hits[0]
    assert datetime.fromtimestamp(best.leaf.at, UTC).day == 12
    session = Session.open("ops/notes", store=store)
    session.append(Message("user", question, created_at=NOW))
    recall = Recall(limit=limit, tokens=tokens)
    template = Template(Instructions("Help."), History(), recall, budget=Budget(window=700))
    text = str(session.build(template).render("openai")["messages"][-1]["content"])
    assert "[Friday 12 June 2026]" in text


def test_what_is_told_some_days_later_is_found_before_what_is_told_long_after() -> None:
    store = MemoryStore()
    session = Session.open("ana/one", store=store)
    for day in (1, 8, 15, 40):
        at = datetime(2026, 5, 1, tzinfo=UTC).timestamp() + day * DAY
        session.append(Message("user", f"The race was a joy, says number {day}.", created_at=at))
    hits = Memory(store, "ana").search("How was the race on 7 May 2026?", at=NOW).hits
    assert hits[0].leaf.text.endswith("number 8.")


@pytest.mark.parametrize("name", INDEXES)
def test_every_index_finds_the_day_where_all_days_have_the_same_words(name: str) -> None:
    """More of it than is looked at: a window of places is chosen."""
    leaves = [
        Leaf(
            source="notes",
            key=f"k{nth}",
            order=nth,
            stretch=nth // 60,
            ids=(f"k{nth}",),
            kind="said",
            at=NOW - (60 - nth // 60) * DAY + nth % 60,
            speaker="user",
            text=f"The team decided in the budget meeting on plan {WORDS[nth % 13]} of {nth}.",
        )
        for nth in range(60 * 60)
    ]
    with INDEXES[name]() as index:
        index.put(leaves)
        asked = Question.of("What did the team decide in the budget meeting on 12 June 2026?", NOW)
        hits = index.search(asked, limit=40).hits
    assert {datetime.fromtimestamp(hit.leaf.at, UTC).day for hit in hits} == {12}
