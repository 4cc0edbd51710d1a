"""LiveKit Agents: an agent whose requests fit the model's window, and whose calls are never lost.

The chat context of LiveKit is not changed. Before each request it is recorded, and the model gets a view of
it. `read_context` and `write_context` turn a chat context into items and back, with the voice fields.
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
from quire.integrations.mirror import MirrorOptions, Mirrors, address_of, parts_for_model
from quire.items import Audio, Handoff, Image, Item, Message, Note, Part, Summary, ToolCall, ToolResult
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
"""The key of `extras` for LiveKit's fields that items do not have: metrics, confidence, groups of calls."""

_ITEM_FIELDS = {
    *("type", "role", "content", "interrupted", "created_at", "call_id", "name", "arguments", "output"),
    *("is_error", "hash", "old_agent_id", "new_agent_id"),
}
"""LiveKit's fields that items of Quire have themselves."""


class QuireAgent(Agent):
    """An agent of LiveKit that records its conversation in a store.

    `conversation` is the name of the conversation in the store, and `kept` its session. `scope` is the owner,
    such as the id of the caller: recall quotes from all conversations of the scope, or without a scope from
    this one alone. `template` says what the model sees. It may be the model's window in tokens, in which the
    agent's tools and instructions are counted too.

    All other fields are LiveKit's. A subclass that overrides `on_exit` must call this one.
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
        mirrors = Mirrors(_Codec(), template, store, **(options or MirrorOptions()))
        self._mirror = mirrors.of(conversation, scope=scope)
        self.last_context: Context | None = None
        """The context of the last request, with its receipt."""

    @property
    def kept(self) -> Session:
        """The session with the recorded conversation."""
        return self._mirror.session

    def kept_context(self) -> llm.ChatContext:
        """The recorded conversation as a `chat_ctx`, for a new agent that continues it."""
        return write_context([items[-1] for _, items in sorted(self._mirror.recorded().items())])

    async def llm_node(
        self, chat_ctx: llm.ChatContext, tools: list[llm.Tool], model_settings: ModelSettings
    ) -> AsyncIterator[Any]:
        """Record the chat context, send a view of it, and record the answer's calls and token usage.

        Calls are recorded before they are run, with the text before them. A spoken answer is recorded with
        the next request: only then does LiveKit know how much of it the user heard.
        """
        head, conversation = _split_instructions(chat_ctx)
        texts = [item.raw_text_content or "" for item in head if isinstance(item, llm.ChatMessage)]
        instructions, definitions, model = "\n".join(texts), _definitions(tools), self._model_name()
        shown = await self._mirror.afit(
            conversation, instructions=instructions, tools=definitions, model=model
        )
        self.last_context = shown.context
        view = llm.ChatContext([*head, *shown.messages])
        text = ""
        async for chunk in Agent.default.llm_node(self, view, tools, model_settings):
            if isinstance(chunk, llm.ChatChunk):
                delta = chunk.delta or llm.ChoiceDelta()
                text += delta.content or ""
                items: list[llm.ChatItem] = [
                    llm.FunctionCall(call_id=call.call_id, name=call.name, arguments=call.arguments)
                    for call in delta.tool_calls
                ]
                if items and text:
                    items, text = [llm.ChatMessage(role="assistant", content=[text]), *items], ""
                if items or chunk.usage:  # record before the yield: LiveKit then runs the call
                    usage = _usage(chunk.usage) if chunk.usage else None
                    await self._mirror.arecord(items, usage, model=model)
            yield chunk

    @function_tool(name=READ_BACK["name"], description=READ_BACK["description"])
    async def _read_back(self, handle: str, start: int = 0) -> str:
        return await asyncio.to_thread(self._mirror.read_back, handle, start)

    async def on_exit(self) -> None:
        """Record the last messages, and those that are added until another agent has taken over."""
        session = self.session

        def record(added: ConversationItemAddedEvent) -> None:
            items = _split_instructions(self.chat_ctx)[1]
            if isinstance(added.item, llm.AgentHandoff):  # it is not in the chat context of the agent
                session.off("conversation_item_added", record)
                items.append(added.item)
            self._mirror.follow(items)

        session.on("conversation_item_added", record)
        self._mirror.follow(_split_instructions(self.chat_ctx)[1])

    def _model_name(self) -> str | None:
        """The name of the model, if LiveKit knows it."""
        model = self.llm if isinstance(self.llm, llm.LLM) else self.session.llm
        name = model.model if isinstance(model, llm.LLM) else "unknown"
        return None if name == "unknown" else name


def read_context(context: llm.ChatContext) -> list[Item]:
    """Return the items of a chat context: messages, calls, results and hand-offs."""
    codec = _Codec()
    return [item for chat_item in context.items for item in codec.read(chat_item)]


def write_context(items: Sequence[Item]) -> llm.ChatContext:
    """Return a chat context with these items, except for kinds that LiveKit does not have."""
    kinds = Message | Summary | Note | ToolCall | ToolResult | Handoff
    codec = _Codec()
    return llm.ChatContext([codec.write([item], None) for item in items if isinstance(item, kinds)])


def _split_instructions(context: llm.ChatContext) -> tuple[list[llm.ChatItem], list[llm.ChatItem]]:
    """The instructions at the head of a chat context, and the conversation after them."""
    others = (item for item in context.items if not isinstance(item, llm.AgentConfigUpdate))
    items: list[llm.ChatItem] = list(others)
    before = list(takewhile(_is_instruction, items))
    return before, items[len(before) :]


def _is_instruction(item: llm.ChatItem) -> bool:
    return isinstance(item, llm.ChatMessage) and item.role in ("system", "developer")


def _definitions(tools: Sequence[llm.Tool]) -> list[Definition]:
    definitions = llm.ToolContext(list(tools)).parse_function_tools("openai", strict=False)
    return [cast(Definition, definition) for definition in definitions]


def _usage(usage: llm.CompletionUsage) -> Usage:
    cache_read = max(usage.cache_read_tokens, usage.prompt_cached_tokens)
    cached = cache_read, usage.cache_creation_tokens
    return Usage(usage.prompt_tokens, usage.completion_tokens, *cached, usage.reasoning_tokens)


class _Codec:
    """The items of a chat context; each is one item of Quire."""

    def identity(self, message: llm.ChatItem) -> Any:
        """What a chat item says, without the ids and metrics that are added later."""
        items = [msgspec.to_builtins(item) for item in self.read(message)]
        return [{name: item[name] for name in item.keys() - {"id", "created_at", "extras"}} for item in items]

    def read(self, message: llm.ChatItem) -> Sequence[Item]:
        """Return the one item of a chat item; none for a message without content."""
        fields = message.model_dump(mode="json", exclude=_ITEM_FIELDS, exclude_defaults=True)
        others = {name: value for name, value in fields.items() if value not in (None, {}, [])}
        common: dict[str, Any] = {"created_at": message.created_at, "extras": {VOICE: others}}
        match message:
            case llm.FunctionCall():
                return [ToolCall(message.call_id, message.name, message.arguments, **common)]
            case llm.FunctionCallOutput():
                name = message.name or "tool"
                return [ToolResult(message.call_id, name, message.output, message.is_error, **common)]
            case llm.AgentHandoff():
                return [Handoff(message.new_agent_id, message.old_agent_id, **common)]
            case llm.ChatMessage():
                parts = tuple(part for content in message.content if (part := _part(content)))
                content = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts
                return [Message(message.role, content, message.interrupted, **common)] if parts else []
            case _:
                return []  # a change of the agent's instructions, which are at the head of the context

    def write(self, items: Sequence[Item], origin: llm.ChatItem | None) -> llm.ChatItem:
        """Return a chat item, or a copy of the origin with other content."""
        item = items[0]
        common: dict[str, Any] = {"id": item.id, "created_at": item.created_at, **item.extras.get(VOICE, {})}
        if isinstance(origin, llm.FunctionCallOutput) and isinstance(item, ToolResult):
            return origin.model_copy(update={"output": item.text})
        match item:
            case ToolCall():
                common |= {"call_id": item.call_id, "name": item.name}
                return llm.FunctionCall(arguments=item.arguments, **common)
            case ToolResult():
                common |= {"call_id": item.call_id, "name": item.name}
                return llm.FunctionCallOutput(output=item.text, is_error=item.is_error, **common)
            case Handoff():
                return llm.AgentHandoff(old_agent_id=item.from_agent, new_agent_id=item.to_agent, **common)
            case Message():
                content = [part for part in map(_content, parts_for_model(item)) if part is not None]
                common |= {"role": item.role, "interrupted": item.interrupted}
                return llm.ChatMessage(content=content, **common)
            case _:
                texts: list[llm.ChatContent] = [*map(str, parts_for_model(item))]
                return llm.ChatMessage(role="user", content=texts, **common)


def _part(content: Any) -> Part | None:
    """A part of a message; None for content that a model does not see."""
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
    """A part in the form of LiveKit: text, pictures, and the transcripts of recordings; None for others."""
    match part:
        case str():
            return part
        case Image():
            mime_type = part.media_type
            return llm.ImageContent(image=address_of(part), inference_detail=part.detail, mime_type=mime_type)
        case Audio():
            return part.transcript
        case _:
            return None
