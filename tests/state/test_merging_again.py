"""Merging goes on: a later merge brings what the child did since, also to what an earlier one brought."""

from itertools import count

import pytest
from hypothesis import given, strategies as st

from quire.errors import EditRefused
from quire.items import (
    JSON,
    Edit,
    Hide,
    Item,
    Mask,
    Message,
    Pin,
    Reasoning,
    Span,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
    Unknown,
)
from quire.state import Transcript, brief, fork_scoped, is_edit, merge_all, merge_result, plan_summary

pytestmark = pytest.mark.usefixtures("lineage")

Step = tuple[int, int, int]
STEPS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30), st.integers(0, 30)), max_size=30)


def said(item_id: str, at: float | None = None, role: str = "user") -> Message:
    time = {} if at is None else {"created_at": at}
    return Message(role, f"words of {item_id}", id=item_id, **time)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def shown(transcript: Transcript) -> str:
    return " ".join(item.id for item in transcript.view)


class Pair:
    """A parent and a child that go on side by side; every edit is the child's, of nothing but its own."""

    def __init__(self) -> None:
        self._ticks = count(1)
        self.parent = Transcript([said("past", 0.0)])
        self.child = self.parent.fork()
        self.inherited = len(self.parent)

    def own(self) -> list[Item]:
        return self.child.recorded(self.inherited)

    def play(self, step: Step) -> None:
        what, a, b = step
        tick = next(self._ticks)
        name, at = f"i{tick:04d}", float(tick)
        if what < 2:
            self.child.append(said(name, at))
        elif what == 2:
            call = ToolCall(name, "look", id=name, created_at=at)
            result = ToolResult(name, "look", "long", id=f"{name}r", created_at=at)
            self.child.extend([call, result])
        elif what == 3:
            self.parent.append(said(name, at))
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
        if not content or (what == 9 and not edits):
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
        return Pin(content[first].id, id=name) if what == 8 else Undo(edits[b % len(edits)].id, id=name)


@pytest.mark.laws
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


def looked_up() -> tuple[Transcript, Transcript]:
    parent = Transcript([said("past", 0.0), said("asked", 1.0)])
    child = parent.fork()
    child.extend([ToolCall("c", "look", id="k"), ToolResult("c", "look", "long", id="r"), said("more")])
    merge_all(parent, child)
    return parent, child


def test_a_later_edit_of_what_was_merged_comes_along() -> None:
    parent, child = looked_up()
    child.append(Mask("r", "[cleared]", id="mask"))
    assert [item.id for item in merge_all(parent, child)] == ["mask"]
    assert parent.view.fate("r") == ("masked", "mask")
    child.append(Undo("mask", id="back"))
    assert [item.id for item in merge_all(parent, child)] == ["back"]
    child.append(Undo("back", id="again"))
    assert [item.id for item in merge_all(parent, child)] == ["again"]
    assert parent.view.fate("r") == ("masked", "mask")
    assert merge_all(parent, child) == []


def test_what_was_taken_back_before_it_was_merged_stays_behind() -> None:
    parent, child = looked_up()
    child.extend([Hide((Span("k", "r"),), id="hide"), Undo("hide", id="back")])
    assert merge_all(parent, child) == []
    child.append(Undo("back"))
    assert [item.id for item in merge_all(parent, child)] == ["hide"]
    assert shown(parent) == shown(child) == "past asked more"


def test_a_later_summary_spares_what_the_parent_said_in_between() -> None:
    parent, child = looked_up()
    parent.append(said("meanwhile"))
    child.extend([said("found"), said("last")])
    child.append(Summary("all of it", (Span("k", "found"),), id="gist"))
    merge_all(parent, child)
    assert shown(child) == "past asked gist last"
    assert shown(parent) == "past asked gist meanwhile last"


def test_the_view_of_what_was_inherited_stays_the_childs_affair() -> None:
    parent = Transcript([said("past", 0.0), said("old", 0.5), said("asked", 1.0)])
    parent.append(Mask("past", "[cleared]", id="parents"))
    child = fork_scoped(parent, turns=1)
    child.append(said("answer", role="assistant"))
    merge_all(parent, child)
    before = parent.revision
    child.extend([Undo("parents", id="shown"), Mask("old", "[cleared]"), Pin("old", id="kept")])
    child.extend([Undo("kept"), said("next"), Hide((Span("old", "answer"),))])
    assert [item.id for item in merge_all(parent, child)] == ["next"]
    assert parent.revision == before + 1
    assert parent.view.fate("past") == ("masked", "parents")


def test_marks_tell_a_childs_own_through_others_and_through_writing() -> None:
    parent = Transcript([said("past", 0.0)])
    child = parent.fork()
    grandchild = child.fork()
    grandchild.extend([said("task"), said("found"), said("end")])
    merge_all(child, grandchild)
    merge_all(parent, child)
    later = parent.fork()
    parent, child, grandchild, later = (
        Transcript(JSON.decode(JSON.encode(each.recorded()))) for each in (parent, child, grandchild, later)
    )
    later.append(Mask("found", "[not mine]"))
    assert merge_all(parent, later) == []
    child.append(Mask("task", "[by the child]", id="m1"))
    grandchild.append(Mask("found", "[by the grandchild]", id="m2"))
    assert [item.id for item in merge_all(parent, child)] == ["m1"]
    assert [item.id for item in merge_all(parent, grandchild)] == ["m2"]


def test_an_answer_that_came_alone_is_the_childs_own() -> None:
    parent, child = Transcript([said("past", 0.0)]), brief("Do it.", "The task")
    child.append(said("answer", role="assistant"))
    merge_result(parent, child)
    child.extend([said("more"), Summary("done", (Span("answer", "answer"),), id="gist")])
    merge_all(parent, child)
    assert parent.view.fate("answer") == ("covered", "gist")


def test_what_a_newer_version_made_comes_unmarked_and_is_still_the_childs() -> None:
    parent = Transcript([said("past", 0.0)])
    child = parent.fork()
    made = Unknown(name="dream", fields={"depth": 3}, id="dream")
    child.extend([said("one"), made, said("two")])
    merge_all(parent, child)
    assert parent.get("dream") == made
    child.append(Hide((Span("one", "dream"),), id="hide"))
    assert [item.id for item in merge_all(parent, child)] == ["hide"]


def test_a_thought_and_its_call_may_come_one_merge_after_the_other() -> None:
    parent = Transcript([said("past", 0.0)])
    child = parent.fork()
    child.append(Reasoning("hm", id="thought"))
    merge_all(parent, child)
    child.extend([ToolCall("c", "look", id="k"), ToolResult("c", "look", "long", id="r")])
    child.append(Hide((Span("thought", "r"),)))
    merge_all(parent, child)
    assert shown(parent) == shown(child) == "past"


def test_what_the_child_kept_apart_stays_apart() -> None:
    parent = Transcript([Message("user", "go", id="u")])
    child = parent.fork()
    child.append(Message("assistant", "a draft", id="draft"))
    child.append(Hide((Span("draft", "draft"),), id="h"))
    child.extend([ToolCall("c", "read", id="call"), ToolResult("c", "read", "x", id="res")])
    child.append(Message("assistant", "done", id="ans"))
    merge_all(parent, child)
    assert [item.id for item in parent.view] == ["u", "call", "res", "ans"]
    for transcript in (parent, Transcript(parent.recorded())):
        together = [[item.id for item in group.items] for group in transcript.view.groups()]
        assert together == [["u"], ["call", "res"], ["ans"]]


def test_a_reply_goes_on_in_a_later_merge() -> None:
    parent = Transcript([Message("user", "go", id="u")])
    child = parent.fork()
    child.append(ToolCall("c", "read", id="first"))
    merge_all(parent, child)
    child.append(ToolCall("d", "read", id="second"))
    merge_all(parent, child)
    assert [[item.id for item in group.items] for group in parent.view.groups()] == [
        ["u"],
        ["first", "second"],
    ]


def test_replies_to_the_same_words_of_two_children_stay_apart() -> None:
    parent = Transcript([Message("user", "go", id="u"), Message("assistant", "let me see", id="open")])
    for number in range(2):
        child = parent.fork()
        child.append(ToolCall("c", "read", id=f"call{number}"))
        merge_all(parent, child)
    assert [[i.id for i in group.items] for group in parent.view.groups()][2:] == [["call0"], ["call1"]]


def test_what_is_under_a_later_edit_does_not_come_out_on_top() -> None:
    parent = Transcript([Message("user", "go", id="u")])
    child = parent.fork()
    child.extend([Message("assistant", "one", id="a"), Message("assistant", "two", id="b")])
    over = (Span("a", "a"),)
    child.extend([Summary("stale", over, id="old"), Mask("b", "[stale]", id="m1")])
    child.extend([Undo("old", id="x1"), Undo("m1", id="x2")])
    child.extend([Summary("fresh", over, id="new"), Mask("b", "[fresh]", id="m2")])
    merge_all(parent, child)
    child.extend([Undo("x1"), Undo("x2")])
    assert merge_all(parent, child) == []
    assert [getattr(item, "text", "") for item in parent.view] == ["go", "fresh", "[fresh]"]
    child.extend([Undo("new"), Undo("m2")])
    merge_all(parent, child)
    assert list(map(text, parent.view)) == list(map(text, child.view)) == ["go", "stale", "[stale]"]


def text(item: Item) -> str:
    return item.text if isinstance(item, Message | Summary) else ""


def test_an_edit_that_cannot_come_is_told(caplog: pytest.LogCaptureFixture) -> None:
    parent = Transcript([said("u")])
    child = parent.fork()
    child.append(said("a", role="assistant"))
    merge_all(parent, child)
    parent.append(Pin("a"))
    child.append(Mask("a", "[cleared]", id="m"))
    with caplog.at_level("WARNING", logger="quire.state"):
        assert merge_all(parent, child) == []
    assert [record.getMessage().rpartition(": ")[2] for record in caplog.records] == ["m"]


def one_by_one(*ids: str) -> tuple[Span, ...]:
    return tuple(Span(item_id, item_id) for item_id in ids)


def test_an_edit_comes_with_the_merge_that_lets_it_fit() -> None:
    parent = Transcript([Message("user", "q", id="q")])
    child = parent.fork()
    child.extend(
        [
            *(Reasoning("1", id="a1"), Pin("a1", id="pin")),
            *(Summary("one", one_by_one("a1"), id="s1"), Message("assistant", "2", id="a2")),
            *(Hide(one_by_one("a1", "a2", "s1"), id="hide"), Message("assistant", "3", id="a3")),
            Summary("all", one_by_one("a1", "a2", "a3"), id="s2"),
        ]
    )
    merge_all(parent, child)
    assert merge_all(parent, child) == []


def test_a_hidden_summary_of_the_childs_own_is_hidden_in_the_parent_too() -> None:
    parent = Transcript([Message("user", "q", id="q")])
    child = parent.fork()
    child.extend(
        [
            *(Message("assistant", "1", id="a1"), Message("assistant", "2", id="a2")),
            *(Summary("both", (Span("a1", "a2"),), id="s1"), Message("assistant", "3", id="a3")),
            Hide(one_by_one("s1"), id="hide"),
        ]
    )
    merge_all(parent, child)
    assert [item.id for item in parent.view] == [item.id for item in child.view] == ["q", "a3"]


def test_what_was_told_is_not_told_again_after_its_answer_came() -> None:
    parent = Transcript([Message("user", "q")])
    child = parent.fork()
    child.extend([Message("user", "u"), Message("assistant", "a")])
    plan = plan_summary(parent, child)
    assert plan is not None
    gist = plan.summary("gist")
    assert gist is not None
    parent.append(gist)
    merge_result(parent, child)
    assert plan_summary(parent, child) is None
