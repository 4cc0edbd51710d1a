"""LiveKit Agents with a scripted model: what is sent is a view, and all is kept."""

# LiveKit leaves some of its types open.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import asyncio
import json
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import AgentSession, function_tool, llm

from quire.integrations.livekit import QuireAgent, read_context, write_context
from quire.items import Handoff, Message, Summary, ToolCall, ToolResult
from quire.providers import check
from tests.integrations.killed import ALL, handle_in, look_up, run_killed

HANDLE = "HANDLE"
"""Stands for the handle that the stub of the last result names."""

Answer = str | tuple[str, ...]
"""A text, or the name and the arguments of a tool to call, and what is said before."""


_calls = count()


class Scripted(llm.LLM[Any]):
    """Answers by a script, and remembers what it was sent."""

    def __init__(self, answers: Sequence[Answer], model: str = "unknown") -> None:
        super().__init__()
        self._model, self._answers = model, list(answers)
        self.sent: list[llm.ChatContext] = []

    @property
    def model(self) -> str:
        return self._model

    def chat(self, *, chat_ctx: llm.ChatContext, tools: Any = None, **options: Any) -> llm.LLMStream:
        self.sent.append(chat_ctx.copy())
        fields: dict[str, Any] = {
            "chat_ctx": chat_ctx,
            "tools": tools or [],
            "conn_options": options["conn_options"],
        }
        answer = self._answers.pop(0)
        if answer[1] == HANDLE:
            said = str([item.output for item in chat_ctx.items if item.type == "function_call_output"])
            answer = (answer[0], json.dumps({"handle": handle_in(said)}))
        return _Stream(self, answer, **fields)


class _Stream(llm.LLMStream):
    def __init__(self, model: llm.LLM[Any], answer: Answer, **fields: Any) -> None:
        self._answer = answer
        super().__init__(model, **fields)

    async def _run(self) -> None:
        if isinstance(self._answer, str):
            delta = llm.ChoiceDelta(role="assistant", content=self._answer)
        else:
            name, arguments, *before = self._answer
            for text in before:
                said = llm.ChoiceDelta(role="assistant", content=text)
                self._event_ch.send_nowait(llm.ChatChunk(id="c", delta=said))
            call = llm.FunctionToolCall(name=name, arguments=arguments, call_id=f"call_{next(_calls)}")
            delta = llm.ChoiceDelta(role="assistant", tool_calls=[call])
        usage = llm.CompletionUsage(
            completion_tokens=10, prompt_tokens=100, prompt_cached_tokens=60, total_tokens=110
        )
        self._event_ch.send_nowait(llm.ChatChunk(id="c", delta=delta))
        self._event_ch.send_nowait(llm.ChatChunk(id="c", usage=usage))


class Support(QuireAgent):
    @function_tool
    async def look(self, order: str) -> str:
        """Look up an order."""
        return look_up(order)

    @function_tool
    async def transfer(self) -> tuple[QuireAgent, str]:
        """Transfer the call to billing."""
        fields: dict[str, Any] = {"instructions": "You look after bills.", "conversation": "billing-7"}
        return QuireAgent(**fields, template=8_000, store="memory:"), "Billing takes over."


def talk(agent: QuireAgent, model: Scripted, *questions: str) -> None:
    async def run() -> None:
        session: AgentSession[Any]
        async with AgentSession(llm=model) as session:
            await session.start(agent)
            for question in questions:
                await session.run(user_input=question)

    asyncio.run(run())


def faults(context: llm.ChatContext) -> list[Any]:
    messages, _ = context.to_provider_format("openai")
    return list(check({"model": "gpt-5.6", "messages": messages}, "openai"))


def support(store: Any, window: int = 8_000, **options: Any) -> Support:
    fields: dict[str, Any] = {"instructions": "You look after orders.", "conversation": "call-7"}
    return Support(**fields, template=window, store=store, **options)


def test_the_context_that_is_kept_has_what_was_said_and_no_stub(tmp_path: Path) -> None:
    context = llm.ChatContext.empty()
    context.add_message(role="user", content=["Look:", llm.ImageContent(image="https://a.example/x.png")])
    first = support(tmp_path / "quire.db", chat_ctx=context)
    talk(first, Scripted([("look", '{"order": "all"}'), "There are many."]), "Which are open?")
    before = first.kept.view().recorded()
    again = support(tmp_path / "quire.db", chat_ctx=first.kept_context())
    outputs = [item.output for item in again.chat_ctx.items if item.type == "function_call_output"]
    assert outputs == [ALL]
    talk(again, Scripted(["Yes."]), "Are you still there?")
    assert [item.id for item in again.kept.view().recorded()[: len(before)]] == [item.id for item in before]
    assert len(again.kept.view().recorded()) == len(before) + 2


@pytest.mark.parametrize("said", [("Let me ", "look that up."), pytest.param((), marks=pytest.mark.fuzz)])
def test_a_call_that_was_killed_goes_on(said: tuple[str, ...], tmp_path: Path) -> None:
    store = str(tmp_path / "quire.db")
    answer = ("look", '{"order": "A13"}', *said)
    run_killed(__name__, f"talk(support({store!r}), Scripted([{answer!r}]), 'Is A13 open?')")
    model = Scripted(["I could not look."])
    talk(support(store, chat_ctx=support(store).kept_context()), model, "And now?")
    assert not faults(model.sent[0])
    kinds = [item.type for item in model.sent[0].items]
    spoken = ["message"] * bool(said)
    assert kinds == ["message", "message", *spoken, "function_call", "function_call_output", "message"]


def test_a_call_and_what_is_said_before_it_are_sent_and_recorded_once_with_what_they_cost() -> None:
    agent = support("memory:")
    model = Scripted([("look", '{"order": "A1"}', "Let me look."), "It is open."], model="gpt-5.6")
    talk(agent, model, "Is A1 open?")
    kinds = [type(item) for item in agent.kept.view().recorded()]
    assert kinds == [Message, Message, ToolCall, ToolResult, Message]
    assert [len(one.items) for one in model.sent] == [2, 5]  # with the instructions
    spending = agent.kept.spending
    assert spending.usage.cache_read == 120 and spending.cost > 0 and not spending.unpriced
    assert len(agent.kept.receipts) == 2


def test_what_is_said_before_a_hand_off_is_kept_and_so_is_the_hand_off() -> None:
    agent = support("memory:")
    talk(agent, Scripted([("transfer", "{}"), "Goodbye.", "It is paid."]), "Billing, please.", "Is A1 paid?")
    kept = list(agent.kept.view())
    assert [type(item) for item in kept] == [Message, ToolCall, ToolResult, Message, Handoff]
    assert isinstance(kept[3], Message) and kept[3].content == "Goodbye."


def test_a_chat_context_comes_back_from_items() -> None:
    context = llm.ChatContext.empty()
    metrics: Any = {"e2e_latency": 0.4}
    context.add_message(role="user", content=["Look:", llm.ImageContent(image="https://a.example/x.png")])
    context.add_message(role="assistant", content="I was say", interrupted=True, metrics=metrics)
    call = llm.FunctionCall(call_id="c1", name="look", arguments="{}", group_id="g")
    output = llm.FunctionCallOutput(
        call_id="c1", name="look", output="open", is_error=False, reply_required=False
    )
    context.insert([call, output, llm.AgentHandoff(old_agent_id="a", new_agent_id="b")])
    items = read_context(context)
    back = write_context(items)
    plain = [item.model_dump(exclude={"hash"}) for item in context.items]
    again = [item.model_dump(exclude={"hash"}) for item in back.items]
    for one, other in zip(plain, again, strict=True):
        for image in (*one.get("content", ()), *other.get("content", ())):
            image.pop("id", None) if isinstance(image, dict) else None
        assert one == other


def test_summaries_and_missing_results_are_written() -> None:
    written = write_context([Summary("Three orders are open."), Message("user", "Close them.")])
    texts = [item.text_content for item in written.messages()]
    assert "Three orders are open." in str(texts[0]) and texts[1] == "Close them."


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", logger="livekit.agents")


def test_a_result_without_room_is_a_stub_that_can_be_read() -> None:
    agent = support("memory:")
    model = Scripted([("look", '{"order": "all"}'), ("read_back", HANDLE), "There are many."])
    talk(agent, model, "Which are open?")
    stub, piece = (item.output for item in model.sent[2].items if item.type == "function_call_output")
    assert "read_back" in stub and len(stub) < 200 and "A0 is open" in piece
