"""What is view_after is what comes: the view after some edits, and nothing else has changed."""

import pytest
from hypothesis import given, strategies as st

from quire.errors import DuplicateId, EditRefused, LastUserMessage, UnknownId, WrongType
from quire.items import Edit, Hide, Item, Mask, Message, Note, Span, Summary, ToolCall, ToolResult, Undo
from quire.state import Transcript, View, view_after, is_edit
from tests.counting import FourCharacters
from tests.histories import CONTENT_OPS, EDIT_OPS, OPS, Author, Op
from tests.oracle import PlainTranscript
from tests.state.chains import play

pytestmark = [pytest.mark.laws, pytest.mark.usefixtures("lineage")]

EDITS = st.lists(
    st.tuples(
        st.integers(CONTENT_OPS, CONTENT_OPS + EDIT_OPS - 1),
        st.integers(0, 63),
        st.integers(0, 63),
        st.integers(0, 40),
    ),
    min_size=1,
    max_size=6,
)


def told(view: View) -> tuple[object, ...]:
    recorded = [item.id for item in view.log.items(0, view.end)]
    fates = [view.fate(item_id) for item_id in recorded]
    return list(view), recorded, fates, view.pending(), view.tokens(FourCharacters())


@given(OPS, EDITS)
def test_what_is_foreseen_is_what_comes(ops: list[Op], more: list[Op]) -> None:
    author = Author()
    transcript = play(ops, Transcript(), PlainTranscript(), author)
    view, before, revision = transcript.view, told(transcript.view), transcript.revision
    shadow, edits = Transcript(transcript.recorded()), list[Edit]()
    for op in more:
        edit = author.item(shadow, op)
        if edit is not None and is_edit(edit) and _accepted(shadow, edit):
            edits.append(edit)
    seen = view_after(view, edits)
    assert told(seen) == told(shadow.view)
    assert (told(view), transcript.revision, told(transcript.view)) == (before, revision, before)
    transcript.extend(edits)
    assert told(seen) == told(transcript.view)
    transcript.extend([Message("user", "later"), Note("late", created_at=1.0)])
    assert told(view_after(transcript.at(revision), edits)) == told(seen)


def _accepted(transcript: Transcript, edit: Edit) -> bool:
    try:
        transcript.append(edit)
    except EditRefused:
        return False
    return True


def conversation() -> Transcript:
    return Transcript(
        [
            Message("user", "first", id="u1"),
            Message("assistant", "answer", id="a1"),
            Message("user", "second", id="u2"),
            ToolCall("c", "read", id="call"),
        ]
    )


def test_edits_may_build_on_each_other() -> None:
    transcript = conversation()
    gist = Summary("gist", (Span("u1", "a1"),), id="S")
    assert [item.id for item in view_after(transcript.view, [gist])] == ["S", "u2", "call"]
    assert list(view_after(transcript.view, [gist, Undo("S")])) == list(transcript.view)
    assert "S" not in transcript and len(transcript) == 4


def test_a_call_still_waits_in_what_is_foreseen() -> None:
    seen = view_after(conversation().view, [Mask("u1", "[cleared]")])
    assert [call.id for call in seen.pending()] == ["call"]
    with pytest.raises(EditRefused):
        view_after(seen, [Hide((Span("call", "call"),))])


def test_what_would_be_refused_is_refused() -> None:
    transcript = conversation()
    with pytest.raises(LastUserMessage):
        view_after(transcript.view, [Hide((Span("u2", "u2"),))])
    with pytest.raises(UnknownId):
        view_after(Transcript().view, [Mask("u1", "[cleared]")])
    with pytest.raises(DuplicateId):
        view_after(transcript.view, [Mask("u1", "a", id="m"), Mask("u1", "b", id="m")])


@pytest.mark.parametrize(
    "item", [Message("user", "x"), Note("x"), ToolResult("c", "read", "x"), Summary("x")]
)
def test_content_cannot_be_foreseen(item: Item) -> None:
    with pytest.raises(WrongType):
        view_after(conversation().view, [item])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("edits", [None, 5, "ab", [None]])
def test_only_edits_of_a_view_can_be_foreseen(edits: object) -> None:
    with pytest.raises(WrongType):
        view_after(conversation().view, edits)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(WrongType):
        view_after(conversation(), [])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
