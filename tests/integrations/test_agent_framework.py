"""Microsoft Agent Framework with a scripted client: what is sent is a view, and all is kept."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    tool,
)

from quire.integrations.agent_framework import QuireHistory
from quire.items import Message as QuireMessage, ToolCall, ToolResult
from quire.providers import check
from tests.integrations.killed import handle_in, look_up, run_killed

HANDLE = "HANDLE"
"""Stands for the handle that the stub of the last result names."""

Answer = str | tuple[str, str]
"""A text, or the name and the arguments of a tool to call."""


class Scripted(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """Answers by a script, and remembers what it was sent."""

    def __init__(self, answers: Sequence[Answer], answers_as: str | None = None) -> None:
        super().__init__()
        self.answers, self._answers_as = list(answers), answers_as
        self.sent: list[list[Message]] = []

    def _inner_get_response(self, *, messages: Sequence[Message], **_: Any) -> Any:
        self.sent.append(list(messages))
        answer = self.answers.pop(0)
        if answer[1] == HANDLE:
            answer = (answer[0], json.dumps({"handle": handle_in(as_chat(self.sent[-1]))}))
        if isinstance(answer, str):
            content: Any = answer
        else:
            content = Content.from_function_call(f"call_{len(self.answers)}", answer[0], arguments=answer[1])
        usage: Any = {"input_token_count": 100, "output_token_count": 10, "cache_read_input_token_count": 60}

        async def respond() -> ChatResponse[Any]:
            said = [Message("assistant", [content])]
            return ChatResponse(messages=said, usage_details=usage, model=self._answers_as)

        return respond()


@tool(approval_mode="never_require")
def look(order: str) -> str:
    """Look up an order."""
    return look_up(order)


def talk(history: QuireHistory, client: Scripted, *questions: str, **options: Any) -> None:
    async def run() -> None:
        agent = Agent(
            client=client,
            instructions="You look after orders.",
            tools=[look],
            context_providers=[history],
            middleware=[history.middleware],
            default_options=cast(Any, options),
        )
        for question in questions:
            await agent.run(question, session=agent.create_session(session_id="s-1"))

    asyncio.run(run())


def as_chat(messages: list[Message]) -> list[dict[str, Any]]:
    """Messages as the Chat Completions API has them."""
    found: list[dict[str, Any]] = []
    for message in messages:
        calls = [
            {
                "id": one.call_id,
                "type": "function",
                "function": {"name": one.name, "arguments": one.arguments},
            }
            for one in message.contents
            if one.type == "function_call"
        ]
        results = [one for one in message.contents if one.type == "function_result"]
        found += [
            {"role": "tool", "tool_call_id": one.call_id, "content": str(one.result)} for one in results
        ]
        if not results:
            text = {"role": message.role, "content": message.text or None}
            found.append({**text, "tool_calls": calls} if calls else text)
    return found


def faults(messages: list[Message]) -> list[Any]:
    return list(check({"model": "gpt-5.6", "messages": as_chat(messages)}, "openai"))


def test_a_run_with_a_tool_is_kept_once(tmp_path: Path) -> None:
    history = QuireHistory(8_000, tmp_path / "quire.db")
    client = Scripted([("look", '{"order": "A1"}'), "It is open.", "Yes."])
    talk(history, client, "Is A1 open?", "Really?")
    kinds = [type(item) for item in history.session("s-1").view()]
    assert kinds == [QuireMessage, ToolCall, ToolResult, QuireMessage, QuireMessage, QuireMessage]
    assert [len(one) for one in client.sent] == [1, 3, 5]
    assert history.session("s-1").spending.usage.cache_read == 180
    assert len(history.session("s-1").receipts) == 3


async def test_messages_come_back_as_they_were_saved(tmp_path: Path) -> None:
    said = [
        Message("user", ["Look:", Content.from_uri("https://a.example/x.png", media_type="image/png")]),
        Message("assistant", [Content.from_text_reasoning(text="Hm."), "It is red."], author_name="Ann"),
        Message("assistant", [Content.from_function_call("c1", "look", arguments='{"order": "A1"}')]),
        Message("tool", [Content.from_function_result("c1", result="open")]),
        Message("assistant", ["Plain."]),
    ]

    await QuireHistory(8_000, tmp_path / "quire.db").save_messages("s-1", said)
    kept = await QuireHistory(8_000, tmp_path / "quire.db").get_messages("s-1")
    assert [one.to_dict() for one in kept] == [one.to_dict() for one in said]


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    store = str(tmp_path / "quire.db")
    asked = """talk(QuireHistory(8_000, STORE), Scripted([("look", '{"order": "A13"}')]), "Is A13 open?")"""
    run_killed(__name__, asked.replace("STORE", repr(store)))
    again, client = QuireHistory(8_000, store), Scripted(["I could not look."])
    talk(again, client, "And now?")
    sent = as_chat(client.sent[0])
    assert [one["role"] for one in sent] == ["user", "assistant", "tool", "user"]
    assert not faults(client.sent[0])


def test_a_result_without_room_is_a_stub_that_can_be_read() -> None:
    history = QuireHistory(8_000, "memory:")
    client = Scripted([("look", '{"order": "all"}'), ("read_back", HANDLE), "There are many."])
    talk(history, client, "Which are open?")
    stub, piece = (one["content"] for one in as_chat(client.sent[2]) if one["role"] == "tool")
    assert "read_back" in stub and len(stub) < 200 and "A0 is open" in piece


@pytest.mark.parametrize(("asked", "answered"), [("gpt-5.6", None), (None, "gpt-5.6")])
def test_spending_has_the_price_of_the_model(asked: str | None, answered: str | None) -> None:
    history = QuireHistory(8_000, "memory:")
    talk(history, Scripted(["Hello."], answered), "Good morning.", **({"model": asked} if asked else {}))
    spending = history.session("s-1").spending
    assert spending.cost > 0 and not spending.unpriced


async def test_a_result_has_the_name_of_the_tool_in_its_own_session() -> None:
    history = QuireHistory(8_000, "memory:")

    def called(name: str) -> list[Message]:
        call = Content.from_function_call("call_0", name, arguments="{}")
        return [
            Message("user", ["Is A1 open?"]),
            Message("assistant", [call]),
            Message("tool", [Content.from_function_result("call_0", result="open")]),
        ]

    await history.save_messages("s-1", called("look")[:2])
    await history.save_messages("s-2", called("search"))
    await history.save_messages("s-1", called("look")[2:])
    for session, name in (("s-1", "look"), ("s-2", "search")):
        results = [item for item in history.session(session).view() if isinstance(item, ToolResult)]
        assert [item.name for item in results] == [name]
