"""Anthropic Messages: replies, streams and histories as items."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from quire.errors import Damaged, InvalidValue, WrongType
from quire.items import File, Image, Item, Message, Opaque, Part, Reasoning, ToolCall, ToolResult
from quire.providers.importers import ai_sdk, langchain, mcp
from quire.providers.media import PDF, bare_base64, bytes_of, file_address
from quire.providers.rules import ANTHROPIC_FOREIGN_FIELDS
from quire.providers.state import ANTHROPIC, blocks_text, made_by
from quire.providers.stream import (
    CallIds,
    StreamErrors,
    TextPieces,
    arguments_text,
    content_from,
    error_in,
    failure_in,
    finish_of,
    finished,
    join_arguments,
    output_from,
    short_json,
)
from quire.providers.types import Answer, Parsed
from quire.providers.values import (
    Json,
    decoded,
    entries_in,
    fields_in,
    list_at,
    object_at,
    plain_json,
    text_at,
    text_in,
)
from quire.tokens import Usage

_OWN_ITEMS = {"text": "text", "tool_use": "call", "thinking": "thought", "redacted_thinking": "thought"}
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_EVENTS = ("message_start", "message_delta", "message_stop", "content_block")
_ENDED = "ended"  # the reason of an answer that ended without one


# --- blocks as items -------------------------------------------------------------------------------------


def read_blocks(
    blocks: Sequence[Json], answer: Answer, model: str, ids: CallIds, path: str, *, is_history: bool = False
) -> list[Item]:
    """The blocks of a turn of the model as items, in their order."""

    def state(of: Sequence[Json]) -> Opaque:
        return made_by(ANTHROPIC, answer, model, of, path)

    items: list[Item] = []
    for kind, run in groupby(blocks, lambda block: _OWN_ITEMS.get(text_in(block.get("type")), "other")):
        found = list(run)
        if kind == "text":
            items += _messages(found, state, path)
        elif kind == "call":
            items += [_call(block, answer, ids, path, is_history) for block in found]
        elif kind == "thought":
            items += [_thought(block, state) for block in found]
        else:
            items.append(Reasoning(blocks_text(ANTHROPIC, found), state(found)))
    return items


def _messages(blocks: list[Json], state: Any, path: str) -> list[Item]:
    """Consecutive texts as one message. Texts with citations are pieces of one text, and stay as state."""
    if any(not isinstance(block.get("text"), str | None) for block in blocks):
        raise Damaged("the text of a block is not text", path)
    texts = [text for block in blocks if (text := block.get("text"))]
    if not texts:
        return []
    if any(block.get("citations") for block in blocks):
        return [Message("assistant", "".join(texts), state=state(blocks))]
    return [Message("assistant", content_from(texts))]


def _call(block: Json, answer: Answer, ids: CallIds, path: str, is_history: bool) -> ToolCall:
    wire_id, name = block.get("id"), text_in(block.get("name"))
    if not name or not isinstance(wire_id, str | None) or (is_history and not wire_id):
        raise Damaged("a call has an id and a name", path)
    tool = answer.tool(name)
    return ToolCall(ids.give(wire_id, tool), tool, arguments_text(answer, tool, block.get("input"), path))


def _thought(block: Json, state: Any) -> Reasoning:
    # Services other than Anthropic's leave the signature out, and want an empty one back.
    raw = {"signature": "", **block} if block["type"] == "thinking" else block
    return Reasoning(blocks_text(ANTHROPIC, [raw]), state([raw]))


def _usage(report: Any) -> Usage | None:
    """Usage; the wire counts what was read from and written to the cache apart from the input."""
    if not report:
        return None
    counts = plain_json(report)

    def count(name: str, held: Json = counts) -> int:
        value = held.get(name)
        return value if isinstance(value, int) and value > 0 else 0

    read, written = count("cache_read_input_tokens"), count("cache_creation_input_tokens")
    output = count("output_tokens")
    thought = count("thinking_tokens", fields_in(counts.get("output_tokens_details")))
    return Usage(
        input=count("input_tokens") + read + written,
        output=output,
        cache_read=read,
        cache_write=written,
        reasoning=min(thought, output),
    )


# --- a whole response ------------------------------------------------------------------------------------


def parse(response: Any, answer: Answer) -> Parsed:
    """A whole response, as JSON or as the client gives it."""
    body = plain_json(response)
    error, model = error_in(body), text_in(body.get("model"))
    if not isinstance(body.get("content"), list):
        if error is None:
            raise Damaged("the response has no list of blocks", "$.content")
        return Parsed((), None, "other", model or None, error)
    blocks = [object_at(block, "$.content") for block in body["content"]]
    reason = text_in(body.get("stop_reason"))
    finish = finish_of(ANTHROPIC, reason)
    if (finish == "length" or failure_in(reason)) and blocks and blocks[-1].get("type") == "tool_use":
        blocks.pop()  # nothing tells whether its input is complete
    items = read_blocks(blocks, answer, model, CallIds(), "$.content")
    return finished(items, reason, finish, error, usage=_usage(body.get("usage")), model=model)


# --- a stream --------------------------------------------------------------------------------------------


class _Block:
    """A block of a stream, from its start to its stop."""

    __slots__ = ("fields", "has_input", "input", "is_half", "is_open")

    def __init__(self, fields: Json) -> None:
        self.fields = fields
        self.input = ""  # pieces of JSON
        self.has_input = bool(fields.get("input"))
        self.is_open = True
        self.is_half = False  # whether its input is not complete

    def grow(self, delta: Json) -> None:
        fields, kind = self.fields, text_in(delta.get("type"))
        if kind in _DELTAS:
            name = _DELTAS[kind]
            fields.setdefault("type", "text" if name == "text" else "thinking")
            fields[name] = text_in(fields.get(name)) + text_in(delta.get(name))
        elif kind == "input_json_delta":
            self.input = join_arguments(self.input, text_in(delta.get("partial_json")))
        elif kind == "citations_delta":
            fields["citations"] = [*entries_in(fields.get("citations")), delta.get("citation")]
        else:  # a compaction, or a kind that is not known here
            fields |= {name: value for name, value in delta.items() if name != "type" and value is not None}

    def stop(self) -> None:
        self.is_open = False
        if self.input.strip():
            value = decoded(self.input)
            self.has_input, self.is_half = value is not None, value is None
            self.fields["input"] = value if isinstance(value, dict) else self.input

    @property
    def is_call(self) -> bool:
        return self.fields.get("type") == "tool_use"

    @property
    def is_kept(self) -> bool:
        """Whether it is complete, or its beginning is worth something."""
        is_text = self.fields.get("type") in ("text", "thinking")
        return "type" in self.fields and not self.is_half and (is_text or not self.is_open)


class Stream:
    """Joins the events of a stream to blocks, by their index. Items are made when it is closed."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._blocks: list[_Block] = []
        self._places: dict[int, _Block] = {}
        self._model = ""
        self._usage: Json = {}
        self._reason: str | None = None
        self._errors = StreamErrors("an event of Messages")
        self._pieces = TextPieces()
        self._parsed: Parsed | None = None

    def feed(self, event: Any) -> str:
        """Take an event; returns the text that it added, if any."""
        fields = plain_json(event)
        kind = text_in(fields.get("type"))
        self._errors.look(fields, is_known=kind.startswith(_EVENTS))
        if kind == "content_block_delta":
            delta = object_at(fields.get("delta") or {}, "delta")
            self._block(fields).grow(delta)
            return self._pieces.next(text_in(delta.get("text"))) if delta.get("type") == "text_delta" else ""
        if kind == "content_block_start":
            block = object_at(fields.get("content_block") or {}, "content_block")
            self._begin(_index(fields), _Block(block))
            return self._pieces.next(text_in(block.get("text"))) if block.get("type") == "text" else ""
        if kind == "content_block_stop":
            self._block(fields).stop()
        elif kind == "message_start":
            message = object_at(fields.get("message") or {}, "message")
            self._model = text_in(message.get("model"))
            self._count(message.get("usage"))
        elif kind == "message_delta":
            delta = object_at(fields.get("delta") or {}, "delta")
            self._reason = text_in(delta.get("stop_reason")) or self._reason
            self._count(fields.get("usage"))
        elif kind == "message_stop":
            self._reason = self._reason or _ENDED
        return ""

    def close(self) -> Parsed:
        """The answer so far; calls without complete arguments are left out."""
        if self._parsed is None:
            finish = finish_of(ANTHROPIC, self._reason)
            half_call = self._stop_all(finish in ("length", "other"))
            blocks = [block.fields for block in self._blocks if block.is_kept]
            items = read_blocks(blocks, self._answer, self._model, CallIds(), "$.content")
            error = self._errors.error
            usage = _usage(self._usage)
            parsed = finished(
                items, self._reason, finish, error, usage=usage, model=self._model, half_call=half_call
            )
            self._parsed = parsed._replace(error=parsed.error or self._errors.unknown())
        return self._parsed

    def _stop_all(self, unsure: bool) -> bool:
        """End the blocks of an answer that has ended; returns whether a call is only half there."""
        if self._reason is not None:
            for block in self._blocks:
                if block.is_open:
                    block.stop()  # some services send no stop
            last = self._blocks[-1] if self._blocks else None
            if unsure and self._reason != _ENDED and last is not None and last.is_call and not last.has_input:
                last.is_half = True  # it may have been cut off before its first argument
        return any(block.is_half and block.is_call for block in self._blocks)

    def _begin(self, index: int, block: _Block) -> None:
        known = self._places.get(index)
        if known is not None and block.fields.get("id") and known.fields.get("id") == block.fields["id"]:
            self._blocks.remove(known)  # the same call is sent again
        self._places[index] = block
        self._blocks.append(block)

    def _block(self, event: Json) -> _Block:
        """The block at the index of an event; some services send pieces without a start."""
        index = _index(event)
        if index not in self._places:
            self._begin(index, _Block({}))
        return self._places[index]

    def _count(self, usage: Any) -> None:
        """Counts are of the whole answer so far, so a later count replaces an earlier one."""
        counts = object_at(usage or {}, "usage")
        self._usage |= {name: value for name, value in counts.items() if value is not None}


def _index(event: Json) -> int:
    index = event.get("index")
    if not isinstance(index, int):
        raise Damaged("an event of a block has an index", "index")
    return index


# --- a history -------------------------------------------------------------------------------------------


def read_history(payload: Any, *, model: str | None = None) -> list[Item]:
    """A list of messages, or a whole payload, as items. `model` is the model that made the thinking in it."""
    if isinstance(payload, list | tuple):
        body: Json = {"messages": payload}
    elif isinstance(payload, Mapping) or hasattr(payload, "model_dump"):
        body = plain_json(payload)
    else:
        raise WrongType(f"expected messages or a payload of Messages, not {type(payload).__name__}")
    history = _History(model or text_in(body.get("model")))
    history.read_instructions(body.get("system"), "$.system")
    if "messages" not in body:
        raise Damaged("the payload has no messages", "$.messages")
    for index, message in enumerate(list_at(body["messages"], "$.messages")):
        history.read_message(message, f"$.messages[{index}]")
    return history.items


class _History:
    """Reads messages one by one."""

    def __init__(self, model: str) -> None:
        self.items: list[Item] = []
        self._answer = Answer(model)
        self._ids = CallIds(is_history=True)

    def read_instructions(self, content: Any, path: str) -> None:
        for place, block in _blocks(content, path):
            if block.get("type") != "text":
                raise Damaged("instructions are text", place)
            self.items.append(Message("system", text_at(block, "text", place)))

    def read_message(self, message: Any, path: str) -> None:
        fields = object_at(message, path)
        role, content, place = fields.get("role"), fields.get("content"), f"{path}.content"
        if role not in ("user", "assistant", "system"):
            raise Damaged("the role is not user, assistant or system", f"{path}.role")
        if content is None:
            raise Damaged("the message has no content", place)
        if role == "assistant":
            blocks = [_clean(block) for _, block in _blocks(content, place)]
            self.items += read_blocks(blocks, self._answer, "", self._ids, place, is_history=True)
            return
        self._ids.end_round()
        if role == "user":
            self._read_user(content, place)
        else:
            self.read_instructions(content, place)

    def _read_user(self, content: Any, path: str) -> None:
        said: list[Part] = []
        for place, block in _blocks(content, path):
            block = _clean(block)
            if block.get("type") == "tool_result":
                self._say(said)
                said = []
                self.items.append(self._result(block, place))
            else:
                part = read_part(block, place)
                said.append(short_json(block, place) if part is None else part)
        self._say(said)

    def _say(self, said: list[Part]) -> None:
        if said:
            self.items.append(Message("user", content_from(said)))

    def _result(self, block: Json, path: str) -> ToolResult:
        wire_id = text_at(block, "tool_use_id", path)
        if not wire_id:
            raise Damaged("a result names its call", f"{path}.tool_use_id")
        call_id, name = self._ids.answered(wire_id)
        content = output_from(block.get("content"), _read_clean_part, f"{path}.content")
        return ToolResult(call_id, name, content, block.get("is_error") is True)


def _blocks(content: Any, path: str) -> list[tuple[str, Json]]:
    """The blocks of a content with their paths; a text is one block."""
    if isinstance(content, str):
        return [(path, {"type": "text", "text": content})] if content else []
    places = [(f"{path}[{index}]", block) for index, block in enumerate(list_at(content, path))]
    return [(place, object_at(block, place)) for place, block in places]


def _clean(block: Json) -> Json:
    """A block without fields of libraries, which the API refuses."""
    clean = langchain.without_stream_fields(block)
    return {name: value for name, value in clean.items() if name not in ANTHROPIC_FOREIGN_FIELDS.accepted}


# --- parts -----------------------------------------------------------------------------------------------


def read_part(block: Json, path: str) -> Part | None:
    """The part that a block stands for, also one of a library; None if it is of no known kind."""
    kind, source = block.get("type"), block.get("source")
    if kind == "text":
        return text_at(block, "text", path)
    if kind not in ("image", "document") or not isinstance(source, Mapping):
        return ai_sdk.read_part(block) or mcp.read_part(block) or langchain.read_part(block)
    held, place = object_at(source, f"{path}.source"), f"{path}.source"
    try:
        return _image(held, place) if kind == "image" else _document(held, block.get("title"), place)
    except InvalidValue as fault:
        raise Damaged(str(fault), place) from None


def _read_clean_part(block: Json, path: str) -> Part | None:
    return read_part(_clean(block), path)


def _image(source: Json, path: str) -> Image | None:
    match source:
        case {"type": "base64"}:
            data, kind = _bytes(source, path)
            return Image(data=data, media_type=kind)
        case {"type": "url", "url": str(url)}:
            return Image(url=url)
        case {"type": "file", "file_id": str(known)} if known:
            return Image(url=file_address(ANTHROPIC, known))
        case _:
            return None


def _document(source: Json, title: Any, path: str) -> File | None:
    name = text_in(title) or None
    match source:
        case {"type": "base64"}:
            data, kind = _bytes(source, path)
            return File(data=data, media_type=kind or PDF, name=name)
        case {"type": "url", "url": str(url)}:
            return File(url=url, media_type=PDF, name=name)
        case {"type": "file", "file_id": str(known)} if known:
            return File(url=file_address(ANTHROPIC, known), name=name)
        case {"type": "text", "data": str(text)} | {"type": "content", "content": str(text)}:
            return File(data=text.encode("utf-8", "replace"), media_type="text/plain", name=name)
        case {"type": "content", "content": [*blocks]}:
            texts = [text_in(fields_in(block).get("text")) for block in blocks]
            data = "\n".join(texts).encode("utf-8", "replace")
            return File(data=data, media_type="text/plain", name=name) if all(texts) and texts else None
        case _:
            return None


def _bytes(source: Json, path: str) -> tuple[bytes, str | None]:
    """The bytes of a source, and their declared type."""
    kind, data = bare_base64(text_at(source, "data", path))
    found = bytes_of(data)
    if found is None:
        raise Damaged("the data is not base64", f"{path}.data")
    return found, text_in(source.get("media_type")) or kind
