"""A stretch of time is read from its first day to its last, however it is written."""

from datetime import UTC, datetime
from time import process_time

import pytest

from quire.memory.times import readings, spans_of

NOW = datetime(2025, 6, 18, 15, tzinfo=UTC).timestamp()


def meant(question: str) -> list[tuple[str, str]]:
    """The first and the last day of each time that a question may mean."""
    return [(_day(span.start), _day(span.end - 1)) for span in readings(spans_of(question, NOW))]


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("between 3 May and 9 May", "2025-05-03", "2025-05-09"),
        ("between May 3 and May 9", "2025-05-03", "2025-05-09"),
        ("between may 3 and may 9 with Bob", "2025-05-03", "2025-05-09"),
        ("between May 3rd and 9th", "2025-05-03", "2025-05-09"),
        ("between March 20 and April 2", "2025-03-20", "2025-04-02"),
        ("between March 1 and 2 April", "2025-03-01", "2025-04-02"),
        ("from March 3 to 5 April", "2025-03-03", "2025-04-05"),
        ("from May 3 through May 7 with Bob", "2025-05-03", "2025-05-07"),
        ("May 3-7", "2025-05-03", "2025-05-07"),
        ("from May 3-7", "2025-05-03", "2025-05-07"),
        ("June 3-7", "2025-06-03", "2025-06-07"),
        ("June 3 to 7", "2025-06-03", "2025-06-07"),
        ("June 3\u20137, 2024", "2024-06-03", "2024-06-07"),
        ("3-7 June 2025", "2025-06-03", "2025-06-07"),
        ("3 to 7 May", "2025-05-03", "2025-05-07"),
        ("3. bis 7. Juni", "2025-06-03", "2025-06-07"),
        ("vom 3. bis zum 7. Juni", "2025-06-03", "2025-06-07"),
        ("zwischen dem 3. und 7. Mai", "2025-05-03", "2025-05-07"),
        ("du 3 au 7 juin", "2025-06-03", "2025-06-07"),
        ("del 3 al 7 de junio", "2025-06-03", "2025-06-07"),
        ("May 3 to May 9", "2025-05-03", "2025-05-09"),
        ("May 3 - May 9", "2025-05-03", "2025-05-09"),
        ("may 3\u2013may 9 with Bob", "2025-05-03", "2025-05-09"),
        ("3 May to 9 May", "2025-05-03", "2025-05-09"),
        ("May 3 through May 9", "2025-05-03", "2025-05-09"),
        ("May 3 until May 9 with Bob", "2025-05-03", "2025-05-09"),
        ("since May 3 until May 9", "2025-05-03", "2025-05-09"),
        ("April 30 - May 5", "2025-04-30", "2025-05-05"),
        ("28 Dec - 3 Jan", "2024-12-28", "2025-01-03"),
        ("May 3, 2024 - May 7, 2024", "2024-05-03", "2024-05-07"),
        ("May 3 - May 7, 2024", "2024-05-03", "2024-05-07"),
        ("2025-05-03 to 2025-05-07", "2025-05-03", "2025-05-07"),
        ("2025-05-03 - 2025-05-07", "2025-05-03", "2025-05-07"),
        ("03.05.2025 bis 07.05.2025", "2025-05-03", "2025-05-07"),
        ("03.05.2025 bis zum 07.05.2025", "2025-05-03", "2025-05-07"),
        ("5/30/2025 - 6/2/2025", "2025-05-30", "2025-06-02"),
        ("vom 3. Mai bis zum 9. Mai", "2025-05-03", "2025-05-09"),
        ("du 3 mars au 9 mars", "2025-03-03", "2025-03-09"),
        ("entre le 3 mai et le 9 mai", "2025-05-03", "2025-05-09"),
        ("del 3 de mayo al 9 de mayo", "2025-05-03", "2025-05-09"),
        ("after May 3 and before May 9", "2025-05-04", "2025-05-08"),
        ("after May 3, but before May 9", "2025-05-04", "2025-05-08"),
        ("nach dem 3. Mai und vor dem 9. Mai", "2025-05-04", "2025-05-08"),
        ("from May until now", "2025-05-01", "2025-06-18"),
        ("from May 3 to today", "2025-05-03", "2025-06-18"),
        ("from 2024 till now", "2024-01-01", "2025-06-18"),
        ("nach dem 3. Mai", "2025-05-04", "2025-06-18"),
        ("the week of May 7", "2025-05-05", "2025-05-11"),
        ("in the week of may 4 with Bob", "2025-05-04", "2025-05-10"),
        ("the week of 2025-05-07", "2025-05-05", "2025-05-11"),
        ("the week starting May 7", "2025-05-07", "2025-05-13"),
        ("day before yesterday", "2025-06-16", "2025-06-16"),
        ("antes de ayer", "2025-06-16", "2025-06-16"),
        ("in April and May", "2025-04-01", "2025-05-31"),
        ("in May or June", "2025-05-01", "2025-06-30"),
        ("in December and January", "2024-12-01", "2025-01-31"),
        ("in April and May 2024", "2024-04-01", "2024-05-31"),
        ("in March, April and May", "2025-03-01", "2025-05-31"),
        ("in March, April, and May 2024", "2024-03-01", "2024-05-31"),
        ("in December, January and February", "2024-12-01", "2025-02-28"),
        ("im M\u00e4rz, April und Mai", "2025-03-01", "2025-05-31"),
        ("May-June 2024", "2024-05-01", "2024-06-30"),
        ("in Nov\u2013Jan", "2024-11-01", "2025-01-31"),
        ("early May - June 2024", "2024-05-01", "2024-06-30"),
        ("late May - June 2024", "2024-05-21", "2024-06-30"),
        ("in Q1 and Q2 2024", "2024-01-01", "2024-06-30"),
        ("between Q1 and Q3 2024", "2024-01-01", "2024-09-30"),
        ("Q2-Q4 2024", "2024-04-01", "2024-12-31"),
        ("from Monday 5 May to Friday 16 May", "2025-05-05", "2025-05-16"),
        ("between Monday, May 5 and Friday, May 16", "2025-05-05", "2025-05-16"),
        ("between Monday, may 5 and Friday, may 16 with Bob", "2025-05-05", "2025-05-16"),
        ("from Wednesday the 7th of May to Thursday the 15th of May", "2025-05-07", "2025-05-15"),
        ("on Monday, May 5 to Friday, May 9", "2025-05-05", "2025-05-09"),
        ("Mon 5 May - Fri. 9 May", "2025-05-05", "2025-05-09"),
        ("mon may 5 \u2013 fri may 9 with Bob", "2025-05-05", "2025-05-09"),
        ("from Monday 5 to Friday 9 May", "2025-05-05", "2025-05-09"),
        ("between Monday the 2nd and Friday the 6th of June", "2025-06-02", "2025-06-06"),
        ("after Monday 5 May and before Friday 16 May", "2025-05-06", "2025-05-15"),
        ("from Monday 2025-05-05 to Friday 2025-05-09", "2025-05-05", "2025-05-09"),
        ("von Montag, dem 5. Mai, bis Freitag, den 9. Mai", "2025-05-05", "2025-05-09"),
        ("from Monday, May 5, 2025, to Friday, May 9, 2025", "2025-05-05", "2025-05-09"),
        ("du lundi 5 mai au vendredi 9 mai", "2025-05-05", "2025-05-09"),
        ("del lunes 5 de mayo al viernes 9 de mayo", "2025-05-05", "2025-05-09"),
        ("since Monday 5 May", "2025-05-05", "2025-06-18"),
        ("the week of Wednesday, May 7", "2025-05-05", "2025-05-11"),
        ("on Monday, may 5 with Bob", "2025-05-05", "2025-05-05"),
        ("from 3 May onwards", "2025-05-03", "2025-06-18"),
        ("from May 3 onward with Bob", "2025-05-03", "2025-06-18"),
        ("from May 3, 2024 onwards", "2024-05-03", "2025-06-18"),
        ("from May onwards", "2025-05-01", "2025-06-18"),
    ],
)
def test_a_stretch_goes_from_its_first_day_to_its_last(words: str, first: str, last: str) -> None:
    assert meant(f"What happened {words}?") == [(first, last)]


def test_months_that_do_not_follow_each_other_are_both_meant() -> None:
    march, june = ("2025-03-01", "2025-03-31"), ("2025-06-01", "2025-06-30")
    assert meant("What happened in March and June?") == [march, june]
    assert meant("What happened in March or in June 2024?") == [
        ("2024-03-01", "2024-03-31"),
        ("2024-06-01", "2024-06-30"),
    ]
    april_may = ("2025-04-01", "2025-05-31")
    assert meant("What happened in January, April and May?") == [("2025-01-01", "2025-01-31"), april_may]
    assert meant("What happened in Q1 and Q4 2024?") == [
        ("2024-01-01", "2024-03-31"),
        ("2024-10-01", "2024-12-31"),
    ]


def test_a_stretch_between_days_that_may_be_two_is_read_in_one_manner() -> None:
    assert meant("What happened 5/3/2025 - 5/7/2025?") == [
        ("2025-03-05", "2025-07-05"),
        ("2025-05-03", "2025-05-07"),
    ]


def test_two_days_with_and_between_them_are_no_stretch() -> None:
    assert meant("What happened on 3 June 2024 and 9 June 2024?") == [("2024-06-03", "2024-06-03")]
    assert meant("What happened on 9 June 2024 to 3 June 2024?") == [("2024-06-09", "2024-06-09")]


@pytest.mark.parametrize(
    "words",
    ["may 3 to may 9 ", "may 3 - ", "3 may until the ", "from may to now ", "in may, may, ", "from mon, "],
)
def test_stretches_without_end_are_read_at_once(words: str) -> None:
    started = process_time()
    spans_of(words * 200, NOW)
    assert process_time() - started < 2


@pytest.mark.parametrize(
    "words",
    [
        *("What did June say until now?", "a gift from May to Bob", "I may 3 to 4 times"),
        *("I may 3 times", "from 3 to 5 may be enough", "between us and may 3 people come"),
        *("pages 3-7 may help", "What did April and May say?", "3 to 7 march on"),
        *("What does version 3.5.2025 bring?", "The April-May show", "What did April, May and June say?"),
    ],
)
def test_what_only_looks_like_a_stretch_is_none(words: str) -> None:
    assert meant(words) == []
