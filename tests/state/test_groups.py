"""Which call a result answers, where ids repeat: in one reply, in the next, and in what a child did."""

import pytest

from quire.items import Item, Message, Reasoning, ToolCall, ToolResult
from quire.state import Transcript, groups, merge_all, pending_calls


def call(text: str, call_id: str = "c", name: str = "look") -> ToolCall:
    return ToolCall(call_id, name, f'{{"q":"{text}"}}', id=text)


def result(text: str, call_id: str = "c", name: str = "look") -> ToolResult:
    return ToolResult(call_id, name, f"of {text}", id=f"of {text}")


def asked(item_id: str = "asked") -> Message:
    return Message("user", "go on", id=item_id)


def together(transcript: Transcript) -> list[set[str]]:
    """The groups with a result."""
    found = transcript.view.groups()
    return [{i.id for i in g.items} for g in found if any(isinstance(i, ToolResult) for i in g.items)]


def test_a_call_its_results_its_reasoning_and_its_reply_are_one_group() -> None:
    items: list[Item] = [
        Message("system", "be brief", id="s"),
        asked("u"),
        Reasoning("where?", id="r"),
        Message("assistant", "let me look", id="a"),
        ToolCall("c1", "search", id="t1"),
        ToolCall("c2", "read", id="t2"),
        ToolResult("c2", "read", "second first", id="x2"),
        ToolResult("c1", "search", "found", id="x1"),
        Message("assistant", "done", id="e"),
        ToolCall("c3", "read", id="t3", agent_id="other"),
    ]
    found = groups(items)
    ids = [" ".join(item.id for item in group.items) for group in found]
    assert ids == ["s", "u", "r a t1 t2 x2 x1", "e", "t3"]
    assert [group.pending for group in found] == [False, False, False, False, True]
    assert [waiting.id for waiting in pending_calls(items)] == ["t3"]
    assert Transcript(items).view.groups() == found


ANSWERED: dict[str, tuple[list[Item], str]] = {
    "calls of one reply in their order": ([call("a"), call("b"), result("a")], "b"),
    "of two replies the latest": ([call("a"), asked("again"), call("b"), call("c"), result("b")], "a c"),
    "the call of its name": ([call("a"), call("b", name="read"), result("b", name="read")], "a"),
    "no call before which it came": ([result("early"), call("late")], "late"),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_a_result_answers(name: str) -> None:
    items, waiting = ANSWERED[name]
    transcript = Transcript([asked(), *items])
    assert " ".join(waits.id for waits in transcript.view.pending()) == waiting
    assert " ".join(waits.id for waits in pending_calls([asked(), *items])) == waiting
    assert transcript.view.groups() == groups(transcript.recorded())


@pytest.mark.parametrize("first", ["parent", "child"])
def test_parent_and_child_have_their_own_results(first: str) -> None:
    parent = Transcript([asked(), call("parent")])
    child = parent.fork()
    child.append(call("child"))
    merge_all(parent, child, agent_id="kid")
    child.append(result("child"))
    if first == "parent":
        parent.append(result("parent"))
    merge_all(parent, child, agent_id="kid")
    if first == "child":
        parent.append(result("parent"))
    assert together(parent) == [{"parent", "of parent"}, {"child", "of child"}]


def test_what_a_copy_answered_is_answered_in_its_parent() -> None:
    parent = Transcript([asked(), call("a"), call("b")])
    copy = parent.copy()
    copy.extend([result("a"), result("b")])
    parent.append(call("other"))
    merge_all(parent, copy)
    assert [waits.id for waits in parent.view.pending()] == ["other"]
    assert together(parent) == [{"a", "b", "of a", "of b", "other"}]
