"""Forks with a scope, briefs, merges and truncation, by example."""

from collections.abc import Callable

import pytest

from quire.errors import InvalidLimit, InvalidValue, Irreducible, WrongType
from quire.items import Item, Mask, Message, Span, Summary, ToolCall, ToolResult
from quire.state import Transcript, brief, fork_scoped, merge_all, merge_result, plan_summary, truncate
from tests.counting import FourCharacters, Items

COUNTER = FourCharacters()


def conversation(turns: int = 4) -> Transcript:
    transcript = Transcript([Message("system", "be brief", id="s", created_at=0.0)])
    for turn in range(turns):
        at = 1.0 + turn
        transcript.extend(
            [
                Message("user", f"question {turn}", id=f"u{turn}", created_at=at),
                ToolCall(f"c{turn}", ("search", "read")[turn % 2], id=f"t{turn}", created_at=at),
                ToolResult(f"c{turn}", ("search", "read")[turn % 2], "found", id=f"x{turn}", created_at=at),
                Message("assistant", f"answer {turn}", id=f"a{turn}", created_at=at),
            ]
        )
    return transcript


def shown(transcript: Transcript) -> str:
    return " ".join(item.id for item in transcript.view)


def test_a_fork_can_see_the_last_turns_and_some_tools() -> None:
    parent = conversation()
    assert shown(fork_scoped(parent, turns=1)) == "s u3 t3 x3 a3"
    assert shown(fork_scoped(parent, turns=2, tools=["search"])) == "s u2 t2 x2 a2 u3 a3"
    assert shown(fork_scoped(parent, tools=[])) == "s u0 a0 u1 a1 u2 a2 u3 a3"
    assert shown(fork_scoped(parent, turns=9)) == shown(parent)
    with pytest.raises(InvalidLimit):
        fork_scoped(parent, turns=0)


def test_a_fork_of_the_last_turns_shows_the_summaries_inside_them() -> None:
    said = [("s", "system"), ("u1", "user"), ("a1", "assistant"), ("u2", "user")]
    said += [(name, "assistant") for name in "xyz"]
    parent = Transcript(
        [Message(role, name, id=name) for name, role in said]  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    )
    parent.append(Summary("earlier", (Span("a1", "a1"),), id="S1"))
    parent.append(Summary("of this turn", (Span("x", "y"),), id="S2"))
    assert shown(parent) == "s u1 S1 u2 S2 z"
    assert shown(fork_scoped(parent, turns=1)) == "s u2 S2 z"
    assert shown(fork_scoped(parent, turns=2, tools=[])) == shown(parent)
    parent.append(Summary("of both", (Span("S1", "S1"), Span("a1", "a1"), Span("x", "y")), id="S3"))
    assert shown(fork_scoped(parent, turns=1)) == "s S3 u2 z"


def test_a_group_goes_or_stays_with_its_beginning() -> None:
    names = ["s", "u0", "t0", "u1", "x0", "t1", "u2", "x1", "a"]
    made: dict[str, Callable[[str], Item]] = {
        "s": lambda name: Message("system", "be brief", id=name),
        "u": lambda name: Message("user", "question", id=name),
        "t": lambda name: ToolCall(f"c{name[1]}", "slow", id=name),
        "x": lambda name: ToolResult(f"c{name[1]}", "slow", "found", id=name),
        "a": lambda name: Message("assistant", "answer", id=name),
    }
    parent = Transcript([made[name[0]](name) for name in names])
    assert shown(fork_scoped(parent, turns=2)) == "s u1 t1 u2 x1 a", "the result came after the next question"
    assert shown(fork_scoped(parent, turns=1)) == "s u2 a"


@pytest.mark.parametrize("tools", ["read", 5, 1.5])
def test_tools_are_several_names(tools: object) -> None:
    with pytest.raises(WrongType):
        fork_scoped(conversation(1), tools=tools)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_brief_has_no_past() -> None:
    child = brief("Do it.", "The task", agent_id="sub")
    assert [(item.agent_id, getattr(item, "text", "")) for item in child.view] == [
        ("sub", "Do it."),
        ("sub", "The task"),
    ]
    with pytest.raises(InvalidValue):
        brief(" ")


def test_a_merge_brings_the_childs_own_edits_and_no_others() -> None:
    parent = conversation(2)
    child = fork_scoped(parent, turns=1)
    child.extend(
        [
            ToolCall("k", "read", id="kt", created_at=9.0),
            ToolResult("k", "read", "long", id="kx", created_at=9.0),
        ]
    )
    child.append(Mask("kx", "[cleared]", id="m"))
    child.append(Mask("x0", "[not mine]", id="n"))
    parent.append(Message("user", "meanwhile", id="w", created_at=10.0))
    assert [item.id for item in merge_all(parent, child)] == ["kt", "kx", "m"]
    assert shown(parent) == "s u0 t0 x0 a0 u1 t1 x1 a1 kt kx w"
    assert parent.view.fate("kx").state == "masked"
    assert parent.view.fate("x0").state == "shown"


def test_a_result_is_the_last_answer_said_now() -> None:
    parent, child = conversation(1), brief("Do it.", "The task")
    child.append(Message("assistant", "final", id="f"))
    (answer,) = merge_result(parent, child, agent_id="sub")
    assert (answer.id, answer.agent_id) == ("f", "sub")
    assert shown(parent).endswith("a0 f")
    assert merge_result(parent, parent.fork()) == []


@pytest.mark.parametrize("merge", [merge_all, merge_result])
@pytest.mark.parametrize("agent_id", [None, "sub"])
def test_what_is_merged_is_a_turn_of_its_own(merge: Callable[..., list[Item]], agent_id: str | None) -> None:
    parent = Transcript([Message("user", "go", id="u"), ToolCall("c", "slow", id="call", agent_id="sub")])
    for number in range(2):
        child = parent.fork()
        child.append(Message("assistant", "checked", id=f"f{number}"))
        merge(parent, child, agent_id=agent_id)
    parent.append(ToolCall("d", "fast", id="next", agent_id=agent_id))
    parent.append(ToolResult("c", "slow", "done", id="result"))
    expected = [["u"], ["call", "result"], ["f0"], ["f1"], ["next"]]
    for transcript in (parent, Transcript(parent.recorded())):
        assert [[i.id for i in group.items] for group in transcript.view.groups()] == expected


def test_a_summary_of_a_child_is_a_plan_first() -> None:
    parent = conversation(1)
    child = parent.fork()
    assert plan_summary(parent, child) is None
    child.append(Message("assistant", "worked on it", id="w"))
    plan = plan_summary(parent, child, agent_id="sub")
    assert plan is not None and [item.id for item in plan.items] == ["w"]
    summary = plan.summary("It worked.")
    assert (
        summary == Summary("It worked.", id="w-summary", created_at=summary.created_at, agent_id="sub")
        if summary
        else False
    )
    assert plan.summary("") is None


def test_truncation_cuts_at_a_turn_and_keeps_the_frame() -> None:
    transcript = conversation()
    edit = truncate(transcript.view, tokens=9, counter=Items())
    assert edit is not None
    transcript.append(edit)
    assert shown(transcript) == "s u2 t2 x2 a2 u3 t3 x3 a3"
    again = truncate(transcript.view, tokens=8, counter=Items())
    assert again is not None
    transcript.append(again)
    assert shown(transcript) == "s u3 t3 x3 a3"


def test_truncation_inside_a_long_turn_drops_whole_groups() -> None:
    transcript = Transcript([Message("system", "be brief", id="s"), Message("user", "go on", id="u")])
    for step in range(5):
        transcript.extend(
            [ToolCall(f"c{step}", "t", id=f"t{step}"), ToolResult(f"c{step}", "t", "x", id=f"x{step}")]
        )
    transcript.append(ToolCall("open", "t", id="t9"))
    edit = truncate(transcript.view, tokens=6, counter=Items())
    assert edit is not None
    transcript.append(edit)
    assert shown(transcript) == "s u t4 x4 t9"
    with pytest.raises(Irreducible) as caught:
        truncate(transcript.view, tokens=2, counter=Items())
    assert set(caught.value.parts) == {"s", "u", "t9"}


def test_truncation_refuses_senseless_limits() -> None:
    view = conversation(1).view
    with pytest.raises(InvalidLimit):
        truncate(view, tokens=-1, counter=COUNTER)
    with pytest.raises(WrongType):
        truncate(view, tokens=1.5, counter=COUNTER)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert truncate(Transcript().view, tokens=0, counter=Items()) is None


def test_the_total_is_known_without_counting_again() -> None:
    class Once(FourCharacters):
        key = "once"
        asked = 0

        def count(self, item: object) -> int:
            self.asked += 1
            return 1

    counter, transcript = Once(), conversation(3)
    assert transcript.view.tokens(counter) == 13 + 3
    transcript.append(Message("user", "one more"))
    assert transcript.view.tokens(counter) == 17
    child = transcript.fork()
    child.append(Message("assistant", "aside"))
    assert child.view.tokens(counter) == 18
    edit = truncate(transcript.view, tokens=10, counter=counter)
    assert edit is not None
    transcript.append(edit)
    assert transcript.view.tokens(counter) <= 10
    assert counter.asked == 15


def test_a_merged_result_answers_the_childs_call_though_the_parent_waits_under_the_same_id() -> None:
    parent = Transcript([Message("user", "q", id="u"), ToolCall("call_0", "search", id="k")])
    child = brief("You check.", "Is it so?")
    child.extend([ToolCall("call_0", "search", id="ck"), ToolResult("call_0", "search", "yes", id="cr")])
    merge_all(parent, child, "checker")
    assert [call.id for call in parent.view.pending()] == ["k"]
    parent.append(ToolResult("call_0", "search", "found", id="r"))
    together = [{item.id for item in group.items} for group in parent.view.groups()]
    assert {"k", "r"} in together and {"ck", "cr"} in together


def test_a_result_goes_to_the_call_of_its_name() -> None:
    transcript = Transcript([Message("user", "q"), ToolCall("0", "a", id="a"), ToolCall("0", "b", id="b")])
    transcript.append(ToolResult("0", "a", "of a"))
    assert [call.id for call in transcript.view.pending()] == ["b"]
