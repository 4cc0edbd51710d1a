"""OpenAI Responses: an answer that comes as events."""

from typing import Any

from quire.providers.endings import HALF_CALL
from quire.providers.hearing import Hearing
from quire.providers.openai_chat.blocks import entries, fields
from quire.providers.openai_responses.arriving import CALLED, Arrivals
from quire.providers.openai_responses.ending import kind_of, output_of
from quire.providers.openai_responses.reading import assembled
from quire.providers.provider import Answer, Parsed, error_in, place_of, plain_json, words_in
from quire.providers.sheet import Json

_WORDS = ("response.output_text.delta", "response.refusal.delta")
_ALL_WORDS = {"response.output_text.done": "text", "response.refusal.done": "refusal"}
_GIVEN = {f"response.{kind}_{held}": kind for kind, held in CALLED.items()}
_ENDS = {f"response.{status}": status for status in ("completed", "incomplete", "failed")}


class ResponsesStream:
    """Keeps each item when it is done, since only then its encrypted content is whole; before that, words."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._items = Arrivals()
        self._response: Json = {}
        self._ended: str | None = None  # the status of an answer whose end was told
        self._error: str | None = None
        self._hearing = Hearing("an event of Responses")
        self._parsed: Parsed | None = None

    def feed(self, event: Any) -> str:
        """Take an event; the words of the answer that it added."""
        values = plain_json(event)
        kind, place = words_in(values.get("type")), place_of(values.get("output_index"), "output_index")
        fault = self._hearing.fault(event, values, is_known=kind.startswith("response."))
        self._error = fault or self._error
        if kind in _WORDS:
            words = words_in(values.get("delta"))
            self._items.say(place, values.get("item_id"), words)
            return words
        if kind in _ALL_WORDS:
            return self._items.close_words(
                place, values.get("item_id"), words_in(values.get(_ALL_WORDS[kind]))
            )
        if kind == "response.output_item.added":
            self._items.begin(place, fields(values.get("item") or {}, "item"))
        elif kind == "response.output_item.done":
            self._items.finish(place, fields(values.get("item"), "item"))
        elif called := _GIVEN.get(kind.rpartition(".")[0]):
            self._give(called, place, values)
        elif kind and values.get("response") is not None:
            self._response = fields(values["response"], "response")
            self._ended = _ENDS.get(kind)
        return ""

    def _give(self, called: str, place: int | None, values: Json) -> None:
        """Take what a call is made with, which its item has too, or should have."""
        if values["type"].endswith(".delta"):
            self._items.give(called, place, values.get("item_id"), words_in(values.get("delta")))
        else:
            given = words_in(values.get(CALLED[called]))
            self._items.close_given(called, place, values.get("item_id"), given)

    def close(self) -> Parsed:
        """The answer so far; one that had not come to its end is marked as interrupted."""
        if self._parsed is None:
            error = error_in(self._response.get("error")) or self._error
            parsed = self._whole(self._ended, error) if self._ended else self._cut_off(error)
            self._parsed = parsed._replace(error=parsed.error or self._hearing.unheard())
        return self._parsed

    def _whole(self, status: str, error: str | None) -> Parsed:
        # Some services end with a response whose output is empty: what came before is what there is.
        listed = entries(self._response.get("output") or (), "response.output")
        final = [fields(value, f"output[{index}]") for index, value in enumerate(listed)]
        output = output_of(final, self._items.done()) if final else self._items.so_far(ended=True)
        body = {**self._response, "status": self._response.get("status") or status}
        parsed = assembled(body, output, self._answer, error)
        lost = self._items.half_calls() - {kind_of(item) for item in final}
        if lost and parsed.error is None and parsed.finish in ("stop", "calls"):
            # What was said and called beside it is good, and was heard by now.
            return parsed._replace(finish="other", error=HALF_CALL)
        return parsed

    def _cut_off(self, error: str | None) -> Parsed:
        return assembled(self._response, self._items.so_far(ended=False), self._answer, error, ended=False)
