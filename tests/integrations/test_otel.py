"""Spans: their names, attributes and parents for all that a conversation does, and what they leave out."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from quire import (
    Agent,
    Budget,
    Image,
    Message,
    Note,
    Reasoning,
    Session,
    Summary,
    Template,
    ToolCall,
    ToolResult,
)
from quire.agent import tool
from quire.agent.builtin import recall_tools
from quire.compactors import Summarize
from quire.errors import ModelFailed, RateLimited
from quire.integrations.logs import read_log
from quire.items import Item, Span, kind_of
from quire.memory import Recall
from quire.models import Retries, Scripted
from quire.providers import Parsed, check
from quire.sections import History, Instructions
from quire.stores import MemoryStore
from quire.tokens import Usage
from tests.clients.scenes import stage
from tests.clients.speaking import error, fails, says
from tests.models.answerers import NEEDS_SDK, model_at

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed")

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from quire.integrations.otel import instrument

SECRET = "swordfish-0815"


class Traces:
    """A provider of tracers that keeps its spans, and what they tell."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("test")

    def hooks(self, **options: Any) -> Any:
        return instrument(tracer_provider=self.provider, **options)

    @property
    def spans(self) -> list[ReadableSpan]:
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def one(self, name: str) -> ReadableSpan:
        (found,) = (span for span in self.spans if span.name == name)
        return found

    def tree(self) -> list[tuple[str, str | None]]:
        """Each span with its parent, by name, in the order in which they began."""
        names = {span.context.span_id: span.name for span in self.spans if span.context}
        return [(span.name, span.parent and names.get(span.parent.span_id)) for span in self.spans]

    def text(self) -> str:
        return "".join(span.to_json() for span in self.spans)


@pytest.fixture
def traces(caplog: pytest.LogCaptureFixture) -> Iterator[Traces]:
    """Traces; what OpenTelemetry logs, such as a span that is detached in another context, is an error."""
    yield Traces()
    assert [one.message for one in caplog.records if one.name.startswith("opentelemetry")] == []


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def events(span: ReadableSpan) -> list[tuple[str, dict[str, Any]]]:
    return [(event.name, dict(event.attributes or {})) for event in span.events]


def opened(hooks: Any, **options: Any) -> Session:
    return Session.open("ana/one", store=MemoryStore(), hooks=hooks, **options)


def agent_of(hooks: Any, *replies: Any, **options: Any) -> Agent:
    return Agent(opened(hooks), model=Scripted(replies, name="gpt-5.6"), name="clerk", **options)


@tool
def look(word: str) -> str:
    """Look a word up, in a thread."""
    return f"{word} is a fish"


def test_a_turn_with_a_tool(traces: Traces) -> None:
    used = Usage(120, 30, cache_read=100, cache_write=20, reasoning=10)
    call = ToolCall("c1", "look", f'{{"word": "{SECRET}"}}')
    replies = [Parsed((call,), used, "calls", "gpt-5.6-2026"), "A fish."]
    agent = agent_of(traces.hooks(), *replies, tools=[look], instructions="Be brief.")
    assert agent.ask_sync(f"What is {SECRET}?").text == "A fish."
    turn = "invoke_agent clerk"
    assert traces.tree() == [
        (turn, None),
        ("build_context", turn),
        ("chat gpt-5.6", turn),
        ("execute_tool look", turn),
        ("build_context", turn),
        ("chat gpt-5.6", turn),
    ]
    invoked = traces.one(turn)
    whole = agent.session.spending.usage
    assert attributes(invoked) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "clerk",
        "gen_ai.conversation.id": "ana/one",
        "gen_ai.usage.input_tokens": whole.input,
        "gen_ai.usage.output_tokens": whole.output,
        "gen_ai.usage.cache_read.input_tokens": 100,
        "gen_ai.usage.cache_write.input_tokens": 20,
        "gen_ai.usage.reasoning.output_tokens": 10,
        "quire.agent.stop": "done",
    }
    asked = traces.spans[2]
    assert asked.kind is SpanKind.CLIENT and invoked.kind is SpanKind.INTERNAL
    assert attributes(asked) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5.6",
        "gen_ai.conversation.id": "ana/one",
        "gen_ai.response.model": "gpt-5.6-2026",
        "gen_ai.response.finish_reasons": ("tool_call",),
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 30,
        "gen_ai.usage.cache_read.input_tokens": 100,
        "gen_ai.usage.cache_write.input_tokens": 20,
        "gen_ai.usage.reasoning.output_tokens": 10,
        "quire.request.retries": 0,
    }
    assert attributes(traces.one("execute_tool look")) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": "ana/one",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.type": "function",
    }
    assert SECRET not in traces.text() and "fish" not in traces.text()
    assert all(span.status.status_code is StatusCode.UNSET for span in traces.spans)


def test_content_is_there_when_it_is_asked_for(traces: Traces) -> None:
    call = ToolCall("c1", "look", f'{{"word": "{SECRET}"}}')
    agent = agent_of(traces.hooks(content=True), call, "A fish.", tools=[look], instructions="Be brief.")
    agent.ask_sync(f"What is {SECRET}?")
    last = attributes(traces.spans[-1])
    assert json.loads(last["gen_ai.input.messages"]) == [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": f"What is {SECRET}?"}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"word": SECRET}}],
        },
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "c1", "response": f"{SECRET} is a fish"}],
        },
    ]
    said = {"role": "assistant", "parts": [{"type": "text", "content": "A fish."}], "finish_reason": "stop"}
    assert json.loads(last["gen_ai.output.messages"]) == [said]
    (defined,) = json.loads(last["gen_ai.tool.definitions"])
    assert (defined["type"], defined["name"]) == ("function", "look")
    ran = attributes(traces.one("execute_tool look"))
    assert json.loads(ran["gen_ai.tool.call.arguments"]) == {"word": SECRET}
    assert ran["gen_ai.tool.call.result"] == f"{SECRET} is a fish"


def test_content_of_every_kind(traces: Traces) -> None:
    """Bytes are left out, and arguments need not be JSON."""
    session = opened(traces.hooks(content=True))
    seen = Image(url="https://a.example/b.png")
    picture = (Image(data=SECRET.encode(), media_type="image/png"), seen)
    session.append(Message("user", ("Look:", *picture)), Note("blue", key="colour"))
    session.append(ToolCall("c1", "look", "{broken"), ToolResult("c1", "look", (seen,)))
    Agent(session, model=Scripted(["Yes."])).ask_sync("Well?")
    asked = attributes(traces.one("chat scripted"))["gen_ai.input.messages"]
    uri = {"type": "uri", "uri": "https://a.example/b.png", "modality": "image", "mime_type": None}
    parts = [part for message in json.loads(asked) for part in message["parts"]]
    assert {"type": "left_out", "modality": "image", "mime_type": "image/png"} in parts and uri in parts
    assert {"type": "tool_call", "id": "c1", "name": "look", "arguments": "{broken"} in parts
    (response,) = (part["response"] for part in parts if part["type"] == "tool_call_response")
    assert json.loads(response) == [uri] and "colour" in asked
    assert SECRET not in traces.text()


def test_spans_with_content_are_a_log_that_can_be_checked(traces: Traces, tmp_path: Path) -> None:
    session = opened(traces.hooks(content=True))
    session.append(Message("user", "long ago"), Message("assistant", "indeed"))
    first, last = session.view()
    session.append(Message("user", ("Look:", Image(url="https://a.example/b.png"))))
    session.append(Summary("They met.", (Span(first.id, last.id),)))
    calls: list[Item] = [Reasoning("Hm."), ToolCall("c1", "look", '{"word":"a"}')]
    agent = Agent(session, model=Scripted([calls, "A fish."]), tools=[look], instructions="Be brief.")
    agent.ask_sync("Well?")
    log = read_log([json.loads(span.to_json()) for span in traces.spans])
    assert log is not None and log.left_out == {"without messages": 4, "parts of type uri": 2}
    (one,) = log.conversations
    assert check(one.payload, one.wire) == []
    assert [(kind_of(item), getattr(item, "text", "")) for item in one.items()] == [
        *(("message", text) for text in ("Be brief.", "They met.", "Look:", "Well?")),
        *(("reasoning", "Hm."), ("tool_call", ""), ("tool_result", "a is a fish"), ("message", "A fish.")),
    ]
    pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")
    from tests.cli.command_line import ran

    file = tmp_path / "spans.jsonl"
    file.write_text("".join(span.to_json(None) + "\n" for span in traces.spans))
    assert f"{file}: {log}" in ran("check", str(file)).stderr


async def test_what_a_tool_does_is_in_its_span(traces: Traces) -> None:
    """Also in a thread and beside other calls; an agent that it asks takes its turn there."""

    @tool
    def in_thread() -> str:
        """Work in a thread."""
        with traces.tracer.start_as_current_span("in thread"):
            return "done"

    @tool
    async def in_task() -> str:
        """Work in a task."""
        with traces.tracer.start_as_current_span("in task"):
            return await asyncio.create_task(asyncio.sleep(0, "done"))

    @tool
    async def asks(session: Session) -> str:
        """Ask another agent."""
        other = Agent(session.child("helper"), model=Scripted(["Yes."], name="small"), name="helper")
        return str(await other.ask("Is it so?"))

    calls = [ToolCall(name, name) for name in ("in_thread", "in_task", "asks")]
    agent = agent_of(traces.hooks(), calls, "Done.", tools=[in_thread, in_task, asks])

    with traces.tracer.start_as_current_span("request of a user"):
        assert [delta async for delta in agent.stream("go")][-1].reply.stop == "done"  # type: ignore[union-attr]
    tree = dict(reversed(traces.tree()))
    assert tree["invoke_agent clerk"] == "request of a user"
    for name in ("in_thread", "in_task", "asks"):
        assert tree[f"execute_tool {name}"] == "invoke_agent clerk"
    assert tree["in thread"] == "execute_tool in_thread" and tree["in task"] == "execute_tool in_task"
    assert tree["invoke_agent helper"] == "execute_tool asks" and tree["chat small"] == "invoke_agent helper"
    assert traces.tree()[-1] == ("chat gpt-5.6", "invoke_agent clerk")


@NEEDS_SDK["openai"]
@pytest.mark.parametrize("tries", [3, 2])
async def test_a_request_that_is_sent_again_is_one_span(traces: Traces, tries: int) -> None:
    busy = fails(429, error("openai", 429, "rate_limit_exceeded", "slow down"))
    with stage() as server:
        scene = server.scene(busy, busy, says("openai", "Hello."))
        model = model_at(scene, "openai", retries=Retries(times=tries - 1, first=0.0))
        agent = Agent(opened(traces.hooks()), model=model)
        async with model:
            expected: Any = nullcontext() if tries == 3 else pytest.raises(RateLimited)
            with expected:
                assert str(await agent.ask("Hello?")) == "Hello."
    asked = traces.one(f"chat {model.name}")
    assert events(asked) == [("quire.request.retry", {"error.type": "RateLimited"})] * (tries - 1)
    found = attributes(asked)
    assert found["quire.request.retries"] == tries - 1
    assert found.get("error.type") == (None if tries == 3 else "RateLimited")


def test_a_failure_is_told_by_its_name_alone(traces: Traces) -> None:
    @tool
    def fail() -> str:
        """Fail."""
        raise ValueError(SECRET)

    fault = ModelFailed(f"it said {SECRET}")
    agent = agent_of(traces.hooks(), ToolCall("c1", "fail"), fault, tools=[fail])
    with pytest.raises(ModelFailed):
        agent.ask_sync("go")
    failed = {span.name: attributes(span).get("error.type") for span in traces.spans}
    assert failed == {
        "invoke_agent clerk": "ModelFailed",
        "build_context": None,
        "chat gpt-5.6": "ModelFailed",
        "execute_tool fail": "ValueError",
    }
    assert traces.one("execute_tool fail").status.status_code is StatusCode.ERROR
    assert SECRET not in traces.text()


def test_a_context_has_its_budget_and_what_it_leaves_out(traces: Traces) -> None:
    session = opened(traces.hooks())
    for number in range(40):
        session.append(Message("user", f"{number} {SECRET} " * 10), Message("assistant", "I see. " * 20))
    budget = Budget(window=2_000, reserve=500)
    context = session.build(Template(Instructions("Be brief."), History(), budget=budget))
    built = traces.one("build_context")
    shown = len(context.items)
    assert attributes(built) == {
        "gen_ai.conversation.id": "ana/one",
        "quire.context.budget.window": 2_000,
        "quire.context.budget.reserve": 500,
        "quire.context.tokens.shown": context.receipt.tokens,
        "quire.context.items.shown": shown,
        "quire.context.items.left_out": 81 - shown,
        "quire.context.items.cacheable": 0,
        "quire.context.advice": context.receipt.advice,
    }
    (_, first), (_, second) = events(built)
    assert first["quire.context.section.name"] == "instructions"
    assert second["quire.context.section.items.left_out"] == 81 - shown
    assert second["quire.context.section.reason"] == context.receipt.lines()[1].note
    assert SECRET not in traces.text()


def test_a_compaction_has_its_request_in_it(traces: Traces) -> None:
    gist = Scripted(["They talked."], name="small", repeat=True)
    session = opened(traces.hooks(), compactor=Summarize(floor=4, ceiling=8), model=gist)
    for number in range(8):
        session.append(Message("user", f"{number} {SECRET} " * 10), Message("assistant", "I see. " * 20))
    template = Template(History(), budget=Budget(window=8_000))
    session.build(template)
    assert traces.tree() == [
        ("build_context", None),
        ("compact_messages", "build_context"),
        ("chat small", "compact_messages"),
    ]
    found = attributes(traces.one("compact_messages"))
    assert found["gen_ai.conversation.compacted"] is True and found["compaction.strategy"] == "summarize"
    assert found["compaction.tokens_after"] < found["compaction.tokens_before"]
    assert found["quire.compaction.fate"] == "kept"
    assert SECRET not in traces.text() and "They talked." not in traces.text()

    agent = Agent(session, model=Scripted(["Yes."], name="gpt-5.6"), template=template)
    agent.ask_sync("And now?")
    assert attributes(traces.one("chat gpt-5.6"))["gen_ai.conversation.compacted"] is True


@pytest.mark.parametrize("content", [False, True])
@pytest.mark.parametrize("how", ["section", "tool"])
def test_a_recall(traces: Traces, how: str, content: bool) -> None:
    store, question = MemoryStore(), "What is my passport number?"
    Session.open("ana/monday", store=store).user("My passport number is X99.")
    session = Session.open("ana/one", store=store, hooks=traces.hooks(content=content))
    if how == "section":
        session.user(question)
        session.build(Template(History(), Recall("knowledge"), budget=Budget(window=4_000)))
        parent = "build_context"
    else:
        call = ToolCall("c1", "recall", json.dumps({"question": question}))
        Agent(session, model=Scripted([call, "X99."]), tools=recall_tools()).ask_sync("Well?")
        parent = "execute_tool recall"
    assert ("search_memory", parent) in traces.tree()
    found = attributes(next(span for span in traces.spans if span.name == "search_memory"))
    assert found.pop("gen_ai.memory.query.text", None) == (question if content else None)
    assert found == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.conversation.id": "ana/one",
        "gen_ai.memory.record.count": 1,
    }


@pytest.mark.parametrize(
    ("wire", "name", "provider"),
    [
        ("gemini", "generate_content m", "gcp.gemini"),
        ("anthropic", "chat m", "anthropic"),
        ("openai-responses", "chat m", "openai"),
    ],
)
def test_operations_and_providers_have_their_names(
    traces: Traces, wire: str, name: str, provider: str
) -> None:
    Agent(opened(traces.hooks()), model=Scripted(["Hi."], wire=wire, name="m")).ask_sync("Hello?")
    assert attributes(traces.one(name))["gen_ai.provider.name"] == provider
