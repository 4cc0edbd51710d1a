"""So many units: written against the number, cut short, with a fraction, in large numbers, to the day."""

import pytest

from quire.memory.times import span_of
from tests.memory.test_times import NOW, told


@pytest.mark.parametrize(
    ("question", "same"),
    [
        ("in the last 24h", "in the last 24 hours"),
        ("in the last 24 h", "in the last 24 hours"),
        ("in the last 24hrs", "in the last 24 hours"),
        ("in the last 24hours", "in the last 24 hours"),
        ("in the past 7d", "in the past 7 days"),
        ("2h ago", "2 hours ago"),
        ("20min ago", "20 minutes ago"),
        ("20mins ago", "20 minutes ago"),
        ("20m ago", "20 minutes ago"),
        ("3d ago", "3 days ago"),
        ("2w ago", "2 weeks ago"),
        ("2y ago", "2 years ago"),
        ("a half-hour ago", "half an hour ago"),
        ("in the last half-hour", "in the last half hour"),
        ("in the last 2 hrs Ana said what?", "in the last 2 hours"),
        ("What came in the last 2 hr and who brought it?", "in the last 2 hours"),
        ("in the last 1.5 hours", "in the last 90 minutes"),
        ("in the last 1.5 days", "in the last 36 hours"),
        ("one hundred and twenty days ago", "120 days ago"),
        ("a hundred days ago", "100 days ago"),
        ("three hundred twenty-five days ago", "325 days ago"),
        ("in the last two hundred days", "in the last 200 days"),
        ("one hundred and five days before 2023-05-22", "105 days before 2023-05-22"),
        ("1.5 weeks before 2023-05-22", "1.50 weeks before 2023-05-22"),
    ],
)
def test_two_ways_to_write_a_distance_are_the_same(question: str, same: str) -> None:
    one, other = span_of(question, NOW), span_of(same, NOW)
    assert one is not None and other is not None and one.words in question
    assert (one.start, one.end) == (other.start, other.end)


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("1.5 hours ago", "2023-07-19 13:30", "2023-07-19 14:30"),
        ("1.5 weeks ago", "2023-07-05 15:30", "2023-07-12 15:30"),
        ("1.5 days ago", "2023-07-17 15:30", "2023-07-18 15:30"),
        ("What did we do a week ago today?", "2023-07-12", "2023-07-13"),
        ("a week ago yesterday", "2023-07-11", "2023-07-12"),
        ("two weeks ago today", "2023-07-05", "2023-07-06"),
        ("a month ago today", "2023-06-19", "2023-06-20"),
        ("a year ago today", "2022-07-19", "2022-07-20"),
        ("ten days ago today", "2023-07-09", "2023-07-10"),
        ("two hours ago today", "2023-07-19 13:00", "2023-07-19 14:00"),
        ("half an hour ago today", "2023-07-19 14:45", "2023-07-19 15:15"),
        ("a few weeks ago today", "2023-06-18 03:30", "2023-07-09 03:30"),
    ],
)
def test_a_distance_is_read_to_what_it_says(question: str, start: str, end: str) -> None:
    span = span_of(question, NOW)
    assert span is not None and (told(span.start), told(span.end)) == (start, end)


@pytest.mark.parametrize(
    "question",
    [
        *("What do the last two sec filings say?", "Where are the last ten hr policies?"),
        *("How were the last two min values?", "Who won the last 24h race?", "Show the last 3d prints"),
        *(
            "How did I run the last 100m?",
            "It is 20m back",
            "1,500 days ago",
            "1/2 hour ago",
            "twelve hundred and five days ago",
        ),
        *("two thousand and five days ago", "two h ago", "several hundred days ago"),
    ],
)
def test_what_is_no_distance_or_too_large_is_not_read(question: str) -> None:
    assert span_of(question, NOW) is None


@pytest.mark.parametrize(
    "question",
    [
        *(
            "What was Ana up to last week?",
            "What were the kids up to last week?",
            "what was fred up to last week",
        ),
        *("What was the whole team up to last week?", "What has Ana been up to last week?"),
        *("Tell me what Ana was up to last week.", "What did the kids get up to last week?"),
    ],
)
def test_what_somebody_was_up_to_is_what_they_did_then(question: str) -> None:
    span = span_of(question, NOW)
    assert span is not None and (told(span.start), told(span.end)) == ("2023-07-10", "2023-07-17")


@pytest.mark.parametrize(
    "question",
    ["What was decided up to last week?", "What was the total up to last week?", "all up to last week"],
)
def test_what_counts_up_to_a_time_is_until_then(question: str) -> None:
    span = span_of(question, NOW)
    assert span is not None and told(span.start) == "1970-01-01"
