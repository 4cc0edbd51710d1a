"""Times in questions become intervals, ambiguous words do not, and dates give terms as text does."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from quire.memory.times import date_words, span_of, spans_of
from quire.memory.words import terms

NOW = datetime(2023, 7, 19, 15, 30, tzinfo=UTC).timestamp()  # a Wednesday
DAY = 86_400.0
MOMENTS = st.floats(0, 4e9)


def told(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M").removesuffix(" 00:00")


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What did I do yesterday?", "2023-07-18", "2023-07-19"),
        ("yesterday evening", "2023-07-18 18:00", "2023-07-19"),
        ("the day before yesterday", "2023-07-17", "2023-07-18"),
        ("earlier today", "2023-07-19", "2023-07-20"),
        ("this morning", "2023-07-19", "2023-07-19 12:00"),
        ("Who called last night?", "2023-07-18 18:00", "2023-07-19 06:00"),
        ("What did we decide last week?", "2023-07-10", "2023-07-17"),
        ("this week", "2023-07-17", "2023-07-24"),
        ("last month's bill", "2023-06-01", "2023-07-01"),
        ("last quarter", "2023-04-01", "2023-07-01"),
        ("last year", "2022-01-01", "2023-01-01"),
        ("last summer", "2022-06-01", "2022-09-01"),
        ("in the summer", "2023-06-01", "2023-09-01"),
        ("last winter", "2022-12-01", "2023-03-01"),
        ("the summer of 2021", "2021-06-01", "2021-09-01"),
        ("two months ago", "2023-05-01", "2023-06-01"),
        ("3 days ago", "2023-07-16", "2023-07-17"),
        ("a week ago", "2023-07-09 03:30", "2023-07-16 03:30"),
        ("two hours ago", "2023-07-19 13:00", "2023-07-19 14:00"),
        ("half an hour ago", "2023-07-19 14:45", "2023-07-19 15:15"),
        ("half hour ago", "2023-07-19 14:45", "2023-07-19 15:15"),
        ("a half hour ago", "2023-07-19 14:45", "2023-07-19 15:15"),
        ("in the last half hour", "2023-07-19 15:00", "2023-07-19 15:30"),
        ("over the past half an hour", "2023-07-19 15:00", "2023-07-19 15:30"),
        ("in the last half month", "2023-07-04 09:30", "2023-07-19 15:30"),
        ("in the last half year", "2023-01-19 15:30", "2023-07-19 15:30"),
        ("twenty minutes ago", "2023-07-19 15:05", "2023-07-19 15:15"),
        ("20 mins ago", "2023-07-19 15:05", "2023-07-19 15:15"),
        ("20 min ago", "2023-07-19 15:05", "2023-07-19 15:15"),
        ("forty-five days ago", "2023-06-04", "2023-06-05"),
        ("forty five days ago", "2023-06-04", "2023-06-05"),
        ("seventeen years ago", "2006-01-01", "2007-01-01"),
        ("two hrs ago", "2023-07-19 13:00", "2023-07-19 14:00"),
        ("an hr ago", "2023-07-19 14:00", "2023-07-19 15:00"),
        ("2 yrs ago", "2021-01-01", "2022-01-01"),
        ("in the last thirty days", "2023-06-19 15:30", "2023-07-19 15:30"),
        ("in the last 2 hrs", "2023-07-19 13:30", "2023-07-19 15:30"),
        ("in the last sixty secs", "2023-07-19 15:29", "2023-07-19 15:30"),
        ("a second ago", "2023-07-19 15:29", "2023-07-19 15:30"),
        ("40 seconds ago", "2023-07-19 15:28", "2023-07-19 15:30"),
        ("twenty-one days before 2023-05-22", "2023-05-01", "2023-05-02"),
        ("a year ago", "2022-06-19", "2022-08-18"),
        ("in the first week of June 2023", "2023-06-01", "2023-06-08"),
        ("the third week in May 2023", "2023-05-15", "2023-05-22"),
        ("the last week of February 2023", "2023-02-22", "2023-03-01"),
        ("10 years ago", "2013-01-01", "2014-01-01"),
        ("in the last three days", "2023-07-16 15:30", "2023-07-19 15:30"),
        ("over the past 2 weeks", "2023-07-05 15:30", "2023-07-19 15:30"),
        ("over the weekend", "2023-07-15", "2023-07-17"),
        ("last Tuesday", "2023-07-18", "2023-07-19"),
        ("on Wednesday", "2023-07-12", "2023-07-13"),
        ("since Monday", "2023-07-17", "2023-07-19 15:30"),
        ("in May 2023", "2023-05-01", "2023-06-01"),
        ("in may 2023", "2023-05-01", "2023-06-01"),
        ("in early May", "2023-05-01", "2023-05-11"),
        ("at the end of June 2023", "2023-06-21", "2023-07-01"),
        ("in December", "2022-12-01", "2023-01-01"),
        ("last July", "2022-07-01", "2022-08-01"),
        ("on 8 May", "2023-05-08", "2023-05-09"),
        ("on May 8", "2023-05-08", "2023-05-09"),
        ("the 8th of May", "2023-05-08", "2023-05-09"),
        ("May 8, 2023", "2023-05-08", "2023-05-09"),
        ("February 29", "2020-02-29", "2020-03-01"),
        ("2023-05-08", "2023-05-08", "2023-05-09"),
        ("25/12/2022", "2022-12-25", "2022-12-26"),
        ("12/25/2022", "2022-12-25", "2022-12-26"),
        ("25-12-2022", "2022-12-25", "2022-12-26"),
        ("on March 3 last year", "2022-03-03", "2022-03-04"),
        ("the 3rd of March of the previous year", "2022-03-03", "2022-03-04"),
        ("in March last year", "2022-03-01", "2022-04-01"),
        ("in late March last year", "2022-03-21", "2022-04-01"),
        ("last year in March", "2022-03-01", "2022-04-01"),
        ("last year, on March 3", "2022-03-03", "2022-03-04"),
        ("last year in March 2021", "2021-03-01", "2021-04-01"),
        ("on 3 March this year", "2023-03-03", "2023-03-04"),
        ("in May next year", "2024-05-01", "2024-06-01"),
        ("between March and May last year", "2022-03-01", "2022-06-01"),
        ("from 3 to 5 March last year", "2022-03-03", "2022-03-06"),
        ("from March 3 last year to May 5 last year", "2022-03-03", "2022-05-06"),
        ("the summer of last year", "2022-06-01", "2022-09-01"),
        ("Q2 of last year", "2022-04-01", "2022-07-01"),
        ("am 3. März letzten Jahres", "2022-03-03", "2022-03-04"),
        ("le 3 mars de l\u2019année dernière", "2022-03-03", "2022-03-04"),
        ("el 3 de marzo del año pasado", "2022-03-03", "2022-03-04"),
        ("Jun 5 '22", "2022-06-05", "2022-06-06"),
        ("5 June \u201922", "2022-06-05", "2022-06-06"),
        ("in May '68", "1968-05-01", "1968-06-01"),
        ("on May 5 'twas fine", "2023-05-05", "2023-05-06"),
        ("between 3 and 5 March 2022", "2022-03-03", "2022-03-06"),
        ("from the 3rd to the 5th of May", "2023-05-03", "2023-05-06"),
        ("between 8 and 5 March 2022", "2022-03-05", "2022-03-06"),
        ("Q2 2023", "2023-04-01", "2023-07-01"),
        ("31 June 2023", "2023-06-01", "2023-07-01"),
        ("in 2022", "2022-01-01", "2023-01-01"),
        ("since March", "2023-03-01", "2023-07-19 15:30"),
        ("after 2023-06-01", "2023-06-02", "2023-07-19 15:30"),
        ("before June 2022", "1970-01-01", "2022-06-01"),
        ("until yesterday", "1970-01-01", "2023-07-19"),
        ("What was said up to yesterday?", "1970-01-01", "2023-07-19"),
        ("What have you been up to since Monday?", "2023-07-17", "2023-07-19 15:30"),
        ("What was she up to yesterday?", "2023-07-18", "2023-07-19"),
        ("between March and May 2023", "2023-03-01", "2023-06-01"),
        ("from November to February", "2022-11-01", "2023-03-01"),
        ("from 2019 to 2021", "2019-01-01", "2022-01-01"),
        ("from 2 May to 8 June 2022", "2022-05-02", "2022-06-09"),
        ("between 2023-01-05 and 2023-02-01", "2023-01-05", "2023-02-02"),
        ("the week before August 3, 2022", "2022-07-27", "2022-08-03"),
        ("two weeks before 2023-05-15", "2023-04-27 12:00", "2023-05-04 12:00"),
        ("the day after 2023-05-15", "2023-05-16", "2023-05-17"),
        ("3 days before 15 May 2023", "2023-05-12", "2023-05-13"),
        ("im Mai 2023", "2023-05-01", "2023-06-01"),
        ("am 8. März 2023", "2023-03-08", "2023-03-09"),
        ("le 8 août 2022", "2022-08-08", "2022-08-09"),
        ("el 8 de mayo de 2023", "2023-05-08", "2023-05-09"),
        ("la semaine dernière", "2023-07-10", "2023-07-17"),
        ("Qu'est-ce que tu as fait hier ?", "2023-07-18", "2023-07-19"),
        ("What did I say gestern?", "2023-07-18", "2023-07-19"),
        ("What happened in the last hour?", "2023-07-19 14:30", "2023-07-19 15:30"),
        ("in the last minute", "2023-07-19 15:29", "2023-07-19 15:30"),
        ("over the past fortnight", "2023-07-05 15:30", "2023-07-19 15:30"),
        ("within the last day", "2023-07-18 15:30", "2023-07-19 15:30"),
        ("What did we do last week to mend it?", "2023-07-10", "2023-07-17"),
        ("Who came over the last month for lunch?", "2023-06-19 15:30", "2023-07-19 15:30"),
        ("What did we say the week before last about it?", "2023-07-03", "2023-07-10"),
        ("the month before last", "2023-05-01", "2023-06-01"),
        ("the year before last", "2021-01-01", "2022-01-01"),
        ("the night before last", "2023-07-17 18:00", "2023-07-18 06:00"),
        ("the week before last Monday", "2023-07-10", "2023-07-17"),
        ("Was war vorletzte Woche?", "2023-07-03", "2023-07-10"),
        ("la semaine avant la dernière", "2023-07-03", "2023-07-10"),
        ("la semana antepasada", "2023-07-03", "2023-07-10"),
        ("vor zwei Wochen", "2023-07-02 03:30", "2023-07-09 03:30"),
        ("il y a deux semaines", "2023-07-02 03:30", "2023-07-09 03:30"),
        ("hace dos semanas", "2023-07-02 03:30", "2023-07-09 03:30"),
        ("vor einem Monat", "2023-06-01", "2023-07-01"),
        ("il y a 3 ans", "2020-01-01", "2021-01-01"),
        ("hace unos días", "2023-07-15 03:30", "2023-07-18 03:30"),
        ("in der letzten Stunde", "2023-07-19 14:30", "2023-07-19 15:30"),
        ("pendant la dernière heure", "2023-07-19 14:30", "2023-07-19 15:30"),
        ("en la última hora", "2023-07-19 14:30", "2023-07-19 15:30"),
        ("What did we plant in Spring?", "2023-03-01", "2023-06-01"),
        ("last Spring Anna came", "2023-03-01", "2023-06-01"),
        ("In Summer, where were we?", "2023-06-01", "2023-09-01"),
    ],
)
def test_a_time_becomes_an_interval(question: str, start: str, end: str) -> None:
    span = span_of(question, NOW)
    assert span is not None
    assert (told(span.start), told(span.end)) == (start, end)
    assert span.words in question
    assert 0 < span.sure <= 1


@pytest.mark.parametrize(
    "question",
    [
        *("May I march on?", "may I", "march on", "Item 8 may be wrong", "May 8 people come?"),
        *("What did April say?", "a gift from June", "Where is June?", "recently", "How long did it last?"),
        *(
            "room 2022",
            "in 2000 steps",
            "2023 people",
            "version 3.11.7",
            "What is new in version 2026.5.3?",
            "2023-13-45",
            "part 1-2-3-2023",
        ),
        *("Can I cancel at the last minute?", "I need it this minute", "a last minute change"),
        *("in letzter Minute", "à la dernière minute", "a última hora"),
        *(
            "When is the last day to apply?",
            "my last year at school",
            "plans for the last day",
            "the last week for returns",
        ),
        *(
            "in der letzten Woche des Kurses",
            "en la última semana de clase",
            "pendant le dernier mois de cours",
        ),
        *("In Spring Boot, where is it?", "In Spring, what is the pool?", "How is it in Spring Boot?"),
        *("Is this Spring Boot?", "Who lives in Fall River?"),
        *("Hier ist es", "next week", "tomorrow", "the week", "a second", "", "?"),
        *("What did the last two HR meetings decide?", "Who won the last three second-hand cars?"),
        *("How was the last half hour of the film?", "the second half", "half the year"),
        "What did I say one and a half hours ago?",
    ],
)
def test_words_that_are_no_time_give_none(question: str) -> None:
    assert span_of(question, NOW) is None


@pytest.mark.parametrize("date", ["5/6/2022", "5-6-2022"])
def test_a_date_that_may_be_two_days_means_both(date: str) -> None:
    starts = [told(span.start) for span in spans_of(f"What was it on {date}?", NOW)]
    assert starts == ["2022-06-05", "2022-05-06"]
    assert len(spans_of(date.replace("6", "5"), NOW)) == 1


def test_the_surest_of_several_is_taken() -> None:
    span = span_of("What did I say last week about 2023-05-08?", NOW)
    assert span is not None and span.words == "2023-05-08"


def test_a_vague_time_is_less_sure() -> None:
    vague, sharp = span_of("a few days ago", NOW), span_of("three days ago", NOW)
    assert vague is not None and sharp is not None
    assert vague.sure < sharp.sure and vague.end - vague.start > sharp.end - sharp.start


_PIECES = """
last this past two 3 0 9999 31 8th 2023 1900 may May March june week weeks month years day ago since
before between and from to of early end the on in summer weekend friday yesterday night 2023-02-30
9999-12-31 0001-01-01 1/1/0001 q4 , until décembre fall a few couple 5/6/2023 7-8-2022 '25 next this year
minute hour fortnight quarter decade half vor il y a hace zwei semaines letzte Stunde Spring Boot to
an mins hr secs twenty-five ninety seven hundred 24h 1.5 3d half-hour today 4th fourth what did was up Fridays
"""
PIECES = _PIECES.split()


@pytest.mark.laws
@given(st.lists(st.sampled_from(PIECES)).map(" ".join) | st.text(), st.floats())
def test_reading_never_fails_and_no_span_is_turned_round(question: str, now: float) -> None:
    span = span_of(question, now)
    assert span is None or (span.start <= span.end and span.words in question and 0 < span.sure <= 1)
    assert span == span_of(question, now)


@pytest.mark.laws
@given(MOMENTS)
def test_last_week_is_within_the_last_fourteen_days(now: float) -> None:
    span = span_of("What happened last week?", now)
    assert span is not None
    assert now - 14 * DAY <= span.start <= span.end <= now


@pytest.mark.laws
@given(MOMENTS, st.sampled_from(("yesterday", "last month", "last night", "two days ago", "a few weeks ago")))
def test_what_is_over_ended_by_now_or_today(now: float, words: str) -> None:
    span = span_of(words, now)
    assert span is not None and span.start < now and span.end <= now + DAY / 4


@pytest.mark.laws
@given(MOMENTS)
def test_a_date_gives_the_terms_of_its_words(at: float) -> None:
    written = datetime.fromtimestamp(at, UTC).strftime("%Y %B ") + datetime.fromtimestamp(at, UTC).strftime(
        "%d"
    ).lstrip("0")
    weekday = datetime.fromtimestamp(at, UTC).strftime("%A")
    assert date_words(at) == terms(f"{written} {weekday}")
    assert date_words(at)[:3] == terms(datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d"))


@pytest.mark.laws
@given(MOMENTS)
def test_a_day_is_found_by_its_own_words(at: float) -> None:
    span = span_of(datetime.fromtimestamp(at, UTC).strftime("on %B %d, %Y"), at)
    assert span is not None and span.start <= at < span.end


@pytest.mark.parametrize("at", [float("nan"), float("inf"), -float("inf"), 1e300, -1e300])
def test_times_beyond_the_calendar_have_no_words(at: float) -> None:
    assert date_words(at) == []
    assert span_of("yesterday", at) is None
