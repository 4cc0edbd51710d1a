"""An agent of Pydantic AI with `QuireCapability`: what is sent fits and is valid, and nothing is lost."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("pydantic_ai", reason="needs the extra pydantic-ai")

from pydantic_ai import Agent, AgentRunResult, RunContext
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    BinaryImage,
    CachePoint,
    CompactionPart,
    DocumentUrl,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    SpeechPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UploadedFile,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from quire import Budget, Session, Template
from quire.integrations.mirror import MARK, Mirror
from quire.integrations.pydantic_ai import QuireCapability
from quire.integrations.pydantic_messages import PydanticCodec, recorded_messages
from quire.items import JSON, ToolResult
from quire.providers import NO_RESULT, check
from quire.sections import History
from quire.stores import MemoryStore, Store
from tests.integrations.killed import die, handle_in, run_killed

Answer = ModelResponse | Callable[[list[ModelMessage]], ModelResponse]


class Scripted:
    """A model that answers by a script, and keeps what it was sent."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = [*answers]
        self.requests: list[list[ModelMessage]] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.requests.append([*messages])
        answer = self.answers.pop(0) if self.answers else said("Done.")
        return answer if isinstance(answer, ModelResponse) else answer(messages)


def said(text: str) -> ModelResponse:
    return ModelResponse([TextPart(text)])


def asked(text: str) -> ModelRequest:
    return ModelRequest([UserPromptPart(text)])


def called(*ids: str, tool: str = "look", **arguments: Any) -> ModelResponse:
    return ModelResponse([ToolCallPart(tool, arguments, one) for one in ids])


def found(call_id: str, content: Any = "three orders") -> ModelRequest:
    return ModelRequest([ToolReturnPart("look", content, call_id)])


def agent_of(
    model: Scripted, window: int = 32_000, store: Store | None = None, **options: Any
) -> tuple[Agent, QuireCapability]:
    capability = QuireCapability(window, store or MemoryStore(), **options)
    return Agent(FunctionModel(model), capabilities=[capability]), capability


def run(agent: Agent, *prompt: Any, **named: Any) -> AgentRunResult[str]:
    return asyncio.run(agent.run(*prompt, **named))


def parts_in(messages: list[ModelMessage], kind: type) -> list[Any]:
    return [part for message in messages for part in message.parts if isinstance(part, kind)]


def faults(messages: list[ModelMessage]) -> list[Any]:
    """What a provider would refuse."""
    chat: list[dict[str, Any]] = []
    for message in messages:
        functions = [
            (part.tool_call_id, {"name": part.tool_name, "arguments": part.args_as_json_str()})
            for part in parts_in([message], ToolCallPart)
        ]
        calls = [{"id": one, "type": "function", "function": function} for one, function in functions]
        texts = [part.content for part in parts_in([message], TextPart)]
        if isinstance(message, ModelResponse):
            said = {"role": "assistant", "content": "\n".join(texts)}
            chat.append({**said, "tool_calls": calls} if calls else said)
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                text = part.model_response_str()
                chat.append({"role": "tool", "tool_call_id": part.tool_call_id, "content": text})
            elif isinstance(part, UserPromptPart):
                chat.append({"role": "user", "content": part.content})
    return list(check({"model": "gpt-5.6", "messages": chat}, "openai"))


POISONED: dict[str, list[ModelMessage]] = {
    "a call without a result": [asked("Which?"), called("c1"), asked("Are you there?"), said("Yes.")],
    "one of two results": [asked("Which?"), called("c1", "c2"), found("c2"), said("Two.")],
    "a result without a call": [asked("Which?"), said("None."), found("c9"), said("Well.")],
    "a result twice": [asked("Which?"), called("c1"), found("c1"), found("c1"), said("Three.")],
    "a window that begins with a result": [found("c1"), said("Three are open.")],
}


@pytest.mark.parametrize("history", POISONED.values(), ids=POISONED)
def test_a_poisoned_history_that_the_framework_does_not_repair_is_sent_whole_and_kept(
    history: list[ModelMessage],
) -> None:
    session = Session.open("acme/q3", store="memory:")
    template = Template(History(), budget=Budget(window=32_000))
    sent = Mirror(session, template, PydanticCodec()).fit(history).messages
    assert faults(history) and not faults(sent)
    kept = {item.text for item in session.view().recorded() if isinstance(item, ToolResult)}
    assert {part.content for part in parts_in(history, ToolReturnPart)} <= kept


def test_a_result_that_has_no_room_is_sent_as_a_stub_and_can_be_read() -> None:
    def read(messages: list[ModelMessage]) -> ModelResponse:
        return called("c2", tool="read_back", handle=handle_in(messages))

    model = Scripted(called("c1"), read)
    agent, _ = agent_of(model, window=8_000)

    @agent.tool_plain
    def look() -> str:
        return "an order, " * 10_000

    result = run(agent, "Which orders?", conversation_id="q3")
    stub, piece = (part.content for part in parts_in(model.requests[-1], ToolReturnPart))
    assert "read_back" in stub and piece.startswith("an order, an order")
    assert parts_in(result.all_messages(), ToolReturnPart)[0].content == "an order, " * 10_000


def test_a_history_that_another_capability_shortens_is_followed() -> None:
    model = Scripted()
    capability = QuireCapability(32_000, MemoryStore())
    shorten = ProcessHistory(lambda messages: messages[-3:])
    agent = Agent(FunctionModel(model), capabilities=[capability, shorten])
    history = [asked("One?"), said("One."), asked("Two?"), said("Two.")]
    run(agent, "Three?", message_history=history, conversation_id="q3")
    assert [part.content for part in parts_in(model.requests[0], UserPromptPart)] == ["Two?", "Three?"]


def test_a_run_without_a_prompt_is_sent() -> None:
    model = Scripted()
    agent = Agent(
        FunctionModel(model), instructions="Greet.", capabilities=[QuireCapability(9_000, "memory:")]
    )
    assert run(agent).output == "Done."
    assert run(agent, message_history=[asked("Hello?"), said("Hm?")]).output == "Done."


async def test_streams_are_recorded() -> None:
    capability = QuireCapability(32_000, MemoryStore())
    agent = Agent(TestModel(call_tools=[], custom_output_text="Good day."), capabilities=[capability])
    async with agent.run_stream("Hello?", conversation_id="q3") as streamed:
        assert await streamed.get_output() == "Good day."
    assert [item.text for item in capability.session("q3").view()] == ["Hello?", "Good day."]  # type: ignore[union-attr]


PNG = BinaryImage(b"\x89PNG", media_type="image/png")

MESSAGES: list[ModelMessage] = [
    ModelRequest([SystemPromptPart("Be brief."), UserPromptPart("Hello")], instructions="In French."),
    ModelRequest(
        [
            UserPromptPart(
                [
                    "Look",
                    TextContent("closely", metadata={"page": 3}),
                    CachePoint(),
                    ImageUrl("https://example.com/a.png"),
                    DocumentUrl("https://example.com/a.pdf"),
                    PNG,
                    UploadedFile("file-1", "openai"),
                ]
            )
        ]
    ),
    ModelResponse(
        [
            ThinkingPart("Hm.", signature="sig", provider_name="anthropic"),
            TextPart("I look."),
            NativeToolCallPart("web_search", {"q": "cats"}, "s1", provider_name="anthropic"),
            NativeToolReturnPart(
                "web_search", [{"url": "https://example.com"}], "s1", provider_name="anthropic"
            ),
            ToolCallPart("look", '{"at":"a"}', "c1", provider_name="google", provider_details={"x": "y"}),
            ToolCallPart("look", '{"at":"b"}', "c2"),
        ],
        model_name="claude",
    ),
    ModelRequest(
        [
            ToolReturnPart("look", {"seen": ["a", 2**70]}, "c1", metadata={"$bytes": "AA=="}),
            ToolReturnPart("look", "Not there.", "c2", outcome="failed"),
        ]
    ),
    ModelResponse([FilePart(PNG), CompactionPart("All so far.", provider_name="anthropic")]),
    ModelRequest([RetryFeedbackPart("Answer with a number.", retry=RetryInfo(cause="model_retry"))]),
    ModelRequest([CompactionPart("They greeted."), SpeechPart(speaker="user", transcript="Go on.")]),
]


@pytest.mark.parametrize("message", MESSAGES, ids=[str(n) for n in range(len(MESSAGES))])
def test_a_message_of_any_kind_comes_back_from_the_log(message: ModelMessage) -> None:
    marked = [
        msgspec.structs.replace(item, extras={**item.extras, MARK: [0, n, ""]})
        for n, item in enumerate(PydanticCodec().read(message))
    ]
    kept = JSON.decode(JSON.encode(marked))
    assert recorded_messages(kept) == [message]


def look_at_orders(path: str, prompt: str | None, order_that_kills: int | None, *idempotent: str) -> str:
    """Ask an agent that looks at three orders; its process may be killed while it looks at one."""
    script, kept = Scripted(*[look_next] * 4), Store.open(path)
    agent, capability = agent_of(script, store=kept, scope=user_of, idempotent=idempotent)

    @agent.tool_plain
    def look(at: int) -> str:
        with open(f"{path}.looked", "a") as looked:
            looked.write(str(at))
        if at == order_that_kills:
            die()
        return f"order {at}"

    history = capability.messages("q3", scope="ana")
    return run(agent, prompt, message_history=history, conversation_id="q3", deps="ana").output


def user_of(run: RunContext[Any]) -> str:
    return str(run.deps)


def look_next(messages: list[ModelMessage]) -> ModelResponse:
    results = [str(part.content) for part in parts_in(messages, ToolReturnPart)]
    return called(f"c{len(results)}", at=len(results)) if len(results) < 3 else said(" ".join(results))


def test_an_agent_that_was_killed_in_a_tool_call_goes_on(tmp_path: Path) -> None:
    (tmp_path / "killed").mkdir()
    run_killed(__name__, f"look_at_orders({str(tmp_path / 'killed' / 'quire.db')!r}, 'Which orders?', 1)")
    for name, idempotent in (("once", ()), ("idempotent", ("look",))):
        path = str(shutil.copytree(tmp_path / "killed", tmp_path / name) / "quire.db")
        results = ["order 0", "order 1" if idempotent else NO_RESULT, "order 2"]
        assert look_at_orders(path, None, None, *idempotent) == " ".join(results)
        assert Path(f"{path}.looked").read_text() == ("0112" if idempotent else "012")
        messages = QuireCapability(32_000, path, scope="ana").messages("q3")
        assert not faults(messages)
        assert [part.content for part in parts_in(messages, ToolReturnPart)] == results
        assert len(parts_in(messages, UserPromptPart)) == 1
