"""Sections of one's own that show a call without its result, or a result without its call."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from quire.bridges.autonomy import Agent, ContextTemplate, Memory, Node, SystemInstructionsSection
from quire.bridges.autonomy.pairing import paired
from quire.items import Item, Message, Reasoning, ToolCall, ToolResult
from quire.models import Scripted
from tests.bridges.autonomy.talking import run

Kept = Callable[[int, dict[str, Any], int], bool]


class Filtered:
    """A history of those messages that something says yes to, by place, message and length."""

    name = "conversation_history"
    enabled = True

    def __init__(self, keeps: Kept, *, copies: bool = False) -> None:
        self._keeps = keeps
        self._copies = copies

    async def get_messages(self, memory: Memory, scope: str, conversation: str, params: Any) -> Any:
        said = await memory.get_messages_only(scope, conversation)
        kept = [one for n, one in enumerate(said) if self._keeps(n, one, len(said))]
        return [{**one, "seen": True} for one in kept] if self._copies else kept


def mail(to: str) -> str:
    """Send a mail."""
    if to == "nobody":
        raise LookupError("nobody")
    return f"sent to {to}"


def mailing(to: str, *before: Item) -> list[Item]:
    return [*before, ToolCall(f"call_{to}", "mail", json.dumps({"to": to}))]


async def sent(section: Filtered, *turns: Sequence[Any]) -> list[dict[str, Any]]:
    """What the model was sent last."""
    model = Scripted([reply for turn in turns for reply in turn])
    async with Node() as node:
        template = ContextTemplate([SystemInstructionsSection("Mail."), section])
        agent = await Agent.start(node, "", "mailer", model, [mail], context_template=template)
        for n, _ in enumerate(turns):
            await agent.send(f"Task {n}.")
    messages: list[dict[str, Any]] = list(model.requests[-1].payload["messages"])
    assert "interrupted" not in str(messages)
    return [message for message in messages if message["role"] != "system"]


def calls_in(messages: list[dict[str, Any]]) -> list[str]:
    return [call["id"] for message in messages for call in message.get("tool_calls") or ()]


def results_in(messages: list[dict[str, Any]]) -> list[str]:
    return [message["tool_call_id"] for message in messages if message["role"] == "tool"]


@pytest.mark.parametrize("copies", [False, True])
def test_a_call_goes_with_the_result_that_was_left_out(copies: bool) -> None:
    async def talk() -> None:
        section = Filtered(lambda n, one, length: one["role"] != "tool" or n >= length - 4, copies=copies)
        told = Message("assistant", "I write to ana.")
        messages = await sent(
            section,
            [mailing("ana", told), "Done 0."],
            [mailing("bob"), "Done 1."],
            [mailing("cleo"), "Done 2."],
        )
        assert calls_in(messages) == results_in(messages) == ["call_cleo"]
        assert all(words in str(messages) for words in ("I write to ana.", "Done 0.", "Done 1.", "Task 2."))

    run(talk)


@pytest.mark.parametrize("copies", [False, True])
def test_a_result_goes_with_the_call_that_was_left_out(copies: bool) -> None:
    async def talk() -> None:
        section = Filtered(lambda n, one, length: "tool_calls" not in one or n >= length - 2, copies=copies)
        messages = await sent(section, [mailing("ana"), "Done 0."], [mailing("bob"), "Done 1."])
        assert calls_in(messages) == results_in(messages) == ["call_bob"]
        assert "sent to ana" not in str(messages)

    run(talk)


@pytest.mark.parametrize("copies", [False, True])
def test_what_was_done_in_the_turn_under_way_is_not_done_again(copies: bool) -> None:
    async def talk() -> None:
        section = Filtered(lambda n, one, length: one["role"] != "tool" or n >= length - 1, copies=copies)
        both = [*mailing("ana"), *mailing("nobody")]
        messages = await sent(section, [both, mailing("bob"), "Done."])
        assert calls_in(messages) == results_in(messages) == ["call_ana", "call_nobody", "call_bob"]
        ana, nobody, bob = (message["content"] for message in messages if message["role"] == "tool")
        assert "was run" in ana and "failed" in nobody and "sent to bob" in bob

    run(talk)


def test_what_waits_and_what_nobody_recorded_stays_as_it_is() -> None:
    waits, example = ToolCall("c", "mail"), ToolCall("e", "mail")
    items: list[Item] = [Message("user", "Go."), waits]
    assert list(paired(items, lambda: items)) == items
    assert list(paired([example], lambda: items)) == [example]
    before: list[Item] = [ToolCall("c", "mail"), ToolResult("c", "mail", "sent")]
    assert list(paired(items, lambda: [*before, *items])) == items, "an id comes again"


def test_a_thought_goes_with_its_call() -> None:
    first: list[Item] = [Reasoning("Think of ana."), ToolCall("c", "mail")]
    record: list[Item] = [
        *first,
        ToolResult("c", "mail", "sent"),
        Message("assistant", "Done."),
        Message("user", "Go."),
    ]
    assert list(paired([*first, *record[3:]], lambda: record)) == record[3:]
