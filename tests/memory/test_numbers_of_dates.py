"""The numbers of a date that a question names are those of a time, and not so many of something."""

import asyncio
import json
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given, strategies as st

from quire import Session
from quire.agent import Agent
from quire.agent.builtin import recall_tools
from quire.context import Template
from quire.items import Message, ToolCall, ToolResult
from quire.memory import Memory, Recall, recalled
from quire.memory.index import Question
from quire.models import Scripted
from quire.sections import History, Input, Instructions
from quire.stores import MemoryStore
from quire.tokens import Budget
from tests.memory.index.every import INDEXES
from tests.memory.index.leaves import said

DAY = 86_400.0
NOW = datetime(2026, 8, 1, 9, tzinfo=UTC).timestamp()
THINGS = ["invoices", "printers", "laptops", "badges", "windows", "contracts"]
ASKED = "How many did we sell on 12 June 2026?"
HEADING = "[Friday 12 June 2026"


def sales(seed: int, days: int = 90, each: int = 6) -> MemoryStore:
    store, drawn = MemoryStore(), Random(seed)
    Session.open("ops/notes", store=store).append(
        *(
            Message(
                "user",
                f"Sold {drawn.randint(1, 40)} {THINGS[nth % 6]} today.",
                created_at=NOW - (days - nth // each) * DAY + nth % each * 60,
            )
            for nth in range(days * each)
        )
    )
    return store


def of_the_day(text: str) -> int:
    blocks = text.split("\n[")
    return sum(block.count("Sold ") for block in blocks if f"[{block}".startswith(HEADING))


def built(store: MemoryStore, *, as_input: bool) -> str:
    session, question = Session.open("ops/new", store=store), Message("user", ASKED, created_at=NOW)
    sections = Instructions("Help."), History(), Recall(tokens=400), Input()
    template = Template(*sections, budget=Budget(window=2_500))
    if not as_input:
        session.append(question)
    context = session.build(template, input=question if as_input else None)
    return str(next(one for one in context.render("openai")["messages"] if "<recalled>" in one["content"]))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("as_input", [True, False])
def test_all_of_the_day_is_told_however_the_question_is_put(seed: int, as_input: bool) -> None:
    assert of_the_day(built(sales(seed), as_input=as_input).replace("\\n", "\n")) == 6


def test_the_tool_tells_the_day() -> None:
    session = Session.open("ops/new", store=sales(1))
    call = ToolCall("c", "recall", json.dumps({"question": ASKED}))
    agent = Agent(session, model=Scripted([[call], "Many."]), tools=recall_tools())
    asyncio.run(agent.ask("Please look up the sales."))
    (result,) = [item for item in session.view() if isinstance(item, ToolResult)]
    assert of_the_day(result.text) == 6


@pytest.mark.parametrize(
    "date", ["12 June 2026", "June 12", "2026-06-12", "12.06.2026", "12 juin 2026", "the 12th of June"]
)
def test_a_number_of_the_date_answers_nothing_by_itself(date: str) -> None:
    found = recalled(Memory(sales(3), "ops"), f"What did we sell on {date}?", at=NOW)[:5]
    assert {datetime.fromtimestamp(one.at, UTC).day for one in found} == {12}
    assert not any('"12"' in one.why() for one in found)


@pytest.mark.parametrize(
    ("date", "days"),
    [
        ("13/6/2026", {(6, 13)}),
        ("7-6-2026", {(6, 7), (7, 6)}),
        ("6/7/2026", {(6, 7), (7, 6)}),
        ("Jun 12 '26", {(6, 12)}),
        ("June 12 this year", {(6, 12)}),
    ],
)
def test_every_day_that_a_date_may_mean_is_found(date: str, days: set[tuple[int, int]]) -> None:
    hits = Memory(sales(3), "ops").search(f"What did we sell on {date}?", at=NOW).hits[: 6 * len(days)]
    found = [datetime.fromtimestamp(hit.leaf.at, UTC) for hit in hits]
    assert {(at.month, at.day) for at in found} == days
    assert all("from " in hit.reason and '"6"' not in hit.reason for hit in hits)


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("date", ["12 June 2026", "2026-06-12"])
def test_what_says_the_date_is_found_by_it(name: str, date: str) -> None:
    """A text from another day, which is before all others that only have one of its numbers."""
    texts = ["The launch is on 12 June 2026.", "The launch had 12 guests.", "The launch in June was fine."]
    with INDEXES[name]() as index:
        index.put([said(text, nth * 100) for nth, text in enumerate(texts)])
        hits = index.search(Question.of(f"Which launch is on {date}?", NOW)).hits
        reasons = [hit.reason for hit in hits]
    assert hits[0].leaf.text == texts[0] and '"12"' in reasons[0]
    assert not any('"12"' in reason for reason in reasons[1:])


def test_a_number_that_is_also_asked_for_counts() -> None:
    both = Question.of("Who bought 12 lamps on 12 June 2026?", NOW).dated
    assert both.is_word("12") and not both.is_word("2026")
    assert Question.of("What was it in 2023?", NOW).dated.is_word("2023")
    assert not Question.of("What was it 3 days ago?", NOW).dated.is_word("3")
    assert not Question.of("Was it on 3 May or on 9 May?", NOW).dated.is_word("9")


TURNS = ["the red lamp", "which lamp?", "a lamp of 12 June", "12 lamps", "blue", "the lamp fell"]


@pytest.mark.laws
@pytest.mark.parametrize("name", INDEXES)
@given(texts=st.lists(st.sampled_from(TURNS), max_size=12))
def test_the_turn_that_asks_is_no_answer_and_lends_nothing(name: str, texts: list[str]) -> None:
    asked = "Which red lamp fell on 12 June 2026?"
    leaves = [said(text, nth, at=NOW - nth * DAY) for nth, text in enumerate(texts)]
    own = said(asked, len(texts), at=NOW)
    question = Question.of(asked, NOW).asked_in([(own.source, own.key)])
    with INDEXES[name]() as index:
        index.put(leaves)
        without = {hit.leaf.key for hit in index.search(question).hits}
        index.put([own])
        assert {hit.leaf.key for hit in index.search(question).hits} == without


def test_beside_the_turn_that_asks_nothing_is_found_by_its_words() -> None:
    store = MemoryStore()
    session = Session.open("ana/chat", store=store)
    session.append(
        Message("user", "The word for the locker is heliotrope.", created_at=NOW - DAY),
        Message("user", "Good weather here.", created_at=NOW - 5),
        question := Message("user", "Which word opens the locker?", created_at=NOW),
    )
    turns = [("chat", question.id)]
    hits = Memory(store, "ana").search(question.text, at=NOW, asked_in=turns).hits
    assert [hit.leaf.text for hit in hits] == ["The word for the locker is heliotrope."]
    assert hits[0].score == pytest.approx(1.0)


def test_numbers_of_a_date_count_beside_its_month_and_not_beside_its_day_of_the_week() -> None:
    asked = Question.of("What did we do on Friday 12 June 2026?", NOW)
    assert asked.dated.beside == {"june"} and "friday" in asked.dated.named
