"""Times in questions become spans of the asker's calendar; what only looks like a time does not."""

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, strategies as st

from quire.memory.times import DAY, spans_of
from quire.memory.words import terms

NOW = datetime(2023, 7, 19, 15, 30, tzinfo=UTC).timestamp()  # a Wednesday
MOMENTS = st.floats(0, 4e9)
ZONES = st.sampled_from(sorted(available_timezones() - {"localtime"})).map(ZoneInfo)
ROWS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("times.toml").read_text("utf-8"))


def shown(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M").removesuffix(" 00:00")


@pytest.mark.parametrize("row", ROWS["spans"].strip().splitlines())
def test_a_time_becomes_a_span(row: str) -> None:
    question, start, end = (part.strip() for part in row.split("|"))
    (span,) = spans_of(question, NOW)
    assert (shown(span.start), shown(span.end)) == (start, end)
    assert span.words in question


@pytest.mark.parametrize("line", ROWS["no_times"].strip().splitlines())
def test_what_only_looks_like_a_time_is_none(line: str) -> None:
    assert [question for question in line.split("|") if spans_of(question.strip(), NOW)] == []


@pytest.mark.parametrize(
    ("question", "starts"),
    [
        ("What was it on 5/6/2022?", ["2022-05-06", "2022-06-05"]),
        ("What was it on 5.5.2022?", ["2022-05-05"]),
        ("What did I say last week about 2023-05-08?", ["2023-05-08", "2023-07-10"]),
    ],
)
def test_a_question_may_name_several_times(question: str, starts: list[str]) -> None:
    assert sorted(shown(span.start) for span in spans_of(question, NOW)) == starts


@pytest.mark.laws
@given(st.lists(st.sampled_from(ROWS["pieces"].split())).map(" ".join) | st.text(), st.floats(), ZONES)
def test_reading_never_fails_and_no_span_is_turned_round(question: str, now: float, zone: ZoneInfo) -> None:
    for span in spans_of(question, now, zone):
        assert span.start <= span.end and span.words in question


@pytest.mark.laws
@given(MOMENTS)
def test_a_day_is_found_by_its_own_words(at: float) -> None:
    day = datetime.fromtimestamp(at, UTC)
    (span,) = spans_of(day.strftime("on %B %d, %Y"), at)
    assert span.start <= at < span.end
    assert terms(f"{day:%Y-%m-%d}") == terms(f"{day.year} {day:%B} {day.day}")


@pytest.mark.laws
@given(ZONES, st.floats(0, 2e9))
def test_days_of_a_zone_follow_each_other(zone: ZoneInfo, now: float) -> None:
    (yesterday,), (today,) = spans_of("yesterday", now, zone), spans_of("today", now, zone)
    assert yesterday.end == today.start <= now < today.end <= today.start + 2 * DAY
    assert datetime.fromtimestamp(today.end - 1, zone).date() == datetime.fromtimestamp(now, zone).date()


@pytest.mark.parametrize("words", ["in the last hour", "30 minutes ago", "a week ago"])
@pytest.mark.parametrize("now", ["2026-03-29T01:10Z", "2026-10-25T00:10Z", "2026-10-25T01:10Z"])
def test_hours_keep_their_length_where_clocks_change(now: str, words: str) -> None:
    moment = datetime.fromisoformat(now).timestamp()
    (here,), (utc,) = spans_of(words, moment, ZoneInfo("Europe/Berlin")), spans_of(words, moment)
    assert (here.start, here.end) == (utc.start, utc.end)
