"""Google ADK: sessions in Quire's stores, and requests that fit the model's window.

`QuireSessionService` stores the events of each session unchanged. `QuirePlugin` runs before every request to
a model, and sends the contents that fit.
"""

# pyright: basic, reportMissingImports=false

import asyncio
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import msgspec
from msgspec.structs import replace

from quire.compactors import READ_BACK
from quire.context import Template
from quire.errors import MissingExtra
from quire.integrations.adk_sessions import QuireSessionService, scope_of
from quire.integrations.mirror import Mirror, Mirrors, parts_for_model
from quire.items import Item, Part, Reasoning, ToolCall, ToolResult, new_id
from quire.providers import media_type, provider_for
from quire.session import Session as QuireSession
from quire.session.session import Options
from quire.state import is_output
from quire.stores import Store

try:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.sessions import Session
    from google.adk.tools import FunctionTool
    from google.genai import types
except ImportError:
    raise MissingExtra("Google ADK", "google-adk") from None

__all__ = ["QuirePlugin", "QuireSessionService"]

_NEW_ID_PREFIX = "quire-"
"""The prefix of call ids that are made here, for calls that come without one."""

_GEMINI = provider_for("gemini")


class QuirePlugin(BasePlugin):  # type: ignore[misc]
    """Fits each request to the model's window, and records its receipt.

    The agents of a session see different contents. So each has its own conversation, `SESSION/AGENT`, in the
    scope `scope/APP/USER`. `template` says what the model sees. It may be the model's window in tokens.
    """

    def __init__(
        self,
        template: Template | int,
        store: str | Path | Store = "quire.db",
        *,
        scope: str = "adk",
        name: str = "quire",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(name)
        self._scope = scope
        self._mirrors = Mirrors(_Codec(), template, store, provider="gemini", **options)

    def session(self, session: Session, agent: str) -> QuireSession:
        """The conversation of an agent in a session, with its receipts and its spending."""
        return self._mirror(session, agent).session

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Replace the contents of a request by those that fit."""
        mirror = self._mirror(callback_context.session, callback_context.agent_name)
        if llm_request.tools_dict and READ_BACK["name"] not in llm_request.tools_dict:
            llm_request.append_tools([_read_back_tool(mirror)])
        config = llm_request.config
        tools = [tool for tool in config.tools or () if isinstance(tool, types.Tool)]
        declarations = [declaration for tool in tools for declaration in tool.function_declarations or ()]
        shown = await mirror.afit(
            _with_ids(llm_request.contents),
            instructions=_text_of(config.system_instruction),
            tools=[declaration.model_dump(mode="json", exclude_none=True) for declaration in declarations],
            model=llm_request.model,
        )
        llm_request.contents = _merged([turn.content for turn in shown.messages])

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> None:
        """Record the token usage of an answer. The answer itself is recorded with the next request."""
        usage = llm_response.usage_metadata
        if usage is not None and not llm_response.partial:
            body = {"usageMetadata": usage.model_dump(mode="json", by_alias=True, exclude_none=True)}
            mirror = self._mirror(callback_context.session, callback_context.agent_name)
            await mirror.arecord([], _GEMINI.parse(body).usage)

    def _mirror(self, session: Session, agent: str) -> "Mirror[_Turn]":
        scope = scope_of(self._scope, session.app_name, session.user_id)
        return self._mirrors.of(session.id, agent, scope=scope)


def _read_back_tool(mirror: "Mirror[_Turn]") -> FunctionTool:
    """The tool with which a model reads a result that was sent as a stub."""

    async def read_back(handle: str, start: int = 0) -> str:
        return await asyncio.to_thread(mirror.read_back, handle, start)

    read_back.__doc__ = READ_BACK["description"]
    return FunctionTool(read_back)


class _Turn(NamedTuple):
    """A content as ADK has it, and a copy in which every call and result has an id.

    Consecutive contents of the model have the same reply id.
    """

    content: types.Content
    with_ids: types.Content
    reply_id: str


def _with_ids(contents: Sequence[types.Content]) -> list[_Turn]:
    """Contents with an id for each call and result.

    ADK removes its own ids from a request, because Gemini pairs calls and results by name and order.
    """
    turns: list[_Turn] = []
    pending: list[tuple[str, str | None]] = []  # ids and names of calls that have no result so far
    role, reply_id = None, ""
    for number, content in enumerate(contents):
        parts: list[types.Part] = []
        for part in content.parts or ():
            new_call_id = f"{_NEW_ID_PREFIX}{number}-{len(parts)}"
            if call := part.function_call:
                call_id = call.id or new_call_id
                pending.append((call_id, call.name))
                part = _changed(part, "function_call", id=call_id)
            elif answer := part.function_response:
                unanswered_ids = [call_id for call_id, name in pending if name == answer.name]
                answered_id = answer.id or next(iter(unanswered_ids), new_call_id)
                pending = [row for row in pending if row[0] != answered_id]
                part = _changed(part, "function_response", id=answered_id)
            parts.append(part)
        if content.role != role:
            role, reply_id = content.role, new_id()
        turns.append(_Turn(content, content.model_copy(update={"parts": parts}), reply_id))
    return turns


def _merged(contents: Sequence[types.Content]) -> list[types.Content]:
    """Contents with consecutive results merged into one content, which Gemini requires."""
    merged: list[types.Content] = []
    for is_answer, run in groupby(contents, _is_answer):
        group = list(run)
        if is_answer and len(group) > 1:
            parts = [part for content in group for part in content.parts or ()]
            group = [group[0].model_copy(update={"parts": parts})]
        merged += group
    return merged


def _is_answer(content: types.Content) -> bool:
    return bool(content.parts) and all(part.function_response for part in content.parts or ())


def _changed(part: types.Part, field: str, **changes: Any) -> types.Part:
    """A part with changes in the call or the result that its `field` holds."""
    return part.model_copy(update={field: getattr(part, field).model_copy(update=changes)})


def _text_of(instruction: Any) -> str:
    """The text of instructions, which are a text, a part, a content, or a list of these."""
    match instruction:
        case None:
            return ""
        case str():
            return instruction
        case list():
            return "\n".join(map(_text_of, instruction))
        case types.Content():
            return _text_of(instruction.parts)
        case _:
            return getattr(instruction, "text", None) or ""


class _Codec:
    """Contents of Gemini, which Quire reads itself."""

    def identity(self, message: _Turn) -> Any:
        """What a content says."""
        return message.with_ids.model_dump(mode="json", exclude_none=True)

    def read(self, message: _Turn) -> Sequence[Item]:
        """Return the items of a content."""
        items = _GEMINI.read_history([message.with_ids], model="*") if message.with_ids.parts else []
        return [replace(item, reply_id=message.reply_id) if is_output(item) else item for item in items]

    def write(self, items: Sequence[Item], origin: _Turn | None) -> _Turn:
        """Return a content, or a copy of the origin with other content.

        Calls keep their signatures, since their parts are copied. Other parts are written without one.
        """
        before = (origin.with_ids.parts or ()) if origin else ()
        part_by_call = {part.function_call.id: part for part in before if part.function_call}
        parts = [part for item in items for part in _parts(item, part_by_call)]
        content = types.Content(role="model" if is_output(items[0]) else "user", parts=parts)
        return _Turn(content, content, "")


def _parts(item: Item, part_by_call: dict[str | None, types.Part]) -> Iterator[types.Part]:
    """The parts that show an item. Ids that were made here are left out."""
    match item:
        case ToolCall() if item.call_id in part_by_call:
            yield _changed(part_by_call[item.call_id], "function_call", id=_sent_id(item.call_id))
        case ToolCall():
            args = msgspec.json.decode(item.arguments or "{}")
            call = types.FunctionCall(id=_sent_id(item.call_id), name=item.name, args=args)
            yield types.Part(function_call=call)
        case ToolResult():
            response: dict[str, Any] = {"error" if item.is_error else "output": item.text}
            answer = types.FunctionResponse(id=_sent_id(item.call_id), name=item.name, response=response)
            yield types.Part(function_response=answer)
        case Reasoning():
            yield types.Part(text=item.text, thought=True)
        case _:
            yield from map(_part, parts_for_model(item))


def _sent_id(call_id: str) -> str | None:
    return None if call_id.startswith(_NEW_ID_PREFIX) else call_id


def _part(part: Part) -> types.Part:
    if isinstance(part, str):
        return types.Part(text=part)
    if part.data is None:
        return types.Part(file_data=types.FileData(file_uri=part.url, mime_type=media_type(part)))
    return types.Part(inline_data=types.Blob(data=part.data, mime_type=media_type(part)))
