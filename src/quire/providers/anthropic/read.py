"""Anthropic Messages: replies, streams and histories as items."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from quire.errors import Damaged, InvalidValue
from quire.items import File, Image, Item, Part, replace_surrogates
from quire.providers.importers import blocks as library_blocks
from quire.providers.media import PDF, bare_base64, bytes_of, file_address
from quire.providers.rules import ANTHROPIC_FOREIGN_FIELDS
from quire.providers.state import ANTHROPIC
from quire.providers.stream import (
    Items,
    ReplyReader,
    content_from,
    join_arguments,
    output_from,
    plain_history,
    short_json,
)
from quire.providers.types import Answer
from quire.providers.values import Json, decoded, entries_in, fields_in, list_at, object_at, text_at, text_in

_OWN_ITEMS = {"text": "text", "tool_use": "call", "thinking": "thought", "redacted_thinking": "thought"}
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_EVENTS = ("message_start", "message_delta", "message_stop", "content_block")


# --- blocks as items -------------------------------------------------------------------------------------


def _add_blocks(blocks: Sequence[Json], made: Items, path: str) -> None:
    """Add the blocks of a turn of the model as items, in their order."""
    index = 0
    for kind, run in groupby(blocks, lambda block: _OWN_ITEMS.get(text_in(block.get("type")), "other")):
        found = list(run)
        if kind == "text":
            _add_text(found, made, f"{path}[{index}]")
        elif kind == "other":
            made.keep(found, f"{path}[{index}]")
        for place, block in enumerate(found, index):
            if kind == "call":
                made.call(block.get("id"), block.get("name"), block.get("input"), f"{path}[{place}]")
            elif kind == "thought":
                # Services other than Anthropic's leave the signature out, and want an empty one back.
                signed = {"signature": "", **block} if block["type"] == "thinking" else block
                made.think([signed], f"{path}[{place}]")
        index += len(found)


def _add_text(blocks: list[Json], made: Items, path: str) -> None:
    """Add consecutive texts as one message. Texts with citations are pieces of one text, kept as state."""
    if any(not isinstance(block.get("text"), str | None) for block in blocks):
        raise Damaged("the text of a block is not text", path)
    texts = [text for block in blocks if (text := block.get("text"))]
    if texts and any(block.get("citations") for block in blocks):
        made.say("".join(texts), made.state(blocks, path))
    else:
        made.say(content_from(texts))


# --- a reply ---------------------------------------------------------------------------------------------


class _Block:
    """A block of a reply; in a stream its input comes as pieces of JSON."""

    __slots__ = ("fields", "input", "is_open")

    def __init__(self, fields: Json, *, is_open: bool) -> None:
        self.fields = fields
        self.input = ""
        self.is_open = is_open

    def grow(self, delta: Json) -> None:
        fields, kind = self.fields, text_in(delta.get("type"))
        if kind in _DELTAS:
            name = _DELTAS[kind]
            fields[name] = text_in(fields.get(name)) + text_in(delta.get(name))
        elif kind == "input_json_delta":
            self.input = join_arguments(self.input, text_in(delta.get("partial_json")))
        elif kind == "citations_delta":
            fields["citations"] = [*entries_in(fields.get("citations")), delta.get("citation")]
        else:  # a compaction, or a kind that is not known here
            fields |= {name: value for name, value in delta.items() if name != "type" and value is not None}

    def complete(self, *, is_last: bool, has_ended: bool) -> Json | None:
        """The block; None if it is not complete. Of text and thoughts the beginning is enough."""
        text = replace_surrogates(self.input)  # a pair may come in two pieces
        kind, value = self.fields.get("type"), decoded(text)
        if text.strip():
            self.fields["input"] = value if isinstance(value, dict) else text
            is_half = value is None
        else:  # nothing tells whether the last call is complete
            is_half = is_last and kind == "tool_use"
        is_half = is_half or (self.is_open and not has_ended and kind not in ("text", "thinking"))
        return None if is_half else self.fields


class MessagesReader(ReplyReader):
    """Joins the events of a stream to blocks, by their index."""

    wire, expected = ANTHROPIC, "an event of Messages"

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._blocks: list[_Block] = []
        self._places: dict[Any, _Block] = {}

    def knows(self, event: Json) -> bool:
        return text_in(event.get("type")).startswith(_EVENTS)

    def take(self, event: Json) -> str:
        kind, index = text_in(event.get("type")), event.get("index")
        if kind.startswith("content_block") and not isinstance(index, int):
            raise Damaged("an event of a block has an index", "$.index")
        if kind == "content_block_delta":
            delta = object_at(event.get("delta"), "$.delta")
            if index not in self._places:
                raise Damaged("a piece belongs to a block that has started", "$.index")
            self._places[index].grow(delta)
            return text_in(delta.get("text")) if delta.get("type") == "text_delta" else ""
        if kind == "content_block_start":
            block = object_at(event.get("content_block"), "$.content_block")
            if index in self._places and self._places[index].is_open:
                raise Damaged("two open blocks have one index", "$.index")
            self._places[index] = _Block(block, is_open=True)
            self._blocks.append(self._places[index])
            return text_in(block.get("text")) if block.get("type") == "text" else ""
        if kind == "content_block_stop" and index in self._places:
            self._places[index].is_open = False
        elif kind == "message_start":
            message = object_at(event.get("message"), "$.message")
            self.model = text_in(message.get("model"))
            self.count(message.get("usage"))
        elif kind == "message_delta":
            self.reason = text_in(fields_in(event.get("delta")).get("stop_reason")) or self.reason
            self.count(event.get("usage"))
        elif kind == "message_stop":
            self.reason = self.reason or ""
        return ""

    def take_whole(self, body: Json) -> None:
        self.model, self.reason = text_in(body.get("model")), text_in(body.get("stop_reason"))
        self.count(body.get("usage"))
        if not isinstance(body.get("content"), list):
            raise Damaged("the response has no list of blocks", "$.content")
        blocks = [object_at(block, "$.content") for block in body["content"]]
        self._blocks = [_Block(block, is_open=False) for block in blocks]

    def make_items(self) -> None:
        complete: list[Json] = []
        for block in self._blocks:
            # An unknown reason may also stand for an answer that was cut off before the first argument.
            is_unsure = self.is_cut or (
                self.finish == "other" and self.reason and not block.fields.get("input")
            )
            is_last = bool(is_unsure) and block is self._blocks[-1]
            fields = block.complete(is_last=is_last, has_ended=self.reason is not None)
            if fields is not None:
                complete.append(fields)
            elif block.fields.get("type") == "tool_use":
                self.has_half_call = True
        _add_blocks(complete, self.made, "$.content")


# --- a history -------------------------------------------------------------------------------------------


def read_history(payload: Any, *, model: str | None = None) -> list[Item]:
    """A list of messages, or a whole payload, as items. `model` is the model that made the thinking in it."""
    body = plain_history(payload, "messages")
    made = Items(ANTHROPIC, Answer(model or text_in(body.get("model"))), is_history=True)
    _add_instructions(body.get("system"), made, "$.system")
    if "messages" not in body:
        raise Damaged("the payload has no messages", "$.messages")
    for index, message in enumerate(list_at(body["messages"], "$.messages")):
        _add_message(message, made, f"$.messages[{index}]")
    return made.all


def _add_instructions(content: Any, made: Items, path: str) -> None:
    for place, block in _blocks(content, path):
        if block.get("type") != "text":
            raise Damaged("instructions are text", place)
        made.hear("system", text_at(block, "text", place))


def _add_message(message: Any, made: Items, path: str) -> None:
    fields = object_at(message, path)
    role, content, place = fields.get("role"), fields.get("content"), f"{path}.content"
    if role not in ("user", "assistant", "system"):
        raise Damaged("the role is not user, assistant or system", f"{path}.role")
    if content is None:
        raise Damaged("the message has no content", place)
    if role == "assistant":
        _add_blocks([_clean(block) for _, block in _blocks(content, place)], made, place)
    elif role == "user":
        _add_user_blocks(_blocks(content, place), made)
    else:
        _add_instructions(content, made, place)


def _add_user_blocks(blocks: list[tuple[str, Json]], made: Items) -> None:
    for is_result, run in groupby(blocks, lambda pair: pair[1].get("type") == "tool_result"):
        if is_result:
            for place, block in run:
                _add_result(block, made, place)
            continue
        said: list[Part] = []
        for place, block in run:
            part = read_part(block, place)
            said.append(short_json(_clean(block), place) if part is None else part)
        made.hear("user", content_from(said))


def _add_result(block: Json, made: Items, path: str) -> None:
    if not text_at(block, "tool_use_id", path):
        raise Damaged("a result names its call", f"{path}.tool_use_id")
    content = output_from(block.get("content"), read_part, f"{path}.content")
    made.result(block["tool_use_id"], None, content, block.get("is_error") is True)


def _blocks(content: Any, path: str) -> list[tuple[str, Json]]:
    """The blocks of a content with their paths; a text is one block."""
    if isinstance(content, str):
        return [(path, {"type": "text", "text": content})] if content else []
    places = [(f"{path}[{index}]", block) for index, block in enumerate(list_at(content, path))]
    return [(place, object_at(block, place)) for place, block in places]


def _clean(block: Json) -> Json:
    """A block without fields of libraries, which the API refuses."""
    clean = library_blocks.without_stream_fields(block)
    return {name: value for name, value in clean.items() if name not in ANTHROPIC_FOREIGN_FIELDS.accepted}


# --- parts -----------------------------------------------------------------------------------------------


def read_part(block: Json, path: str) -> Part | None:
    """The part that a block stands for, also one of a library; None if it is of no known kind."""
    kind, source = block.get("type"), fields_in(block.get("source"))
    if kind == "text":
        return text_at(block, "text", path)
    if kind not in ("image", "document") or not source:
        return library_blocks.read_part(block)
    name = text_in(block.get("title")) or None
    try:
        match source:
            case {"type": "base64"}:
                data, media_type = _bytes(source, f"{path}.source")
                if kind == "image":
                    return Image(data=data, media_type=media_type)
                return File(data=data, media_type=media_type or PDF, name=name)
            case {"type": "url", "url": str(url)}:
                return Image(url=url) if kind == "image" else File(url=url, media_type=PDF, name=name)
            case {"type": "file", "file_id": str(known)} if known:
                address = file_address(ANTHROPIC, known)
                return Image(url=address) if kind == "image" else File(url=address, name=name)
            case {"type": "text", "data": str(text)} | {"type": "content", "content": str(text)}:
                return File(data=text.encode("utf-8", "replace"), media_type="text/plain", name=name)
            case {"type": "content", "content": [*blocks]}:
                texts = [text_in(fields_in(block).get("text")) for block in blocks]
                data = "\n".join(texts).encode("utf-8", "replace")
                return File(data=data, media_type="text/plain", name=name) if all(texts) and texts else None
            case _:
                return None
    except InvalidValue as fault:
        raise Damaged(str(fault), f"{path}.source") from None


def _bytes(source: Json, path: str) -> tuple[bytes, str | None]:
    """The bytes of a source, and their declared type."""
    kind, data = bare_base64(text_at(source, "data", path))
    found = bytes_of(data)
    if found is None:
        raise Damaged("the data is not base64", f"{path}.data")
    return found, text_in(source.get("media_type")) or kind
