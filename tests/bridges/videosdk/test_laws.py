"""Whatever is done to a context, no provider refuses it, and what must stay stays."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from quire.bridges.videosdk import (
    ChatContext,
    ChatMessage,
    ChatRole,
    FunctionCall,
    FunctionCallOutput,
    ImageContent,
)
from quire.providers import provider_for
from tests.bridges.videosdk.shop import Streaming, words

Steps = list[tuple[str, int]]


class History:
    """A context that verbs are done to, and another that is merged into it."""

    def __init__(self) -> None:
        self.context, self.child = ChatContext(), ChatContext()
        self.calls = 0

    def play(self, steps: Steps) -> ChatContext:
        for verb, number in steps:
            VERBS[verb](self, number)
        return self.context

    def call(self, n: int) -> None:
        self.calls += 1
        self.context.add_function_call(f"tool {n}", "{}" if n else "{", call_id=f"c{self.calls}")

    def answer(self, n: int) -> None:
        answered = {item.call_id for item in self.context.items if isinstance(item, FunctionCallOutput)}
        made = [item for item in self.context.items if isinstance(item, FunctionCall)]
        for call in [item for item in made if item.call_id not in answered][n % 2 :][:1]:
            self.context.add_function_output(call.name, "" if n == 0 else "x", call.call_id, n == 1)

    def insert(self, n: int) -> None:
        shown = self.context.items
        time = shown[n % len(shown)].created_at if shown else 5.0
        self.context.insert(ChatMessage(role=ChatRole.USER, content="late", created_at=time))

    def become(self, context: ChatContext) -> None:
        self.child, self.context = self.context, context


Verb = Callable[[History, int], object]


def say(role: str, content: Any, **options: Any) -> Verb:
    return lambda h, n: h.context.add_message(role, content, agent_id="ab"[n % 2], **options)


def run(make: Callable[[History, int], Coroutine[Any, Any, object]]) -> Verb:
    return lambda h, n: asyncio.run(make(h, n))


VERBS: dict[str, Verb] = {
    "user": say("user", "ask"),
    "assistant": say("assistant", "say"),
    "developer": say("developer", "be kind"),
    "system": say("system", "be brief"),
    "replace": say("system", "be loud", replace=True),
    "image": lambda h, n: say("user" if n % 3 else "assistant", ["", ImageContent("https://x.io/a")])(h, n),
    "call": History.call,
    "answer": History.answer,
    "lone output": lambda h, n: h.context.add_function_output("tool", "x", call_id=f"lone{n}"),
    "handoff": lambda h, n: h.context.add_handoff(f"agent {n}"),
    "update": lambda h, n: h.context.add_config_update("be odd" if n % 2 else None, ["t"]),
    "insert": History.insert,
    "truncate": lambda h, n: h.context.truncate(max_items=n, max_tokens=n * 20),
    "summarize": run(lambda h, n: h.context.summarize(Streaming(), keep_recent_turns=n % 4)),
    "fork": lambda h, n: h.become(h.context.fork()),
    "narrow": lambda h, n: h.become(h.context.fork_filtered(1 + n % 3)),
    "copy": lambda h, n: h.become(h.context.copy(tools=["tool 1"] if n % 2 else None)),
    "save": lambda h, n: h.become(ChatContext.from_dict(h.context.to_dict())),
    "merge": run(lambda h, n: h.context.merge(h.child)),
    "merge result": run(lambda h, n: h.context.merge_result(h.child, agent_id="sub")),
    "merge summary": run(lambda h, n: h.context.merge_with_summary(h.child, llm=Streaming())),
}  # fmt: skip
histories = st.lists(st.tuples(st.sampled_from(sorted(VERBS)), st.integers(0, 9)), max_size=25)


def faults(context: ChatContext) -> list[Any]:
    """What providers would refuse."""
    messages, system = context.to_anthropic_messages()
    contents, told = asyncio.run(context.to_google_contents())
    marked, blocks = context.to_anthropic_messages(caching=True)
    return [
        *provider_for("openai").check({"messages": context.to_openai_messages()}),
        *provider_for("openai").check({"messages": context.to_openai_messages(reasoning_model=True)}),
        *provider_for("anthropic").check({"messages": messages} | ({"system": system} if system else {})),
        *provider_for("anthropic").check({"messages": marked} | ({"system": blocks} if blocks else {})),
        *provider_for("gemini").check(
            {"contents": contents} | ({"systemInstruction": {"parts": [{"text": told}]}} if told else {})
        ),
    ]


@pytest.mark.laws
@given(histories)
def test_no_provider_refuses_any_history(steps: Steps) -> None:
    assert faults(History().play(steps)) == []


def is_protected(context: ChatContext, item: Any) -> bool:
    answered = {one.call_id for one in context.items if isinstance(one, FunctionCallOutput)}
    users = [one.id for one in context.messages() if one.role is ChatRole.USER]
    if isinstance(item, ChatMessage):
        is_instruction = item.role in (ChatRole.SYSTEM, ChatRole.DEVELOPER)
        return is_instruction or bool(item.extra.get("summary")) or item.id in users[-1:]
    if isinstance(item, FunctionCallOutput):
        return False
    return not isinstance(item, FunctionCall) or item.call_id not in answered


@pytest.mark.laws
@given(histories)
def test_truncation_keeps_what_must_stay_and_truncating_again_changes_nothing(steps: Steps) -> None:
    context = History().play(steps)
    stays = {item.id for item in context.items if is_protected(context, item)}
    for limit in (12, 6, 0):
        context.truncate(max_items=limit)
        shown = [item.id for item in context.items]
        assert stays <= set(shown) and shown == [item.id for item in context.truncate(max_items=limit).items]
    assert stays >= {message.id for message in context.messages() if message.role is ChatRole.USER}


@pytest.mark.laws
@given(histories)
def test_what_is_shown_is_what_is_saved_and_copied(steps: Steps) -> None:
    context = History().play(steps)
    assert ChatContext.from_dict(context.to_dict()).to_dict() == context.to_dict()
    assert context.copy().items == context.items


@pytest.mark.laws
@given(histories)
@example([("assistant", 0), ("image", 1), ("summarize", 0), ("narrow", 0)])  # came with a second summary
@example([("lone output", 0), ("system", 0), ("copy", 1), ("replace", 0)])  # what was replaced came back
def test_merging_again_adds_nothing(steps: Steps) -> None:
    history = History()
    context = history.play(steps)
    for verb in ("merge", "merge result", "merge summary"):
        VERBS[verb](history, 0)
        before = context.to_dict()
        VERBS[verb](history, 0)
        assert context.to_dict() == before


@pytest.mark.laws
@given(histories, st.booleans(), st.integers(0, 3))
def test_what_a_sub_agent_did_after_a_summary_is_all_that_comes_back(
    steps: Steps, is_saved: bool, turns: int
) -> None:
    context = History().play(steps)
    asyncio.run(context.summarize(Streaming(), keep_recent_turns=turns))
    child = ChatContext.from_dict(context.to_dict()) if is_saved else context.copy()
    child.add_message(ChatRole.USER, "check")
    child.add_message(ChatRole.ASSISTANT, "checked")
    shown = context.items
    asyncio.run(context.merge(child))
    before = {item.id for item in shown}
    assert [item for item in context.items if item.id in before] == shown
    assert [words(item) for item in context.items if item.id not in before] == ["check", "checked"]
