"""Where clocks are changed, days tile time, and what is reckoned from now is reckoned in real time."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, strategies as st

from quire.memory.index import Question
from quire.memory.times import Span, shown_at, time_of_clock, zone_of

DAY = 86_400.0
FROM_NOW = (
    *("in the last hour", "30 minutes ago", "in the last 24 hours", "half an hour ago", "a week ago"),
    *("in the last 20 minutes", "in the past half hour", "since half an hour ago", "10 minutes ago to now"),
    "between 30 minutes ago and 5 minutes ago",
)
ZONES = sorted(available_timezones() - {"localtime"})
"""All that the system has; on some of them clocks change at midnight, by half an hour, or by a day."""


class ByMeanTime(tzinfo):
    """A zone that is right only for times that it was asked to show, as those of pytz are.

    A date that is put into it by hand has the local mean time of long ago.
    """

    def __init__(self, name: str, offset: timedelta = timedelta(minutes=9)) -> None:
        self.zone, self._offset = ZoneInfo(name), offset
        self._name = name

    def fromutc(self, dt: datetime) -> datetime:
        shown = dt.replace(tzinfo=UTC).astimezone(self.zone)
        offset = shown.utcoffset()
        assert offset is not None
        return shown.replace(tzinfo=ByMeanTime(self._name, offset))

    def utcoffset(self, dt: datetime | None) -> timedelta:
        return self._offset

    def dst(self, dt: datetime | None) -> timedelta:
        return timedelta()

    def tzname(self, dt: datetime | None) -> str:
        return self._name


ANY_ZONE = (
    st.sampled_from(ZONES).map(ZoneInfo)
    | st.sampled_from(ZONES).map(ByMeanTime)
    | st.integers(-1_439, 1_439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
)


def span(question: str, now: float, zone: tzinfo) -> Span:
    found = Question.of(question, now, zone=zone).span
    assert found is not None
    return found


def at(shown: str, zone: tzinfo, fold: int = 0) -> float:
    return datetime.fromisoformat(shown).replace(tzinfo=zone, fold=fold).timestamp()


def told(moment: float, zone: tzinfo) -> str:
    return datetime.fromtimestamp(moment, zone).strftime("%d %H:%M %z")


@pytest.mark.laws
@given(ANY_ZONE, st.integers(1971, 2036))
def test_the_days_of_a_year_tile_time(zone: tzinfo, year: int) -> None:
    midnights = [datetime(year, 1, 1, tzinfo=UTC).timestamp() + nth * DAY for nth in range(367)]
    begins = [time_of_clock(shown, zone) for shown in midnights]
    for midnight, begin, end in zip(midnights, begins, begins[1:], strict=False):
        assert begin <= end <= begin + 2 * DAY
        if begin < end:
            assert midnight <= shown_at(begin, zone) < midnight + DAY > shown_at(end - 1, zone)
        assert shown_at(begin - 1, zone) < midnight <= shown_at(begin, zone)


@pytest.mark.parametrize(
    "name", ["Africa/Cairo", "America/Havana", "America/St_Johns", "Pacific/Apia", "Europe/Paris"]
)
def test_a_day_ends_where_the_next_begins(name: str) -> None:
    zone = ZoneInfo(name)
    for nth in range(2 * 366):
        now = at("2006-01-01T12:00", zone) + nth * DAY
        assert (
            span("What was said yesterday?", now, zone).end == span("What was said today?", now, zone).start
        )


@pytest.mark.laws
@given(
    ANY_ZONE,
    st.floats(0, 2e9),
    st.sampled_from(
        ("today", "since today", "since yesterday", "since this morning", "last night", *FROM_NOW)
    ),
)
def test_no_time_ends_before_it_begins(zone: tzinfo, now: float, words: str) -> None:
    found = span(words, now, zone)
    assert found.start <= found.end


@pytest.mark.parametrize("fold", [0, 1])
@pytest.mark.parametrize(
    "now", ["2026-03-29T03:10", "2026-10-25T02:10", "2026-10-25T03:10", "2026-07-01T12:00"]
)
def test_hours_and_minutes_from_now_are_as_long_as_ever(now: str, fold: int) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    moment = at(now, berlin, fold)
    for words in FROM_NOW:
        ours, theirs = span(words, moment, berlin), span(words, moment, UTC)
        assert (ours.start, ours.end) == (theirs.start, theirs.end), words


def test_a_day_before_clocks_go_forward_at_midnight_has_its_last_hour() -> None:
    cairo = ZoneInfo("Africa/Cairo")
    found = span("What did I say yesterday?", at("2026-04-24T10:00", cairo), cairo)
    assert (told(found.start, cairo), told(found.end, cairo)) == ("23 00:00 +0200", "24 01:00 +0300")


@pytest.mark.parametrize("name", ["Europe/Paris", "America/Los_Angeles", "Asia/Kolkata", "Africa/Cairo"])
@pytest.mark.parametrize("words", ["today", "last night", "since Monday", "on 24 April", "in the last hour"])
def test_a_zone_that_only_shows_times_is_right_too(name: str, words: str) -> None:
    now = at("2026-04-24T12:00", ZoneInfo(name))
    assert span(words, now, zone_of(ByMeanTime(name))) == span(words, now, ZoneInfo(name))
