"""Questions that name a time: its day, in the zone of who asks, comes first, and its words find nothing."""

import tomllib
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from quire.items import Message
from quire.memory import Memory, Recall
from quire.memory.ranking import Question
from quire.session import Session
from quire.stores import MemoryStore, Store
from tests.memory.talks import built, opened, quoted

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


@pytest.mark.parametrize("date", ["12 June 2026", "June 12", "2026-06-12", "the 12th of June"])
def test_the_named_day_comes_first_and_its_numbers_find_nothing(date: str) -> None:
    texts = [(f"Sold {(7 * nth) % 31} windows today.", at(1, 5) + nth * DAY) for nth in range(90)]
    hits = memory(texts).search(f"What did we sell on {date}?", at=NOW).hits
    assert datetime.fromtimestamp(hits[0].leaf.at, UTC).strftime("%d %m") == "12 06"
    assert not any('"12"' in hit.reason for hit in hits)


@pytest.mark.parametrize(("question", "words"), ROWS["looked_for"].items())
def test_which_words_are_looked_for(question: str, words: str) -> None:
    assert " ".join(Question.of(question, NOW).terms) == words


# Zones

WEST = "America/Los_Angeles"
PLUMBER, HALL = "The plumber comes Thursday.", "The landlord agreed to paint the hall."


def there(day: int, hour: int, month: int = 11) -> float:
    return datetime(2026, month, day, hour, 30, tzinfo=ZoneInfo(WEST)).timestamp()


def kept(store: Store | None = None) -> Store:
    store = MemoryStore() if store is None else store
    said = [
        Message("user", PLUMBER, created_at=there(15, 19)),
        Message("user", HALL, created_at=there(16, 9)),
    ]
    opened("ana/a", store).append(*said)
    return store


@pytest.mark.parametrize("zone", [WEST, ZoneInfo(WEST), timezone(timedelta(hours=-8)), None])
def test_days_are_those_of_the_zone_or_else_of_utc(zone: str | tzinfo | None) -> None:
    mine = Memory(kept(), "ana") if zone is None else Memory(kept(), "ana", zone=zone)
    is_utc = zone is None
    for question, said in {
        "What did we talk about today?": [] if is_utc else [HALL],
        "What did we talk about yesterday?": [PLUMBER, HALL] if is_utc else [PLUMBER],
    }.items():
        hits = mine.search(question, at=there(16, 17)).hits  # a Monday there, and Tuesday in UTC
        assert [hit.leaf.text for hit in hits] == said, question


def told(store: Store, recall: Recall) -> str:
    session = opened("ana/later", store)
    session.user("When does the plumber come?")
    return quoted(built(session, recall, window=1_000))


def test_headings_and_reasons_tell_the_day_of_the_zone() -> None:
    sunday, monday = (
        (f"[{day} November 2026, conversation a]\nuser: The") for day in ("Sunday 15", "Monday 16")
    )
    assert monday in told(kept(), Recall())
    store = kept()
    Memory.of(store, "ana", zone=WEST)
    assert sunday in told(store, Recall()), "the zone is kept with the scope"
    assert monday in told(store, Recall(memory=Memory(store, "ana"))), "a section may have another"
    opened("bo/a", store).append(Message("user", HALL, created_at=there(31, 20, month=10)))
    question = "What did we talk about in October?"
    (hit,) = Memory(store, "bo", zone=WEST).search(question, at=there(16, 17)).hits
    assert hit.reason == "from October 2026"


def test_the_command_line_takes_a_zone(tmp_path: Path) -> None:
    pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")
    from tests.cli.command_line import ran

    kept(Store.open(str(tmp_path / "chats.db")))
    where = ("--scope", "ana", "--store", str(tmp_path / "chats.db"))
    assert "Sunday 15 November 2026" in ran("recall", "plumber", *where, "--zone", WEST).stdout
