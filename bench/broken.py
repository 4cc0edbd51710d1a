r"""How frameworks fare with broken histories: what each would send of them, and which rules it breaks.

    pip install --target peers --no-deps agent-framework-openai langchain-openai langchain-anthropic \
        tiktoken regex
    PYTHONPATH=peers python bench/broken.py              # a table in Markdown
    PYTHONPATH=peers python bench/broken.py --json       # every outcome

Each history of `quire.testing.broken_histories` is written in the framework's own kinds of messages, as it
is: text, calls with their ids and arguments, results. The framework then makes its request, and `check` looks
at it. No request leaves the machine: the clients are given a transport that keeps the request. The paths are
those of an agent's first request: `Runner.run` of OpenAI Agents, `Agent.run` with a message history of
Pydantic AI, `get_response` of the clients of the Agent Framework, the payload that LangChain's chat models
make, and `ChatContext.to_provider_format`, from which the plugins of LiveKit make their requests.
"""

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import httpx
import httpx2

from quire.providers import HISTORY, check, entries_in, fields_in, provider_for
from quire.testing import BrokenHistory, broken_histories

Json = dict[str, Any]
ACCEPTED, REFUSED, NOTHING, RAISED = "accepted", "refused", "no request", "raised"


class Step(NamedTuple):
    """A piece of a history: who, what it says, and the call that it makes or answers."""

    kind: str  # system, user, assistant, call, result
    text: str = ""
    call_id: str = ""
    name: str = ""
    arguments: Any = None


def steps_in(one: BrokenHistory) -> list[Step]:
    """A history without its format, and without thoughts and media."""
    body = fields_in(one.broken) or {HISTORY[one.provider]: one.broken}
    found, names = list[Step](), dict[str, str]()
    for message in map(fields_in, entries_in(body.get(HISTORY[one.provider]))):
        for step in _steps(message):
            names |= {step.call_id: step.name} if step.kind == "call" else {}
            found.append(step._replace(name=step.name or names.get(step.call_id, "weather")))
    return found


def _steps(message: Json) -> list[Step]:
    role, content = message.get("role"), message.get("content")
    role = {"model": "assistant", "developer": "system"}.get(str(role), str(role))
    if role == "tool":
        return [Step("result", content if isinstance(content, str) else "[picture]", message["tool_call_id"])]
    blocks = entries_in(content) or entries_in(message.get("parts"))
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else blocks
    blocks = [*blocks, *entries_in(message.get("tool_calls"))] or [message]
    return [step for block in map(fields_in, blocks) for step in _block(block, role)]


def _block(block: Json, role: str) -> list[Step]:
    match str(block.get("type") or next(iter(block), "")):
        case "text" | "input_text" | "output_text":
            return [Step(role, str(block.get("text")))]
        case "function":
            made = fields_in(block["function"])
            return [Step("call", "", block["id"], made["name"], made["arguments"])]
        case "function_call":
            return [Step("call", "", block["call_id"], block["name"], block["arguments"])]
        case "function_call_output":
            return [Step("result", block["output"], block["call_id"])]
        case "tool_use":
            return [Step("call", "", block["id"], block["name"], block["input"])]
        case "tool_result":
            text = block["content"] if isinstance(block["content"], str) else "[picture]"
            return [Step("result", text, block["tool_use_id"])]
        case "functionCall":
            made = fields_in(block["functionCall"])
            return [Step("call", "", f"id_{made['name']}", made["name"], made["args"])]
        case "functionResponse":
            made = fields_in(block["functionResponse"])
            return [Step("result", json.dumps(made["response"]), f"id_{made['name']}", made["name"])]
        case "role":
            return [Step(role)]  # a message without content
        case _:
            return []


def arguments(step: Step) -> str:
    return step.arguments if isinstance(step.arguments, str) else json.dumps(step.arguments)


# What the clients of providers would send


class NoRequest(Exception):
    """The framework had nothing to ask: the history ends with an answer."""


class Kept(Exception):
    """The request, instead of an answer."""

    def __init__(self, body: Json) -> None:
        super().__init__("kept")
        self.body = body


def keeping(http: Any = httpx) -> Any:
    """A client of a version of httpx whose requests are kept and not sent."""

    def keep(request: Any) -> Any:
        raise Kept(json.loads(request.content))

    return http.AsyncClient(transport=http.MockTransport(keep))


def kept(asked: Any) -> Json:
    """The request that a coroutine makes; its own error if it makes none."""
    try:
        asyncio.run(asked)
    except BaseException as error:
        seen: BaseException | None = error
        while seen is not None:
            if isinstance(seen, Kept):
                return seen.body
            seen = seen.__cause__ or seen.__context__
        raise
    raise NoRequest


# The frameworks


def openai_agents(steps: list[Step], provider: str) -> Any:
    from agents import Agent, RunConfig, Runner
    from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
    from agents.models.openai_responses import OpenAIResponsesModel
    from openai import AsyncOpenAI

    client = AsyncOpenAI(api_key="none", http_client=keeping(), max_retries=0)
    kind = OpenAIChatCompletionsModel if provider == "openai" else OpenAIResponsesModel
    items: list[Any] = []
    for step in steps:
        if step.kind == "call":
            given = {"call_id": step.call_id, "name": step.name, "arguments": arguments(step)}
            items.append({"type": "function_call", **given})
        elif step.kind == "result":
            items.append({"type": "function_call_output", "call_id": step.call_id, "output": step.text})
        else:
            items.append({"role": step.kind, "content": step.text})
    agent = Agent(name="agent", model=kind("gpt-5.6", client))
    return kept(Runner.run(agent, items, run_config=RunConfig(tracing_disabled=True)))


def langchain(steps: list[Step], provider: str) -> Any:
    from langchain_anthropic import ChatAnthropic
    from langchain_core.messages import (
        AIMessage,
        AnyMessage,
        HumanMessage,
        SystemMessage,
        ToolMessage,
    )
    from langchain_openai import ChatOpenAI

    messages: list[AnyMessage] = []
    for step in steps:
        if step.kind == "call":
            made = json.loads(arguments(step))
            call: Any = {"name": step.name, "args": made, "id": step.call_id}
            if messages and isinstance(messages[-1], AIMessage):
                before = messages.pop()
                messages.append(AIMessage(before.content, tool_calls=[*before.tool_calls, call]))
            else:
                messages.append(AIMessage("", tool_calls=[call]))
        elif step.kind == "result":
            messages.append(ToolMessage(step.text, tool_call_id=step.call_id, name=step.name))
        else:
            kind = {"system": SystemMessage, "user": HumanMessage}.get(step.kind, AIMessage)
            messages.append(kind(step.text))
    if provider == "anthropic":
        model: Any = ChatAnthropic(model_name="claude-sonnet-5", api_key="none")
    else:
        responses = provider == "openai-responses"
        model = ChatOpenAI(model="gpt-5.6", api_key="none", use_responses_api=responses)
    payload: Json = model._get_request_payload(messages)
    return json.loads(json.dumps({name: payload[name] for name in payload if payload[name] is not None}))


def pydantic_ai(steps: list[Step], provider: str) -> Any:
    from google.genai import Client
    from google.genai.types import HttpOptions
    from pydantic_ai import Agent
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.google import GoogleProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    history: list[Any] = []
    for step in steps:
        part: Any
        if step.kind == "call":
            part = ToolCallPart(step.name, step.arguments, step.call_id)
        elif step.kind == "result":
            part = ToolReturnPart(step.name, step.text, step.call_id)
        else:
            parts = {"system": SystemPromptPart, "user": UserPromptPart, "assistant": TextPart}
            part = parts[step.kind](step.text)
        side = ModelResponse if isinstance(part, TextPart | ToolCallPart) else ModelRequest
        if history and isinstance(history[-1], side):
            history[-1] = side([*history[-1].parts, part])
        else:
            history.append(side([part]))
    openai = OpenAIProvider(api_key="none", http_client=keeping())
    models: dict[str, Callable[[], Any]] = {
        "openai": lambda: OpenAIChatModel("gpt-5.6", provider=openai),
        "openai-responses": lambda: OpenAIResponsesModel("gpt-5.6", provider=openai),
        "anthropic": lambda: AnthropicModel(
            "claude-sonnet-5", provider=AnthropicProvider(api_key="none", http_client=keeping(httpx2))
        ),
        "gemini": lambda: GoogleModel(
            "gemini-2.5-pro",
            provider=GoogleProvider(
                client=Client(api_key="none", http_options=HttpOptions(httpx_async_client=keeping()))
            ),
        ),
    }
    return kept(Agent(models[provider]()).run(message_history=history))


def livekit(steps: list[Step], provider: str) -> Any:
    from livekit.agents.llm import ChatContext, ChatMessage, FunctionCall, FunctionCallOutput

    context = ChatContext.empty()
    for number, step in enumerate(steps):
        at: Any = {"created_at": float(number)}
        if step.kind == "call":
            given = {"call_id": step.call_id, "name": step.name, "arguments": arguments(step)}
            context.insert(FunctionCall(**given, **at))
        elif step.kind == "result":
            given = {"call_id": step.call_id, "name": step.name, "output": step.text}
            context.insert(FunctionCallOutput(**given, is_error=False, **at))
        else:
            role: Any = step.kind
            context.insert(ChatMessage(role=role, content=[step.text], **at))
    names = {"openai-responses": "openai.responses", "gemini": "google"}
    messages, _ = context.to_provider_format(names.get(provider, provider))
    return {HISTORY[provider]: messages} if provider != "openai" else messages


def agent_framework(steps: list[Step], provider: str) -> Any:
    from agent_framework import Content, Message
    from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient
    from openai import AsyncOpenAI

    messages: list[Any] = []
    for step in steps:
        role = {"call": "assistant", "result": "tool"}.get(step.kind, step.kind)
        if step.kind == "call":
            content = Content.from_function_call(step.call_id, step.name, arguments=step.arguments)
        elif step.kind == "result":
            content = Content.from_function_result(step.call_id, result=step.text)
        else:
            content = Content.from_text(step.text)
        if messages and messages[-1].role == role == "assistant":
            messages[-1].contents.append(content)
        else:
            messages.append(Message(role, [content]))
    client = AsyncOpenAI(api_key="none", http_client=keeping(), max_retries=0)
    kind = OpenAIChatCompletionClient if provider == "openai" else OpenAIChatClient
    return kept(kind(model="gpt-5.6", async_client=client).get_response(messages))


def quire(one: BrokenHistory) -> Any:
    provider = provider_for(one.provider)
    return provider.render(provider.read_history(one.broken, model=one.model), model=one.model).payload


OPENAI = ("openai", "openai-responses")
FRAMEWORKS: dict[str, tuple[Callable[[list[Step], str], Any], tuple[str, ...]]] = {
    "OpenAI Agents": (openai_agents, OPENAI),
    "LangChain": (langchain, (*OPENAI, "anthropic")),
    "Pydantic AI": (pydantic_ai, tuple(HISTORY)),
    "LiveKit": (livekit, tuple(HISTORY)),
    "MS Agent Framework": (agent_framework, OPENAI),
}
"""How each framework makes a request, and for which providers it does so with what is installed."""


class Outcome(NamedTuple):
    """What became of one history in one framework; `rules` are the faults of what would be sent."""

    framework: str
    history: str
    provider: str
    outcome: str
    rules: tuple[str, ...] = ()
    error: str = ""


def tried(framework: str, one: BrokenHistory, send: Callable[[], Any]) -> Outcome:
    try:
        payload = send()
        rules = tuple(sorted({fault.rule for fault in check(payload, one.provider, model=one.model)}))
        return Outcome(framework, one.name, one.provider, REFUSED if rules else ACCEPTED, rules)
    except NoRequest:
        return Outcome(framework, one.name, one.provider, NOTHING)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"[:200]
        return Outcome(framework, one.name, one.provider, RAISED, (), text)


def outcomes() -> list[Outcome]:
    """Every history in every framework that can send to its provider."""
    found = list[Outcome]()
    for one in broken_histories():
        found.append(tried("Quire", one, lambda one=one: quire(one)))
        if not is_shared(one):
            continue
        steps = steps_in(one)
        for framework, (send, providers) in FRAMEWORKS.items():
            if one.provider in providers:
                found.append(tried(framework, one, lambda s=send, t=steps, o=one: s(t, o.provider)))
    return found


def is_shared(one: BrokenHistory) -> bool:
    """Whether the fault is in what all frameworks hold: messages, calls and results."""
    try:
        return bool(steps_in(one)) and one.name not in APART
    except (KeyError, UnicodeError):
        return False


APART = {
    *("image-that-is-none", "image-in-a-tool-message", "half-an-emoji", "speaker-with-a-space"),
    *("reasoning-without-its-call", "reasoning-not-stored", "reasoning-without-a-summary"),
    *("item-id-of-another-kind", "item-twice", "chat-fields-in-responses", "input-parts-in-an-answer"),
    *("thinking-without-its-signature", "thinking-and-nothing-after", "fields-of-a-stream"),
    *("role-of-another-provider", "picture-in-a-failed-result", "picture-of-another-type"),
    *(
        "data-url-as-base64",
        "assistant-in-gemini",
        "call-without-its-thought-signature",
        "empty-list-of-calls",
    ),
}
"""Histories whose fault is of one format: in a framework's own kinds of messages it cannot be said."""


def table(found: list[Outcome]) -> str:
    """Frameworks by how many histories in OpenAI's formats they send so that they are accepted."""
    shared = {one.history for one in found if one.framework != "Quire"}
    rows = list[tuple[float, str]]()
    for framework in dict.fromkeys(one.framework for one in found):
        mine = [one for one in found if one.framework == framework and one.history in shared]
        cells, openai = list[str](), [one for one in mine if one.provider in OPENAI]
        for provider in HISTORY:
            some = [one.outcome for one in mine if one.provider == provider and one.outcome != NOTHING]
            cells.append(f"{some.count(ACCEPTED)} of {len(some)}" if some else "-")
        rules = Counter(rule for one in mine for rule in one.rules)
        sent = ", ".join(f"`{rule}` {count}" for rule, count in rules.most_common())
        share = sum(one.outcome == ACCEPTED for one in openai) / len(openai)
        rows.append((-share, f"| {' | '.join([framework, *cells, sent or '-'])} |"))
    head = ["| framework | " + " | ".join(HISTORY) + " | faults in what it would send |", "|---" * 6 + "|"]
    return "\n".join([*head, *(row for _, row in sorted(rows))])


def main() -> None:
    """Print the outcomes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="every outcome as JSON")
    found = outcomes()
    if parser.parse_args().json:
        print(json.dumps([one._asdict() for one in found], indent=1))
    else:
        print(table(found))


if __name__ == "__main__":
    main()
