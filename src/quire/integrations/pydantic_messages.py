"""The messages of Pydantic AI as items, and back.

Each part of a message that a model sees is one item. A part for which there is no kind of item, such as a
search that the provider ran, is the opaque state of a `Reasoning`. The first item of a message also holds the
JSON of the message, with references in place of the content that items hold. So each message can be rebuilt
from the log.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, cast

import msgspec
from msgspec.structs import replace as with_fields

from quire.errors import MissingExtra
from quire.integrations.mirror import MARK, says_same
from quire.items import (
    Audio,
    ConfigChange,
    Content,
    File,
    Image,
    Item,
    Message,
    Note,
    Opaque,
    Part,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
    Unknown,
)
from quire.providers import base64_of, content_for_model
from quire.state import in_one_reply

try:
    from pydantic_ai import messages as native
except ImportError as missing:
    raise MissingExtra("pydantic-ai", "pydantic-ai") from missing

PROVIDER = "pydantic-ai"
"""The provider of state that only Pydantic AI reads, and the key of `extras` for the JSON of a message."""

_REFERENCE = "quire.item"
"""The key of a reference to an item's content, in the JSON of a message: `{"quire.item": [number, piece]}`.

`piece` is None for the text, a number for a part, `_JSON` for the text as JSON, `_STATE` for the state.
"""

VisibleItem = Message | Reasoning | ToolCall | ToolResult
_adapter = native.ModelMessagesTypeAdapter
_JSON, _STATE = "json", "state"


class PydanticCodec:
    """Reads and writes messages of Pydantic AI."""

    def read(self, message: native.ModelMessage) -> Sequence[Item]:
        """The items of the parts that a model sees."""
        parts: list[Any] = [_plain(part) for part in message.parts]
        rest = _dumped(message, parts)
        items: list[Any] = []
        for index, part in enumerate(parts):
            item = _item_of(part, message)
            if item is not None:
                rest["parts"][index] = _without_content(rest["parts"][index], item, len(items))
                items.append(item)
        items = in_one_reply(items)
        if items:
            items[0] = with_fields(items[0], extras={PROVIDER: json.dumps(rest, separators=(",", ":"))})
        return items

    def write(self, items: Sequence[Item], origin: native.ModelMessage | None) -> native.ModelMessage:
        """A copy of the origin with the parts of these items, or a new message for one item."""
        if origin is None:
            part = _part_for(items[0])
            is_answer = part.part_kind in ("text", "thinking", "tool-call")
            return native.ModelResponse([part]) if is_answer else native.ModelRequest([part])
        item_by_number = {item.extras[MARK][1]: item for item in items if not isinstance(item, Unknown)}
        parts, number = list[Any](), 0
        for part in origin.parts:
            parsed = _item_of(_plain(part), origin)
            if parsed is None:
                parts.append(part)
                continue
            if item := item_by_number.get(number):
                parts.append(part if says_same(parsed, item) else _part_for(item))
            number += 1
        return cast(native.ModelMessage, replace(cast(Any, origin), parts=parts))

    def identity(self, message: native.ModelMessage) -> Any:
        """The parts of the message that a model sees."""
        items = [item for part in message.parts if (item := _item_of(_plain(part), message)) is not None]
        plain_items = [with_fields(item, id="_", created_at=0.0) for item in items]
        return [message.kind, msgspec.to_builtins(plain_items)]


def recorded_messages(items: Iterable[Item]) -> list[native.ModelMessage]:
    """The messages whose items are in a log; of messages with the same number, the last."""
    newest_first: list[dict[int, Item]] = []  # for each message, its items by part
    last: tuple[int, str] | None = None
    for item in reversed(list(items)):
        mark = None if isinstance(item, Unknown) else item.extras.get(MARK)
        if mark is None:
            continue
        number, part, digest = mark
        if last is None or number < last[0]:
            newest_first.append({})
            last = number, digest
        if last == (number, digest):
            newest_first[-1].setdefault(part, item)
    rows: list[list[Any]] = [[by_part[n] for n in sorted(by_part)] for by_part in reversed(newest_first)]
    values = [_filled(json.loads(row[0].extras[PROVIDER]), row) for row in rows]
    return _adapter.validate_json(json.dumps(values))


# JSON of a message, with references to the content that its items hold


def _dumped(message: native.ModelMessage, parts: list[Any]) -> Any:
    """A message with these parts as JSON values. A value that is not JSON becomes its `str`."""
    return _adapter.dump_python([replace(cast(Any, message), parts=parts)], mode="json", fallback=str)[0]


def _without_content(part: Any, item: VisibleItem, number: int) -> Any:
    """The JSON of a part, with references in place of the content that an item holds."""
    if isinstance(item, Reasoning) and part["part_kind"] != "thinking":
        return {_REFERENCE: [number, _STATE]}
    if isinstance(item, ToolCall):
        return {**part, "args": {_REFERENCE: [number, None]}}
    content = part.get("content")
    item_content = item.text if isinstance(item, Reasoning) else item.content
    if isinstance(item_content, str):
        if content == item_content:
            return {**part, "content": {_REFERENCE: [number, None]}}
        is_json = isinstance(item, ToolResult) and _is_json_of(item_content, content)
        return {**part, "content": {_REFERENCE: [number, _JSON]}} if is_json else part
    if not isinstance(content, list):
        return {**part, "content": _piece_without_content(content, number, count())}
    part_numbers, pieces = count(), cast("Any", content)
    return {**part, "content": [_piece_without_content(piece, number, part_numbers) for piece in pieces]}


def _piece_without_content(piece: Any, number: int, part_numbers: Iterator[int]) -> Any:
    if isinstance(piece, str):
        return {_REFERENCE: [number, next(part_numbers)]}
    if piece["kind"] == "cache-point":
        return piece
    part_number, field = next(part_numbers), {"binary": "data", "text-content": "content"}.get(piece["kind"])
    return piece if field is None else {**piece, field: {_REFERENCE: [number, part_number]}}


def _is_json_of(text: str, value: Any) -> bool:
    try:
        return bool(json.loads(text) == value)
    except ValueError:
        return False


def _filled(value: Any, items: Sequence[Any]) -> Any:
    """A JSON value in which references are replaced by the content of the items."""
    if type(value) is list:
        return [_filled(inner, items) for inner in cast("Any", value)]
    if type(value) is not dict:
        return value
    fields = cast("Any", value)
    if _REFERENCE not in fields:
        return {key: _filled(inner, items) for key, inner in fields.items()}
    number, piece = fields[_REFERENCE]
    item = items[number]
    if piece is None:
        return item.arguments if isinstance(item, ToolCall) else item.text
    if piece in (_STATE, _JSON):
        return json.loads(item.state.data if piece == _STATE else item.text)
    part = item.parts[piece]
    return part if isinstance(part, str) else base64_of(part.data)


# Parts as items


def _plain(part: Any) -> Any:
    """A part as it is recorded: a deprecated part as its successor, a result as a list of texts and files."""
    if part.part_kind == "retry-prompt":
        text = part.model_response()
        if part.tool_name is None:
            return native.UserPromptPart(text, timestamp=part.timestamp)
        return native.ToolReturnPart(part.tool_name, text, part.tool_call_id, outcome="retried")
    if part.part_kind == "tool-return" and part.tool_kind is None and part.files:
        return replace(part, content=part.content_items(mode="str", wrap_if_error=False))
    return part


def _item_of(part: Any, message: native.ModelMessage) -> VisibleItem | None:
    """The item of a part, or `None` for a part that a model does not see."""
    state = Opaque(PROVIDER, getattr(message, "model_name", None) or "")
    match part:
        case native.SystemPromptPart():
            return Message("system", part.content)
        case native.UserPromptPart():
            content = _content_of(part.content)
            return Message("user", content) if content != () else None
        case native.ToolReturnPart():
            pieces = part.content_items(mode="str", wrap_if_error=False)
            content = _content_of(pieces) if part.files else part.model_response_str(wrap_if_error=False)
            is_error = part.outcome in native.ERROR_OUTCOMES
            return ToolResult(part.tool_call_id, part.tool_name, content, is_error=is_error)
        case native.RetryFeedbackPart():
            return Message("user", part.model_response())
        case native.TextPart():
            return Message("assistant", part.content) if part.content else None
        case native.ThinkingPart():
            return Reasoning(part.content, with_fields(state, data=part.signature or ""))
        case native.ToolCallPart():
            return ToolCall(part.tool_call_id, part.tool_name, part.args_as_json_str())
        case native.FilePart():
            return Message("assistant", _content_of([part.content]))
        case native.SpeechPart():
            content = part.transcript or _content_of([part.audio] if part.audio else [])
            return Message(part.speaker, content) if content != () else None
        case native.CompactionPart() if isinstance(message, native.ModelRequest):
            return Message("user", part.content) if part.content else None
        case native.NativeToolCallPart() | native.NativeToolReturnPart() | native.CompactionPart():
            data = json.dumps(_dumped(message, [part])["parts"][0], separators=(",", ":"))
            return Reasoning(state=with_fields(state, data=data))
        case _:
            return None


def _part_for(item: Item) -> Any:
    """A part that shows an item."""
    match item:
        case ToolCall():
            return native.ToolCallPart(item.name, item.arguments, item.call_id)
        case ToolResult():
            part = native.ToolReturnPart[Any](item.name, _pieces_of(item.content), item.call_id)
            return replace(part, outcome="failed") if item.is_error else part
        case Reasoning():
            return native.ThinkingPart(item.text)
        case Message(role="assistant"):
            return native.TextPart(item.text)
        case Message(role="system" | "developer", origin=None | "system"):
            return native.SystemPromptPart(item.text)
        case ConfigChange():
            return native.SystemPromptPart(item.instructions or "")
        case Message() | Note() | Summary():
            return native.UserPromptPart(_pieces_of(content_for_model(item)))
        case _:
            raise TypeError(f"no message shows an item of type {type(item).__name__}")


def _content_of(content: str | Iterable[Any]) -> Content:
    if isinstance(content, str):
        return content
    return tuple(part for piece in content if (part := _part_of(piece)) is not None)


def _part_of(piece: native.UserContent) -> Part | None:
    """A piece of content as a part; `None` for a mark of the cache."""
    match piece:
        case str():
            return piece
        case native.TextContent():
            return piece.content
        case native.BinaryContent():
            if piece.is_image:
                return Image(data=piece.data, media_type=piece.media_type)
            kind = Audio if piece.is_audio else File
            return kind(data=piece.data, media_type=piece.media_type)
        case native.ImageUrl():
            return Image(url=piece.url)
        case native.AudioUrl():
            return Audio(url=piece.url)
        case native.UploadedFile():
            return File(url=piece.file_id)
        case native.VideoUrl() | native.DocumentUrl():
            return File(url=piece.url)
        case _:
            return None


def _pieces_of(content: Content) -> Any:
    """Content in the form of Pydantic AI."""
    if isinstance(content, str):
        return content
    return [part if isinstance(part, str) else _file_of(part) for part in content]


def _file_of(part: Image | Audio | File) -> native.UserContent:
    if part.data is not None:
        return native.BinaryContent(part.data, media_type=part.media_type or "application/octet-stream")
    if isinstance(part, Image):
        return native.ImageUrl(str(part.url))
    return native.AudioUrl(str(part.url)) if isinstance(part, Audio) else native.DocumentUrl(str(part.url))
