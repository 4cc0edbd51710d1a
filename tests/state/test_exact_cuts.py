"""The cut of a truncation against a search through all cuts: it keeps as much as may be kept, never less."""

from hypothesis import assume, given

from quire.errors import Irreducible, QuireError
from quire.items import EDITS, Item, Message, ToolCall, ToolResult
from quire.state import Transcript, View, structural, truncate
from tests.histories import OPS, Author, Op

WORTH = 10


class Even:
    """Counts every item alike, so that a cut is told by how many items it keeps."""

    key = "even"

    def count(self, item: Item) -> int:
        return WORTH

    def total(self, counted: int) -> int:
        return counted


def plain(ops: list[Op]) -> Transcript:
    """A history in the order of its times, without edits: then a cut is a place in a list."""
    author, transcript = Author(), Transcript()
    for code, a, b, _ in ops:
        item = author.item(transcript, (code % 11, a | 1, b, 0))
        if item is not None and type(item) not in EDITS:
            try:
                transcript.append(item)
            except QuireError:
                continue
    return transcript


def best(view: View, tokens: int) -> int | None:
    """The most items that a cut may keep that falls where a turn of the user begins, if any fits."""
    items = list(view)
    starts = [index for index, item in enumerate(items) if isinstance(item, Message) and item.role == "user"]
    fitting = [kept for kept in (_kept(view, items, start) for start in starts) if kept * WORTH <= tokens]
    return max(fitting, default=None)


def _kept(view: View, items: list[Item], start: int) -> int:
    """How many stay: the frame, calls that wait, and all from a place on, with the rest of its groups."""
    heads = [view.log.head(view.position(item.id)) for item in items]
    waiting = {view.log.head(view.position(call.id)) for call in view.pending()}
    whole = waiting | set(heads[start:])
    return sum(head in whole or structural(item) for head, item in zip(heads, items, strict=True))


@given(ops=OPS)
def test_a_cut_keeps_as_much_as_may_be_kept(ops: list[Op]) -> None:
    transcript = plain(ops)
    view = transcript.view
    assume(len(view) > 2)
    for tokens in range(WORTH, len(view) * WORTH, WORTH):
        wanted = best(view, tokens)
        if wanted is None:
            continue
        trial = transcript.copy()
        try:
            cut = truncate(view, tokens=tokens, counter=Even())
        except Irreducible:
            raise AssertionError(f"{wanted} items fit into {tokens}") from None
        if cut is not None:
            trial.append(cut)
        assert len(trial.view) == wanted, tokens


def test_a_group_that_ended_before_the_cut_goes_though_another_reaches_over_it() -> None:
    transcript = Transcript(
        [
            *(Message("user", "u0", id="u0"), ToolCall("b", "look", id="cb"), Message("user", "u1", id="u1")),
            *(ToolCall("a", "look", id="ca"), Message("user", "u2", id="u2")),
            *(ToolResult("a", "look", "A", id="ra"), Message("user", "u3", id="u3")),
            *(ToolResult("b", "look", "B", id="rb"), Message("user", "u4", id="u4")),
        ]
    )
    cut = truncate(transcript.view, tokens=4 * WORTH, counter=Even())
    assert cut is not None
    transcript.append(cut)
    assert [item.id for item in transcript.view] == ["cb", "u3", "rb", "u4"]
