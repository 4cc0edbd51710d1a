"""Days are those of the zone that the asker gives: in what is found, in headings, and on the command line."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from quire.context import Template
from quire.errors import InvalidValue, WrongType
from quire.items import Message
from quire.memory import Memory, Recall
from quire.session import Session
from quire.stores import MemoryStore, Store
from quire.tokens import Budget

WEST = "America/Los_Angeles"
SAN_FRANCISCO = ZoneInfo(WEST)
PLUMBER, HALL = "The plumber comes Thursday.", "The landlord agreed to paint the hall."


def at(day: int, hour: int, month: int = 11) -> float:
    return datetime(2026, month, day, hour, 30, tzinfo=SAN_FRANCISCO).timestamp()


ASKED = at(16, 17)  # a Monday there, and Tuesday in UTC


def kept(store: Store | None = None) -> Store:
    store = MemoryStore() if store is None else store
    session = Session.open("ana/a", store=store)
    session.append(Message("user", PLUMBER, created_at=at(15, 19)))
    session.append(Message("user", HALL, created_at=at(16, 9)))
    return store


def found(memory: Memory, question: str) -> list[str]:
    return [hit.leaf.text for hit in memory.search(question, at=ASKED).hits]


@pytest.mark.parametrize("zone", [WEST, SAN_FRANCISCO, timezone(timedelta(hours=-8))])
def test_today_is_that_of_the_zone(zone: str | tzinfo) -> None:
    memory = Memory(kept(), "ana", zone=zone)
    for question, said in {
        "What did we talk about today?": [HALL],
        "What did we talk about yesterday?": [PLUMBER],
        "What did I say last night?": [PLUMBER],
        "What did we talk about on 15 November?": [PLUMBER],
    }.items():
        assert found(memory, question) == said, question


def test_without_a_zone_days_are_those_of_utc() -> None:
    memory = Memory(kept(), "ana")
    assert memory.zone is UTC
    assert found(memory, "What did we talk about today?") == []
    assert found(memory, "What did we talk about yesterday?") == [PLUMBER, HALL]


def told(store: Store, recall: Recall) -> str:
    session = Session.open("ana/later", store=store)
    session.user("When does the plumber come?")
    context = session.build(Template(recall, budget=Budget(window=1_000)))
    return "\n".join(item.text for item in context.items if isinstance(item, Message))


def test_headings_tell_the_day_of_the_zone() -> None:
    heading = "[Sunday 15 November 2026, conversation a]\nuser: The plumber"
    assert "[Monday 16 November 2026, conversation a]\nuser: The plumber" in told(kept(), Recall())
    store = kept()
    Memory.of(store, "ana", zone=WEST)
    assert heading in told(store, Recall()), "the zone is kept with the scope"
    assert "[Monday 16" in told(store, Recall(memory=Memory(store, "ana"))), "a section may have another"


def test_a_reason_tells_the_month_of_the_zone() -> None:
    store = MemoryStore()
    Session.open("ana/a", store=store).append(Message("user", HALL, created_at=at(31, 20, month=10)))
    (hit,) = Memory(store, "ana", zone=WEST).search("What did we talk about in October?", at=ASKED).hits
    assert hit.reason == "from October 2026"


@pytest.mark.parametrize("zone", ["Europe/Nowhere", "", "../UTC", "x\0y"])
def test_a_zone_that_is_none_is_refused_at_once(zone: str) -> None:
    store = MemoryStore()
    for make in (
        lambda: Memory.of(store, "ana", zone=zone),
        lambda: Memory(store, "ana", zone=zone),
        lambda: Memory(store, "ana").search("Who?", zone=zone),
    ):
        with pytest.raises(InvalidValue, match="zone"):
            make()
    with pytest.raises(WrongType, match="not int"):
        Memory(store, zone=-8)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_the_command_line_takes_a_zone(tmp_path: Path) -> None:
    pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")
    from tests.cli.conversing import ran

    kept(Store.open(str(tmp_path / "chats.db")))
    where = ("--scope", "ana", "--store", str(tmp_path / "chats.db"))
    assert "Sunday 15 November 2026" in ran("recall", "plumber", *where, "--zone", WEST).stdout
