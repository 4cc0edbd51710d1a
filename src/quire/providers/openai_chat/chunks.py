"""Chat Completions: content that comes in chunks, as Mistral's reasoning models give it.

Thoughts are chunks of the content there, before the words, and go back so to the same model.
"""

from collections.abc import Sequence
from typing import Any, cast

from quire.providers.json_values import entries_in, fields_in
from quire.providers.openai_chat.blocks import entries, fields, text_at
from quire.providers.provider import words_in
from quire.providers.sheet import Json

CONTENT = "content"
_THINKING = "thinking"


class Chunks:
    """The content of a message that is streamed: words, and chunks from the first delta on that has some."""

    __slots__ = ("_chunks", "_words")

    def __init__(self) -> None:
        self._chunks: list[Json] = []
        self._words: list[str] = []  # that go on after the last chunk

    def add(self, delta: Any, path: str) -> str:
        """Take a piece; the words that it added."""
        if delta is None or isinstance(delta, str):
            self._words += [delta] if delta else []
            return delta or ""
        return "".join(self._add(_chunk(value, path), path) for value in entries(delta, path))

    def whole(self) -> str | list[Json]:
        """The content as a whole answer would have it."""
        if not self._chunks:
            return "".join(self._words)
        self._close_words()
        return self._chunks

    def _add(self, chunk: Json, path: str) -> str:
        kind = text_at(chunk, "type", path)
        if kind == "text":
            words = text_at(chunk, "text", path)
            self._words.append(words)
            return words
        self._close_words()
        last = self._chunks[-1] if self._chunks else {}
        if kind == _THINKING and is_thinking(last) and not last.get("signature"):
            self._chunks[-1] = _joined(last, chunk)
        else:
            self._chunks.append(chunk)
        return ""

    def _close_words(self) -> None:
        words = "".join(self._words)
        self._words = []
        if words:
            self._chunks.append({"type": "text", "text": words})


def _chunk(value: Any, path: str) -> Json:
    return {"type": "text", "text": value} if isinstance(value, str) else fields(value, path)


def is_thinking(chunk: Any) -> bool:
    """Whether a value is a chunk of thoughts."""
    held = fields_in(chunk)
    return held.get("type") == _THINKING and isinstance(held.get(_THINKING), list)


def thinking_in(content: Any) -> list[Json]:
    """The chunks of thoughts in a content."""
    chunks = cast("Sequence[Any]", content) if isinstance(content, list | tuple) else ()
    return [fields_in(chunk) for chunk in chunks if is_thinking(chunk)]


def said_in(content: Any) -> Any:
    """A content without its thoughts."""
    if not thinking_in(content):
        return content
    return [chunk for chunk in cast("Sequence[Any]", content) if not is_thinking(chunk)]


def thought_in(chunks: Sequence[Json]) -> str:
    """The words of thoughts."""
    pieces = (piece for chunk in chunks for piece in entries_in(chunk[_THINKING]))
    return "".join(words_in(fields_in(piece).get("text")) for piece in pieces)


def with_beside(message: Json, beside: Json) -> Json:
    """A message with the fields that go back beside it; thoughts of its content stand before its words."""
    held = {**message, **beside}
    if CONTENT in beside:
        words = message.get(CONTENT)
        text: list[Json] = [{"type": "text", "text": words}] if words else []
        held[CONTENT] = [*beside[CONTENT], *text]
    return held


def _joined(last: Json, chunk: Json) -> Json:
    """Thoughts that go on: pieces of text in a row are one."""
    pieces = list(entries_in(last[_THINKING]))
    for piece in map(fields_in, entries_in(chunk.get(_THINKING))):
        before = fields_in(pieces[-1]) if pieces else {}
        if piece.get("type") == before.get("type") == "text":
            pieces[-1] = {**before, "text": words_in(before.get("text")) + words_in(piece.get("text"))}
        else:
            pieces.append(piece)
    told = {name: value for name, value in chunk.items() if value is not None}
    return {**last, **told, _THINKING: pieces}
