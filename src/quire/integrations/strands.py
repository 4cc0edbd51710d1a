"""Strands Agents: an agent that keeps all its messages, and whose requests fit the model's window.

`QuireConversationManager` records `agent.messages` before each request and sends a view of them.
`QuireSessionManager` stores the session, so that another process can continue it.
"""

# pyright: basic, reportMissingImports=false

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Unpack, cast

import msgspec
from msgspec.structs import replace

from quire.compactors import READ_BACK
from quire.context import Template
from quire.errors import InvalidLimit, MissingExtra
from quire.integrations.mirror import Mirror, MirrorOptions, Mirrors, parts_for_model
from quire.integrations.strands_sessions import QuireSessionManager, QuireSessionRepository
from quire.items import Content, File, Image, Item, Message, Part, Reasoning, ToolCall, ToolResult
from quire.providers import media_type
from quire.session import Session
from quire.state import in_one_reply, is_output
from quire.stores import Store
from quire.tokens import Usage

try:
    from strands.agent import Agent
    from strands.agent.conversation_manager import ConversationManager
    from strands.hooks import AgentInitializedEvent, HookRegistry
    from strands.interrupt import InterruptException
    from strands.middleware import ExecuteToolContext, ExecuteToolStage, InvokeModelContext, InvokeModelStage
    from strands.tools import tool
    from strands.types.content import Message as StrandsMessage
    from strands.types.events import ModelStopReason, ToolResultEvent
except ImportError:
    raise MissingExtra("Strands Agents", "strands") from None

__all__ = ["QuireConversationManager", "QuireSessionManager", "QuireSessionRepository"]

_TYPES = {"jpg": "image/jpeg", "pdf": "application/pdf", "txt": "text/plain", "md": "text/markdown"}
_USAGE = {"cache_read": "cacheReadInputTokens", "cache_write": "cacheWriteInputTokens"}


class QuireConversationManager(ConversationManager):  # type: ignore[misc]
    """Sends the messages of one agent that fit, and never changes `agent.messages`.

    The agent has the conversation `session_id/AGENT_ID`. `template` says what the model sees. It may be the
    model's window in tokens.
    """

    def __init__(
        self,
        session_id: str,
        template: Template | int,
        store: str | Path | Store = "quire.db",
        **options: Unpack[MirrorOptions],
    ) -> None:
        super().__init__()
        self._session_id, self._codec = session_id, _Codec()
        self._agent_id: str | None = None
        options.setdefault("provider", "anthropic")
        self._mirrors = Mirrors(self._codec, template, store, **options)

    @property
    def session(self) -> Session:
        """The conversation of the agent, with its view, its receipts and its spending."""
        return self._mirror().session

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Register a hook that adds middleware and the tool `read_back` to the agent."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AgentInitializedEvent, self._set_up)

    def apply_management(self, agent: Agent, **kwargs: Any) -> None:
        """Do nothing: the messages of the agent stay as they are."""

    def reduce_context(self, agent: Agent, e: Exception | None = None, **kwargs: Any) -> None:
        """Limit the next requests to three quarters of the last one, if a provider found it too large."""
        if e is None:
            return
        template, tokens = cast(Template, self._mirrors.template), self.session.receipts[-1].tokens
        try:
            budget = replace(template.budget, window=template.budget.reserve + tokens * 3 // 4)
        except InvalidLimit:
            raise e from None
        self._mirrors.refit(Template(*template.sections, budget=budget, model=template.model))

    def restore_from_session(self, state: dict[str, Any]) -> None:
        """Accept the session of any other manager. Messages that it had removed are shown again."""

    def _set_up(self, event: AgentInitializedEvent) -> None:
        self._agent_id = event.agent.agent_id
        event.agent.add_middleware(InvokeModelStage, self._invoke)
        event.agent.add_middleware(ExecuteToolStage, self._execute)

        @tool(name=READ_BACK["name"], description=READ_BACK["description"])  # type: ignore[untyped-decorator]
        async def read_back(handle: str, start: int = 0) -> str:
            return await asyncio.to_thread(self._mirror().read_back, handle, start)

        event.agent.tool_registry.register_tool(read_back)

    async def _invoke(self, context: InvokeModelContext, call: Callable[..., Any]) -> AsyncIterator[Any]:
        """Send a view of the messages, and record the answer before its calls are run."""
        mirror = self._mirror()
        self._codec.add_tool_names(context.messages)
        shown = await mirror.afit(
            context.messages,
            instructions=_text_of(context.system_prompt),
            tools=[_definition(spec) for spec in context.tool_specs],
        )
        async for event in call(context.replace(messages=_alternating(shown.messages))):
            if isinstance(event, ModelStopReason):
                await mirror.arecord([event["stop"][1]], _usage(event["stop"][2]))
            yield event

    async def _execute(self, context: ExecuteToolContext, call: Callable[..., Any]) -> AsyncIterator[Any]:
        """Run a call, unless it began before and may have had its effect."""
        mirror, call_id = self._mirror(), context.tool_use["toolUseId"]
        if refusal := await asyncio.to_thread(mirror.begin, call_id):
            yield ToolResultEvent({"toolUseId": call_id, "status": "error", "content": [{"text": refusal}]})
            return
        try:
            async for event in call(context):
                if "tool_interrupt_event" in event:
                    await asyncio.to_thread(mirror.pause, call_id)
                yield event
        except InterruptException:
            await asyncio.to_thread(mirror.pause, call_id)
            raise

    def _mirror(self) -> Mirror[StrandsMessage]:
        if self._agent_id is None:
            raise RuntimeError("the manager has no agent yet: make one with Agent(conversation_manager=…)")
        return self._mirrors.of(self._session_id, self._agent_id)


def _text_of(prompt: Any) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(block.get("text", "") for block in prompt or ())


def _definition(spec: Any) -> dict[str, Any]:
    schema = spec["inputSchema"]
    fields = {"name": spec["name"], "description": spec["description"]}
    return {**fields, "input_schema": schema.get("json", schema)}


def _usage(usage: Any) -> Usage | None:
    """The token usage of an answer.

    The input is computed from the total: some services count cached tokens in their input, others do not.
    """
    if not usage or not usage.get("totalTokens"):
        return None
    cached = {name: int(usage.get(field) or 0) for name, field in _USAGE.items()}
    output = int(usage["outputTokens"])
    return Usage(input=max(int(usage["totalTokens"]) - output, sum(cached.values())), output=output, **cached)


def _alternating(messages: Sequence[StrandsMessage]) -> list[StrandsMessage]:
    """Messages with neighbours of one role merged, as Bedrock requires; results come first in each."""
    merged: list[StrandsMessage] = []
    for role, run in groupby(messages, lambda message: message["role"]):
        group = list(run)
        if len(group) > 1:
            blocks = [block for message in group for block in message["content"]]
            group = [{"role": role, "content": sorted(blocks, key=lambda block: "toolResult" not in block)}]
        merged += group
    return merged


class _Codec:
    """Messages with blocks of Bedrock. A block for which there is no item is counted as its name."""

    def __init__(self) -> None:
        self._tool_names: dict[str, str] = {}  # by call id

    def add_tool_names(self, messages: Sequence[StrandsMessage]) -> None:
        """Remember the names of the tools that messages call: a result does not name its tool."""
        blocks = [block for message in messages for block in message["content"]]
        calls = [block["toolUse"] for block in blocks if "toolUse" in block]
        self._tool_names |= {call["toolUseId"]: call["name"] for call in calls}

    def identity(self, message: StrandsMessage) -> Any:
        """What a message says, without the id and the metadata that are added later."""
        return [message["role"], message["content"]]

    def read(self, message: StrandsMessage) -> Sequence[Item]:
        """Return the items of a message."""
        items: list[Item] = []
        for is_part, run in groupby(message["content"], _is_part):
            blocks: list[Any] = list(run)
            if is_part:
                content = _content(blocks)
                items += [Message(message["role"], content)] if content else []
            else:
                items += map(self._item, blocks)
        return in_one_reply(items)

    def _item(self, block: Any) -> Item:
        if "reasoningContent" in block:
            return Reasoning(block["reasoningContent"].get("reasoningText", {}).get("text", ""))
        if "toolUse" in block:
            call = block["toolUse"]
            return ToolCall(call["toolUseId"], call["name"], msgspec.json.encode(call["input"]).decode())
        result = block["toolResult"]
        content = _content(result["content"])
        name = self._tool_names.get(result["toolUseId"], "tool")
        return ToolResult(result["toolUseId"], name, content, result.get("status") == "error")

    def write(self, items: Sequence[Item], origin: StrandsMessage | None) -> StrandsMessage:
        """Return a message, or a copy of the origin with other content."""
        thoughts = (block for block in (origin["content"] if origin else ()) if "reasoningContent" in block)
        blocks = [block for item in items for block in _blocks(item, thoughts)]
        role = "assistant" if is_output(items[0]) else "user"
        return cast(StrandsMessage, {"role": role, "content": blocks})


def _is_part(block: Any) -> bool:
    return not block.keys() & {"toolUse", "toolResult", "reasoningContent"}


def _content(blocks: Sequence[Any]) -> Content:
    """A text, or several parts."""
    parts = tuple(part for block in blocks if (part := _part(block)) is not None)
    match parts:
        case ():
            return ""
        case (str(text),):
            return text
        case _:
            return parts


def _part(block: Any) -> Part | None:
    """A part of a message or of a result; None for a cache point."""
    (kind, value), *_ = block.items()
    data = value.get("source", {}).get("bytes") if kind in ("image", "document") else None
    match kind:
        case "text":
            return cast(str, value) or None
        case "json":
            return msgspec.json.encode(value).decode()
        case "cachePoint":
            return None
        case "citationsContent":
            return "".join(piece.get("text", "") for piece in value.get("content", ())) or None
        case "image" if data:
            return Image(data=data, media_type=_TYPES.get(value["format"], f"image/{value['format']}"))
        case "document" if data:
            return File(data=data, name=value.get("name"), media_type=_TYPES.get(value.get("format", "")))
        case _:
            return f"[{kind}]"


def _blocks(item: Item, thoughts: Iterator[Any]) -> list[Any]:
    """The blocks that show an item. Reasoning is shown by the next of the blocks in `thoughts`."""
    match item:
        case ToolCall():
            arguments = msgspec.json.decode(item.arguments or "{}")
            return [{"toolUse": {"toolUseId": item.call_id, "name": item.name, "input": arguments}}]
        case ToolResult():
            status = "error" if item.is_error else "success"
            content = [_block(part) for part in item.parts] or [{"text": ""}]
            return [{"toolResult": {"toolUseId": item.call_id, "status": status, "content": content}}]
        case Reasoning():
            return list(islice(thoughts, 1))
        case _:
            return [_block(part) for part in parts_for_model(item)]


def _block(part: Part) -> Any:
    kind = "" if isinstance(part, str) else (media_type(part) or "").partition("/")[2]
    match part:
        case Image() if part.data:
            return {"image": {"format": kind, "source": {"bytes": part.data}}}
        case File() if part.data:
            formats = {value: key for key, value in _TYPES.items()}
            document = {"name": part.name or "file", "source": {"bytes": part.data}}
            return {"document": {"format": formats.get(part.media_type or "", kind), **document}}
        case str():
            return {"text": part}
        case _:
            return {"text": f"[{part.url}]"}
