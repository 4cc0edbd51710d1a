"""Which calls of a conversation wait: found where they are, however many transcripts there are."""

from typing import Any

from hypothesis import given, strategies as st

from quire.errors import QuireError
from quire.items import Hide, Item, Message, Span, ToolCall, ToolResult
from quire.session.workspace import Workspace, Written
from quire.state import View
from quire.stores.streams import MAIN

NAMES = (MAIN, "attempt_a", "attempt_b")


@st.composite
def logs(draw: st.DrawFn) -> list[Written]:
    """Entries of a log: calls that are answered, hidden with their results, or wait."""
    written: list[Written] = []
    for _ in range(draw(st.integers(0, 25))):
        name = draw(st.sampled_from(NAMES))
        calls = [one for stream, one in written if stream == name and isinstance(one, ToolCall)]
        kinds: list[Item] = [Message("user", "x"), ToolCall(f"c{draw(st.integers(0, 4))}", "look")]
        kinds += [ToolResult(call.call_id, "look", "found") for call in calls]
        said = [one for stream, one in written if stream == name and isinstance(one, Message)]
        kinds += [Hide((Span(one.id, one.id),)) for one in said[:1]]
        written.append(Written(name, draw(st.sampled_from(kinds))))
    return written


def looked_for(workspace: Workspace) -> list[ToolCall]:
    return [call for one in workspace.transcripts.values() for call in one.view.pending()]


@given(logs(), st.integers(0, 25))
def test_calls_that_wait_are_those_of_all_transcripts(log: list[Written], cut: int) -> None:
    at_once, one_by_one = Workspace(), Workspace()
    fitting: list[Written] = []
    for entry in log:
        try:
            one_by_one.check([entry])
        except QuireError:  # what a transcript would not take is for other tests
            continue
        fitting.append(entry)
        if entry.stream in one_by_one.transcripts and not isinstance(entry.item, Hide):
            one_by_one.take(*entry)
        else:
            one_by_one.apply([entry])
        assert one_by_one.pending() == looked_for(one_by_one)
    at_once.apply(fitting)
    assert at_once.pending() == one_by_one.pending()
    child = at_once.child()
    assert child.pending() == at_once.pending()
    child.apply([Written(MAIN, ToolCall("new", "look"))])
    assert at_once.pending() == looked_for(at_once) and child.pending() == looked_for(child)


def test_transcripts_without_calls_are_not_looked_through(monkeypatch: Any) -> None:
    workspace = Workspace()
    for n in range(50):
        workspace.apply([Written(f"attempt_{n}", Message("user", "x"))])
    workspace.apply(
        [Written("done", ToolCall("c0", "look")), Written("done", ToolResult("c0", "look", "it"))]
    )
    workspace.apply([Written(MAIN, ToolCall("c1", "look"))])
    asked: list[View] = []
    pending = View.pending

    def counted(view: View) -> list[ToolCall]:
        asked.append(view)
        return pending(view)

    monkeypatch.setattr(View, "pending", counted)
    assert workspace.waiting() == {"c1"} and len(asked) == 1
