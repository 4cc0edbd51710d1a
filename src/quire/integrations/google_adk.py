"""Google ADK: sessions in Quire's stores, and a view of them for each request.

`QuireSessionService` keeps the events of each session as they are. `QuirePlugin` runs before every request of
a model, and sends what fits its window.
"""

# pyright: basic, reportMissingImports=false

import asyncio
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Unpack, cast

import msgspec
from msgspec.structs import replace

from quire.compactors import READ_BACK
from quire.context import Template
from quire.errors import MissingExtra
from quire.integrations.adk_sessions import QuireSessionService, scope_of
from quire.integrations.mirror import Mirror, Mirrors
from quire.items import Item, Message, Note, Part, Reasoning, Summary, ToolCall, ToolResult, new_id, parts_of
from quire.providers import content_for_model, media_type, provider_for
from quire.session import Session as Kept
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

_OURS = "quire-"
"""The beginning of ids that are given here to calls that have none."""

_GEMINI = provider_for("gemini")


class QuirePlugin(BasePlugin):  # type: ignore[misc]
    """Fits each request to the window of the model, and keeps a receipt of it.

    Each agent of a session sees contents of its own, so each has a conversation, `SESSION/AGENT`, in the
    scope `scope/APP/USER`. `template` says what the model sees, or is its window in tokens.
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

    def session(self, session: Session, agent: str) -> Kept:
        """What an agent has been sent in a session, with its receipts and its spending."""
        return self._mirror(session, agent).session

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Put the contents that fit in the place of those of a request."""
        mirror, config = (
            self._mirror(callback_context.session, callback_context.agent_name),
            llm_request.config,
        )
        if llm_request.tools_dict and READ_BACK["name"] not in llm_request.tools_dict:
            llm_request.append_tools([_reader(mirror)])
        given = [tool for tool in config.tools or () if isinstance(tool, types.Tool)]
        declared = [one for tool in given for one in tool.function_declarations or ()]
        shown = await mirror.afit(
            _numbered(llm_request.contents),
            instructions=_text_of(config.system_instruction),
            tools=[one.model_dump(mode="json", exclude_none=True) for one in declared],
            model=llm_request.model,
        )
        llm_request.contents = _merged([one.content for one in shown.messages])

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> None:
        """Record what an answer used. The answer itself comes with the next request."""
        used = llm_response.usage_metadata
        if used is not None and not llm_response.partial:
            reported = {"usageMetadata": used.model_dump(mode="json", by_alias=True, exclude_none=True)}
            mirror = self._mirror(callback_context.session, callback_context.agent_name)
            await mirror.arecord([], _GEMINI.parse(reported).usage)

    def _mirror(self, session: Session, agent: str) -> "Mirror[_Turn]":
        scope = scope_of(self._scope, session.app_name, session.user_id)
        return self._mirrors.of(session.id, agent, scope=scope)


def _reader(mirror: "Mirror[_Turn]") -> FunctionTool:
    """The tool by which a model reads a result that was sent as a stub."""

    async def read_back(handle: str, start: int = 0) -> str:
        return await asyncio.to_thread(mirror.read_back, handle, start)

    read_back.__doc__ = READ_BACK["description"]
    return FunctionTool(read_back)


class _Turn(NamedTuple):
    """A content, and the same with an id for each call and each result.

    Neighbouring contents of the model have one reply id.
    """

    content: types.Content
    named: types.Content
    reply_id: str


def _numbered(contents: Sequence[types.Content]) -> list[_Turn]:
    """Contents with ids: ADK takes its own out of a request, because Gemini pairs by name and order."""
    turns: list[_Turn] = []
    waiting: list[tuple[str, str | None]] = []  # calls without a result: their ids and names
    role, reply_id = None, ""
    for number, content in enumerate(contents):
        parts: list[types.Part] = []
        for part in content.parts or ():
            made = f"{_OURS}{number}-{len(parts)}"
            if call := part.function_call:
                waiting.append((call.id or made, call.name))
                part = _with(part, "function_call", id=call.id or made)
            elif answer := part.function_response:
                ids = [one for one, name in waiting if name == answer.name]
                answered = answer.id or next(iter(ids), made)
                waiting = [one for one in waiting if one[0] != answered]
                part = _with(part, "function_response", id=answered)
            parts.append(part)
        role, reply_id = content.role, reply_id if content.role == role else new_id()
        turns.append(_Turn(content, content.model_copy(update={"parts": parts}), reply_id))
    return turns


def _merged(contents: Sequence[types.Content]) -> list[types.Content]:
    """Contents in which results that stand side by side are one content: Gemini takes no others."""
    merged: list[types.Content] = []
    for is_answer, run in groupby(contents, _is_answer):
        found = list(run)
        if is_answer and len(found) > 1:
            found = [
                found[0].model_copy(update={"parts": [part for one in found for part in one.parts or ()]})
            ]
        merged += found
    return merged


def _is_answer(content: types.Content) -> bool:
    return bool(content.parts) and all(part.function_response for part in content.parts or ())


def _with(part: types.Part, field: str, **changed: Any) -> types.Part:
    """A part with something changed in the call or the result that it holds."""
    return part.model_copy(update={field: getattr(part, field).model_copy(update=changed)})


def _text_of(instruction: Any) -> str:
    """The text of instructions, which are a text, a part, a content, or several of them."""
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
        """A content is the same if it says the same."""
        return message.named.model_dump(mode="json", exclude_none=True)

    def read(self, message: _Turn) -> Sequence[Item]:
        """Return the items of a content."""
        items = _GEMINI.read_history([message.named], model="*") if message.named.parts else []
        return [replace(item, reply_id=message.reply_id) if is_output(item) else item for item in items]

    def write(self, items: Sequence[Item], origin: _Turn | None) -> _Turn:
        """Return a content, or a copy of one with other content. Calls stay signed, other parts do not."""
        known = {part.function_call.id: part for part in _parts(origin) if part.function_call}
        parts = [part for item in items for part in _written(item, known)]
        first = items[0]
        is_models = isinstance(first, ToolCall | Reasoning) or getattr(first, "role", "") == "assistant"
        content = types.Content(role="model" if is_models else "user", parts=parts)
        return _Turn(content, content, "")


def _parts(turn: _Turn | None) -> Sequence[types.Part]:
    return (turn.named.parts or ()) if turn else ()


def _written(item: Item, known: dict[str | None, types.Part]) -> Iterator[types.Part]:
    """The parts that show an item; an id that was given here is not sent."""
    match item:
        case ToolCall() if item.call_id in known:
            yield _with(known[item.call_id], "function_call", id=_sent_id(item.call_id))
        case ToolCall():
            given = msgspec.json.decode(item.arguments or "{}")
            call = types.FunctionCall(id=_sent_id(item.call_id), name=item.name, args=given)
            yield types.Part(function_call=call)
        case ToolResult():
            response: dict[str, Any] = {"error" if item.is_error else "output": item.text}
            answer = types.FunctionResponse(id=_sent_id(item.call_id), name=item.name, response=response)
            yield types.Part(function_response=answer)
        case Reasoning():
            yield types.Part(text=item.text, thought=True)
        case _:
            parts = parts_of(content_for_model(cast("Message | Note | Summary", item)))
            yield from map(_part, parts)


def _sent_id(call_id: str) -> str | None:
    return None if call_id.startswith(_OURS) else call_id


def _part(part: Part) -> types.Part:
    if isinstance(part, str):
        return types.Part(text=part)
    if part.data is None:
        return types.Part(file_data=types.FileData(file_uri=part.url, mime_type=media_type(part)))
    return types.Part(inline_data=types.Blob(data=part.data, mime_type=media_type(part)))
