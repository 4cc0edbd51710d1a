"""Questions that name a time: its day comes first, and its words are a time and not words to be found."""

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from quire.items import Message
from quire.memory import Memory
from quire.memory.ranking import Question
from quire.session import Session
from quire.stores import MemoryStore

ROWS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("times.toml").read_text("utf-8"))
DAY = 86_400.0
NOW = datetime(2026, 9, 23, 9, tzinfo=UTC).timestamp()  # a Wednesday
LONG_AGO = [
    "I go to the gym twice a week.",
    "Two weeks is the last word on it.",
    "We talk and speak a lot, said Tom, and ask what happened ten days ago.",
    "Jede Woche, jeden Monat, das letzte Jahr und gestern.",
    "On Monday I have the dentist.",
]
THEN = ["We signed the Dupont contract.", "The boiler is repaired.", "A cello came."]


def at(day: int, month: int = 9) -> float:
    return datetime(2026, month, day, 10, tzinfo=UTC).timestamp()


def memory(texts: list[tuple[str, float]]) -> Memory:
    """Each text in a conversation of its own, so that none lends its words to another."""
    store = MemoryStore()
    for nth, (text, when) in enumerate(texts):
        Session.open(f"ana/{nth}", store=store).append(Message("user", text, created_at=when))
    return Memory(store, "ana")


def answers(texts: list[tuple[str, float]], question: str) -> list[tuple[str, str]]:
    return [(hit.leaf.text, hit.reason) for hit in memory(texts).search(question, at=NOW).hits]


@pytest.mark.parametrize(("question", "day"), ROWS["asks_for_a_time"].items())
def test_who_asks_for_a_time_alone_gets_what_was_said_then(question: str, day: int) -> None:
    texts = [(text, at(1 + nth, 3)) for nth, text in enumerate(LONG_AGO)]
    found = [text for text, _ in answers([*texts, *((text, at(day)) for text in THEN)], question)]
    assert sorted(found[:3]) == sorted(THEN)
    assert found[3:] == []


@pytest.mark.parametrize(
    "date", ["12 June 2026", "June 12", "2026-06-12", "12.06.2026", "12 juin 2026", "the 12th of June"]
)
def test_the_named_day_comes_first_and_its_numbers_find_nothing(date: str) -> None:
    texts = [(f"Sold {(7 * nth) % 31} windows today.", at(1, 5) + nth * DAY) for nth in range(90)]
    hits = memory(texts).search(f"What did we sell on {date}?", at=NOW).hits
    assert datetime.fromtimestamp(hits[0].leaf.at, UTC).strftime("%d %m") == "12 06"
    assert not any('"12"' in hit.reason for hit in hits)


def test_a_date_that_is_said_is_found_by_its_numbers() -> None:
    texts = ["The launch is on 12 June 2026.", "The launch had 12 guests.", "The launch in June was fine."]
    found = answers([(text, at(1)) for text in texts], "Which launch is on 12 June 2026?")
    assert found[0][0] == texts[0] and '"12"' in found[0][1]
    assert not any('"12"' in reason for _, reason in found[1:])


def test_a_distance_counts_where_it_is_said_beside_something_else() -> None:
    texts = [
        "Last year I helped in my home town.",
        "I helped twice a year in the end.",
        "It was all last year.",
    ]
    (first, reason), (second, other) = answers([(text, at(1)) for text in texts], "How did I help last year?")
    assert first == texts[0] and '"year"' in reason
    assert second == texts[1] and '"year"' not in other


@pytest.mark.parametrize(("question", "words"), ROWS["looked_for"].items())
def test_which_words_are_looked_for(question: str, words: str) -> None:
    assert " ".join(Question.of(question, NOW).terms) == words
