"""Anthropic Messages: reads replies, streams and histories as items."""

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

_ITEM_TYPES = {"text": "text", "tool_use": "call", "thinking": "thought", "redacted_thinking": "thought"}
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


# --- blocks as items -------------------------------------------------------------------------------------


def _add_blocks(blocks: Sequence[WithPath], builder: ItemBuilder) -> None:
    """Add the blocks of a turn of the model as items, in their order."""
    for kind, group in groupby(blocks, lambda pair: _ITEM_TYPES.get(text_in(pair[1].get("type")), "other")):
        run = list(group)
        if kind == "text":
            _add_text(run, builder)
        elif kind == "other":
            builder.add_opaque([block for _, block in run], run[0][0])
        for path, block in run:
            if kind == "call":
                builder.add_call(block.get("id"), block.get("name"), block.get("input"), path)
            elif kind == "thought":
                # Services that do not sign want an empty signature back.
                signed = {"signature": "", **block} if block["type"] == "thinking" else block
                builder.add_thoughts([signed], path)


def _add_text(run: list[WithPath], builder: ItemBuilder) -> None:
    """Add consecutive texts as one message; if one has citations, as one text with the blocks as state."""
    blocks = [block for _, block in run]
    texts = [text for path, block in run if (text := text_at(block, "text", path))]
    if texts and any(block.get("citations") for block in blocks):
        builder.add_message("".join(texts), builder.pack_state(blocks, run[0][0]))
    else:
        builder.add_message(content_from(texts))


# --- a reply ---------------------------------------------------------------------------------------------


class _Block:
    """A block of a reply. In a stream, the input of a call arrives as pieces of JSON text."""

    __slots__ = ("fields", "input", "is_open")

    def __init__(self, fields: Json, *, is_open: bool) -> None:
        self.fields = fields
        self.input = ""
        self.is_open = is_open

    def add_delta(self, delta: Json) -> None:
        fields, kind = self.fields, text_in(delta.get("type"))
        if kind in _DELTAS:
            name = _DELTAS[kind]
            fields[name] = text_in(fields.get(name)) + text_in(delta.get(name))
        elif kind == "input_json_delta":
            self.input += text_in(delta.get("partial_json"))
        elif kind == "citations_delta":
            fields["citations"] = [*entries_in(fields.get("citations")), delta.get("citation")]
        else:  # a compaction, or an unknown kind
            fields |= {name: value for name, value in delta.items() if name != "type" and value is not None}

    def joined(self) -> Json:
        if self.input.strip():
            text = replace_surrogates(self.input)  # after joining: a surrogate pair may be split
            value = decode_json(text)
            self.fields["input"] = value if isinstance(value, dict) else text
        return self.fields


class MessagesReader(ReplyReader):
    """Joins the events of a stream into blocks by their index."""

    wire = ANTHROPIC

    def __init__(self, sent: Rendered | None = None, model: str | None = None) -> None:
        super().__init__(sent, model)
        self._blocks: list[_Block] = []
        self._blocks_by_index: dict[int, _Block] = {}

    def read_event(self, event: Json) -> str:
        kind = text_in(event.get("type"))
        if kind.startswith("content_block"):
            return self._read_piece(kind, event, event.get("index"))
        if kind == "message_start":
            message = object_at(event.get("message"), "$.message")
            self.model = text_in(message.get("model"))
            self.add_usage(message.get("usage"))
        elif kind == "message_delta":
            delta = fields_in(event.get("delta"))
            self.finish_reason = text_in(delta.get("stop_reason")) or self.finish_reason
            self.add_usage(event.get("usage"))
        elif kind == "message_stop":
            self.finish_reason = self.finish_reason or ""
        return ""

    def _read_piece(self, kind: str, event: Json, index: Any) -> str:
        if not isinstance(index, int):
            raise Damaged("an event of a block must have an index", "$.index")
        if kind == "content_block_start":
            fields = object_at(event.get("content_block"), "$.content_block")
            self._blocks_by_index[index] = _Block(fields, is_open=True)
            self._blocks.append(self._blocks_by_index[index])
            return text_in(fields.get("text")) if fields.get("type") == "text" else ""
        block = self._blocks_by_index.get(index)
        if block is None:
            raise Damaged("a piece must belong to a block that has started", "$.index")
        if kind == "content_block_stop":
            block.is_open = False
            return ""
        delta = object_at(event.get("delta"), "$.delta")
        block.add_delta(delta)
        return text_in(delta.get("text")) if delta.get("type") == "text_delta" else ""

    def read_whole(self, body: Json) -> None:
        self.model, self.finish_reason = text_in(body.get("model")), text_in(body.get("stop_reason"))
        self.add_usage(body.get("usage"))
        if not isinstance(body.get("content"), list):
            raise Damaged("the response has no list of blocks", "$.content")
        self._blocks = [_Block(block, is_open=False) for _, block in objects_at(body["content"], "$.content")]

    def build_items(self) -> None:
        """Add the blocks; from a broken stream, incomplete ones only if their kind has an item type."""
        has_ended = self.finish_reason is not None
        usable = [
            block.joined()
            for block in self._blocks
            if has_ended or not block.is_open or block.fields.get("type") in _ITEM_TYPES
        ]
        _add_blocks(objects_at(usable, "$.content"), self.builder)


# --- a history -------------------------------------------------------------------------------------------


def add_history(body: Json, builder: ItemBuilder) -> None:
    """Add the messages of a payload."""
    _add_instructions(body.get("system"), builder, "$.system")
    previous_role = None  # consecutive messages of the model are one turn
    for path, message in objects_at(body["messages"], "$.messages"):
        role, content, place = message.get("role"), message.get("content"), f"{path}.content"
        if role not in ("user", "assistant", "system"):
            raise Damaged("the role is not user, assistant or system", f"{path}.role")
        if content is None:
            raise Damaged("the message has no content", place)
        if role == "assistant":
            if previous_role != role:
                builder.begin_reply()
            _add_blocks([(place, clean_block(block)) for place, block in _blocks(content, place)], builder)
        elif role == "user":
            _add_user_blocks(_blocks(content, place), builder)
        else:
            _add_instructions(content, builder, place)
        previous_role = role


def _add_instructions(content: Any, builder: ItemBuilder, path: str) -> None:
    for place, block in _blocks(content, path):
        if block.get("type") != "text":
            raise Damaged("instructions must be text", place)
        builder.add_input("system", text_at(block, "text", place))


def _add_user_blocks(blocks: list[WithPath], builder: ItemBuilder) -> None:
    for is_result, run in groupby(blocks, lambda pair: pair[1].get("type") == "tool_result"):
        if is_result:
            for path, block in run:
                _add_result(block, builder, path)
            continue
        read = [(path, block, read_part(block)) for path, block in run]
        parts = [short_json(clean_block(block), path) if part is None else part for path, block, part in read]
        builder.add_input("user", content_from(parts))


def _add_result(block: Json, builder: ItemBuilder, path: str) -> None:
    if not text_at(block, "tool_use_id", path):
        raise Damaged("a result must name its call", f"{path}.tool_use_id")
    content = read_output(block.get("content"), f"{path}.content")
    builder.add_result(block["tool_use_id"], "", content, block.get("is_error") is True)


def _blocks(content: Any, path: str) -> list[WithPath]:
    """The blocks of a message's content with their paths; a text is one block."""
    if isinstance(content, str):
        return [(path, {"type": "text", "text": content})] if content else []
    return objects_at(content, path)
