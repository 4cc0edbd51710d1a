"""Anthropic Messages: an answer that comes in events."""

from typing import Any

import msgspec
from msgspec.structs import replace

from quire.items import Item, Message
from quire.providers.anthropic.reading import finish_of, is_call, outputs, usage_of
from quire.providers.json_values import entries_in
from quire.providers.provider import Answer, Parsed, error_in, place_of, plain_json, words_in
from quire.providers.sheet import Json
from quire.providers.wording import mended

_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class MessageStream:
    """Gathers blocks; the items are made once, when it is closed."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._model = ""
        self._blocks: dict[int, Json] = {}
        self._open: set[int] = set()
        self._arguments: dict[int, str] = {}
        self._given: set[int] = set()  # blocks whose arguments came whole
        self._usage: Json = {}
        self._stopped: str | None = None
        self._error: str | None = None
        self._parsed: Parsed | None = None

    def feed(self, event: Any) -> str:
        """Take an event; the words that it added, if any."""
        told = plain_json(event)
        match told.get("type"):
            case "message_start":
                self._start(_object(told, "message"))
            case "content_block_start":
                return self._begin(place_of(told.get("index"), "index"), _object(told, "content_block"))
            case "content_block_delta":
                return self._grow(place_of(told.get("index"), "index"), _object(told, "delta"))
            case "content_block_stop":
                self._end(place_of(told.get("index"), "index"))
            case "message_delta":
                reason = _object(told, "delta").get("stop_reason")
                self._stopped = words_in(reason) or self._stopped
                self._used(told.get("usage"))
            case "message_stop":
                self._stopped = self._stopped or "unknown"
            case "error":
                self._error = error_in(told.get("error") or told)
            case _:
                pass  # a ping, or what is not known here
        return ""

    def close(self) -> Parsed:
        """The answer so far; calls whose arguments did not come whole are left out, however it ended."""
        if self._parsed is None:
            items = self._items()
            usage = usage_of(self._usage) if self._usage else None
            finish, model = finish_of(self._stopped), self._model or None
            self._parsed = Parsed(tuple(items), usage, finish, model, self._error)
        return self._parsed

    def _items(self) -> list[Item]:
        places = sorted(self._blocks)
        if finish_of(self._stopped) == "length" and self._is_bare_call(places[-1:]):
            places.pop()  # the model ran out of room before its first argument
        blocks = [
            block
            for index in places
            if (block := self._blocks[index])
            and (index not in self._open or block.get("type") in ("text", "thinking"))
        ]
        items = outputs(blocks, self._answer, self._model, "$.content")
        if self._stopped is None:
            said = [place for place, item in enumerate(items) if isinstance(item, Message)]
            for place in said[-1:]:
                items[place] = replace(items[place], interrupted=True)
        return items

    def _is_bare_call(self, places: list[int]) -> bool:
        """Whether there is a call at a place to which no arguments came."""
        return is_call([self._blocks[index] for index in places if index not in self._given])

    def _start(self, message: Json) -> None:
        self._model = words_in(message.get("model"))
        self._used(message.get("usage"))

    def _begin(self, index: int, block: Json) -> str:
        self._blocks[index] = block = dict(block)
        self._open.add(index)
        return words_in(block.get("text")) if block.get("type") == "text" else ""

    def _grow(self, index: int, delta: Json) -> str:
        block, kind = self._blocks.setdefault(index, {}), words_in(delta.get("type"))
        if kind == "input_json_delta":
            self._arguments[index] = self._arguments.get(index, "") + words_in(delta.get("partial_json"))
        elif kind == "citations_delta":
            block["citations"] = [*entries_in(block.get("citations")), delta.get("citation")]
        elif kind == "compaction_delta":
            block |= {key: value for key, value in delta.items() if key != "type" and value is not None}
        elif kind in _DELTAS:
            field = _DELTAS[kind]
            block[field] = words_in(block.get(field)) + words_in(delta.get(field))
        return words_in(delta.get("text")) if kind == "text_delta" else ""

    def _end(self, index: int) -> None:
        self._open.discard(index)
        text = self._arguments.pop(index, "")
        if not text.strip() or index not in self._blocks:
            return
        try:
            self._blocks[index]["input"] = _decoded(text)
            self._given.add(index)
        except msgspec.DecodeError:
            # Blocks are ended also where the model ran out of room in the middle of one.
            self._blocks[index] = {}

    def _used(self, usage: Any) -> None:
        """Counts are of the whole answer so far: a later one takes the place of an earlier one."""
        told = plain_json(usage or {})
        self._usage |= {key: value for key, value in told.items() if value is not None}


def _object(event: Json, name: str) -> Json:
    return plain_json(event.get(name) or {})


def _decoded(text: str) -> Any:
    """The input that a text stands for, or the text itself where it is no object."""
    try:
        decoded: Any = msgspec.json.decode(mended(text))
    except RecursionError:
        return text
    return decoded if isinstance(decoded, dict) else text  # pyright: ignore[reportUnknownVariableType]
