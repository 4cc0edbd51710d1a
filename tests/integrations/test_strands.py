"""Strands Agents with a scripted model: messages stay whole, and requests are views of them."""

# pyright: basic, reportMissingImports=false

import json
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from quire.items import Message, ToolCall, ToolResult
from quire.providers import check
from quire.stores import MemoryStore
from tests.counting import calls_of
from tests.docs.pages import DOCS, run_page
from tests.integrations.killed import handle_in, look_up, run_killed
from tests.integrations.owners import NEEDS_OWNERS, run_tests, source

pytest.importorskip("strands", reason="run by `make integrations`, in an environment of its own")

from strands import Agent, tool
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.models import Model
from strands.session import SessionRepository
from strands.types.exceptions import ContextWindowOverflowException, SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from quire.integrations.strands import QuireConversationManager, QuireSessionManager, QuireSessionRepository

READ_BACK = "READ_BACK"
"""Stands for a call that reads the result whose stub came last."""

TOO_LARGE = "TOO_LARGE"
"""Stands for a request that the provider refuses for its size."""

Answer = str | tuple[str, dict[str, Any]]
"""A text, or the name and the input of a tool to call."""


class Scripted(Model):  # type: ignore[misc]
    """Answers by a script, and remembers what it was sent."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.answers = list(answers)
        self.sent: list[list[Any]] = []

    def get_config(self) -> Any:
        return {}

    def update_config(self, **_: Any) -> None: ...

    async def structured_output(self, *_: Any, **__: Any) -> AsyncGenerator[Any, None]:
        raise NotImplementedError
        yield

    async def stream(self, messages: list[Any], *_: Any, **__: Any) -> AsyncGenerator[Any, None]:
        self.sent.append(messages)
        answer = self.answers.pop(0)
        if answer == TOO_LARGE:
            raise ContextWindowOverflowException("too large")
        if answer == READ_BACK:
            answer = ("read_back", {"handle": handle_in(messages)})
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(answer, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": answer}}}
        else:
            call = {"name": answer[0], "toolUseId": f"call-{len(self.answers)}-{len(messages)}"}
            yield {"contentBlockStart": {"start": {"toolUse": call}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(answer[1])}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(answer, str) else "tool_use"}}
        size = len(str(messages)) // 5
        used = {"inputTokens": size - 5, "outputTokens": 10, "totalTokens": size + 10}
        used |= {"cacheReadInputTokens": 5}
        yield {"metadata": {"usage": used, "metrics": {"latencyMs": 1}}}


@tool  # type: ignore[untyped-decorator]
def look(order: str) -> str:
    """Look up an order."""
    return look_up(order)


def made(store: Any, model: Scripted, window: int = 8_000, **fields: Any) -> tuple[Agent, Any]:
    manager = QuireConversationManager("s-1", window, store)
    fields = {"session_manager": QuireSessionManager("s-1", store), **fields}
    agent = Agent(
        model,
        system_prompt="You look after orders.",
        tools=[look],
        conversation_manager=manager,
        callback_handler=None,
        **fields,
    )
    return agent, manager


def talk(store: Any, model: Scripted, *questions: str, **fields: Any) -> tuple[Agent, Any]:
    agent, manager = made(store, model, **fields)
    for question in questions:
        agent(question)
    return agent, manager


def faults(messages: list[Any]) -> list[Any]:
    """What Anthropic would refuse, and Bedrock: there, user and assistant take turns."""

    def block(one: Any) -> Any:
        if "toolUse" in one:
            call = one["toolUse"]
            return {"type": "tool_use", "id": call["toolUseId"], "name": call["name"], "input": call["input"]}
        if "toolResult" in one:
            result = one["toolResult"]
            return {
                "type": "tool_result",
                "tool_use_id": result["toolUseId"],
                "content": str(result["content"]),
            }
        return {"type": "text", "text": one["text"]}

    roles = [one["role"] for one in messages]
    repeated = [role for role, following in pairwise(roles) if role == following]
    plain = [{"role": one["role"], "content": [block(part) for part in one["content"]]} for one in messages]
    payload = {"model": "claude-sonnet-5", "max_tokens": 100, "messages": plain}
    return [*repeated, *check(payload, "anthropic")]


def test_a_run_with_a_tool_is_kept_and_explained(tmp_path: Path) -> None:
    model = Scripted([("look", {"order": "A1"}), "It is open.", "Yes."])
    agent, manager = talk(tmp_path / "q.db", model, "Is A1 open?", "Really?")
    assert [len(one) for one in model.sent] == [1, 3, 5] and not any(map(faults, model.sent))
    assert len(agent.messages) == 6
    kinds = [type(item) for item in manager.session.view()]
    assert kinds == [Message, ToolCall, ToolResult, Message, Message, Message]
    assert len(manager.session.receipts) == 3
    usage = manager.session.spending.usage
    assert usage.cache_read == 15 and usage.input == sum(len(str(one)) // 5 for one in model.sent)


def test_a_result_without_room_is_a_stub_that_can_be_read() -> None:
    model = Scripted([("look", {"order": "all"}), READ_BACK, "There are many."])
    agent, _ = talk(MemoryStore(), model, "Which are open?")
    stub, piece = (str(one) for one in model.sent[2] if "toolResult" in str(one))
    assert "read_back" in stub and len(stub) < 400 and "A0 is open" in piece
    assert "A1999 is open" in str(agent.messages[2])


@pytest.mark.parametrize("questions", [("And now?",), (None,)], ids=["asked", "resumed"])
def test_a_session_that_was_killed_in_a_tool_goes_on(tmp_path: Path, questions: tuple[Any]) -> None:
    store = str(tmp_path / "q.db")
    run_killed(__name__, f"""talk({store!r}, Scripted([("look", {{"order": "A13"}})]), "Is it open?")""")
    model = Scripted(["I could not look."])
    agent, _ = talk(store, model, *questions)
    sent = model.sent[0]
    assert not faults(sent)
    assert sent[0]["content"] == [{"text": "Is it open?"}] and "toolUse" in sent[1]["content"][0]
    roles = ["user", "assistant", "user", *(["user"] if questions[0] else []), "assistant"]
    assert [one["role"] for one in agent.messages] == roles
    if not questions[0]:  # Strands would run the call again, which would kill this process
        assert "It is uncertain whether this was done" in str(sent[2])


def test_a_tool_that_asks_goes_on_with_the_answer() -> None:
    asked = list[str]()

    @tool(context=True)  # type: ignore[untyped-decorator]
    def pay(order: str, tool_context: Any) -> str:
        """Pay an order."""
        asked.append(order)
        return str(tool_context.interrupt("approval", reason="May I?"))

    model = Scripted([("pay", {"order": "A1"}), "It is paid."])
    agent, _ = made(MemoryStore(), model)
    agent.tool_registry.register_tool(pay)
    (interrupt,) = agent("Pay A1.").interrupts
    agent([{"interruptResponse": {"interruptId": interrupt.id, "response": "paid"}}])
    assert asked == ["A1", "A1"] and "paid" in str(model.sent[-1]) and "uncertain" not in str(model.sent)


def said(text: str, role: str = "user") -> Any:
    return {"role": role, "content": [{"text": text}]}


def test_a_request_that_is_too_large_is_made_smaller_and_nothing_is_removed() -> None:
    long = [
        said(f"Question {n}? " + "word " * 100) if n % 2 == 0 else said("Yes.", "assistant")
        for n in range(40)
    ]
    model = Scripted([TOO_LARGE, TOO_LARGE, "Good."])
    agent, _ = made(MemoryStore(), model, window=2_000, session_manager=None, messages=long)
    agent("And now?")
    first, second, third = map(len, model.sent)
    assert first > second > third and len(agent.messages) == 42


def test_a_session_of_another_manager_is_taken_whole(tmp_path: Path) -> None:
    store = tmp_path / "q.db"
    model = Scripted([f"Answer {n}." for n in range(6)])
    small = SlidingWindowConversationManager(window_size=4)
    agent = Agent(
        model,
        conversation_manager=small,
        session_manager=QuireSessionManager("s-1", store),
        callback_handler=None,
    )
    for number in range(6):
        agent(f"Question {number}?")
    assert len(agent.messages) < 12
    again, _ = talk(store, Scripted(["Good."]), "And now?")
    assert len(again.messages) == 14


# --- sessions -----------------------------------------------------------------------------------------------


def filled(store: Any, count: int) -> QuireSessionRepository:
    """A repository with messages of an agent."""
    sessions = QuireSessionRepository(store)
    sessions.create_session(Session("s/1", SessionType.AGENT))
    sessions.create_agent("s/1", SessionAgent("ann", {}, {}))
    for number in range(count):
        add(sessions, number)
    return sessions


def add(sessions: SessionRepository, number: int, text: str = "word") -> None:
    sessions.create_message("s/1", "ann", SessionMessage(said(text), number))


def test_an_append_takes_as_long_after_many_messages() -> None:
    sessions, steps = filled(MemoryStore(), 0), list[int]()
    for number in range(400):
        steps.append(calls_of(partial(add, sessions, number)))
    assert max(steps[-10:]) <= max(steps[10:20]) + 20
    assert [one.message_id for one in sessions.list_messages("s/1", "ann", 3, 100)] == [100, 101, 102]


def test_a_number_that_another_process_has_used_is_refused(tmp_path: Path) -> None:
    one, other = filled(tmp_path / "q.db", 5), QuireSessionRepository(tmp_path / "q.db")
    add(other, 5, "mine")
    with pytest.raises(SessionException, match="changed"):
        add(one, 5, "yours")
    assert one.list_messages("s/1", "ann")[-1] == other.read_message("s/1", "ann", 5)


@NEEDS_OWNERS
def test_the_owners_tests_pass() -> None:
    """The tests of the session manager, with our repository in the place of the one in their fixtures."""
    root = source("strands-agents")
    ours = """from quire.integrations.strands import QuireSessionRepository

class MockedSessionRepository(QuireSessionRepository):
    def __init__(self):
        super().__init__("memory:")
"""
    (root / "tests/fixtures/mock_session_repository.py").write_text(ours)
    (root / "tests/conftest.py").write_text("")  # theirs needs a simulator of AWS
    run_tests(root, "tests/strands/session/test_repository_session_manager.py")


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(DOCS / "integrations" / "strands.md")
