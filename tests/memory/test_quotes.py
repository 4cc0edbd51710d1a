"""Quotes are packed by worth within their tokens, told in the order of time, each heading once."""

import pytest
from hypothesis import given, strategies as st

from quire.items import Image, Item, Message, ToolResult
from quire.memory.quotes import Quote, Quotes, QuoteSet

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
    told = quotes(lines, opening, limit).select(most, count)
    assert sum(map(count, told.items)) <= most or not told.items
    assert len(told.keys) <= (len(lines) if limit is None else limit)
    assert told.keys <= {("", f"q{nth}") for nth in range(len(lines))}


def test_an_end_of_line_that_costs_nothing_is_not_paid_for() -> None:
    def free_ends(item: Item) -> int:
        assert isinstance(item, Message) and isinstance(item.content, str)
        return len(item.content.split())

    lines = [("one two three four five", "")] * 8
    assert len(quotes(lines).select(40, free_ends).keys) == 8


def test_what_has_no_time_is_told_source_by_source_each_under_its_heading_once() -> None:
    found = [("b", 3), ("a", 2), ("b", 1), ("a", 0), ("c", 5), ("b", 2)]
    given = [
        Quote(f"{source}{order}", f"{source}{order}", f"[{source}]", 0.0, order, (), str, source=source)
        for source, order in found
    ]
    later = Quote("said", "said", "[Monday]", 7.0, 0, (), str, source="one")
    (told,) = Quotes([later, *given], name="quotes", opening="").select(None, count).items
    assert isinstance(told, Message)
    assert told.text.split() == ["[b]", "b1", "b2", "b3", "[a]", "a0", "a2", "[c]", "c5", "[Monday]", "said"]


def test_the_first_that_fits_is_taken_although_a_longer_one_is_worthier() -> None:
    lines = [("a " * 30, ""), ("a", ""), ("b", "")]
    assert quotes(lines).select(20, count).keys == {("", "q1"), ("", "q2")}


def test_what_is_long_and_worthiest_is_told_in_part_where_half_the_room_says_too_little() -> None:
    def shorter(line: str, letters: int) -> str:
        return line[:letters]

    long = Quote("long", "ab " * 900, "", 1.0, 0, (), str, shorter=shorter)
    others = [Quote(f"q{nth}", f"{nth} a b c", "", 2.0, nth, (), str) for nth in range(30)]
    for most in range(75, 400, 25):
        given = Quotes([long, *others], name="quotes", opening="")
        told = given.select(most, count)
        assert long.key in told.keys and sum(map(count, told.items)) <= most
        assert told.reason(long).endswith("told in part")
    few = Quotes([long, *others], name="quotes", opening="")
    left = few.select(60, count)
    assert long.key not in left.keys
    assert left.reason(long).endswith("longer than the room that was left")


VAT = "Our VAT number is NO-4455."


def quote_of(text: str, *, source: str = "one", covers: tuple[str, ...] = ("1",), at: float = 5.0) -> Quote:
    return Quote("1", text, "", at, 0, covers, str, source=source, text=text)


def said(*parts: str | Image, at: float = 5.0) -> Message:
    return Message("user", parts, id="1", created_at=at)


@pytest.mark.parametrize(
    "shown",
    [
        said(VAT),
        said("Our VAT number is"),  # the message of a group, of which the quote tells more
        said(f"{VAT} And so on, at length."),
        said("What of this?", Image(url="https://example.com/a.png"), VAT),
        said(""),
        said(VAT, at=6.0),
        ToolResult("c", "look_up", "found", id="1", created_at=5.0),
    ],
)
def test_an_item_is_known_whole_or_in_part(shown: Message | ToolResult) -> None:
    assert quote_of(VAT).is_of(shown)


@pytest.mark.parametrize("shown", [said("The printer is broken."), said("The printer is broken.", at=6.0)])
def test_other_words_are_of_another_item(shown: Message) -> None:
    assert not quote_of(VAT).is_of(shown)


def test_an_excerpt_begins_as_the_whole_does() -> None:
    whole = "The contract of the second of May says that " + "nothing of it may be changed. " * 9
    assert quote_of(whole).is_of(said(f"{whole[:60]} [...] {whole[-40:]}"))


def test_two_items_of_one_id_and_one_time_are_both_told() -> None:
    seen = QuoteSet([quote_of(VAT)])
    assert seen.has(quote_of(VAT, source="a fork")) and seen.has(quote_of(VAT, at=9.0))
    assert not seen.has(quote_of("The printer is broken.", source="two"))
    assert seen.has(quote_of("VAT, in short", covers=("1", "2")))
