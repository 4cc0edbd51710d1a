"""Microsoft Agent Framework: a history that loses nothing, and requests that fit the model's window.

`QuireHistory` records the messages of each session. Its middleware runs before every request to the model,
also between calls of tools, and sends the messages that fit.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Unpack, cast
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from quire.compactors import READ_BACK
from quire.context import Template
from quire.errors import InvalidValue, MissingExtra
from quire.integrations.mirror import Mirror, MirrorOptions, Mirrors, address_of, parts_for_model
from quire.items import Image, Item, Message as QuireMessage, Part, Reasoning, ToolCall, ToolResult
from quire.providers import media_type
from quire.session import Session
from quire.state import in_one_reply, is_output
from quire.stores import Store
from quire.tokens import Definition, Usage

try:
    from agent_framework import (
        AgentSession,
        ChatContext,
        ChatMiddleware,
        ChatResponse,
        Content,
        FunctionTool,
        HistoryProvider,
        Message,
        SessionContext,
        SupportsAgentRun,
    )
except ImportError:
    raise MissingExtra("the Agent Framework", "agent-framework") from None

__all__ = ["QuireHistory"]

_NATIVE = "agent_framework"
"""The key of `extras` for the JSON of a message that cannot be rebuilt from its items alone."""

_USAGE = {
    "input": "input_token_count",
    "output": "output_token_count",
    "cache_read": "cache_read_input_token_count",
    "cache_write": "cache_creation_input_token_count",
    "reasoning": "reasoning_output_token_count",
}


class QuireHistory(HistoryProvider):
    """Keeps the messages of each session in the conversation named by its `session_id`.

    `template` says what the model sees. It may be the model's window in tokens. A `scope` may be a function
    of the `session_id`.
    """

    def __init__(
        self,
        template: Template | int,
        store: str | Path | Store = "quire.db",
        *,
        source_id: str = "quire",
        **options: Unpack[MirrorOptions],
    ) -> None:
        super().__init__(source_id)
        self._codec = _Codec()
        self._mirrors = Mirrors(self._codec, template, store, **options)
        self._loaded = WeakKeyDictionary[Mirror[Message], list[Message]]()
        """The messages of each session before the current run."""
        self.middleware: ChatMiddleware = _Fitting(self)
        """Fits each request to the template. The agent needs both: the history and this middleware."""

    def session(self, session_id: str) -> Session:
        """The conversation of a session, with its view, its receipts and its spending."""
        return self._mirror(session_id).session

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Give the agent its history, and the tool with which it reads results that were sent as stubs."""
        await super().before_run(agent=agent, session=session, context=context, state=state)
        mirror = self._mirror(context.session_id)

        def read_back(handle: str, start: int = 0) -> str:
            return mirror.read_back(handle, start)

        tool = FunctionTool(name=READ_BACK["name"], description=READ_BACK["description"], func=read_back)
        context.extend_tools(self.source_id, [tool])

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Return all messages of a session, also those that an interrupted run recorded."""
        mirror = self._mirror(session_id)
        await mirror.session.aio.refresh()
        messages = [self._codec.message(items) for items in mirror.recorded().values()]
        self._loaded[mirror] = messages
        return list(messages)

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Record the messages of a run that the middleware has not recorded already."""
        mirror = self._mirror(session_id)
        before = self._loaded[mirror] if mirror in self._loaded else await self.get_messages(session_id)
        self._loaded[mirror] = [*before, *messages]
        _tools_by_call.set(_tool_names(self._loaded[mirror]))
        await mirror.afollow(self._loaded[mirror])

    async def fit(self, context: ChatContext) -> None:
        """Replace the messages of a request by those that fit."""
        mirror = self._mirror(context.session.session_id if context.session else None)
        before = [message for message in context.messages if self._is_outside(message)]
        messages = [message for message in context.messages if not self._is_outside(message)]
        options = context.options or {}
        texts = [str(options.get("instructions") or ""), *(message.text for message in before)]
        tools = [_definition(tool) for tool in options.get("tools") or () if isinstance(tool, FunctionTool)]
        _tools_by_call.set(_tool_names(messages))
        shown = await mirror.afit(
            messages, instructions="\n".join(filter(None, texts)), tools=tools, model=_model_name(context)
        )
        context.messages = [*before, *shown.messages]

    async def record(self, context: ChatContext, response: ChatResponse[Any]) -> None:
        """Record the answer to a request and its token usage, before its calls are run."""
        details: Mapping[str, Any] = response.usage_details or {}
        counts = {name: int(details.get(field) or 0) for name, field in _USAGE.items()}
        usage = Usage(**counts) if any(counts.values()) else None
        mirror = self._mirror(context.session.session_id if context.session else None)
        _tools_by_call.set(_tool_names(response.messages))
        await mirror.arecord(response.messages, usage, model=response.model or _model_name(context))

    def _mirror(self, session_id: str | None) -> Mirror[Message]:
        if not session_id:
            raise InvalidValue("run the agent with a session: agent.run(…, session=agent.create_session())")
        return self._mirrors.of(session_id, run=session_id)

    def _is_outside(self, message: Message) -> bool:
        """Whether a message is an instruction, or was added by another context provider."""
        source = message.additional_properties.get("_attribution", {}).get("source_id", self.source_id)
        return message.role == "system" or source != self.source_id


class _Fitting(ChatMiddleware):
    def __init__(self, history: QuireHistory) -> None:
        self._history = history

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        await self._history.fit(context)

        async def record(response: ChatResponse[Any]) -> None:
            await self._history.record(context, response)

        if context.stream:
            context.stream_result_hooks.append(record)
        await call_next()
        if isinstance(context.result, ChatResponse):
            await record(context.result)


def _model_name(context: ChatContext) -> str | None:
    """The name of the model that a request is for: from its options, else from its client."""
    name = (context.options or {}).get("model") or getattr(context.client, "model", None)
    return name if isinstance(name, str) else None


def _definition(tool: FunctionTool) -> Definition:
    fields = {"name": tool.name, "description": tool.description, "parameters": tool.parameters()}
    return cast(Definition, {"type": "function", "function": fields})


_tools_by_call: ContextVar[Mapping[str, str]] = ContextVar("_tools_by_call")
"""The names of the tools that the current messages call, by call id: a result does not name its tool."""


def _tool_names(messages: Sequence[Message]) -> Mapping[str, str]:
    contents = (content for message in messages for content in message.contents)
    return {content.call_id: content.name for content in contents if content.call_id and content.name}


class _Codec:
    """Messages of the framework. Contents without an item, such as approvals, are kept as JSON."""

    def identity(self, message: Message) -> Any:
        """What a message says, without the names and ids that are added later."""
        fields = ("type", "text", "call_id", "name", "arguments", "result", "uri")
        contents = [{name: getattr(content, name, None) for name in fields} for content in message.contents]
        return [message.role, msgspec.to_builtins(contents, enc_hook=str)]

    def read(self, message: Message) -> Sequence[Item]:
        """Return the items of a message. The first holds its JSON if they cannot rebuild the message."""
        items = in_one_reply(self._items(message))
        if items and self._plain(items).to_dict() != message.to_dict():
            items[0] = replace(items[0], extras={_NATIVE: message.to_json()})
        return items

    def _items(self, message: Message) -> list[Item]:
        items: list[Item] = []
        parts: list[Part] = []

        def end_message() -> None:
            if parts:
                role: Any = message.role if message.role in ("system", "user", "assistant") else "user"
                content = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else tuple(parts)
                items.append(QuireMessage(role, content))
                parts.clear()

        for part in message.contents:
            match part.type:
                case "text" if part.text:
                    parts.append(part.text)
                case "data" | "uri" if part.uri and part.has_top_level_media_type("image"):
                    parts.append(Image(url=part.uri, media_type=part.media_type))
                case "text_reasoning":
                    end_message()
                    items.append(Reasoning(part.text or ""))
                case "function_call" if part.call_id and part.name:
                    end_message()
                    items.append(ToolCall(part.call_id, part.name, _text(part.arguments or {})))
                case "function_result" if part.call_id:
                    end_message()
                    name = _tools_by_call.get().get(part.call_id, "tool")
                    items.append(ToolResult(part.call_id, name, _text(part.result), bool(part.exception)))
                case _:
                    pass
        end_message()
        return items

    def message(self, items: Sequence[Item]) -> Message:
        """Return the message that items were read from."""
        json = items[0].extras.get(_NATIVE)
        return self._plain(items) if json is None else Message.from_json(json)

    def write(self, items: Sequence[Item], origin: Message | None) -> Message:
        """Return a message, or a copy of the origin with other content."""
        message = self._plain(items)
        if origin is not None:
            message.role, message.author_name = origin.role, origin.author_name
        return message

    def _plain(self, items: Sequence[Item]) -> Message:
        first = items[0]
        role = "assistant" if is_output(first) else "tool" if isinstance(first, ToolResult) else "user"
        contents = [content for item in items for content in _contents(item)]
        return Message(first.role if isinstance(first, QuireMessage) else role, contents)


def _contents(item: Item) -> list[Content]:
    match item:
        case ToolCall():
            return [Content.from_function_call(item.call_id, item.name, arguments=item.arguments)]
        case ToolResult():
            return [Content.from_function_result(item.call_id, result=item.text)]
        case Reasoning():
            return [Content.from_text_reasoning(text=item.text)]
        case _:
            return [_content(part) for part in parts_for_model(item)]


def _content(part: Part) -> Content:
    if isinstance(part, str):
        return Content.from_text(part)
    return Content.from_uri(address_of(part), media_type=media_type(part) or "application/octet-stream")


def _text(result: Any) -> str:
    return result if isinstance(result, str) else msgspec.json.encode(result, enc_hook=str).decode()
