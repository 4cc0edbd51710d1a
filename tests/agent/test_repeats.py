"""Repeats: a call that was made before, out of the model's sight, is told about it; it runs all the same."""

import pytest

from quire import Agent, Session, ToolCall, ToolResult, tool
from quire.agent.tools import Tool
from quire.compactors import CLEARED, ClearToolResults, TruncateOldest
from quire.items import Message
from quire.models import Scripted
from quire.stores import MemoryStore

TOLD = "The same call was made before, at "


def asked_twice(
    mail: Tool, *, hides: bool = True, second: str = '{"to": "ana"}'
) -> tuple[int, list[ToolResult]]:
    """Let a model send a mail twice; returns how often the tool ran, and the results."""
    first, again = ToolCall("c1", mail.name, '{"to": "ana"}'), ToolCall("c2", mail.name, second)
    steps: list[str | ToolCall] = [first, "Sent.", "Yes?", again, "Sent."]
    session = Session.open("ana/mail", store=MemoryStore())
    agent = Agent(session, model=Scripted(steps), tools=[mail])
    agent.ask_sync("Mail Ana.")
    agent.ask_sync("And now?")
    if hides:
        for number in range(6):
            session.append(Message("user", f"Pen {number}?"), Message("assistant", "Blue."))
        assert session.compaction.run(by=TruncateOldest(unit="messages", floor=2, ceiling=4))
    agent.ask_sync("Mail Ana.")
    return len(SENT), [item for item in session.view().recorded() if isinstance(item, ToolResult)]


SENT: list[str] = []


@pytest.fixture(autouse=True)
def _none_sent() -> None:
    SENT.clear()


@tool
def send_mail(to: str) -> dict[str, str]:
    SENT.append(to)
    return {"sent": f"m_{len(SENT)}"}


@tool(name="send_mail")
def long_mail(to: str) -> str:
    return "sent " * 400


def test_a_repeated_call_runs_and_its_result_says_what_came_of_the_earlier_one() -> None:
    ran, (first, again) = asked_twice(send_mail)
    assert ran == 2 and TOLD not in first.text and first.id in again.extras["quire.of"]
    assert again.parts[0] == '{"sent": "m_2"}' and TOLD in str(again.parts[1])
    assert '{"sent": "m_1"}' in again.text


def test_a_call_that_the_model_sees_or_with_other_arguments_is_no_repeat() -> None:
    _, results = asked_twice(send_mail, hides=False)
    assert all(TOLD not in result.text for result in results)
    _, results = asked_twice(send_mail, second='{"to": "bob"}')
    assert all(TOLD not in result.text for result in results)


def test_a_read_is_no_repeat_and_a_tool_that_runs_once_gives_its_earlier_result() -> None:
    reads = tool(send_mail.function, name="get_mail")
    assert all(TOLD not in result.text for result in asked_twice(reads)[1])
    SENT.clear()
    once = tool(send_mail.function, name="send_once", once=True)
    ran, (_, again) = asked_twice(once)
    assert ran == 1 and again.parts[0] == '{"sent": "m_1"}'
    assert str(again.parts[1]).startswith("[Not done again: ") and TOLD not in again.text


def test_what_is_not_done_again_says_so_once_and_the_line_is_not_copied() -> None:
    once = tool(send_mail.function, name="send_once", once=True)
    steps: list[str | ToolCall] = []
    for number in range(3):
        steps += [ToolCall(f"c{number}", "send_once", '{"to": "ana"}'), "Sent."]
    session = Session.open("ana/mail", store=MemoryStore())
    agent = Agent(session, model=Scripted(steps), tools=[once])
    for _ in range(3):
        agent.ask_sync("Mail Ana.")
        session.append(Message("user", "And now?"), Message("assistant", "Well."))
        session.compaction.run(by=TruncateOldest(unit="messages", floor=1, ceiling=2))
    *_, last = (item for item in session.view().recorded() if isinstance(item, ToolResult))
    assert len(SENT) == 1 and last.text.count("[Not done again: ") == 1


def test_a_call_whose_result_was_cleared_is_a_repeat_and_the_stub_does_not_ask_for_it() -> None:
    session = Session.open("ana/mail", store=MemoryStore())
    first, again = (ToolCall(call_id, "send_mail", '{"to": "ana"}') for call_id in ("c1", "c2"))
    agent = Agent(session, model=Scripted([first, "Sent.", again, "Sent."]), tools=[long_mail])
    agent.ask_sync("Mail Ana.")
    assert session.compaction.run(by=ClearToolResults(keep=0, at_least=1))
    (stub,) = [item.text for item in session.view() if isinstance(item, ToolResult)]
    assert "done" in stub and stub != CLEARED
    agent.ask_sync("Mail Ana.")
    result = session.view().recorded()[-2]
    assert isinstance(result, ToolResult) and TOLD in result.text and "…" in result.text
