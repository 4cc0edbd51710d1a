"""Corners in which a rule once did not hold, each as short as it can be told."""

import pytest

from quire.errors import CallPending, EditRefused, LastUserMessage
from quire.items import Hide, Item, Mask, Message, Pin, Reasoning, Span, Summary, ToolCall, ToolResult, Undo
from quire.state import Transcript, merge_all, merge_result, truncate
from tests.counting import FourCharacters, Items


def user(item_id: str, at: float = 0.0, text: str = "hello") -> Message:
    return Message("user", text, id=item_id, created_at=at)


def shown(transcript: Transcript) -> str:
    return " ".join(item.id for item in transcript.view)


def between(first: str, last: str) -> tuple[Span, ...]:
    return (Span(first, last),)


def test_taking_a_pin_back_does_not_split_a_group_that_has_grown() -> None:
    transcript = Transcript([user("u"), Reasoning("hm", id="r", created_at=0.0)])
    transcript.extend([Pin("r", id="pin"), Hide(between("r", "r")), ToolCall("c", "t", id="call")])
    with pytest.raises(CallPending):
        transcript.append(Undo("pin"))
    assert shown(transcript) == "u r call"


def test_a_summary_that_comes_back_does_not_overlap_another() -> None:
    transcript = Transcript(user(f"u{number}", float(number)) for number in range(6))
    transcript.append(Summary("one", between("u0", "u2"), id="s1"))
    transcript.append(Hide(between("s1", "s1"), id="hide"))
    transcript.append(Summary("two", between("u2", "u4"), id="s2"))
    with pytest.raises(EditRefused):
        transcript.append(Undo("hide"))
    assert shown(transcript) == "s2 u5"


def test_a_summary_is_not_folded_by_several_that_hold_it_together() -> None:
    transcript = Transcript(user(f"u{number}", float(number)) for number in range(4))
    transcript.append(Summary("both", between("u0", "u1"), id="both"))
    transcript.append(Hide(between("both", "both"), id="hide"))
    transcript.append(Summary("first", between("u0", "u0"), id="first"))
    transcript.append(Summary("second", between("u1", "u1"), id="second"))
    with pytest.raises(EditRefused):
        transcript.append(Undo("hide"))
    for edit in ("second", "first", "hide", "both"):
        transcript.append(Undo(edit))
    assert shown(transcript) == "u0 u1 u2 u3"


def test_neither_the_last_question_nor_a_rule_can_be_masked() -> None:
    transcript = Transcript([Message("system", "be kind", id="s", created_at=0.0), user("u1"), user("u2")])
    with pytest.raises(LastUserMessage):
        transcript.append(Mask("u2", "[cleared]"))
    with pytest.raises(EditRefused):
        transcript.append(Mask("s", "[cleared]"))
    transcript.append(Mask("u1", "[cleared]"))


def test_a_late_item_spares_a_group_that_is_not_shown() -> None:
    transcript = Transcript([user("a", 1.0), ToolCall("c", "t", id="b", created_at=7.0)])
    transcript.extend([ToolResult("c", "t", "r", id="c", created_at=9.0), user("d", 10.0)])
    transcript.append(Summary("gist", between("b", "c"), id="e"))
    transcript.append(user("f", 8.0))
    transcript.append(Undo("e"))
    assert shown(transcript) == "a b c f d"
    edit = truncate(transcript.view, tokens=4, counter=Items())
    assert edit is not None
    transcript.append(edit)
    assert shown(transcript) == "f d", (
        "the cut falls at the first turn that is enough, and the group goes whole"
    )


def test_one_long_group_does_not_cost_the_rest() -> None:
    transcript = Transcript([Message("system", "rules", id="s", created_at=0.0), user("u", 0.5)])
    transcript.append(ToolCall("w", "write", "x" * 4_000, id="call", created_at=0.6))
    for turn in range(20):
        transcript.append(user(f"u{turn:02d}", 1.0 + turn, "question " * 20))
        if turn == 14:
            transcript.append(ToolResult("w", "write", "done", id="result", created_at=15.5))
    whole = transcript.view.tokens(FourCharacters())
    edit = truncate(transcript.view, tokens=whole - 100, counter=FourCharacters())
    assert edit is not None
    transcript.append(edit)
    assert transcript.view.tokens(FourCharacters()) > whole - 300


def test_undo_gives_back_the_place_of_a_summary_beside_a_pin() -> None:
    transcript = Transcript(user(f"{name}", float(at)) for at, name in enumerate("abcdef"))
    transcript.append(Summary("s", (*between("b", "b"), *between("d", "d")), id="s"))
    transcript.append(Pin("b"))
    before = shown(transcript)
    transcript.append(Summary("all", between("a", "d"), id="all"))
    transcript.append(Undo("all"))
    assert shown(transcript) == before == "a s b c e f"


def test_the_past_knows_which_calls_waited() -> None:
    transcript = Transcript([user("u", 1.0), ToolResult("k", "t", "of another", id="x", created_at=2.0)])
    transcript.append(ToolCall("k", "t", id="k", created_at=3.0))
    transcript.append(ToolResult("k", "t", "found", id="r", created_at=4.0))
    assert [call.id for call in transcript.at(3).pending()] == ["k"]
    assert transcript.view.pending() == transcript.at(4).pending() == []


def test_a_result_comes_back_as_it_was_said() -> None:
    parent, child = Transcript([user("u")]), Transcript([user("task")])
    child.extend([Message("assistant", "the answer", id="a"), Mask("a", "[cleared]")])
    child.extend([Message("assistant", "let me look", id="b"), ToolCall("c", "t", id="t")])
    (answer,) = merge_result(parent, child)
    assert isinstance(answer, Message) and (answer.id, answer.text) == ("a", "the answer")


def test_a_merge_keeps_a_childs_reply_together() -> None:
    parent = Transcript([user("u", 1.0)])
    child = parent.fork()
    thought: list[Item] = [
        Reasoning("hm", id="r", created_at=5.0),
        ToolCall("c", "t", id="k", created_at=7.0),
    ]
    child.extend([*thought, ToolResult("c", "t", "done", id="x", created_at=8.0)])
    parent.append(user("w", 6.0))
    merge_all(parent, child)
    assert shown(parent) == "u r k w x"
    assert [[i.id for i in group.items] for group in parent.view.groups()] == [["u"], ["r", "k", "x"], ["w"]]
