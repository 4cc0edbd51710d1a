"""Forks with a scope, briefs and merges, by example."""

import pytest

from quire.errors import InvalidLimit, WrongType
from quire.items import (
    JSON,
    ConfigChange,
    Hide,
    Item,
    Mask,
    Message,
    Pin,
    Span,
    Summary,
    ToolCall,
    ToolResult,
)
from quire.state import Transcript, brief, config_at, fork_scoped, merge_all, merge_result, plan_summary


def user(item_id: str) -> Message:
    return Message("user", f"text of {item_id}", id=item_id)


def assistant(item_id: str) -> Message:
    return Message("assistant", f"text of {item_id}", id=item_id)


def shown(transcript: Transcript) -> str:
    return " ".join(item.id for item in transcript.view)


def ids(items: list[Item]) -> str:
    return " ".join(item.id for item in items)


def groups_of(transcript: Transcript) -> list[str]:
    return [" ".join(item.id for item in group.items) for group in transcript.view.groups()]


def read_again(transcript: Transcript) -> Transcript:
    return Transcript(JSON.decode(JSON.encode(transcript.recorded())))


def test_a_fork_has_a_turn_and_a_list_of_tools() -> None:
    with pytest.raises(InvalidLimit):
        fork_scoped(Transcript(), turns=0)
    with pytest.raises(WrongType):
        fork_scoped(Transcript(), tools="read")


def test_a_fork_of_the_last_turns_shows_the_summaries_inside_them() -> None:
    parent = Transcript([Message("system", "s", id="s"), user("u1"), assistant("a1"), user("u2")])
    parent.extend(map(assistant, "xyz"))
    parent.append(Summary("earlier", (Span("a1", "a1"),), id="S1"))
    parent.append(Summary("of this turn", (Span("x", "y"),), id="S2"))
    assert shown(fork_scoped(parent, turns=1)) == "s u2 S2 z"
    assert shown(fork_scoped(parent, turns=2, tools=[])) == shown(parent) == "s u1 S1 u2 S2 z"
    parent.append(Summary("of both", (Span("S1", "S1"), Span("a1", "a1"), Span("x", "y")), id="S3"))
    assert shown(fork_scoped(parent, turns=1)) == "s S3 u2 z"


@pytest.mark.parametrize("agent_id", [None, "sub"])
def test_what_is_merged_is_a_reply_of_its_own(agent_id: str | None) -> None:
    parent = Transcript([user("u"), ToolCall("c", "slow", id="call", agent_id="sub")])
    for number, merge in enumerate((merge_all, merge_result)):
        child = parent.fork()
        child.append(assistant(f"f{number}"))
        merge(parent, child, agent_id=agent_id)
    parent.append(ToolCall("d", "fast", id="next", agent_id=agent_id))
    parent.append(ToolResult("c", "slow", "done", id="result"))
    for transcript in (parent, read_again(parent)):
        assert groups_of(transcript) == ["u", "call result", "f0", "f1", "next"]


def test_what_the_child_kept_apart_stays_apart() -> None:
    parent = Transcript([user("u")])
    child = parent.fork()
    child.extend([assistant("draft"), Hide((Span("draft", "draft"),), id="h")])
    child.extend([ToolCall("c", "read", id="call"), ToolResult("c", "read", "x", id="res"), assistant("ans")])
    merge_all(parent, child)
    child.append(ToolCall("d", "read", id="goes on"))
    merge_all(parent, child)
    for transcript in (parent, read_again(parent)):
        assert groups_of(transcript) == ["u", "call res", "ans goes on"]


def test_a_result_is_the_last_answer_as_it_was_given() -> None:
    parent, child = Transcript([user("u")]), brief("Do it.", "The task")
    child.extend([assistant("f"), Mask("f", "[cleared]"), assistant("look"), ToolCall("c", "t", id="t")])
    (answer,) = merge_result(parent, child, agent_id="sub")
    assert isinstance(answer, Message)
    assert (answer.id, answer.agent_id, answer.text) == ("f", "sub", "text of f")
    assert shown(parent) == "u f"
    assert merge_result(parent, child) == merge_result(parent, parent.fork()) == []


def looked_up() -> tuple[Transcript, Transcript]:
    parent = Transcript([user("past"), user("asked")])
    child = parent.fork()
    child.extend([ToolCall("c", "look", id="k"), ToolResult("c", "look", "long", id="r"), user("more")])
    merge_all(parent, child)
    return parent, child


def test_an_edit_that_the_parent_refuses_stays_behind(caplog: pytest.LogCaptureFixture) -> None:
    parent, child = looked_up()
    parent.append(Pin("r"))
    child.append(Mask("r", "[cleared]", id="m"))
    with caplog.at_level("WARNING", logger="quire.state"):
        assert merge_all(parent, child) == []
    assert [record.getMessage() for record in caplog.records] == [
        "edit m of the child stays behind: 'r' is pinned"
    ]


def checker() -> Transcript:
    child = brief("You check figures.", "Is 17 % low?")
    child.extend([ToolCall("c", "look", id="call"), ToolResult("c", "look", "18 %", id="result")])
    child.append(Message("assistant", "It is.", id="answer"))
    return child


def asked_parent() -> Transcript:
    return Transcript(
        [Message("system", "Be brief.", id="rules"), user("asked"), ConfigChange(tools=("ask",), id="tools")]
    )


@pytest.mark.parametrize("stored", [False, True])
def test_instructions_configuration_and_tasks_stay_behind(stored: bool) -> None:
    parent, child = asked_parent(), checker()
    if stored:
        parent, child = read_again(parent), read_again(child)
    merge_all(parent, child, agent_id="checker")
    child.extend([ConfigChange("Check twice."), Message("developer", "And be quick."), assistant("too")])
    assert ids(merge_all(parent, child, agent_id="checker")) == "too"
    assert shown(parent) == "rules asked tools call result answer too"
    assert config_at(parent.view) == ("Be brief.", ("ask",))
    assert merge_all(parent, child, agent_id="checker") == []
    child.extend([user("more"), Summary("low", (Span(child.recorded()[1].id, "answer"),), id="gist")])
    merge_all(parent, child)
    assert shown(parent) == "rules asked tools gist too more", "also over the task"


def test_a_summary_of_a_child_is_a_plan_first() -> None:
    parent = asked_parent()
    assert plan_summary(parent, parent.fork()) is None
    child = checker()
    plan = plan_summary(parent, child, agent_id="sub")
    assert plan is not None
    assert [item.text for item in plan.items if isinstance(item, Message)] == [
        *("You check figures.", "Is 17 % low?", "It is.")
    ]
    assert plan.summary(" ") is None
    summary = plan.summary("It worked.")
    assert summary is not None and (summary.id, summary.agent_id) == ("answer-summary", "sub")
    parent.append(summary)
    merge_result(parent, child)
    assert plan_summary(parent, child) is None
