"""OpenAI Responses: an answer that comes as events."""

from typing import Any

from quire.providers.openai_chat.blocks import entries, fields
from quire.providers.openai_responses.arriving import Arrivals
from quire.providers.openai_responses.ending import output_of
from quire.providers.openai_responses.reading import assembled
from quire.providers.provider import Answer, Parsed, error_in, place_of, plain_json, words_in
from quire.providers.sheet import Json

_WORDS = ("response.output_text.delta", "response.refusal.delta")
_ENDS = {f"response.{status}": status for status in ("completed", "incomplete", "failed")}


class ResponsesStream:
    """Keeps each item when it is done, since only then its encrypted content is whole; before that, words."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._items = Arrivals()
        self._response: Json = {}
        self._ended: str | None = None  # the status of an answer whose end was told
        self._error: str | None = None
        self._parsed: Parsed | None = None

    def feed(self, event: Any) -> str:
        """Take an event; the words of the answer that it added."""
        values = plain_json(event)
        kind, place = values.get("type"), place_of(values.get("output_index"), "output_index")
        if kind in _WORDS:
            words = words_in(values.get("delta"))
            self._items.say(place, values.get("item_id"), words)
            return words
        if kind == "response.output_item.added":
            self._items.begin(place, fields(values.get("item") or {}, "item"))
        elif kind == "error":
            self._error = error_in(values.get("error") or values)
        elif kind == "response.output_item.done":
            self._items.finish(place, fields(values.get("item"), "item"))
        elif isinstance(kind, str) and values.get("response") is not None:
            self._response = fields(values["response"], "response")
            self._ended = _ENDS.get(kind)
        return ""

    def close(self) -> Parsed:
        """The answer so far; one that had not come to its end is marked as interrupted."""
        if self._parsed is None:
            error = error_in(self._response.get("error")) or self._error
            self._parsed = self._whole(self._ended, error) if self._ended else self._cut_off(error)
        return self._parsed

    def _whole(self, status: str, error: str | None) -> Parsed:
        # Some services end with a response whose output is empty: what came before is what there is.
        listed = entries(self._response.get("output") or (), "response.output")
        final = [fields(value, f"output[{index}]") for index, value in enumerate(listed)]
        output = output_of(final, self._items.done()) if final else self._items.so_far()
        body = {**self._response, "status": self._response.get("status") or status}
        return assembled(body, output, self._answer, error)

    def _cut_off(self, error: str | None) -> Parsed:
        return assembled(self._response, self._items.so_far(), self._answer, error, ended=False)
