"""A fork of a long transcript shares its parent's segment and sees nothing that came into it later."""

import copy
from collections.abc import Callable

import pytest

from quire.errors import UnknownId, WrongType
from quire.items import Hide, Item, Message, Note, Span, ToolCall, ToolResult, use_clock
from quire.state import Transcript, truncate
from tests.counting import Items


def long_past(length: int = 300) -> list[Item]:
    roles = ("assistant", "user")
    return [
        Message(roles[number % 2], "x", id=f"0{number:05d}", created_at=float(number))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        for number in range(length)
    ]


def call_and_late_result() -> list[Item]:
    return [
        ToolCall("c", "slow", id="p-call", created_at=301.0),
        Message("user", "still there?", id="p-user", created_at=302.0),
        ToolResult("c", "slow", "done", id="p-result", created_at=303.0),
    ]


def questions() -> list[Item]:
    return [Message("user", name, id=name, created_at=310.0 + number) for number, name in enumerate("wxyz")]


def test_a_group_of_the_parent_is_no_group_of_the_child() -> None:
    parent = Transcript(long_past())
    child = parent.fork()
    parent.extend(call_and_late_result())
    child.extend(questions())
    child.append(Hide((Span("w", "w"),)))
    assert [item.id for item in child.view][-3:] == ["x", "y", "z"]


def test_what_a_failed_batch_left_behind_is_seen_by_nobody() -> None:
    parent = Transcript(long_past())
    child = parent.fork()
    with pytest.raises(WrongType):
        parent.extend([*call_and_late_result(), 3])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    child.extend(questions())
    child.append(Hide((Span("w", "w"),)))
    parent.extend(questions())
    parent.append(Hide((Span("w", "w"),)))
    assert [item.id for item in child.view] == [item.id for item in parent.view]


def test_a_result_that_came_later_joins_no_group_of_the_child() -> None:
    past = [*long_past(), ToolCall("c", "slow", id="call", created_at=300.0)]
    with use_clock(lambda: 305.0):
        parent = Transcript([*past, Message("user", "still there?", id="u", created_at=301.0)])
        child = parent.fork()  # closes the call
    parent.extend(
        [Message("user", "ok", created_at=306.0), ToolResult("c", "slow", "done", created_at=307.0)]
    )
    child.extend(questions())
    edit = truncate(child.view, tokens=4, counter=Items())
    assert edit is not None
    child.append(edit)
    assert [item.id for item in child.view] == ["w", "x", "y", "z"]


def test_a_late_item_of_the_parent_does_not_move_one_of_the_child() -> None:
    with use_clock(lambda: 310.0):
        parent = Transcript([*long_past(), ToolCall("c", "slow", id="call", created_at=300.0)])
        child = parent.fork()
    parent.append(Message("user", "hm", created_at=305.0))
    parent.append(Note("late in the parent", created_at=300.2))
    child.extend([*questions(), Note("late in the child", id="late", created_at=300.5)])
    assert [item.id for item in child.view] == [item.id for item in Transcript(child.recorded()).view]


@pytest.mark.parametrize("copied", [Transcript.copy, copy.copy, copy.deepcopy])
def test_two_copies_have_a_segment_each(copied: Callable[[Transcript], Transcript]) -> None:
    first = Transcript([*long_past(), ToolCall("c", "slow", id="call", created_at=300.0)])
    second = copied(first)
    first.append(Message("user", "here", id="x", created_at=301.0))
    second.append(Message("user", "there", id="y", created_at=301.0))
    first.append(Message("user", "here again", id="z", created_at=302.0))
    assert [item.id for item in first.view][-3:] == ["call", "x", "z"]
    assert [item.id for item in second.view][-2:] == ["call", "y"]
    assert [call.id for call in second.view.pending()] == ["call"]
    assert second.view[0] is first.view[0]


def test_a_failed_batch_in_a_fork_copies_nothing() -> None:
    parent = Transcript(long_past(2_000))
    child = parent.fork()
    with pytest.raises(WrongType):
        child.extend([*questions(), 3])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    assert child.view.log.segments[0] is parent.view.log.segments[0]
    child.extend(questions())
    assert len(child.view) == 2_004


def test_a_child_does_not_find_what_came_into_the_shared_segment_later() -> None:
    parent = Transcript(long_past())
    child = parent.fork()
    child.append(Message("user", "mine", id="x-child", created_at=301.0))
    parent.extend(Message("user", "theirs", id=f"p{n:03d}", created_at=301.0) for n in range(9))
    child.extend(Message("user", "mine", id=f"q{n:03d}", created_at=302.0) for n in range(20))
    assert "p000" not in child and "x-child" not in parent
    with pytest.raises(UnknownId):
        child.get("p003")
    child.append(Message("user", "of the same name", id="p003", created_at=330.0))
    assert child.view.get("p003") == child.view[-1]
    assert parent.get("p003") != child.get("p003")
