"""LangChain's agents on Quire: the log keeps every message, and the model gets a view that fits its window.

The middleware changes requests, and not the state of the agent: what a user sees and what a checkpointer
keeps stays as it is. The one exception is a result of a tool that is too long for the window. It is kept
whole in the pool of the conversation, and the state gets its beginning and its end, with a handle.
"""

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Unpack, cast

from quire.agent import MAX_OUTPUT, characters_within, shortened
from quire.compactors import READ_BACK
from quire.context import DEFAULT_MODEL, Template
from quire.errors import InvalidValue, MissingExtra
from quire.integrations.mirror import Mirror, MirrorOptions, Mirrors
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
from quire.providers import content_for_model
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
_MEDIA = {"image": Image, "audio": Audio, "file": File}
_OTHER = "[blocks that only the provider reads]"
_LEAST_RESULT = 64  # tokens that every result of a tool may take


class MessageCodec:
    """Reads and writes the messages of LangChain.

    It reads text, reasoning, media by address or as base64, calls and results. Other blocks that a provider
    knows are sent with their message, and not counted.
    """

    def read(self, message: AnyMessage) -> Sequence[Item]:
        """Return the items of a message; one that says nothing has none."""
        content = _content_of(message)
        if isinstance(message, ToolMessage):
            is_error = message.status == "error"
            return [ToolResult(message.tool_call_id, message.name or "tool", content, is_error=is_error)]
        said = [Message(_role_of(message), content)] if content else []
        other = [Message(_role_of(message), _OTHER)] if message.content and not content else []
        if not isinstance(message, AIMessage):
            return said or other
        thoughts = [Reasoning(one["reasoning"]) for one in _blocks_of(message) if one.get("reasoning")]
        calls = [
            ToolCall(one["id"] or "", one["name"], json.dumps(one["args"])) for one in message.tool_calls
        ]
        for bad in message.invalid_tool_calls:
            calls.append(ToolCall(bad["id"] or "", bad["name"] or "", bad["args"] or ""))
        return in_one_reply([*thoughts, *said, *calls] or other)

    def write(self, items: Sequence[Item], origin: AnyMessage | None) -> AnyMessage:
        """Return the message that shows some items."""
        first = items[0]
        if isinstance(first, ToolResult):
            content, status = _written(first.content), "error" if first.is_error else "success"
            if isinstance(origin, ToolMessage):
                return origin.model_copy(update={"content": content})
            return ToolMessage(content, tool_call_id=first.call_id, name=first.name, status=status)
        said = [item for item in items if isinstance(item, Message | Note | Summary)]
        content = _written(tuple(part for item in said for part in parts_of(content_for_model(item))))
        if origin is None:
            role = first.role if isinstance(first, Message) else "user"
            if role == "assistant":
                return AIMessage(content)
            return HumanMessage(content) if role == "user" else SystemMessage(content)
        changed: dict[str, Any] = {"content": content}
        if isinstance(origin, AIMessage):
            made = {item.call_id: item.arguments for item in items if isinstance(item, ToolCall)}
            calls = [one for one in origin.tool_calls if one["id"] in made]
            changed["tool_calls"] = [{**one, "args": json.loads(made[str(one["id"])])} for one in calls]
            changed["invalid_tool_calls"] = [one for one in origin.invalid_tool_calls if one["id"] in made]
        return origin.model_copy(update=changed)

    def identity(self, message: AnyMessage) -> Any:
        """Return what a message says, without the id and the metadata that LangChain adds."""
        if isinstance(message, ToolMessage):
            return ["tool", message.content, message.tool_call_id, message.status]
        if not isinstance(message, AIMessage):
            return [_role_of(message), message.content]
        calls = [[one["id"], one["name"], one["args"]] for one in message.tool_calls]
        bad = [[one["id"], one["name"], one["args"]] for one in message.invalid_tool_calls]
        return ["assistant", message.content, calls, bad]


def _role_of(message: AnyMessage) -> Role:
    try:
        return "assistant" if isinstance(message, AIMessage) else _ROLES[message.type]
    except KeyError:
        raise InvalidValue(
            f"a message of LangChain is of the type {message.type}, which has no role"
        ) from None


def _blocks_of(message: AnyMessage) -> list[dict[str, Any]]:
    """The blocks of a message, in the form that all providers share."""
    if isinstance(message.content, str):
        return [{"type": "text", "text": message.content}] if message.content else []
    return cast("list[dict[str, Any]]", message.content_blocks)


def _content_of(message: AnyMessage) -> Content:
    parts: list[Part] = []
    for block in _blocks_of(message):
        kind = _MEDIA.get(block["type"])
        if block["type"] == "text":
            parts.append(block["text"])
        elif kind and (url := block.get("url")):
            parts.append(kind(url=url, media_type=block.get("mime_type")))
        elif kind and (data := block.get("base64")):
            parts.append(kind(data=b64decode(data), media_type=block.get("mime_type")))
    return "\n".join(cast("list[str]", parts)) if all(isinstance(one, str) for one in parts) else tuple(parts)


def _written(content: Content) -> str | list[str | dict[Any, Any]]:
    """A content as LangChain has it: a text, or blocks."""
    parts = parts_of(content)
    if all(isinstance(part, str) for part in parts):
        return "\n".join(map(str, parts))
    return [_block(part) for part in parts]


def _block(part: Part) -> dict[Any, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = type(part).__name__.lower()
    where = {"url": part.url} if part.data is None else {"base64": b64encode(part.data).decode()}
    return {"type": kind, **where, **({"mime_type": part.media_type} if part.media_type else {})}


def _usage_of(message: AIMessage) -> Usage | None:
    said = message.usage_metadata
    if said is None:
        return None
    read, made = said.get("input_token_details", {}), said.get("output_token_details", {})
    hit, written = read.get("cache_read") or 0, read.get("cache_creation") or 0
    total = max(said["input_tokens"], hit + written)
    return Usage(total, said["output_tokens"], hit, written, made.get("reasoning") or 0)


class QuireMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Fits every request of an agent into a window, and keeps the conversation of every thread in a store.

    `template` may be the size of the window in tokens. The conversation is the `thread_id` of the run; a run
    inside of another has one below it. A `scope` may be a function of the run's config. Put it last among the
    middleware, so that it sees what is really sent.
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
        self._defined: tuple[list[Any], list[Definition]] = [], []
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
        """Send what fits, and record the answer and what it used."""
        mirror = self._mirror()
        shown = mirror.fit(request.messages, **self._beside(request))
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
        shown = await mirror.afit(request.messages, **self._beside(request))
        response = await handler(request.override(messages=shown.messages))
        await mirror.arecord(*_answer(response))
        return response

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Run a call that has not begun before, and keep a result that is too long in the pool.

        The model gets the two ends of such a result, and a handle.
        """
        mirror, call_id = self._mirror(), str(request.tool_call["id"])
        if words := mirror.begin(call_id):
            return _unsure(request, words)
        try:
            message, notes = self._shortened(request, handler(request))
        except GraphBubbleUp:
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
        if words := await asyncio.to_thread(mirror.begin, call_id):
            return _unsure(request, words)
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
        """The mirror of the run that is going on."""
        config = get_config()
        named = config.get("configurable", {})
        if "thread_id" not in named:
            raise InvalidValue('the run has no conversation: give it {"configurable": {"thread_id": …}}')
        outer, _, _step = str(named.get("checkpoint_ns", "")).rpartition("|")
        return self._mirrors.of(str(named["thread_id"]), *([outer] if outer else []), known=config)

    def _beside(self, request: ModelRequest[Any]) -> dict[str, Any]:
        """What is sent beside the messages."""
        known, definitions = self._defined
        if known != request.tools:
            definitions = [_definition(tool) for tool in request.tools]
            self._defined = list(request.tools), definitions
        model = getattr(request.model, "model_name", None) or getattr(request.model, "model", None)
        return {"instructions": request.system_prompt, "tools": definitions, "model": model}

    def _shortened(
        self, request: ToolCallRequest, result: ToolMessage | Command[Any]
    ) -> tuple[ToolMessage | Command[Any], list[Note]]:
        name = request.tool_call["name"]
        text = _content_of(result) if isinstance(result, ToolMessage) else None
        if name == READ_BACK["name"] or not isinstance(text, str) or not isinstance(result, ToolMessage):
            return result, []
        asking = next(
            (one for one in reversed(request.state["messages"]) if isinstance(one, AIMessage)), None
        )
        calls = max(len(asking.tool_calls) if asking else 1, 2)
        tokens = max(self._template.budget.available // (2 * calls), _LEAST_RESULT)
        counter = counter_for(self._template.model or DEFAULT_MODEL)
        most = characters_within(counter, tokens, text, MAX_OUTPUT)
        shown, notes = shortened(text, most, f"output of {name}")
        return (result.model_copy(update={"content": shown}) if notes else result), notes


def _unsure(request: ToolCallRequest, words: str) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(words, tool_call_id=str(call["id"]), name=call["name"], status="error")


def _definition(tool: BaseTool | dict[str, Any]) -> Definition:
    if isinstance(tool, dict) and "function" not in tool:
        return tool
    return cast(Definition, convert_to_openai_tool(tool)["function"])


def _answer(response: ModelResponse[Any]) -> tuple[list[AnyMessage], Usage | None]:
    """The messages of an answer, and the tokens that it took."""
    messages = cast("list[AnyMessage]", response.result)
    return messages, next((_usage_of(one) for one in messages if isinstance(one, AIMessage)), None)
