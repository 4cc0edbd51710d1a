"""Laws of truncation on random histories: atomic groups, protected items, as little as possible left out."""

import pytest
from hypothesis import assume, given, strategies as st

from quire.errors import Irreducible
from quire.items import Item, Message
from quire.state import Transcript, View, is_structural, newest, truncate
from quire.testing.histories import CONTENT_OPS, OPS, Author, Op
from quire.testing.plain import FourCharacters, PlainTranscript
from tests.counting import Items
from tests.state.chains import check, play

pytestmark = [pytest.mark.laws, pytest.mark.usefixtures("short_segments")]

TOKENS = FourCharacters()


@given(OPS, st.integers(0, 400))
def test_truncation_reaches_its_aim_as_foreseen_or_says_why_not(ops: list[Op], tokens: int) -> None:
    transcript, plain = Transcript(), PlainTranscript()
    transcript = play(ops, transcript, plain, Author())
    before = transcript.view
    try:
        edit = truncate(before, tokens=tokens, counter=TOKENS)
    except Irreducible as error:
        with pytest.raises(Irreducible):
            newest(before, tokens=tokens, counter=TOKENS)
        assert before.tokens(TOKENS) > tokens
        assert set(error.parts) <= {item.id for item in before}
        assert TOKENS.total(sum(TOKENS.count(i) for i in before if i.id in error.parts)) > tokens
        return
    foreseen = newest(before, tokens=tokens, counter=TOKENS)
    if edit is None:
        assert before.tokens(TOKENS) <= tokens and list(foreseen) == list(before)
        return
    transcript.append(edit)
    assert list(foreseen) == list(transcript.view)
    plain.append(edit)
    check(transcript, plain)
    assert transcript.view.tokens(TOKENS) <= tokens
    assert truncate(transcript.view, tokens=tokens, counter=TOKENS) is None
    kept = {item.id for item in transcript.view}
    assert {item.id for item in before if is_structural(item)} <= kept


def plain(ops: list[Op]) -> Transcript:
    """A history without edits: then a cut is a place in a list."""
    author, transcript = Author(), Transcript()
    for code, a, b, _ in ops:
        item = author.item(transcript, (code % CONTENT_OPS, a | 1, b, 0))
        if item is not None:
            transcript.append(item)
    return transcript


def best(view: View, tokens: int) -> int | None:
    """The most items that a cut may keep that falls where a turn of the user begins, if any fits."""
    items = list(view)
    starts = [index for index, item in enumerate(items) if isinstance(item, Message) and item.role == "user"]
    fitting = [kept for kept in (_kept(view, items, start) for start in starts) if kept <= tokens]
    return max(fitting, default=None)


def _kept(view: View, items: list[Item], start: int) -> int:
    """How many stay: the frame, calls that wait, and all from a place on, with the rest of its groups."""
    heads = [view.log.head(view.position(item.id)) for item in items]
    waiting = {view.log.head(view.position(call.id)) for call in view.pending()}
    whole = waiting | set(heads[start:])
    return sum(head in whole or is_structural(item) for head, item in zip(heads, items, strict=True))


@given(ops=OPS)
def test_a_cut_keeps_as_much_as_may_be_kept(ops: list[Op]) -> None:
    transcript = plain(ops)
    view = transcript.view
    assume(len(view) > 2)
    for tokens in range(1, len(view)):
        wanted = best(view, tokens)
        if wanted is None:
            continue
        trial = transcript.copy()
        try:
            cut = truncate(view, tokens=tokens, counter=Items())
        except Irreducible:
            raise AssertionError(f"{wanted} items fit into {tokens}") from None
        if cut is not None:
            trial.append(cut)
        assert len(trial.view) == wanted, tokens
