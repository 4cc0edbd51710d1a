"""Calls of a parent and of what was merged into it, waiting under one id: each has its own result."""

import pytest

from quire import Message, ToolCall, ToolResult, Transcript
from quire.providers import PROVIDERS
from quire.state import merge_all


def talk() -> tuple[Transcript, Transcript]:
    """A parent and a child that both wait for a call of the same id and name."""
    parent = Transcript([Message("user", "go"), ToolCall("call_0", "search", '{"q": "parent"}')])
    child = parent.fork()
    child.append(Message("user", "look elsewhere"))
    child.append(ToolCall("call_0", "search", '{"q": "child"}'))
    merge_all(parent, child, agent_id="kid")
    return parent, child


@pytest.mark.parametrize("wire", PROVIDERS)
def test_the_result_of_the_parent_is_never_given_to_the_child(wire: str) -> None:
    parent, _ = talk()
    parent.append(ToolResult("call_0", "search", "for the parent"))
    provider = PROVIDERS[wire]
    payload = provider.render(parent.view).payload
    assert provider.check(payload) == []
    told = str(payload)
    assert told.index("'parent'" if wire == "gemini" else "parent") < told.index("for the parent")
    assert told.index("for the parent") < told.index("child")


@pytest.mark.parametrize("wire", PROVIDERS)
def test_both_have_their_own_once_both_are_there(wire: str) -> None:
    parent, child = talk()
    parent.append(ToolResult("call_0", "search", "for the parent"))
    child.append(ToolResult("call_0", "search", "for the child"))
    merge_all(parent, child, agent_id="kid")
    told = str(PROVIDERS[wire].render(parent.view).payload)
    assert told.index("for the parent") < told.index("look elsewhere") < told.index("for the child")
