"""Laws of forks and merges on random histories."""

from itertools import count

import pytest
from hypothesis import given, strategies as st

from quire.errors import EditRefused
from quire.items import (
    ConfigChange,
    Edit,
    Hide,
    Item,
    Mask,
    Message,
    Pin,
    Span,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
)
from quire.state import CLOSED, Transcript, fork_scoped, is_edit, is_instruction, merge_all
from quire.testing.histories import OPS, Author, Op
from quire.testing.plain import PlainTranscript
from tests.state.chains import check, plain_of, play

pytestmark = [pytest.mark.laws, pytest.mark.usefixtures("short_segments")]


@given(OPS, st.integers(1, 4), st.sets(st.sampled_from(["tool0", "tool1", "tool2"])) | st.none())
def test_a_narrow_fork_shows_its_scope(ops: list[Op], turns: int, tools: set[str] | None) -> None:
    parent, plain = Transcript(), PlainTranscript()
    parent = play(ops, parent, plain, Author())
    before = list(parent.view)
    child = fork_scoped(parent, turns=turns, tools=tools)
    assert list(parent.view) == before
    twin = plain.copy()
    for item in child.recorded(since=len(parent)):
        twin.append(item)
    check(child, twin)
    shown = list(child.view)
    pinned = {twin.log[p].id for p in twin.pinned()}
    told = [i for i in before if isinstance(i, ConfigChange) or (isinstance(i, Message) and "rule" in i.text)]
    assert [i.id for i in shown if i.id in {t.id for t in told}] == [t.id for t in told]
    users = [i.id for i in before if isinstance(i, Message) and i.role == "user"]
    kept = [i.id for i in shown if isinstance(i, Message) and i.role == "user"]
    assert [i for i in kept if i not in pinned] == [i for i in users[-turns:] if i not in pinned]
    if tools is not None:
        assert all(
            i.name in tools or i.id in pinned
            for i in shown
            if isinstance(i, ToolCall | ToolResult) and not i.call_id.startswith("orphan")
        )


@given(OPS, OPS, OPS)
def test_merging_brings_all_once_and_at_the_end(past: list[Op], ours: list[Op], theirs: list[Op]) -> None:
    parent, plain = Transcript(), PlainTranscript()
    parent = play(past, parent, plain, Author())
    child = parent.fork()
    child = play(theirs, child, plain_of(child), Author("q"))
    parent = play(ours, parent, plain, Author("p"))
    own = [i for i in child.recorded() if not is_edit(i) and CLOSED not in i.extras and i.id not in parent]
    closed = [i.id for i in parent.recorded() if CLOSED in i.extras]
    merged = merge_all(parent, child, agent_id="worker")
    told = {i.id for i in own if is_instruction(i) or isinstance(i, ConfigChange)}
    assert {i.id for i in own} - {i.id for i in merged} == told
    assert all(i.agent_id for i in merged if not is_edit(i))
    for item in merged:
        plain.append(item)
    check(parent, plain)
    assert merge_all(parent, child) == []
    assert [i.id for i in parent.recorded() if CLOSED in i.extras] == closed


Step = tuple[int, int, int]
STEPS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30), st.integers(0, 30)), max_size=30)


class Pair:
    """A parent and a child that go on side by side; every edit is the child's, of nothing but its own.

    No undo is undone: an edit that comes back into force after a merge comes last in the parent, and is older
    than other edits in the child.
    """

    def __init__(self) -> None:
        self._ticks = count(1)
        self.parent = Transcript([Message("user", "past", id="past")])
        self.child = self.parent.fork()
        self.inherited = len(self.parent)

    def own(self) -> list[Item]:
        return self.child.recorded(self.inherited)

    def play(self, step: Step) -> None:
        what, a, b = step
        tick = next(self._ticks)
        name, at = f"i{tick:04d}", float(tick)
        if what < 2:
            self.child.append(Message("user", f"text of {name}", id=name, created_at=at))
        elif what == 2:
            call = ToolCall(name, "look", id=name, created_at=at)
            result = ToolResult(name, "look", "long", id=f"{name}r", created_at=at)
            self.child.extend([call, result])
        elif what == 3:
            self.parent.append(Message("user", f"text of {name}", id=name, created_at=at))
        elif what == 4:
            merge_all(self.parent, self.child, agent_id="child" if a % 2 else None)
        elif (edit := self._edit(what, a, b, name)) is not None:
            try:
                self.child.append(edit)
            except EditRefused:
                return

    def _edit(self, what: int, a: int, b: int, name: str) -> Edit | None:
        content = [item for item in self.own() if not is_edit(item)]
        edits = [item for item in self.own() if is_edit(item)]
        undone = [item.id for item in edits if not isinstance(item, Undo)]
        if not content or (what == 9 and not undone):
            return None
        first, last = sorted((a % len(content), b % len(content)))
        spans = (Span(content[first].id, content[last].id),)
        if what == 5:
            return Mask(content[first].id, "[cleared]", id=name)
        if what == 6:
            return Hide(spans, id=name)
        if what == 7:
            folded = [item for item in self.child.view if isinstance(item, Summary)]
            names = tuple(Span(item.id, item.id) for item in folded) if a % 3 == 0 else ()
            return Summary("gist", (*spans, *names), id=name)
        return Pin(content[first].id, id=name) if what == 8 else Undo(undone[b % len(undone)], id=name)


@given(STEPS)
def test_the_parent_sees_the_childs_items_as_the_child_does(steps: list[Step]) -> None:
    pair = Pair()
    for step in steps:
        pair.play(step)
    merge_all(pair.parent, pair.child)
    own = {item.id for item in pair.own()}

    def seen(transcript: Transcript) -> list[tuple[str, str]]:
        return [(item.id, getattr(item, "text", "")) for item in transcript.view if item.id in own]

    assert seen(pair.parent) == seen(pair.child)
    others = [item for item in pair.parent.recorded() if item.id not in own]
    assert {item.id for item in others} <= {item.id for item in pair.parent.view}, "theirs stays shown"
    before = pair.parent.revision
    assert merge_all(pair.parent, pair.child) == []
    assert pair.parent.revision == before
