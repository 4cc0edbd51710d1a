"""OpenAI Responses: an answer that comes as events."""

from typing import Any

import msgspec

from quire.items import Item, Message
from quire.providers.openai_chat.blocks import entries, fields
from quire.providers.openai_responses.reading import assembled
from quire.providers.provider import Answer, Parsed, error_in, place_of, plain_json
from quire.providers.sheet import Json

_WORDS = ("response.output_text.delta", "response.refusal.delta")
_ENDS = ("response.completed", "response.incomplete", "response.failed")


class ResponsesStream:
    """Keeps each item when it is done, since only then its encrypted content is whole; before that, words."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._done: dict[int, Json] = {}
        self._words: dict[int, list[str]] = {}  # of messages that are not done
        self._phases: dict[int, Any] = {}
        self._response: Json = {}
        self._ended = False
        self._error: str | None = None
        self._parsed: Parsed | None = None

    def feed(self, event: Any) -> str:
        """Take an event; the words of the answer that it added."""
        values = plain_json(event)
        kind, index = values.get("type"), place_of(values.get("output_index"), "output_index")
        if kind in _WORDS:
            delta = values.get("delta")
            words = delta if isinstance(delta, str) else ""
            self._words.setdefault(index, []).append(words)
            return words
        if kind == "response.output_item.added":
            self._phases[index] = fields(values.get("item") or {}, "item").get("phase")
        elif kind == "error":
            self._error = error_in(values.get("error") or values)
        elif kind == "response.output_item.done":
            self._done[index] = fields(values.get("item"), "item")
        elif isinstance(kind, str) and values.get("response") is not None:
            self._response = fields(values["response"], "response")
            self._ended = kind in _ENDS
        return ""

    def close(self) -> Parsed:
        """The answer so far; one that had not come to its end is marked as interrupted."""
        if self._parsed is None:
            parsed = self._whole() if self._ended else self._cut_off()
            self._parsed = parsed._replace(error=parsed.error or self._error)
        return self._parsed

    def _whole(self) -> Parsed:
        # Some services end with a response whose output is empty: what was done is what there is.
        output = entries(self._response.get("output") or (), "response.output")
        kept = {**dict(enumerate(output)), **self._done}
        return assembled(self._response, [kept[index] for index in sorted(kept)], self._answer)

    def _cut_off(self) -> Parsed:
        kept = {index: self._begun(index) for index in self._words if any(self._words[index])} | self._done
        body = {**self._response, "status": "in_progress"}
        parsed = assembled(body, [kept[index] for index in sorted(kept)], self._answer)
        return parsed._replace(items=_interrupted(parsed.items))

    def _begun(self, index: int) -> Json:
        text = {"type": "output_text", "text": "".join(self._words[index])}
        return {"type": "message", "phase": self._phases.get(index), "content": [text]}


def _interrupted(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """The items with the last message marked: it is where the answer broke off."""
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        if isinstance(item, Message):
            return (*items[:index], msgspec.structs.replace(item, interrupted=True), *items[index + 1 :])
    return items
