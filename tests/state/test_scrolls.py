"""A scroll reads like the list of what is on it, and what truncating would leave is what it leaves."""

import pytest
from hypothesis import given, strategies as st

from quire.errors import Irreducible, OutOfRange
from quire.items import Message
from quire.state import Scroll, Transcript, keep_memo, memos, newest, truncate
from tests.counting import FourCharacters
from tests.histories import OPS, Author, Op
from tests.oracle import PlainTranscript
from tests.state.chains import play

pytestmark = [pytest.mark.laws, pytest.mark.usefixtures("lineage")]

COUNTER = FourCharacters()


@given(OPS, st.integers(0, 400))
def test_what_truncating_would_leave_is_what_it_leaves(ops: list[Op], tokens: int) -> None:
    transcript = play(ops, Transcript(), PlainTranscript(), Author())
    view = transcript.view
    try:
        edit = truncate(view, tokens=tokens, counter=COUNTER)
    except Irreducible:
        with pytest.raises(Irreducible):
            newest(view, tokens=tokens, counter=COUNTER)
        return
    left = newest(view, tokens=tokens, counter=COUNTER)
    if edit is not None:
        transcript.append(edit)
    assert list(left) == list(transcript.view)


@given(OPS, st.integers(0, 5), st.slices(12))
def test_a_scroll_reads_like_a_list(ops: list[Op], start: int, part: slice) -> None:
    view = play(ops, Transcript(), PlainTranscript(), Author()).view
    start = min(start, len(view))
    before, after = (Message("system", "a", id="a"),), (Message("user", "z", id="z"),)
    scroll, listed = Scroll(before, view, start, after), [*before, *view[start:], *after]
    assert list(scroll) == listed and len(scroll) == len(listed)
    assert scroll[part] == listed[part]
    assert [scroll[index] for index in range(-len(listed), len(listed))] == [*listed, *listed]
    with pytest.raises(OutOfRange):
        scroll[len(listed)]


def test_the_latest_of_each_sort_is_kept() -> None:
    view = Transcript([Message("user", "q")]).view
    keep_memo(view, "a text", "worked out")
    for number in range(10):
        keep_memo(view, number, number)
    assert memos(view)["a text"] == "worked out"
    assert [key for key in memos(view) if isinstance(key, int)] == [6, 7, 8, 9]
