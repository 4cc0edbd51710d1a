"""Anthropic Messages: replies, streams and histories as items."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from quire.errors import Damaged
from quire.items import replace_surrogates
from quire.providers.importers import clean_block
from quire.providers.parts import content_from, read_output, read_part, short_json
from quire.providers.state import ANTHROPIC
from quire.providers.stream import ItemBuilder, ReplyReader, WithPath, objects_at
from quire.providers.types import Rendered
from quire.providers.values import Json, decode_json, entries_in, fields_in, object_at, text_at, text_in

_OWN_ITEMS = {"text": "text", "tool_use": "call", "thinking": "thought", "redacted_thinking": "thought"}
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


# --- blocks as items -------------------------------------------------------------------------------------


def _add_blocks(blocks: Sequence[WithPath], builder: ItemBuilder) -> None:
    """Add the blocks of a turn of the model as items, in their order."""
    for kind, run in groupby(blocks, lambda pair: _OWN_ITEMS.get(text_in(pair[1].get("type")), "other")):
        found = list(run)
        if kind == "text":
            _add_text(found, builder)
        elif kind == "other":
            builder.add_opaque([block for _, block in found], found[0][0])
        for path, block in found:
            if kind == "call":
                builder.add_call(block.get("id"), block.get("name"), block.get("input"), path)
            elif kind == "thought":
                # Services that sign nothing want an empty signature back.
                builder.add_thoughts(
                    [{"signature": "", **block} if block["type"] == "thinking" else block], path
                )


def _add_text(found: list[WithPath], builder: ItemBuilder) -> None:
    """Add consecutive texts as one message. Texts with citations are pieces of one text, kept as state."""
    blocks = [block for _, block in found]
    texts = [text for path, block in found if (text := text_at(block, "text", path))]
    if texts and any(block.get("citations") for block in blocks):
        builder.add_message("".join(texts), builder.pack_state(blocks, found[0][0]))
    else:
        builder.add_message(content_from(texts))


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
            self.input += text_in(delta.get("partial_json"))
        elif kind == "citations_delta":
            fields["citations"] = [*entries_in(fields.get("citations")), delta.get("citation")]
        else:  # a compaction, or a kind that is not known here
            fields |= {name: value for name, value in delta.items() if name != "type" and value is not None}

    def joined(self) -> Json:
        if self.input.strip():
            text = replace_surrogates(self.input)  # a pair may come in two pieces
            value = decode_json(text)
            self.fields["input"] = value if isinstance(value, dict) else text
        return self.fields


class MessagesReader(ReplyReader):
    """Joins the events of a stream to blocks, by their index."""

    wire = ANTHROPIC

    def __init__(self, sent: Rendered | None = None, model: str | None = None) -> None:
        super().__init__(sent, model)
        self._blocks: list[_Block] = []
        self._places: dict[Any, _Block] = {}

    def read_event(self, event: Json) -> str:
        kind = text_in(event.get("type"))
        if kind.startswith("content_block"):
            return self._read_piece(kind, event, event.get("index"))
        if kind == "message_start":
            message = object_at(event.get("message"), "$.message")
            self.model = text_in(message.get("model"))
            self.add_usage(message.get("usage"))
        elif kind == "message_delta":
            self.finish_reason = (
                text_in(fields_in(event.get("delta")).get("stop_reason")) or self.finish_reason
            )
            self.add_usage(event.get("usage"))
        elif kind == "message_stop":
            self.finish_reason = self.finish_reason or ""
        return ""

    def _read_piece(self, kind: str, event: Json, index: Any) -> str:
        if not isinstance(index, int):
            raise Damaged("an event of a block has an index", "$.index")
        known = self._places.get(index)
        if kind == "content_block_start":
            block = object_at(event.get("content_block"), "$.content_block")
            self._places[index] = _Block(block, is_open=True)
            self._blocks.append(self._places[index])
            return text_in(block.get("text")) if block.get("type") == "text" else ""
        if known is None:
            raise Damaged("a piece belongs to a block that has started", "$.index")
        if kind == "content_block_stop":
            known.is_open = False
            return ""
        delta = object_at(event.get("delta"), "$.delta")
        known.grow(delta)
        return text_in(delta.get("text")) if delta.get("type") == "text_delta" else ""

    def read_whole(self, body: Json) -> None:
        self.model, self.finish_reason = text_in(body.get("model")), text_in(body.get("stop_reason"))
        self.add_usage(body.get("usage"))
        if not isinstance(body.get("content"), list):
            raise Damaged("the response has no list of blocks", "$.content")
        self._blocks = [_Block(block, is_open=False) for _, block in objects_at(body["content"], "$.content")]

    def build_items(self) -> None:
        """Of blocks that are still open where the stream broke off, the beginning of a text is enough."""
        has_ended = self.finish_reason is not None
        whole = [
            block.joined()
            for block in self._blocks
            if has_ended or not block.is_open or block.fields.get("type") in _OWN_ITEMS
        ]
        _add_blocks(objects_at(whole, "$.content"), self.builder)


# --- a history -------------------------------------------------------------------------------------------


def add_history(body: Json, builder: ItemBuilder) -> None:
    """Add the messages of a payload."""
    _add_instructions(body.get("system"), builder, "$.system")
    before = None  # the role of the message before: neighbours of the model are one turn
    for path, message in objects_at(body["messages"], "$.messages"):
        role, content, place = message.get("role"), message.get("content"), f"{path}.content"
        if role not in ("user", "assistant", "system"):
            raise Damaged("the role is not user, assistant or system", f"{path}.role")
        if content is None:
            raise Damaged("the message has no content", place)
        if role == "assistant":
            if before != role:
                builder.begin_reply()
            _add_blocks([(place, clean_block(block)) for place, block in _blocks(content, place)], builder)
        elif role == "user":
            _add_user_blocks(_blocks(content, place), builder)
        else:
            _add_instructions(content, builder, place)
        before = role


def _add_instructions(content: Any, builder: ItemBuilder, path: str) -> None:
    for place, block in _blocks(content, path):
        if block.get("type") != "text":
            raise Damaged("instructions are text", place)
        builder.add_input("system", text_at(block, "text", place))


def _add_user_blocks(blocks: list[WithPath], builder: ItemBuilder) -> None:
    for is_result, run in groupby(blocks, lambda pair: pair[1].get("type") == "tool_result"):
        if is_result:
            for path, block in run:
                _add_result(block, builder, path)
            continue
        parts = [(path, block, read_part(block)) for path, block in run]
        said = [short_json(clean_block(block), path) if part is None else part for path, block, part in parts]
        builder.add_input("user", content_from(said))


def _add_result(block: Json, builder: ItemBuilder, path: str) -> None:
    if not text_at(block, "tool_use_id", path):
        raise Damaged("a result names its call", f"{path}.tool_use_id")
    content = read_output(block.get("content"), f"{path}.content")
    builder.add_result(block["tool_use_id"], "", content, block.get("is_error") is True)


def _blocks(content: Any, path: str) -> list[WithPath]:
    """The blocks of a content with their paths; a text is one block."""
    if isinstance(content, str):
        return [(path, {"type": "text", "text": content})] if content else []
    return objects_at(content, path)
