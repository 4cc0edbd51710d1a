"""What ends now and what is some time ago, and what is the week or the month of the calendar before."""

import pytest

from quire.memory.times import span_of
from tests.memory.test_times import NOW, told


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What did we decide in the past week?", "2023-07-12 15:30", "2023-07-19 15:30"),
        ("Summarize the past month.", "2023-06-19 15:30", "2023-07-19 15:30"),
        ("What happened this past year?", "2022-07-19 15:30", "2023-07-19 15:30"),
        ("this last quarter", "2023-04-19 15:30", "2023-07-19 15:30"),
        ("within the last year", "2022-07-19 15:30", "2023-07-19 15:30"),
        ("in the last decade", "2013-07-19 15:30", "2023-07-19 15:30"),
        ("in the last two months", "2023-05-19 15:30", "2023-07-19 15:30"),
        ("in the previous week", "2023-07-10", "2023-07-17"),
        ("in der letzten Woche", "2023-07-12 15:30", "2023-07-19 15:30"),
        ("Was war im letzten Monat?", "2023-06-19 15:30", "2023-07-19 15:30"),
        ("im vergangenen Jahr", "2022-07-19 15:30", "2023-07-19 15:30"),
        ("während des letzten Jahres", "2022-07-19 15:30", "2023-07-19 15:30"),
        ("au cours de la dernière semaine", "2023-07-12 15:30", "2023-07-19 15:30"),
        ("au cours du dernier mois", "2023-06-19 15:30", "2023-07-19 15:30"),
        ("en la última semana", "2023-07-12 15:30", "2023-07-19 15:30"),
        ("durante el último año", "2022-07-19 15:30", "2023-07-19 15:30"),
        ("letzten Monat", "2023-06-01", "2023-07-01"),
        ("vergangene Woche", "2023-07-10", "2023-07-17"),
        ("la semaine passée", "2023-07-10", "2023-07-17"),
        ("l\u2019année passée", "2022-01-01", "2023-01-01"),
        ("el año pasado", "2022-01-01", "2023-01-01"),
        ("ten minutes ago", "2023-07-19 15:17", "2023-07-19 15:22"),
        ("10 minutes ago", "2023-07-19 15:17", "2023-07-19 15:22"),
        ("vor 40 Minuten", "2023-07-19 14:40", "2023-07-19 15:00"),
        ("a few minutes ago", "2023-07-19 15:21", "2023-07-19 15:29"),
        ("eight hours ago", "2023-07-19 05:30", "2023-07-19 09:30"),
        ("from May 2023 to January 1988", "2023-05-01", "2023-06-01"),
    ],
)
def test_a_time_told_from_now_becomes_an_interval(question: str, start: str, end: str) -> None:
    span = span_of(question, NOW)
    assert span is not None and span.words in question
    assert (told(span.start), told(span.end)) == (start, end)


def test_a_month_before_the_last_day_of_one_is_a_day_that_there_is() -> None:
    span = span_of("in the last month", NOW + 12 * 86_400)  # on the 31st of July
    assert span is not None and told(span.start) == "2023-06-30 15:30"
