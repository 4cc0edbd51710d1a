"""LangChain's agents on Quire: the log keeps every message, and the model gets a view that fits its window.

The middleware changes requests. It does not change the state of the agent, which users see and checkpointers
store, with one exception: if a tool's result is too long for the window, the state gets its beginning and its
end with a handle. The pool of the conversation keeps the whole result.
"""

import asyncio
import json
from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Unpack, cast

from quire.agent import MAX_OUTPUT, characters_within, shortened
from quire.compactors import READ_BACK
from quire.context import DEFAULT_MODEL, Template
from quire.errors import InvalidValue, MissingExtra
from quire.integrations.mirror import Mirror, MirrorOptions, Mirrors, parts_for_model
from quire.items import (
    Audio,
    Content,
    File,
    Image,
    Item,
    Message,
    Note,
    Part,
    Reasoning,
    Role,
    Summary,
    ToolCall,
    ToolResult,
    parts_of,
)
from quire.providers import base64_of
from quire.session import Session
from quire.state import in_one_reply
from quire.stores import Store
from quire.tokens import Definition, Usage, counter_for

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import ToolCallRequest
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_core.tools import BaseTool, StructuredTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.config import get_config
    from langgraph.errors import GraphBubbleUp
    from langgraph.types import Command
except ImportError as fault:
    raise MissingExtra("langchain", "langchain") from fault

__all__ = ["QuireMiddleware"]

_ROLES: dict[str, Role] = {"human": "user", "system": "system"}
_MEDIA_BY_TYPE = {"image": Image, "audio": Audio, "file": File}
_UNREAD_BLOCKS = "[blocks that only the provider reads]"
_MIN_RESULT = 64  # tokens that every result of a tool may take


class MessageCodec:
    """Reads and writes the messages of LangChain.

    Text, reasoning, media (by address or as base64), calls and results become items. Other blocks are sent
    with their message, and are not counted.
    """

    def read(self, message: AnyMessage) -> Sequence[Item]:
        """Return the items of a message; one that says nothing has none."""
        content = _content_of(message)
        if isinstance(message, ToolMessage):
            is_error = message.status == "error"
            return [ToolResult(message.tool_call_id, message.name or "tool", content, is_error=is_error)]
        texts = [Message(_role_of(message), content)] if content else []
        other = [Message(_role_of(message), _UNREAD_BLOCKS)] if message.content and not content else []
        if not isinstance(message, AIMessage):
            return texts or other
        thoughts = [Reasoning(block["reasoning"]) for block in _blocks_of(message) if block.get("reasoning")]
        calls = [
            ToolCall(call["id"] or "", call["name"], json.dumps(call["args"])) for call in message.tool_calls
        ]
        for call in message.invalid_tool_calls:
            calls.append(ToolCall(call["id"] or "", call["name"] or "", call["args"] or ""))
        return in_one_reply([*thoughts, *texts, *calls] or other)

    def write(self, items: Sequence[Item], origin: AnyMessage | None) -> AnyMessage:
        """Return a message, or a copy of the origin with other content."""
        first = items[0]
        if isinstance(first, ToolResult):
            content, status = _written(first.content), "error" if first.is_error else "success"
            if isinstance(origin, ToolMessage):
                return origin.model_copy(update={"content": content})
            return ToolMessage(content, tool_call_id=first.call_id, name=first.name, status=status)
        texts = [item for item in items if isinstance(item, Message | Note | Summary)]
        content = _written(tuple(part for item in texts for part in parts_for_model(item)))
        if origin is None:
            role = first.role if isinstance(first, Message) else "user"
            if role == "assistant":
                return AIMessage(content)
            return HumanMessage(content) if role == "user" else SystemMessage(content)
        changed: dict[str, Any] = {"content": content}
        if isinstance(origin, AIMessage):
            args = {item.call_id: item.arguments for item in items if isinstance(item, ToolCall)}
            calls = [call for call in origin.tool_calls if call["id"] in args]
            changed["tool_calls"] = [{**call, "args": json.loads(args[str(call["id"])])} for call in calls]
            invalid = [call for call in origin.invalid_tool_calls if call["id"] in args]
            changed["invalid_tool_calls"] = invalid
        return origin.model_copy(update=changed)

    def identity(self, message: AnyMessage) -> Any:
        """What a message says, without the id and the metadata that LangChain adds."""
        if isinstance(message, ToolMessage):
            return ["tool", message.content, message.tool_call_id, message.status]
        if not isinstance(message, AIMessage):
            return [_role_of(message), message.content]
        calls = [[call["id"], call["name"], call["args"]] for call in message.tool_calls]
        invalid = [[call["id"], call["name"], call["args"]] for call in message.invalid_tool_calls]
        return ["assistant", message.content, calls, invalid]


def _role_of(message: AnyMessage) -> Role:
    try:
        return "assistant" if isinstance(message, AIMessage) else _ROLES[message.type]
    except KeyError:
        raise InvalidValue(f"a message of LangChain has the type {message.type}, which has no role") from None


def _blocks_of(message: AnyMessage) -> list[dict[str, Any]]:
    """The blocks of a message, in the form that all providers share."""
    if isinstance(message.content, str):
        return [{"type": "text", "text": message.content}] if message.content else []
    return cast("list[dict[str, Any]]", message.content_blocks)


def _content_of(message: AnyMessage) -> Content:
    parts: list[Part] = []
    for block in _blocks_of(message):
        kind = _MEDIA_BY_TYPE.get(block["type"])
        if block["type"] == "text":
            parts.append(block["text"])
        elif kind and (url := block.get("url")):
            parts.append(kind(url=url, media_type=block.get("mime_type")))
        elif kind and (data := block.get("base64")):
            parts.append(kind(data=b64decode(data), media_type=block.get("mime_type")))
    is_text = all(isinstance(part, str) for part in parts)
    return "\n".join(cast("list[str]", parts)) if is_text else tuple(parts)


def _written(content: Content) -> str | list[str | dict[Any, Any]]:
    """Content in the form of LangChain: a text, or a list of blocks."""
    parts = parts_of(content)
    if all(isinstance(part, str) for part in parts):
        return "\n".join(map(str, parts))
    return [_block(part) for part in parts]


def _block(part: Part) -> dict[Any, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = type(part).__name__.lower()
    source = {"url": part.url} if part.data is None else {"base64": base64_of(part.data)}
    return {"type": kind, **source, **({"mime_type": part.media_type} if part.media_type else {})}


def _usage_of(message: AIMessage) -> Usage | None:
    usage = message.usage_metadata
    if usage is None:
        return None
    details = usage.get("input_token_details", {})
    cache_read, cache_write = details.get("cache_read") or 0, details.get("cache_creation") or 0
    reasoning = usage.get("output_token_details", {}).get("reasoning") or 0
    total = max(usage["input_tokens"], cache_read + cache_write)
    return Usage(total, usage["output_tokens"], cache_read, cache_write, reasoning)


class QuireMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Fits every request of an agent into a window, and keeps the conversation of every thread in a store.

    `template` may be the size of the window in tokens. The conversation is named by the run's `thread_id`; an
    agent that runs inside another has its own, below that one. A `scope` may be a function of the run's
    config. Put this middleware last, so that no other one changes the request after it.
    """

    def __init__(
        self,
        template: Template | int,
        store: str | Path | Store = "quire.db",
        **options: Unpack[MirrorOptions],
    ) -> None:
        super().__init__()
        self._mirrors = Mirrors(MessageCodec(), template, store, **options)
        self._template = cast(Template, self._mirrors.template)
        self._defined: tuple[list[Any], list[Definition]] = [], []  # the last tools, and their definitions
        self.tools = [
            StructuredTool.from_function(
                self._read_back,
                name=READ_BACK["name"],
                description=READ_BACK["description"],
                args_schema=READ_BACK["parameters"],
            )
        ]

    def session(self, thread_id: str, *, scope: str | None = None) -> Session:
        """The session of a thread: its log, receipts and spending."""
        return self._mirrors.of(thread_id, scope=scope).session

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Send the messages that fit, and record the answer and its token usage."""
        mirror = self._mirror()
        shown = mirror.fit(request.messages, **self._fit_options(request))
        response = handler(request.override(messages=shown.messages))
        mirror.record(*_answer(response))
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """`wrap_model_call` to be awaited."""
        mirror = self._mirror()
        shown = await mirror.afit(request.messages, **self._fit_options(request))
        response = await handler(request.override(messages=shown.messages))
        await mirror.arecord(*_answer(response))
        return response

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Run a call, unless it began before and may have had its effect.

        A result that is too long is kept in the pool; the model gets its two ends and a handle.
        """
        mirror, call_id = self._mirror(), str(request.tool_call["id"])
        if refusal := mirror.begin(call_id):
            return _refused(request, refusal)
        try:
            message, notes = self._shortened(request, handler(request))
        except GraphBubbleUp:  # an interrupt: the call will run again
            mirror.pause(call_id)
            raise
        for note in notes:
            mirror.session.pool.keep(note)
        return message

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """`wrap_tool_call` to be awaited."""
        mirror, call_id = self._mirror(), str(request.tool_call["id"])
        if refusal := await asyncio.to_thread(mirror.begin, call_id):
            return _refused(request, refusal)
        try:
            message, notes = self._shortened(request, await handler(request))
        except GraphBubbleUp:
            await asyncio.to_thread(mirror.pause, call_id)
            raise
        for note in notes:
            await mirror.session.aio.pool.keep(note)
        return message

    def _read_back(self, handle: str = "", start: int = 0) -> str:
        return self._mirror().read_back(handle, start)

    def _mirror(self) -> Mirror[AnyMessage]:
        """The mirror of the current run."""
        config = get_config()
        fields = config.get("configurable", {})
        if "thread_id" not in fields:
            raise InvalidValue('the run has no conversation: give it {"configurable": {"thread_id": …}}')
        outer = str(fields.get("checkpoint_ns", "")).rpartition("|")[0]  # the agents around this one
        return self._mirrors.of(str(fields["thread_id"]), *([outer] if outer else []), run=config)

    def _fit_options(self, request: ModelRequest[Any]) -> dict[str, Any]:
        """What `Mirror.fit` takes beside the messages: instructions, tools and model."""
        last_tools, definitions = self._defined
        if last_tools != request.tools:
            definitions = [_definition(tool) for tool in request.tools]
            self._defined = list(request.tools), definitions
        model = getattr(request.model, "model_name", None) or getattr(request.model, "model", None)
        return {"instructions": request.system_prompt, "tools": definitions, "model": model}

    def _shortened(
        self, request: ToolCallRequest, result: ToolMessage | Command[Any]
    ) -> tuple[ToolMessage | Command[Any], list[Note]]:
        """A result for the state, and the notes that hold its whole text if it was shortened."""
        name = request.tool_call["name"]
        text = _content_of(result) if isinstance(result, ToolMessage) else None
        if name == READ_BACK["name"] or not isinstance(text, str) or not isinstance(result, ToolMessage):
            return result, []
        # The results of one reply share half of the budget; a single one gets a quarter.
        replies = [message for message in request.state["messages"] if isinstance(message, AIMessage)]
        calls = max(len(replies[-1].tool_calls) if replies else 1, 2)
        tokens = max(self._template.budget.available // (2 * calls), _MIN_RESULT)
        counter = counter_for(self._template.model or DEFAULT_MODEL)
        length = characters_within(counter, tokens, text, MAX_OUTPUT)
        shown, notes = shortened(text, length, f"output of {name}")
        return (result.model_copy(update={"content": shown}) if notes else result), notes


def _refused(request: ToolCallRequest, refusal: str) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(refusal, tool_call_id=str(call["id"]), name=call["name"], status="error")


def _definition(tool: BaseTool | dict[str, Any]) -> Definition:
    if isinstance(tool, dict) and "function" not in tool:
        return tool
    return cast(Definition, convert_to_openai_tool(tool)["function"])


def _answer(response: ModelResponse[Any]) -> tuple[list[AnyMessage], Usage | None]:
    """The messages of an answer, and its token usage."""
    messages = cast("list[AnyMessage]", response.result)
    replies = (message for message in messages if isinstance(message, AIMessage))
    return messages, next(map(_usage_of, replies), None)
