"""Anthropic Messages: an answer that comes in events."""

from typing import Any

import msgspec
from msgspec.structs import replace

from quire.items import Item, Message
from quire.providers.anthropic.reading import finish_of, outputs, usage_of
from quire.providers.provider import Answer, Parsed, plain_json
from quire.providers.sheet import Json

_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class MessageStream:
    """Gathers blocks; the items are made once, when it is closed."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._model = ""
        self._blocks: dict[int, Json] = {}
        self._open: set[int] = set()
        self._arguments: dict[int, str] = {}
        self._usage: Json = {}
        self._stopped: str | None = None
        self._parsed: Parsed | None = None

    def feed(self, event: Any) -> str:
        """Take an event; the words that it added, if any."""
        told = plain_json(event)
        match told.get("type"):
            case "message_start":
                self._start(plain_json(told.get("message") or {}))
            case "content_block_start":
                return self._begin(int(told.get("index") or 0), plain_json(told.get("content_block") or {}))
            case "content_block_delta":
                return self._grow(int(told.get("index") or 0), plain_json(told.get("delta") or {}))
            case "content_block_stop":
                self._end(int(told.get("index") or 0))
            case "message_delta":
                self._stopped = plain_json(told.get("delta") or {}).get("stop_reason") or self._stopped
                self._used(told.get("usage"))
            case "message_stop":
                self._stopped = self._stopped or "unknown"
            case _:
                pass  # a ping, an error, after which the stream is not at its end, or what is not known here
        return ""

    def close(self) -> Parsed:
        """The answer so far; calls whose arguments did not come whole are left out, however it ended."""
        if self._parsed is None:
            items = self._items()
            usage = usage_of(self._usage) if self._usage else None
            self._parsed = Parsed(tuple(items), usage, finish_of(self._stopped), self._model or None)
        return self._parsed

    def _items(self) -> list[Item]:
        blocks = [
            block
            for index, block in sorted(self._blocks.items())
            if index not in self._open or block.get("type") in ("text", "thinking")
        ]
        items = outputs(blocks, self._answer, self._model, "$.content")
        if self._stopped is None:
            said = [place for place, item in enumerate(items) if isinstance(item, Message)]
            for place in said[-1:]:
                items[place] = replace(items[place], interrupted=True)
        return items

    def _start(self, message: Json) -> None:
        self._model = str(message.get("model") or "")
        self._used(message.get("usage"))

    def _begin(self, index: int, block: Json) -> str:
        self._blocks[index] = block = dict(block)
        self._open.add(index)
        return str(block.get("text") or "") if block.get("type") == "text" else ""

    def _grow(self, index: int, delta: Json) -> str:
        block, kind = self._blocks.setdefault(index, {}), str(delta.get("type"))
        if kind == "input_json_delta":
            self._arguments[index] = self._arguments.get(index, "") + str(delta.get("partial_json") or "")
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
        elif kind == "compaction_delta":
            block |= {key: value for key, value in delta.items() if key != "type" and value is not None}
        elif kind in _DELTAS:
            field = _DELTAS[kind]
            block[field] = str(block.get(field) or "") + str(delta.get(field) or "")
        return str(delta.get("text") or "") if kind == "text_delta" else ""

    def _end(self, index: int) -> None:
        self._open.discard(index)
        text = self._arguments.pop(index, "")
        if not text.strip() or index not in self._blocks:
            return
        try:
            self._blocks[index]["input"] = _decoded(text)
        except msgspec.DecodeError:
            # Blocks are ended also where the model ran out of room in the middle of one.
            del self._blocks[index]

    def _used(self, usage: Any) -> None:
        """Counts are of the whole answer so far: a later one takes the place of an earlier one."""
        told = plain_json(usage or {})
        self._usage |= {key: value for key, value in told.items() if value is not None}


def _decoded(text: str) -> Any:
    """The input that a text stands for, or the text itself where it is no object."""
    try:
        decoded: Any = msgspec.json.decode(text)
    except RecursionError:
        return text
    return decoded if isinstance(decoded, dict) else text  # pyright: ignore[reportUnknownVariableType]
