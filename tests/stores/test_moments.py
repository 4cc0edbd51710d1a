"""What is a date or a time and nothing else, and what only holds one."""

import pytest

from quire.stores.moments import is_moment

MOMENTS = [
    "2026-11-16",
    "2026-11-16T10:15:00Z",
    "2026-11-16 10:15:00.250+01:00",
    "2026-11-16 10:15 UTC",
    "2026-11-16T10:15:00 Europe/Lisbon",
    "2026-11-16 to 2026-11-20",
    "2026-11-16/2026-11-20",
    "10:00 - 11:00",
    "10:00\u201311:00",
    "10:15 AM on 11/16/2026",
    "November 16, 2026",
    "the 16th of November",
    "Mon, 16 Nov 2026 10:15:00 GMT",
    "Monday at 10:30",
    "tomorrow at 9am",
    "next Tuesday, between 3 pm and 5 pm",
    "16.11.2026, 10:15",
    "am Montag, den 16. November um 10 Uhr",
    "le lundi 16 novembre à 10 h",
    "el lunes 16 de noviembre a las 10:00",
    "2026年11月16日 10:15",
]
OTHERS = [
    "",
    "and at the",
    "12 30 16",
    "4000 1234 5678 9010",
    "Monday 4000 1234",
    "+49 170 1234567",
    "10.0.0.1 at 10:15",
    "2026-11-16 Ana Souza",
    "Lamp for Bob on Monday",
    "room 12, Monday at 10:30",
    "monday@shop.example",
    "May Wong, 16 March",
]


@pytest.mark.parametrize("text", MOMENTS)
def test_a_moment_is_known_however_it_is_written(text: str) -> None:
    assert is_moment(text)


@pytest.mark.parametrize("text", OTHERS)
def test_what_says_more_than_when_is_no_moment(text: str) -> None:
    assert not is_moment(text)


def test_a_long_row_of_times_is_read_once() -> None:
    assert not is_moment("9 am, " * 50_000 + "Ana")
    assert is_moment("9 am, " * 1_000)
