"""OpenAI Chat Completions: an answer that comes in chunks."""

from typing import Any

from quire.providers.json_values import json_text
from quire.providers.openai_chat.blocks import entries, fields
from quire.providers.openai_chat.chunks import CONTENT, Chunks
from quire.providers.openai_chat.events import told_by
from quire.providers.openai_chat.reading import assembled, fault_in, usage_of
from quire.providers.openai_chat.states import BLOCKS, signed_in
from quire.providers.openai_chat.wishes import THOUGHTS
from quire.providers.pieces import is_whole, joined
from quire.providers.provider import Answer, Parsed, error_in, plain_json, words_in
from quire.providers.sheet import Json
from quire.tokens.usage import Usage

_KNOWN = frozenset(("choices", "error"))
_CALLED = {"function": "arguments", "custom": "input"}
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
        self._signed: Json = {}
        self._calls: list[Json] = []
        self._places: dict[int | str, Json] = {}  # calls by the index that the chunks know them by
        self._reason: Any = None
        self._usage: Usage | None = None
        self._model: str | None = None
        self._error: str | None = None
        self._parsed: Parsed | None = None
        self._is_known = False  # whether any event was a chunk
        self._strange: str | None = None  # what the first event was

    def feed(self, event: Any) -> str:
        """Take a chunk; the words of the answer that it added."""
        told = told_by(event)
        if told is None:
            return ""
        chunk = plain_json(told)
        self._is_known = self._is_known or not _KNOWN.isdisjoint(chunk)
        self._strange = self._strange or type(told).__name__
        model = chunk.get("model")
        if isinstance(model, str) and model:
            self._model = model
        self._usage = usage_of(chunk) or self._usage
        self._error = fault_in(chunk) or self._error
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
            message |= {**self._thoughts, **self._signed}
            message["tool_calls"] = [call for call in self._calls if call[call["type"]]["name"]]
            parsed = assembled(message, self._reason, self._usage, self._model, self._answer, self._error)
            if parsed.error is None and any(map(self._is_unnamed, self._calls)):
                # What was said and called beside it is good, and was heard by now.
                parsed = parsed._replace(finish="other", error="a call came without a name")
            self._parsed = parsed._replace(error=parsed.error or self._unheard())
        return self._parsed

    def _unheard(self) -> str | None:
        """What went wrong where events came and none was a chunk: an answer is never lost in silence."""
        if self._is_known or self._strange is None:
            return None
        return f"no event was a chunk of Chat Completions; the first was a {self._strange}"

    def _take(self, delta: Json) -> str:
        said = self._content.add(delta.get(CONTENT), "choices[0].delta.content")
        for name in _WORDS:
            _gather(self._words, name, delta.get(name))
        for name in BLOCKS:
            for piece in entries(delta.get(name) or (), f"choices[0].delta.{name}"):
                _join(self._thoughts.setdefault(name, []), fields(piece, f"choices[0].delta.{name}[]"))
        self._signed |= signed_in(delta)
        for name, piece in fields(delta.get("audio") or {}, "choices[0].delta.audio").items():
            _gather(self._audio, name, piece)
        for number, value in enumerate(entries(delta.get("tool_calls") or (), "choices[0].delta.tool_calls")):
            piece = fields(value, "choices[0].delta.tool_calls[]")
            if number and _is_named_alone(piece):
                self._places.pop(_index(None), None)
            self._call(piece)
        if delta.get("function_call"):
            self._call({"index": "function_call", "id": "function_call", "function": delta["function_call"]})
        return said + words_in(delta.get("refusal"))

    def _is_unnamed(self, call: Json) -> bool:
        """Whether nobody can tell what a call is of; a piece with nothing in it is none, nor one cut off."""
        inner = call[call["type"]]
        return bool(self._reason and not inner["name"] and (call["id"] or inner[_CALLED[call["type"]]]))

    def _call(self, piece: Json) -> None:
        call = self._called(piece)
        call["id"] = call["id"] or words_in(piece.get("id"))
        call |= signed_in(piece)
        for kind, held in _CALLED.items():
            path = f"choices[0].delta.tool_calls[].{kind}"
            told = fields(piece.get(kind) or {}, path)
            call["type"] = kind if told else call["type"]
            name = words_in(told.get("name"))
            # A name comes whole or in pieces; some services say it again with each piece of the arguments.
            call[kind]["name"] += "" if name == call[kind]["name"] else name
            came, more = call[kind][held], _text(told.get(held), f"{path}.{held}")
            call[kind][held] = joined(came, more) if kind == "function" else came + more

    def _called(self, piece: Json) -> Json:
        """The call that a piece is of, which may be a new one."""
        index, call_id = _index(piece.get("index")), words_in(piece.get("id"))
        call = self._places.get(index)
        if call is not None and call_id and call["id"] not in ("", call_id):
            call = self._with_other_id(call, piece, call_id)
        elif call is not None and not call_id and _begins_anew(call, piece):
            call = None
        if call is None:
            call = self._places[index] = _nothing_called()
            self._calls.append(call)
        return call

    def _with_other_id(self, call: Json, piece: Json, call_id: str) -> Json | None:
        """The call that a piece is of whose id is not that of the call at its place.

        Some services count every call as the first, so that another id is another call. Others make up an id
        for each piece; they name a call once, where it begins.
        """
        if _is_named(piece):
            return None
        return next((known for known in self._calls if known["id"] == call_id), call)


def _is_named(piece: Json) -> bool:
    return any(fields(piece.get(kind) or {}, kind).get("name") for kind in _CALLED)


def _is_named_alone(piece: Json) -> bool:
    """Whether nothing but a name tells of which call a piece is: of two in one list each is a call then."""
    return piece.get("index") is None and not piece.get("id") and _is_named(piece)


def _begins_anew(call: Json, piece: Json) -> bool:
    """Whether a piece that has no id is of another call than the one at its place, which is whole already."""
    told = fields(piece.get("function") or {}, "choices[0].delta.tool_calls[].function")
    return bool(told.get("name") and told.get("arguments")) and is_whole(call["function"]["arguments"])


def _nothing_called() -> Json:
    return {"type": "function", "id": "", **{kind: {"name": "", held: ""} for kind, held in _CALLED.items()}}


def _text(value: Any, path: str) -> str:
    """A piece of the arguments; some services give all of them at once, as a value."""
    return value if isinstance(value, str) else "" if value is None else json_text(value, path)


def _index(value: Any) -> int | str:
    return value if isinstance(value, int | str) else 0


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
