"""Days are those of a zone: of who asks, and not those of a clock in Greenwich."""

import asyncio
import json
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from quire.bridges.loom import LoomMemory, Task
from quire.context import Template
from quire.errors import InvalidValue, WrongType
from quire.items import Message, use_clock
from quire.memory import Memory, Recall, recalled
from quire.memory.index import Question
from quire.memory.times import shown_at, span_of, time_of_clock
from quire.session import Session
from quire.stores import MemoryStore, Store
from quire.tokens import Budget

WEST = "America/Los_Angeles"
SAN_FRANCISCO = ZoneInfo(WEST)
PLUMBER, HALL = "The plumber comes Thursday.", "The landlord agreed to paint the hall."


def at(day: int, hour: int, minute: int = 0, month: int = 11, zone: tzinfo = SAN_FRANCISCO) -> float:
    return datetime(2026, month, day, hour, minute, tzinfo=zone).timestamp()


ASKED = at(16, 17, 30)  # a Monday there, and Tuesday in UTC


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
        "What did I tell you this morning?": [HALL],
        "What did we talk about yesterday?": [PLUMBER],
        "What did I say last night?": [PLUMBER],
        "What did we talk about on 15 November?": [PLUMBER, HALL],
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


def test_the_heading_of_a_quote_says_the_day_of_the_zone() -> None:
    assert "[Monday 16 November 2026, conversation a]\nuser: The plumber" in told(kept(), Recall())
    heading = "[Sunday 15 November 2026, conversation a]\nuser: The plumber"
    assert heading in told(kept(), Recall(zone=WEST))
    store = kept()
    Memory.of(store, "ana", zone=WEST)
    assert heading in told(store, Recall()), "it is the scope's from then on"
    assert "[Monday 16" in told(store, Recall(zone="UTC")), "and a section may have its own"


@pytest.mark.parametrize("tier", ["recent", "working", "episodes", "knowledge"])
def test_each_tier_tells_the_day_of_the_zone(tier: str) -> None:
    memory = Memory(kept(), "ana", zone=WEST)
    quotes = recalled(memory, "plumber", tiers=tier, conversation="a")  # type: ignore[arg-type]  # pyright: ignore
    assert any("Sunday 15 November 2026" in quote.heading for quote in quotes)


def test_other_days_are_those_of_the_zone() -> None:
    store = kept()
    session = Session.open("ana/b", store=store)
    session.append(
        Message("user", PLUMBER, created_at=at(1, 20)), Message("user", PLUMBER, created_at=at(1, 9))
    )
    (quote,) = recalled(Memory(store, "ana", zone=WEST), "Which plumber?", limit=1)[:1]
    assert "(also on 15 November 2026)" in quote.line


def test_the_reason_says_the_month_of_the_zone() -> None:
    store = MemoryStore()
    session = Session.open("ana/a", store=store)
    session.append(Message("user", HALL, created_at=at(31, 20, month=10)))
    (hit,) = Memory(store, "ana", zone=WEST).search("What did we talk about in October?", at=ASKED).hits
    assert hit.reason == "from October 2026"


def test_a_zone_stays_with_its_scope_alone() -> None:
    store = kept()
    assert Memory.of(store, "ana", zone=WEST) is Memory.of(store, "ana")
    assert str(Memory.of(store, "ana").zone) == WEST
    assert Memory.of(store, "eve").zone is UTC
    assert Memory.of(store, "ana", zone="UTC").zone is UTC


class Nowhere(tzinfo):
    """A zone that does not say where it is."""

    def utcoffset(self, _: datetime | None) -> timedelta | None:
        return None

    def dst(self, _: datetime | None) -> timedelta | None:
        return None

    def tzname(self, _: datetime | None) -> str | None:
        return None


class Unsaid(Nowhere):
    """One that was never written to its end."""

    def utcoffset(self, _: datetime | None) -> timedelta | None:
        raise NotImplementedError


class Unshown(Nowhere):
    """One that says where it is, and cannot show a time, which would be shown as in UTC."""

    def utcoffset(self, _: datetime | None) -> timedelta | None:
        return timedelta(hours=9)


@pytest.mark.parametrize(
    "zone", ["Europe/Nowhere", "", "Europe", "../UTC", "x\0y", Unsaid(), Nowhere(), Unshown()]
)
def test_a_zone_that_is_none_is_refused_at_once(zone: str | tzinfo) -> None:
    store = MemoryStore()
    for make in (
        lambda: Memory(store, "ana", zone=zone),
        lambda: Memory.of(store, "ana", zone=zone),
        lambda: Recall(zone=zone),
        lambda: Memory(store, "ana").search("Who?", zone=zone),
        lambda: recalled(Memory(store, "ana"), "Who?", zone=zone),
    ):
        with pytest.raises(InvalidValue, match="zone"):
            make()
    with pytest.raises(WrongType, match="not int"):
        Recall(zone=-8)  # type: ignore[arg-type]  # pyright: ignore


def test_where_clocks_are_put_back_a_day_has_an_hour_more() -> None:
    asked = Question.of("What was said on 25 October 2026?", ASKED, zone=ZoneInfo("Europe/Paris"))
    assert asked.span is not None and asked.span.end - asked.span.start == 25 * 3_600
    assert asked.nearness(asked.span.end + 3_600) > 0, "it is a day like others, and told on the next too"


def test_an_hour_that_comes_twice_is_all_of_it_the_last() -> None:
    paris = ZoneInfo("Europe/Paris")
    now = datetime(2026, 10, 25, 1, 30, tzinfo=UTC).timestamp()  # 2:30 there for the second time
    asked = Question.of("What was said in the last hour?", now, zone=paris)
    assert asked.span is not None and asked.span.start == now - 3_600 and asked.span.end == now


@pytest.mark.laws
@given(
    st.floats(0, 4e9), st.sampled_from(["UTC", WEST, "Asia/Kathmandu", "Pacific/Apia", "Australia/Lord_Howe"])
)
def test_what_a_clock_shows_was_shown_then(moment: float, name: str) -> None:
    zone = ZoneInfo(name)
    shown = shown_at(moment, zone)
    assert time_of_clock(shown, zone) == moment
    assert shown_at(time_of_clock(float(shown), zone), zone) == pytest.approx(float(shown), abs=1e-3)
    assert datetime.fromtimestamp(moment, zone).date() == datetime.fromtimestamp(shown, UTC).date()


@pytest.mark.laws
@given(st.floats(), st.sampled_from(["yesterday", "in the last hour", "before May", "since 9999-12-31"]))
def test_no_time_is_beyond_a_zone(now: float, words: str) -> None:
    span = Question.of(words, now, zone=SAN_FRANCISCO).span
    plain = span_of(words, now)
    assert span is None or plain is None or abs(span.start - plain.start) <= 2 * 366 * 86_400


def test_the_command_line_takes_a_zone(tmp_path: Path) -> None:
    pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")
    from tests.cli.conversing import ran, refused

    path = str(tmp_path / "chats.db")
    kept(Store.open(path))
    where = ("--scope", "ana", "--store", path, "--json")
    (row, *_) = json.loads(ran("recall", "plumber", *where, "--zone", WEST).stdout)["found"]
    assert row["from"] == "Sunday 15 November 2026, conversation a"
    assert "no zone 'Mars'" in refused(2, "recall", "plumber", *where, "--zone", "Mars")


def test_loom_takes_a_zone_and_another_memory_of_the_node_keeps_its_own() -> None:
    store = MemoryStore()
    memory = LoomMemory("keeper", store=store, zone=WEST)
    for one, when in ((PLUMBER, at(15, 19)), (HALL, at(16, 9))):
        memory.add_task(Task(action="execute", parameters={"content": one}, created_at=when))
    with use_clock(lambda: ASKED):
        (best, *_) = asyncio.run(memory.search_tasks("What did we talk about today?"))
        LoomMemory("keeper", store=store, zone="Asia/Tokyo")
        assert asyncio.run(memory.search_tasks("What did we talk about today?"))[0] == best
    assert best.parameters["content"] == HALL
