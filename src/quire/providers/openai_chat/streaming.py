"""OpenAI Chat Completions: an answer that comes in chunks."""

from typing import Any

from quire.providers.hearing import Hearing
from quire.providers.openai_chat.arriving import Calls
from quire.providers.openai_chat.blocks import entries, fields
from quire.providers.openai_chat.chunks import CONTENT, Chunks
from quire.providers.openai_chat.events import told_by
from quire.providers.openai_chat.outputs import LEGACY
from quire.providers.openai_chat.pictures import IMAGES, images_in
from quire.providers.openai_chat.reading import assembled, usage_of
from quire.providers.openai_chat.states import BLOCKS, signed_in
from quire.providers.openai_chat.wishes import THOUGHTS
from quire.providers.provider import Answer, Parsed, error_in, plain_json, words_in
from quire.providers.sheet import Json
from quire.tokens import Usage

_FLOWING = ("text", "summary", "thinking")
_WORDS = ("refusal", *THOUGHTS)


class ChatStream:
    """Puts chunks together to the message that they are of; of several choices the first."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._content = Chunks()
        self._words: dict[str, list[str]] = {}
        self._audio: dict[str, list[str]] = {}
        self._thoughts: dict[str, list[Json]] = {}  # in blocks
        self._images: list[Any] = []  # each comes whole
        self._signed: Json = {}
        self._calls = Calls()
        self._reason: Any = None
        self._usage: Usage | None = None
        self._model: str | None = None
        self._error: str | None = None
        self._parsed: Parsed | None = None
        self._hearing = Hearing("a chunk of Chat Completions")

    def feed(self, event: Any) -> str:
        """Take a chunk; the words of the answer that it added."""
        told = told_by(event)
        if told is None:
            return ""
        chunk = plain_json(told)
        self._error = self._hearing.fault(told, chunk, is_known="choices" in chunk) or self._error
        model = chunk.get("model")
        if isinstance(model, str) and model:
            self._model = model
        self._usage = usage_of(chunk) or self._usage
        added = ""
        for value in entries(chunk.get("choices") or (), "choices"):
            choice = fields(value, "choices[0]")
            if not choice.get("index"):
                self._reason = choice.get("finish_reason") or self._reason
                self._error = error_in(choice.get("error")) or self._error
                self._usage = usage_of(choice) or self._usage  # where Moonshot says it
                added += self._take(fields(choice.get("delta") or {}, "choices[0].delta"))
        return added

    def close(self) -> Parsed:
        """The answer so far; one that had not come to its end is marked as interrupted."""
        if self._parsed is None:
            message: Json = {name: "".join(pieces) for name, pieces in self._words.items()}
            message[CONTENT] = self._content.whole()
            if self._audio:
                message["audio"] = {name: "".join(pieces) for name, pieces in self._audio.items()}
            message |= {**self._thoughts, **self._signed, IMAGES: self._images}
            message["tool_calls"] = self._calls.named()
            parsed = assembled(message, self._reason, self._usage, self._model, self._answer, self._error)
            if parsed.error is None and self._reason and self._calls.has_unnamed():
                # What was said and called beside it is good, and was heard by now.
                parsed = parsed._replace(finish="other", error="a call came without a name")
            self._parsed = parsed._replace(error=parsed.error or self._hearing.unheard())
        return self._parsed

    def _take(self, delta: Json) -> str:
        said = self._content.add(delta.get(CONTENT), "choices[0].delta.content")
        for name in _WORDS:
            _gather(self._words, name, delta.get(name))
        for name in BLOCKS:
            for piece in entries(delta.get(name) or (), f"choices[0].delta.{name}"):
                _join(self._thoughts.setdefault(name, []), fields(piece, f"choices[0].delta.{name}[]"))
        self._images += images_in(delta)
        self._signed |= signed_in(delta)
        for name, piece in fields(delta.get("audio") or {}, "choices[0].delta.audio").items():
            _gather(self._audio, name, piece)
        listed = entries(delta.get("tool_calls") or (), "choices[0].delta.tool_calls")
        self._calls.take([fields(piece, "choices[0].delta.tool_calls[]") for piece in listed])
        if delta.get("function_call"):
            self._calls.take([{"index": LEGACY, "id": LEGACY, "function": delta["function_call"]}])
        return said + words_in(delta.get("refusal"))


def _join(blocks: list[Json], piece: Json) -> None:
    """Add a piece of thoughts in blocks: words go on where the same words stopped, all else is a block."""
    last = blocks[-1] if blocks else {}
    other = any(last.get(name) != piece.get(name) for name in ("type", "index"))
    # A signature comes last: words after it are of another block, which some services do not number.
    is_closed = last.get("signature") and any(piece.get(name) for name in (*_FLOWING, "signature"))
    if not last or piece.get("data") or other or is_closed:
        blocks.append(piece)
        return
    grown = {name: words_in(last.get(name)) + words_in(piece[name]) for name in _FLOWING if name in piece}
    blocks[-1] = {**last, **{name: value for name, value in piece.items() if value}, **grown}


def _gather(pieces: dict[str, list[str]], name: str, piece: Any) -> None:
    if isinstance(piece, str):
        pieces.setdefault(name, []).append(piece)
