"""Law 5 where a child goes on after it was merged, and its beginning was made smaller meanwhile."""

import pytest
from hypothesis import given

from quire.items import Hide, Message, Span, Summary, ToolCall, ToolResult
from quire.state import EDIT, Transcript, merge_all
from tests.histories import OPS, Author, Op
from tests.oracle import PlainTranscript
from tests.state.chains import play

pytestmark = pytest.mark.laws


@given(OPS, OPS, OPS, OPS)
def test_groups_stay_whole_when_a_child_goes_on_after_a_merge(
    past: list[Op], theirs: list[Op], ours: list[Op], more: list[Op]
) -> None:
    parent, plain = Transcript(), PlainTranscript()
    parent = play(past, parent, plain, Author())
    child = parent.fork()
    own = PlainTranscript(child.recorded(), list(range(99)), [0.0] * 99)
    child = play(theirs, child, own, Author("q"))
    merge_all(parent, child, agent_id="worker")
    beside = PlainTranscript(parent.recorded(), list(range(999)), [0.0] * 999)
    parent = play(ours, parent, beside, Author("p"))
    child = play(more, child, own, Author("r"))
    merge_all(parent, child, agent_id="worker")
    _check_whole(parent)


def test_a_reply_that_goes_on_after_its_beginning_was_compacted_begins_anew() -> None:
    for edit in (Summary("gist", (Span("a1", "b1"),)), Hide((Span("a1", "b1"),))):
        parent = Transcript([Message("system", "s", id="a0"), Message("user", "go", id="a1")])
        child = parent.fork()
        child.append(Message("assistant", "Let me look.", id="b1"))
        merge_all(parent, child, agent_id="kid")
        parent.append(Message("user", "meanwhile", id="c1"))
        parent.append(edit)
        child.extend([ToolCall("k1", "search", id="d1"), ToolResult("k1", "search", "found", id="d2")])
        merge_all(parent, child, agent_id="kid")
        _check_whole(parent)
        parent.extend([Message("user", "next", id="e1"), Message("assistant", "yes", id="e2")])
        parent.append(Hide((Span("d1", "d2"),)))
        _check_whole(parent)


def _check_whole(transcript: Transcript) -> None:
    """No group is shown in part."""
    view = transcript.view
    for position in range(view.end):
        head = view.log.head(position)
        if head != EDIT:
            assert (view.run_at(position) is None) == (view.run_at(head) is None), position
