"""Days by their name in the week or their number in the month, with and without "on"."""

import pytest

from quire.memory.index import Question
from quire.memory.times import span_of
from tests.memory.test_times import NOW, told


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("What did we do Monday?", "2023-07-17"),
        ("What did we do Wednesday?", "2023-07-12"),
        ("What did we talk about Tuesday?", "2023-07-18"),
        ("What did we talk with Ana about Tuesday?", "2023-07-18"),
        ("What happened Friday?", "2023-07-14"),
        ("How was Friday?", "2023-07-14"),
        ("Who called Friday?", "2023-07-14"),
        ("Where did I go saturday", "2023-07-15"),
        ("What did I have for lunch Tuesday?", "2023-07-18"),
        ("What did Ana say Friday, and why?", "2023-07-14"),
        ("What was Ana up to Friday?", "2023-07-14"),
        ("What did we do on Wednesday last week?", "2023-07-12"),
        ("What did we do Monday last week?", "2023-07-10"),
        ("the Monday of last week", "2023-07-10"),
        ("last week on Monday", "2023-07-10"),
        ("Monday of the week before last", "2023-07-03"),
        ("on Monday this week", "2023-07-17"),
        ("two Fridays ago", "2023-07-07"),
        ("three Wednesdays ago", "2023-06-28"),
        ("the Friday before last", "2023-07-07"),
        ("on the Wednesday before last", "2023-07-05"),
        ("What did we do on the 4th?", "2023-07-04"),
        ("What did we do on the 19th?", "2023-07-19"),
        ("What did we do on the 20th?", "2023-06-20"),
        ("What did we do on the 31st?", "2023-05-31"),
        ("Did Ana call on the 4th?", "2023-07-04"),
        ("What did we do on May fourth?", "2023-05-04"),
        ("What did we do on May the fourth?", "2023-05-04"),
        ("the fourth of November", "2022-11-04"),
        ("the twenty-first of June", "2023-06-21"),
        ("on the thirty first of January 2021", "2021-01-31"),
        ("on Friday, November eleventh", "2022-11-11"),
    ],
)
def test_a_day_is_read(question: str, day: str) -> None:
    span = span_of(question, NOW)
    assert span is not None and span.words in question
    assert (told(span.start), span.end - span.start) == (day, 86_400)


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What did we do Monday morning?", "2023-07-17", "2023-07-17 12:00"),
        ("What did we do Monday evening last week?", "2023-07-10 18:00", "2023-07-11"),
        ("What happened since the 4th?", "2023-07-04", "2023-07-19 15:30"),
        ("What was said up to Monday?", "1970-01-01", "2023-07-18"),
        ("What did we do on Friday this week?", "2023-07-17", "2023-07-24"),
    ],
)
def test_a_part_of_a_day_or_more_than_one_is_read(question: str, start: str, end: str) -> None:
    span = span_of(question, NOW)
    assert span is not None and (told(span.start), told(span.end)) == (start, end)


@pytest.mark.parametrize(
    "question",
    [
        *(
            "What did you say about Wednesday's game?",
            "What did you say about Wednesday?",
            "How was my Friday?",
        ),
        *("What did we buy for Friday?", "What did we do with Ruby Tuesday?", "How was Ana's Friday?"),
        *("What did Ana say about the meeting Friday?", "What did we decide to do Friday?"),
        *("What did Ana say is due Friday?", "What are we doing Friday?", "What do we do Wednesday?"),
        *("I was told it is Friday.", "We were closed Friday. What now?", "How was black friday?"),
        *("What did we wear for casual friday?", "What did Friday say to Robinson?", "a few Fridays ago"),
        *("What is on the 4th?", "Who was on the 4th floor?", "What did we do on the 2nd attempt?"),
        *("What did June first say?", "Who was the first of May's guests?", "What was it on the 39th?"),
        *("the fourth November", "zero Fridays ago", "1.5 Fridays ago"),
    ],
)
def test_what_only_has_the_name_of_a_day_is_none(question: str) -> None:
    assert span_of(question, NOW) is None


def test_who_asks_for_a_day_alone_asks_what_was_said_then() -> None:
    for question in (
        "What did we do Wednesday?",
        "What did we talk about Tuesday?",
        "What did we do on the 4th?",
    ):
        asked = Question.of(question, NOW).among(())
        assert asked.asks_what_was_said


def test_a_day_in_words_may_be_told_of_on_the_days_after_like_one_in_digits() -> None:
    words, digits = (Question.of(f"How was the race on May {day}?", NOW) for day in ("fourth", "4"))
    assert words.meant() == digits.meant()
