"""Quotes are selected by score within their tokens, and shown in the order of time, each heading once."""

import pytest
from hypothesis import given, strategies as st

from quire.items import Item, Message
from quire.memory import Quote, Quotes
from quire.stores.streams import OF

WORDS = st.lists(st.sampled_from(["a", "bb", "ccc."]), min_size=1, max_size=20).map(" ".join)
LINES = st.lists(st.tuples(WORDS, st.sampled_from(["", "[Monday]", "[Tuesday]"])), max_size=12)


def count(item: Item) -> int:
    """A token for each word, each end of a line, and three around a message."""
    assert isinstance(item, Message)
    return 3 + len(item.text.split()) + item.text.count("\n")


def block(quotes: list[Quote], opening: str = "", limit: int | None = None) -> Quotes:
    return Quotes(quotes, opening=opening, closing="", limit=limit)


def quotes(lines: list[tuple[str, str]]) -> list[Quote]:
    return [
        Quote(f"q{nth}", line, heading, nth % 3, nth, (f"q{nth}",), str)
        for nth, (line, heading) in enumerate(lines)
    ]


@pytest.mark.laws
@given(LINES, st.sampled_from(["", "From earlier:"]), st.integers(0, 120), st.none() | st.integers(1, 5))
def test_a_block_is_within_its_tokens_and_names_what_it_quotes(
    lines: list[tuple[str, str]], opening: str, most: int, limit: int | None
) -> None:
    selected = block(quotes(lines), opening, limit).select(most, count)
    assert sum(map(count, selected.items)) <= most or not selected.items
    assert len(selected) <= (len(lines) if limit is None else limit)
    named = [one for item in selected.items for one in item.extras[OF]]
    assert {("", one) for one in named} == selected.keys and len(named) == len(selected)


def test_line_ends_that_cost_nothing_are_not_counted() -> None:
    def free_ends(item: Item) -> int:
        return count(item) - 3 - item.text.count("\n") if isinstance(item, Message) else 0

    assert len(block(quotes([("one two three four five", "")] * 8)).select(40, free_ends)) == 8


def test_quotes_without_a_time_are_grouped_by_source() -> None:
    found = [("b", 3), ("a", 2), ("b", 1), ("a", 0), ("c", 5), ("b", 2)]
    given = [
        Quote(f"{source}{order}", f"{source}{order}", f"[{source}]", 0.0, order, (), str, source=source)
        for source, order in found
    ]
    later = Quote("said", "said", "[Monday]", 7.0, 0, (), str, source="one")
    (shown,) = block([later, *given]).select(None, count).items
    assert isinstance(shown, Message)
    assert shown.text.split() == ["[b]", "b1", "b2", "b3", "[a]", "a0", "a2", "[c]", "c5", "[Monday]", "said"]


def test_a_quote_that_does_not_fit_is_skipped() -> None:
    selected = block(quotes([("a " * 30, ""), ("a", ""), ("b", "")])).select(20, count)
    assert selected.keys == {("", "q1"), ("", "q2")}


def test_a_long_quote_is_shortened_if_there_is_room_for_a_useful_part() -> None:
    def shorter(line: str, characters: int) -> str:
        return line[:characters]

    long = Quote("long", "ab " * 900, "", 1.0, 0, (), str, shorter=shorter)
    others = [Quote(f"q{nth}", f"{nth} a b c", "", 2.0, nth, (), str) for nth in range(30)]
    for most in range(75, 400, 25):
        selected = block([long, *others]).select(most, count)
        assert long.key in selected.keys and sum(map(count, selected.items)) <= most
        assert selected.reason(long).endswith("quoted in part")
    selected = block([long, *others]).select(60, count)
    assert long.key not in selected.keys and "longer than the room" in selected.reason(long)
