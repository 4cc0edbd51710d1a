"""LiveKit Agents: an agent whose requests are fitted to the model's window, and whose calls are never lost.

The chat context of LiveKit stays as it is. Before each request it is recorded, and the model is sent a view.
`read_context` and `write_context` turn a chat context into items and back, with the voice fields.
"""

# LiveKit leaves some of its types open.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, cast

import msgspec

from quire.compactors import READ_BACK
from quire.context import Context, Template
from quire.errors import MissingExtra
from quire.integrations.mirror import MirrorOptions, Mirrors
from quire.items import (
    Audio,
    Handoff,
    Image,
    Item,
    Message,
    Note,
    Part,
    Summary,
    ToolCall,
    ToolResult,
    parts_of,
)
from quire.providers import base64_of, content_for_model, media_type
from quire.session import Session
from quire.stores import Store
from quire.tokens import Definition, Usage

try:
    from livekit.agents import Agent, ConversationItemAddedEvent, function_tool, llm
    from livekit.agents.voice import ModelSettings
except ImportError:
    raise MissingExtra("LiveKit Agents", "livekit") from None

__all__ = ["QuireAgent", "read_context", "write_context"]

VOICE = "livekit"
"""Where an item keeps fields of LiveKit that have no other place: metrics, confidence, groups of calls."""

_OWN = {
    *("type", "role", "content", "interrupted", "created_at", "call_id", "name", "arguments", "output"),
    *("is_error", "hash", "old_agent_id", "new_agent_id"),
}
"""The fields that items have themselves."""


class QuireAgent(Agent):
    """An agent of LiveKit. `conversation` is its name in the store; the log of it is in `kept`.

    `scope` is whose it is, such as the id of the caller: recall quotes what was said in the scope. Without
    one, the conversation is a scope of its own. `template` says what the model sees, or is the window of the
    model in tokens. The tools and instructions of the agent take their room in it. All other fields are
    LiveKit's. A subclass with an `on_exit` of its own calls this one.
    """

    def __init__(
        self,
        *,
        conversation: str,
        template: Template | int,
        store: str | Path | Store = "quire.db",
        scope: str = "",
        options: MirrorOptions | None = None,
        **fields: Any,
    ) -> None:
        super().__init__(**fields)
        given = options or MirrorOptions()
        self._mirror = Mirrors(_Codec(), template, store, **given).of(conversation, scope=scope)
        self.last_context: Context | None = None
        """What the model saw last, with its receipt."""

    @property
    def kept(self) -> Session:
        """The conversation as it is kept."""
        return self._mirror.session

    def kept_context(self) -> llm.ChatContext:
        """All that was said and is kept, as the `chat_ctx` of an agent that goes on with the conversation."""
        return write_context([items[-1] for _, items in sorted(self._mirror.recorded().items())])

    async def llm_node(
        self, chat_ctx: llm.ChatContext, tools: list[llm.Tool], model_settings: ModelSettings
    ) -> AsyncIterator[Any]:
        """Record the chat context, send a view of it, and record what the answer used.

        Calls are recorded before they are run, with the text before them. What is spoken is recorded with the
        next request: only then is it known how much of it was heard.
        """
        before, items = _parted(chat_ctx)
        told = "\n".join(item.raw_text_content or "" for item in before if isinstance(item, llm.ChatMessage))
        model = self._model_name()
        shown = await self._mirror.afit(items, instructions=told, tools=_definitions(tools), model=model)
        self.last_context = shown.context
        view = llm.ChatContext([*before, *shown.messages])
        text = ""
        async for chunk in Agent.default.llm_node(self, view, tools, model_settings):
            if isinstance(chunk, llm.ChatChunk):
                delta = chunk.delta or llm.ChoiceDelta()
                text += delta.content or ""
                items = [
                    llm.FunctionCall(call_id=call.call_id, name=call.name, arguments=call.arguments)
                    for call in delta.tool_calls
                ]
                if items and text:
                    items, text = [llm.ChatMessage(role="assistant", content=[text]), *items], ""
                if items or chunk.usage:  # the call is run as soon as it is passed on
                    usage = _usage(chunk.usage) if chunk.usage else None
                    await self._mirror.arecord(items, usage, model=model)
            yield chunk

    @function_tool(name=READ_BACK["name"], description=READ_BACK["description"])
    async def _read_back(self, handle: str, start: int = 0) -> str:
        return await asyncio.to_thread(self._mirror.read_back, handle, start)

    async def on_exit(self) -> None:
        """Record what was said last, and what is said until another agent has taken over."""
        session = self.session

        def record(added: ConversationItemAddedEvent) -> None:
            items = _parted(self.chat_ctx)[1]
            if isinstance(added.item, llm.AgentHandoff):  # LiveKit has it in the history of the session only
                session.off("conversation_item_added", record)
                items.append(added.item)
            self._mirror.follow(items)

        session.on("conversation_item_added", record)
        self._mirror.follow(_parted(self.chat_ctx)[1])

    def _model_name(self) -> str | None:
        """The name of the model that is asked, if LiveKit knows it."""
        model = self.llm if isinstance(self.llm, llm.LLM) else self.session.llm
        name = model.model if isinstance(model, llm.LLM) else "unknown"
        return None if name == "unknown" else name


def read_context(context: llm.ChatContext) -> list[Item]:
    """Return the items of a chat context: messages, calls, results and hand-offs."""
    codec = _Codec()
    return [item for one in context.items for item in codec.read(one)]


def write_context(items: Sequence[Item]) -> llm.ChatContext:
    """Return a chat context with these items. What LiveKit has no item for is left out."""
    kinds = Message | Summary | Note | ToolCall | ToolResult | Handoff
    codec = _Codec()
    return llm.ChatContext([codec.write([item], None) for item in items if isinstance(item, kinds)])


def _parted(context: llm.ChatContext) -> tuple[list[llm.ChatItem], list[llm.ChatItem]]:
    """The instructions of the agent, which may change at any time, and the conversation."""
    items: list[llm.ChatItem] = [one for one in context.items if not isinstance(one, llm.AgentConfigUpdate)]
    before = list(takewhile(_instructs, items))
    return before, items[len(before) :]


def _instructs(item: llm.ChatItem) -> bool:
    return isinstance(item, llm.ChatMessage) and item.role in ("system", "developer")


def _definitions(tools: Sequence[llm.Tool]) -> list[Definition]:
    given = llm.ToolContext(list(tools)).parse_function_tools("openai", strict=False)
    return [cast(Definition, one) for one in given]


def _usage(reported: llm.CompletionUsage) -> Usage:
    read = max(reported.cache_read_tokens, reported.prompt_cached_tokens)
    return Usage(
        reported.prompt_tokens,
        reported.completion_tokens,
        read,
        reported.cache_creation_tokens,
        reported.reasoning_tokens,
    )


class _Codec:
    """The items of a chat context; each is one item of Quire."""

    def identity(self, message: llm.ChatItem) -> Any:
        """A chat item is the same if it says the same: ids and metrics come later."""
        items = [msgspec.to_builtins(item) for item in self.read(message)]
        return [{name: item[name] for name in item.keys() - {"id", "created_at", "extras"}} for item in items]

    def read(self, message: llm.ChatItem) -> Sequence[Item]:
        """Return the one item of a chat item; none for a message without content."""
        fields = message.model_dump(mode="json", exclude=_OWN, exclude_defaults=True)
        kept = {name: value for name, value in fields.items() if value not in (None, {}, [])}
        common: dict[str, Any] = {"created_at": message.created_at, "extras": {VOICE: kept}}
        match message:
            case llm.FunctionCall():
                return [ToolCall(message.call_id, message.name, message.arguments, **common)]
            case llm.FunctionCallOutput():
                name = message.name or "tool"
                return [ToolResult(message.call_id, name, message.output, message.is_error, **common)]
            case llm.AgentHandoff():
                return [Handoff(message.new_agent_id, message.old_agent_id, **common)]
            case llm.ChatMessage():
                parts = tuple(part for one in message.content if (part := _part(one)))
                content = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts
                return [Message(message.role, content, message.interrupted, **common)] if parts else []
            case _:
                return []  # a change of the agent's instructions, which are at the head of the context

    def write(self, items: Sequence[Item], origin: llm.ChatItem | None) -> llm.ChatItem:
        """Return a chat item, or a copy of one with other content."""
        item = items[0]
        common: dict[str, Any] = {"id": item.id, "created_at": item.created_at, **item.extras.get(VOICE, {})}
        if isinstance(origin, llm.FunctionCallOutput) and isinstance(item, ToolResult):
            return origin.model_copy(update={"output": item.text})
        match item:
            case ToolCall():
                return llm.FunctionCall(
                    call_id=item.call_id, name=item.name, arguments=item.arguments, **common
                )
            case ToolResult():
                called: dict[str, Any] = {
                    "call_id": item.call_id,
                    "name": item.name,
                    "is_error": item.is_error,
                }
                return llm.FunctionCallOutput(output=item.text, **called, **common)
            case Handoff():
                return llm.AgentHandoff(old_agent_id=item.from_agent, new_agent_id=item.to_agent, **common)
            case Message():
                said = parts_of(content_for_model(item))
                content = [one for part in said if (one := _content(part)) is not None]
                spoken: dict[str, Any] = {"role": item.role, "interrupted": item.interrupted}
                return llm.ChatMessage(content=content, **spoken, **common)
            case _:
                text = content_for_model(cast("Note | Summary", item))
                return llm.ChatMessage(role="user", content=[str(text)], **common)


def _part(content: Any) -> Part | None:
    """A part of a message; None for what is not shown to a model."""
    match content:
        case str():
            return content or None
        case llm.ImageContent() if isinstance(content.image, str):
            return Image(url=content.image, detail=content.inference_detail, media_type=content.mime_type)
        case llm.ImageContent():
            return "[a frame of a video, which is not kept]"
        case llm.AudioContent():
            return content.transcript or "[speech without a transcript, which is not kept]"
        case _:
            return None


def _content(part: Part) -> Any:
    """A part as LiveKit has it: text, pictures, and the transcripts of recordings; None for all else."""
    match part:
        case str():
            return part
        case Image():
            url = part.url or f"data:{media_type(part)};base64,{base64_of(part.data or b'')}"
            return llm.ImageContent(image=url, inference_detail=part.detail, mime_type=part.media_type)
        case Audio():
            return part.transcript
        case _:
            return None
