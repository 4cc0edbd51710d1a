"""Anthropic Messages: an answer that comes in events."""

from typing import Any

from quire.providers.anthropic.arriving import Block, begun_by
from quire.providers.anthropic.reading import finish_of, outputs, usage_of
from quire.providers.anthropic.thinking import named_container
from quire.providers.block_thoughts import CONTAINER
from quire.providers.endings import settled
from quire.providers.hearing import Hearing
from quire.providers.pieces import made_id
from quire.providers.provider import (
    Answer,
    Finish,
    Parsed,
    in_their_places,
    place_of,
    plain_json,
    words_in,
)
from quire.providers.sheet import Json

_KNOWN = frozenset(
    (
        *("message_start", "message_delta", "message_stop"),
        *("content_block_start", "content_block_delta", "content_block_stop"),
    )
)
_UNSAID = "unknown"  # why an answer ended that is said to have ended, and not why


class MessageStream:
    """Gathers blocks; the items are made once, when it is closed."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._model = ""
        self._container: str | None = None
        self._blocks: list[Block] = []
        self._usage: Json = {}
        self._stopped: str | None = None
        self._error: str | None = None
        self._hearing = Hearing("an event of Messages")
        self._parsed: Parsed | None = None

    def feed(self, event: Any) -> str:
        """Take an event; the words that it added, if any."""
        told = plain_json(event)
        kind = words_in(told.get("type"))
        self._error = self._hearing.fault(event, told, is_known=kind in _KNOWN) or self._error
        match kind:
            case "message_start":
                self._start(_object(told, "message"))
            case "content_block_start":
                return self._begin(place_of(told.get("index"), "index"), _object(told, "content_block"))
            case "content_block_delta":
                return self._grow(place_of(told.get("index"), "index"), _object(told, "delta"))
            case "content_block_stop":
                self._end(place_of(told.get("index"), "index"))
            case "message_delta":
                self._stop(_object(told, "delta"))
                self._used(told.get("usage"))
            case "message_stop":
                self._stopped = self._stopped or _UNSAID
            case _:
                pass  # a ping, an error, or what is not known here
        return ""

    def close(self) -> Parsed:
        """The answer so far; calls whose arguments did not come whole are left out, however it ended."""
        if self._parsed is None:
            finish = finish_of(self._stopped)
            held = [block.fields for block in self._placed(finish) if block.is_kept()]
            items = outputs(held, self._answer, self._model, "$.content", self._container, made_id)
            lost = any(block.is_broken for block in self._blocks)
            items, error = settled(items, self._stopped, finish, self._error, lost=lost)
            error = error or self._hearing.unheard()
            usage = usage_of(self._usage) if self._usage else None
            self._parsed = Parsed(tuple(items), usage, finish, self._model or None, error)
        return self._parsed

    def _placed(self, finish: Finish) -> list[Block]:
        """The blocks in their order, each ended where the answer is."""
        if self._stopped is not None:
            # Some services never say where a block ends: it does where the answer did.
            for block in self._blocks:
                if block.is_open:
                    block.end()
        blocks = in_their_places([(block.place, block) for block in self._blocks])
        unsure = finish == "length" or (finish == "other" and self._stopped not in (None, _UNSAID))
        if unsure and blocks and blocks[-1].is_bare_call():
            blocks.pop().is_broken = True  # it may have been cut off before its first argument
        return blocks

    def _start(self, message: Json) -> None:
        self._model = words_in(message.get("model"))
        self._container = named_container(message.get(CONTAINER))
        self._used(message.get("usage"))

    def _stop(self, delta: Json) -> None:
        self._stopped = words_in(delta.get("stop_reason")) or self._stopped
        self._container = named_container(delta.get(CONTAINER)) or self._container

    def _begin(self, place: int | None, fields: Json) -> str:
        again = next((block for block in self._blocks if block.is_begun_by(place, fields)), None)
        if again is not None:
            again.begin_again(fields)
            return ""
        self._blocks.append(Block(place, dict(fields)))
        return words_in(fields.get("text")) if fields.get("type") == "text" else ""

    def _grow(self, place: int | None, delta: Json) -> str:
        block = self._open(place) or next((one for one in self._blocks[::-1] if one.takes(delta)), None)
        if block is None:
            block = Block(place, begun_by(delta))
            self._blocks.append(block)
        block.grow(delta)
        return words_in(delta.get("text")) if delta.get("type") == "text_delta" else ""

    def _end(self, place: int | None) -> None:
        block = self._open(place)
        if block is not None:
            block.end()

    def _open(self, place: int | None) -> Block | None:
        """The block that an event is about: the last that has not ended, at the place that is said."""
        return next(
            (
                block
                for block in reversed(self._blocks)
                if block.is_open and (place is None or block.place in (None, place))
            ),
            None,
        )

    def _used(self, usage: Any) -> None:
        """Counts are of the whole answer so far: a later one takes the place of an earlier one."""
        told = plain_json(usage or {})
        self._usage |= {key: value for key, value in told.items() if value is not None}


def _object(event: Json, name: str) -> Json:
    return plain_json(event.get(name) or {})
