"""A quote stands for one item: what has its id and its time in another conversation is another."""

import pytest

from quire.items import Image, Message, ToolResult
from quire.sections import Heard, Quote

VAT = "Our VAT number is NO-4455."


def quote(text: str, *, source: str = "one", covers: tuple[str, ...] = ("1",), at: float = 5.0) -> Quote:
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
    assert quote(VAT).is_of(shown)


@pytest.mark.parametrize("shown", [said("The printer is broken."), said("The printer is broken.", at=6.0)])
def test_other_words_are_of_another_item(shown: Message) -> None:
    assert not quote(VAT).is_of(shown)


def test_an_excerpt_begins_as_the_whole_does() -> None:
    whole = "The contract of the second of May says that " + "nothing of it may be changed. " * 9
    assert quote(whole).is_of(said(f"{whole[:60]} [...] {whole[-40:]}"))


def test_two_items_of_one_id_and_one_time_are_both_told() -> None:
    heard = Heard([quote(VAT)])
    assert heard.has(quote(VAT, source="a fork")) and heard.has(quote(VAT, at=9.0))
    assert not heard.has(quote("The printer is broken.", source="two"))
    assert heard.has(quote("VAT, in short", covers=("1", "2")))
