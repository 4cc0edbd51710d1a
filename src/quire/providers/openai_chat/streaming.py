"""OpenAI Chat Completions: an answer that comes in chunks."""

from typing import Any

from quire.providers.json_values import json_text
from quire.providers.openai_chat.blocks import entries, fields
from quire.providers.openai_chat.outputs import is_whole
from quire.providers.openai_chat.reading import assembled, usage_of
from quire.providers.provider import Answer, Parsed, error_in, plain_json, words_in
from quire.providers.sheet import Json
from quire.tokens.usage import Usage

_CALLED = {"function": "arguments", "custom": "input"}
_WORDS = ("content", "refusal", "reasoning_content", "reasoning")


class ChatStream:
    """Puts chunks together to the message that they are of; of several choices the first."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._words: dict[str, list[str]] = {}
        self._audio: dict[str, list[str]] = {}
        self._calls: list[Json] = []
        self._places: dict[int | str, Json] = {}  # calls by the index that the chunks know them by
        self._reason: Any = None
        self._usage: Usage | None = None
        self._model: str | None = None
        self._error: str | None = None
        self._parsed: Parsed | None = None

    def feed(self, event: Any) -> str:
        """Take a chunk; the words of the answer that it added."""
        chunk = plain_json(event)
        model = chunk.get("model")
        if isinstance(model, str) and model:
            self._model = model
        self._usage = usage_of(chunk) or self._usage
        self._error = error_in(chunk.get("error")) or self._error
        added = ""
        for value in entries(chunk.get("choices") or (), "choices"):
            choice = fields(value, "choices[0]")
            if choice.get("index", 0) == 0:
                self._reason = choice.get("finish_reason") or self._reason
                self._error = error_in(choice.get("error")) or self._error
                added += self._take(fields(choice.get("delta") or {}, "choices[0].delta"))
        return added

    def close(self) -> Parsed:
        """The answer so far; one that had not come to its end is marked as interrupted."""
        if self._parsed is None:
            message: Json = {name: "".join(pieces) for name, pieces in self._words.items()}
            if self._audio:
                message["audio"] = {name: "".join(pieces) for name, pieces in self._audio.items()}
            message["tool_calls"] = [call for call in self._calls if self._is_kept(call)]
            parsed = assembled(message, self._reason, self._usage, self._model, self._answer)
            self._parsed = parsed._replace(error=self._error)
        return self._parsed

    def _take(self, delta: Json) -> str:
        for name in _WORDS:
            _gather(self._words, name, delta.get(name))
        for name, piece in fields(delta.get("audio") or {}, "choices[0].delta.audio").items():
            _gather(self._audio, name, piece)
        for value in entries(delta.get("tool_calls") or (), "choices[0].delta.tool_calls"):
            self._call(fields(value, "choices[0].delta.tool_calls[]"))
        if delta.get("function_call"):
            self._call({"index": "function_call", "id": "function_call", "function": delta["function_call"]})
        said = (delta.get("content"), delta.get("refusal"))
        return "".join(piece for piece in said if isinstance(piece, str))

    def _is_kept(self, call: Json) -> bool:
        """Whether a call is to be read; a piece with nothing in it is none, nor is one without a name yet."""
        inner = call[call["type"]]
        return bool(inner["name"] or (self._reason and (call["id"] or inner[_CALLED[call["type"]]])))

    def _call(self, piece: Json) -> None:
        call = self._called(piece)
        call["id"] = call["id"] or words_in(piece.get("id"))
        for kind, held in _CALLED.items():
            path = f"choices[0].delta.tool_calls[].{kind}"
            told = fields(piece.get(kind) or {}, path)
            call["type"] = kind if told else call["type"]
            name = words_in(told.get("name"))
            # A name comes whole or in pieces; some services say it again with each piece of the arguments.
            call[kind]["name"] += "" if name == call[kind]["name"] else name
            call[kind][held] += _text(told.get(held), f"{path}.{held}")

    def _called(self, piece: Json) -> Json:
        """The call that a piece is of, which may be a new one."""
        index, call_id = _index(piece.get("index")), words_in(piece.get("id"))
        call = self._places.get(index)
        # Some services count every call as the first; another id is another call.
        another = call is not None and call_id and call["id"] and call["id"] != call_id
        if call is None or another or (not call_id and _begins_anew(call, piece)):
            call = self._places[index] = _nothing_called()
            self._calls.append(call)
        return call


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


def _gather(pieces: dict[str, list[str]], name: str, piece: Any) -> None:
    if isinstance(piece, str):
        pieces.setdefault(name, []).append(piece)
