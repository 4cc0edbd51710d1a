"""Whatever is done to a context, no provider refuses it, and what must stay stays."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.bridges.videosdk import (
    ChatContext,
    ChatMessage,
    ChatRole,
    FunctionCall,
    FunctionCallOutput,
    ImageContent,
)
from tests.bridges.videosdk.strategies import histories
from tests.bridges.videosdk.talks import Streaming, words
from tests.bridges.videosdk.test_converting import faults

Steps = list[tuple[str, int]]


class History:
    """A context that verbs are done to."""

    def __init__(self) -> None:
        self.context = ChatContext()
        self.child = ChatContext()
        self.calls = 0

    def play(self, steps: Steps) -> ChatContext:
        for verb, number in steps:
            getattr(self, verb.replace(" ", "_"))(number)
        return self.context

    def user(self, number: int) -> None:
        self.context.add_message(ChatRole.USER, f"ask {number}", agent_id="ab"[number % 2])

    def assistant(self, number: int) -> None:
        self.context.add_message(ChatRole.ASSISTANT, f"say {number}")

    def developer(self, number: int) -> None:
        self.context.add_message(ChatRole.DEVELOPER, f"be {number}")

    def system(self, number: int) -> None:
        self.context.add_message(ChatRole.SYSTEM, f"be {number}")

    def replace(self, number: int) -> None:
        self.context.add_message(ChatRole.SYSTEM, f"be {number}", replace=True)

    def image(self, number: int) -> None:
        role = ChatRole.USER if number % 3 else ChatRole.ASSISTANT
        self.context.add_message(role, ["", ImageContent("https://x.io/a.png")])

    def call(self, number: int) -> None:
        self.calls += 1
        self.context.add_function_call(f"tool {number}", "{}" if number else "{", call_id=f"c{self.calls}")

    def answer(self, number: int) -> None:
        answered = {i.call_id for i in self.context.items if isinstance(i, FunctionCallOutput)}
        waiting = [i for i in self.context.items if isinstance(i, FunctionCall) and i.call_id not in answered]
        if waiting:
            call = waiting[number % len(waiting)]
            self.context.add_function_output(call.name, "" if number == 0 else "x", call.call_id, number == 1)

    def lone_output(self, number: int) -> None:
        self.context.add_function_output("tool", "x", call_id=f"lone{number}")

    def handoff(self, number: int) -> None:
        self.context.add_handoff(f"agent {number}")

    def update(self, number: int) -> None:
        self.context.add_config_update(instructions=f"be {number}" if number % 2 else None, tools=["t"])

    def insert(self, number: int) -> None:
        shown = self.context.items
        time = shown[number % len(shown)].created_at if shown else 5.0
        self.context.insert(ChatMessage(role=ChatRole.USER, content="late", created_at=time))

    def truncate_items(self, number: int) -> None:
        self.context.truncate(max_items=number)

    def truncate_tokens(self, number: int) -> None:
        self.context.truncate(max_tokens=number * 10)

    def summarize(self, number: int) -> None:
        asyncio.run(self.context.summarize(Streaming(), keep_recent_turns=number % 4))

    def fork(self, _number: int) -> None:
        self.child, self.context = self.context, self.context.fork()

    def narrow(self, number: int) -> None:
        self.child, self.context = self.context, self.context.fork_filtered(1 + number % 3)

    def copy(self, number: int) -> None:
        tools = ["tool 1", "tool 2"] if number % 2 else None
        self.context = self.context.copy(tools=tools, exclude_empty_messages=True)

    def lend(self, number: int) -> None:
        """A sub-agent works on a copy, or on what was saved."""
        self.child = sub_agent(self.context, is_saved=bool(number % 2))

    def save(self, _number: int) -> None:
        self.context = ChatContext.from_dict(self.context.to_dict())

    def merge(self, _number: int) -> None:
        asyncio.run(self.context.merge(self.child))

    def merge_result(self, _number: int) -> None:
        asyncio.run(self.context.merge_result(self.child, agent_id="sub"))

    def merge_summary(self, _number: int) -> None:
        asyncio.run(self.context.merge_with_summary(self.child, llm=Streaming()))


def sub_agent(context: ChatContext, *, is_saved: bool) -> ChatContext:
    child = ChatContext.from_dict(context.to_dict()) if is_saved else context.copy()
    child.add_message(ChatRole.USER, "check")
    child.add_message(ChatRole.ASSISTANT, "checked")
    return child


def framing(context: ChatContext) -> list[Any]:
    """What truncation must never take."""
    answered = {item.call_id for item in context.items if isinstance(item, FunctionCallOutput)}
    users = [m.id for m in context.messages() if m.role is ChatRole.USER]
    kept: list[Any] = users[-1:]
    for item in context.items:
        if isinstance(item, ChatMessage):
            if item.role in (ChatRole.SYSTEM, ChatRole.DEVELOPER) or item.extra.get("summary"):
                kept.append(item.id)
        elif isinstance(item, FunctionCall):
            if item.call_id not in answered:
                kept.append(item.id)
        elif not isinstance(item, FunctionCallOutput):
            kept.append(item.id)
    return kept


@pytest.mark.laws
@given(histories)
def test_no_provider_refuses_any_history(steps: Steps) -> None:
    assert faults(History().play(steps)) == []


@pytest.mark.laws
@given(histories)
def test_truncation_keeps_what_must_stay_and_is_done_at_once(steps: Steps) -> None:
    context = History().play(steps)
    stays = framing(context)
    for limit in (12, 6, 0):
        context.truncate(max_items=limit)
        shown = [item.id for item in context.items]
        assert set(stays) <= set(shown)
        context.truncate(max_items=limit)
        assert [item.id for item in context.items] == shown
    assert set(stays) >= {item.id for item in context.messages() if item.role is ChatRole.USER}


@pytest.mark.laws
@given(histories)
def test_what_is_shown_is_what_is_saved(steps: Steps) -> None:
    context = History().play(steps)
    assert ChatContext.from_dict(context.to_dict()).to_dict() == context.to_dict()
    assert context.copy().items == context.items


@pytest.mark.laws
@given(histories)
def test_merging_a_second_time_adds_nothing(steps: Steps) -> None:
    history = History()
    context = history.play(steps)
    for verb in ("merge", "merge_result", "merge_summary"):
        getattr(history, verb)(0)
        before = context.to_dict()
        getattr(history, verb)(0)
        assert context.to_dict() == before


@pytest.mark.laws
@given(histories, st.booleans(), st.integers(0, 3))
def test_what_a_sub_agent_did_after_a_summary_is_all_that_comes_back(
    steps: Steps, is_saved: bool, turns: int
) -> None:
    context = History().play(steps)
    asyncio.run(context.summarize(Streaming(), keep_recent_turns=turns))
    shown = context.items
    asyncio.run(context.merge(sub_agent(context, is_saved=is_saved)))
    before = {item.id for item in shown}
    assert [item for item in context.items if item.id in before] == shown
    new = [item for item in context.items if item.id not in before]
    assert [words(item) for item in new] == ["check", "checked"]


@pytest.mark.laws
@given(histories)
def test_a_summary_leaves_the_last_turns_and_folds_the_summary_before(steps: Steps) -> None:
    context = History().play(steps)
    users = [message.id for message in context.messages() if message.role is ChatRole.USER]
    asyncio.run(context.summarize(Streaming(), keep_recent_turns=2))
    asyncio.run(context.summarize(Streaming("again"), keep_recent_turns=1))
    left = [message.id for message in context.messages() if message.role is ChatRole.USER]
    assert left == users[-1:]
