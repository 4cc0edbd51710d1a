"""Whole numbers of thousands of digits are refused as any others are, though Python does not write them."""

from collections.abc import Callable

import pytest

from quire.errors import QuireError, WrongType
from quire.items import Message, parts_of, text_of
from quire.state import Pool, Scroll, Transcript, Window, config_at, truncate
from quire.tokens import Budget, Usage
from tests.counting import Items

HUGE = 10**5_000
SAID = Transcript([Message("user", "x")])


@pytest.mark.parametrize(
    "act",
    [
        lambda: truncate(SAID.view, tokens=-HUGE, counter=Items()),
        lambda: SAID.view[-HUGE],
        lambda: SAID.at(-HUGE),
        lambda: config_at(SAID.view, -HUGE),
        lambda: Scroll(view=SAID.view, start=-HUGE),
        lambda: Pool(limit=-HUGE),
        lambda: Window[int](limit=-HUGE),
        lambda: Budget(window=-HUGE),
        lambda: Usage(input=-HUGE),
    ],
)
def test_the_error_is_of_the_library(act: Callable[[], object]) -> None:
    with pytest.raises(QuireError) as caught:
        act()
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("given", [Message("user", "x"), None, 7])
def test_what_is_no_content_is_refused(given: object) -> None:
    for ask in (text_of, parts_of):
        with pytest.raises(WrongType):
            ask(given)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
