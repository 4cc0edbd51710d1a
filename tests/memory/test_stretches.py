"""A stretch of time is read from its first day to its last, however it is written."""

from datetime import UTC, datetime

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
        ("in April and May", "2025-04-01", "2025-05-31"),
        ("in May or June", "2025-05-01", "2025-06-30"),
        ("in December and January", "2024-12-01", "2025-01-31"),
        ("in April and May 2024", "2024-04-01", "2024-05-31"),
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


@pytest.mark.parametrize(
    "words",
    [
        *("I may 3 times", "from 3 to 5 may be enough", "between us and may 3 people come"),
        *("pages 3-7 may help", "What did April and May say?", "3 to 7 march on"),
    ],
)
def test_what_only_looks_like_a_stretch_is_none(words: str) -> None:
    assert meant(words) == []
