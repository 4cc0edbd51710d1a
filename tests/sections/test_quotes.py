"""Quotes are packed by worth within their tokens, told in the order of time, each heading once."""

import pytest
from hypothesis import given, strategies as st

from quire.items import Item, Message
from quire.sections import Quote, Quotes

WORDS = st.lists(st.sampled_from(["a", "bb", "ccc."]), min_size=1, max_size=20).map(" ".join)
drawn = st.lists(st.tuples(WORDS, st.sampled_from(["", "[Monday]", "[Tuesday]"])), max_size=12)


def count(item: Item) -> int:
    """A token for each word, each end of a line, and three around a message."""
    assert isinstance(item, Message) and isinstance(item.content, str)
    return 3 + len(item.content.split()) + item.content.count("\n")


def quotes(lines: list[tuple[str, str]], opening: str = "", limit: int | None = None) -> Quotes:
    given = [
        Quote(f"q{nth}", line, heading, nth % 3, nth, (), str) for nth, (line, heading) in enumerate(lines)
    ]
    return Quotes(given, name="quotes", opening=opening, limit=limit)


@pytest.mark.laws
@given(drawn, st.sampled_from(["", "From earlier:"]), st.integers(0, 120), st.none() | st.integers(1, 5))
def test_what_is_told_has_room(
    lines: list[tuple[str, str]], opening: str, most: int, limit: int | None
) -> None:
    told = quotes(lines, opening, limit).told(most, count)
    assert sum(map(count, told.items)) <= most or not told.items
    assert len(told.kept) <= (len(lines) if limit is None else limit)
    assert told.kept <= {("", f"q{nth}") for nth in range(len(lines))}


def test_an_end_of_line_that_costs_nothing_is_not_paid_for() -> None:
    def free_ends(item: Item) -> int:
        assert isinstance(item, Message) and isinstance(item.content, str)
        return len(item.content.split())

    lines = [("one two three four five", "")] * 8
    assert len(quotes(lines).told(40, free_ends).kept) == 8


def test_what_has_no_time_is_told_source_by_source_each_under_its_heading_once() -> None:
    found = [("b", 3), ("a", 2), ("b", 1), ("a", 0), ("c", 5), ("b", 2)]
    given = [
        Quote(f"{source}{order}", f"{source}{order}", f"[{source}]", 0.0, order, (), str, source=source)
        for source, order in found
    ]
    later = Quote("said", "said", "[Monday]", 7.0, 0, (), str, source="one")
    (told,) = Quotes([later, *given], name="quotes", opening="").told(None, count).items
    assert told.text.split() == ["[b]", "b1", "b2", "b3", "[a]", "a0", "a2", "[c]", "c5", "[Monday]", "said"]


def test_the_first_that_fits_is_taken_although_a_longer_one_is_worthier() -> None:
    lines = [("a " * 30, ""), ("a", ""), ("b", "")]
    assert quotes(lines).told(20, count).kept == {("", "q1"), ("", "q2")}


def test_what_is_long_and_worthiest_is_told_in_part_where_half_the_room_says_too_little() -> None:
    def shorter(line: str, letters: int) -> str:
        return line[:letters]

    long = Quote("long", "ab " * 900, "", 1.0, 0, (), str, shorter=shorter)
    others = [Quote(f"q{nth}", f"{nth} a b c", "", 2.0, nth, (), str) for nth in range(30)]
    for most in range(75, 400, 25):
        given = Quotes([long, *others], name="quotes", opening="")
        told = given.told(most, count)
        assert long.key in told.kept and sum(map(count, told.items)) <= most
        assert given.why(long).endswith("told in part")
    few = Quotes([long, *others], name="quotes", opening="")
    assert long.key not in few.told(60, count).kept
    assert few.why(long).endswith("longer than the room that was left")
