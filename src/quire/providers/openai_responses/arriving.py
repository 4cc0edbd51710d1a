"""OpenAI Responses: the items of a stream as they come, told apart by whatever its events say of them.

An event names its item by a place, by an id or by both. Services that only speak the wire leave either out,
give each item the first place or count from one, so that where an item begins and ends says most.
"""

from collections.abc import Callable
from typing import Any

from quire.providers.json_values import entries_in, fields_in
from quire.providers.openai_responses.ending import content_of, kind_of
from quire.providers.pieces import is_whole, joined
from quire.providers.provider import in_their_places, words_in
from quire.providers.sheet import Json

CALLED = {"function_call": "arguments", "custom_tool_call": "input"}
"""The kinds of calls that the caller runs, and what each is made with."""

_MESSAGE = "message"
_NAMED = ("type", "call_id", "name")


class Arrival:
    """An item that has begun, and what it is when it is done; until then its words, or what it calls with."""

    __slots__ = ("_closed", "_said", "begun", "done", "given", "is_given", "place", "words")

    def __init__(self, place: int | None, begun: Json) -> None:
        self.place = place
        self.begun = begun
        self.words: list[str] = []
        self.given = ""  # the arguments of a call
        self.is_given = False  # whether it was said that they are whole
        self.done: Json | None = None
        self._said = ""
        self._closed = 0  # of the words, those that were said to be whole

    def is_begun_by(self, place: int | None, item: Json) -> bool:
        """Whether it is a call that is only said again to begin: the same one at the same place.

        Without places all calls may be named alike, so that where one has come another begins.
        """
        if not item.get("call_id") or any(self.begun.get(name) != item.get(name) for name in _NAMED):
            return False
        has_come = self.done is not None or is_whole(self.given)
        return self.place == place and (place is not None or not has_come)

    def finish(self, item: Json, said: str) -> None:
        """It is whole, with this in it."""
        self.done, self._said = item, said

    def was(self, place: int | None, item: Json, said: str) -> bool:
        """Whether an item was done before, and is only said again."""
        done = self.done
        if done is None or self._said != said or kind_of(done) != kind_of(item):
            return False
        named = [name for name in ("call_id", "id") if item.get(name) is not None][:1]
        return all(done.get(name) == item[name] for name in named) if named else self.place == place

    @property
    def is_call(self) -> bool:
        """Whether it is a call that the caller runs."""
        return kind_of(self.begun) in CALLED

    def has_said(self, text: str) -> bool:
        """Whether it is done, and has a text in it."""
        blocks = entries_in((self.done or {}).get("content"))
        told = [fields_in(block).get(name) for block in blocks for name in ("text", "refusal")]
        return text in told or (self.done is not None and "".join(self.words).endswith(text))

    def close_words(self, text: str) -> str:
        """A text is whole, whose pieces came or did not; what had not come of it."""
        came = "".join(self.words[self._closed :])
        again = not came and "".join(self.words).endswith(text)
        more = text[len(came) :] if text.startswith(came) and not again else ""
        if came or more:
            self.words[self._closed :] = [came + more]
            self._closed = len(self.words)
        return more

    def so_far(self, *, ended: bool) -> Json | None:
        """The item when it is done; before that a message with the words that came, or nothing.

        A call that nobody says is done is one all the same where the answer came to its end.
        """
        held = CALLED.get(kind_of(self.begun))
        if held is not None:
            return self._called(held, ended)
        if not any(self.words) or (self.done is not None and self.done.get("content")):
            return self.done
        text = {"type": "output_text", "text": "".join(self.words)}
        told = {"type": _MESSAGE, "phase": self.begun.get("phase")} if self.done is None else self.done
        return {**told, "content": [text]}

    def _called(self, held: str, ended: bool) -> Json | None:
        """A call, with the arguments that came where it has none of its own."""
        if self.done is not None:
            given = self.done.get(held) or self.given
            return {**self.done, held: given} if given else self.done
        given = self.given or self.begun.get(held)
        is_call = ended and self.begun.get("name") and self._has_come(given)
        return {**self.begun, held: given} if is_call else None

    def _has_come(self, given: Any) -> bool:
        """Whether arguments are there to their end; of a text alone nothing tells it but who says so."""
        return self.is_given or (not isinstance(given, str) and bool(given)) or is_whole(words_in(given))


class Arrivals:
    """All items of one answer."""

    __slots__ = ("_all",)

    def __init__(self) -> None:
        self._all: list[Arrival] = []

    def begin(self, place: int | None, item: Json) -> Arrival:
        """An item begins, which may be said more than once."""
        again = next((arrival for arrival in self._all if arrival.is_begun_by(place, item)), None)
        if again is None:
            again = Arrival(place, item)
            self._all.append(again)
        return again

    def say(self, place: int | None, item_id: Any, words: str) -> None:
        """Words of a message."""
        named: Json = {"id": item_id, "type": _MESSAGE}
        (self._open(place, named) or self.begin(place, named)).words.append(words)

    def close_words(self, place: int | None, item_id: Any, text: str) -> str:
        """A text of a message is whole; what had not come of it."""
        named: Json = {"id": item_id, "type": _MESSAGE}
        found = self._open(place, named)
        if found is None and any(arrival.has_said(text) for arrival in self._all):
            return ""
        return (found or self.begin(place, named)).close_words(text)

    def give(self, kind: str, place: int | None, item_id: Any, piece: str) -> None:
        """A piece of what a call is made with."""
        found = self._open(place, {"id": item_id, "type": kind})
        if found is not None:
            is_json = CALLED[kind] == "arguments"
            found.given = joined(found.given, piece) if is_json else found.given + piece

    def close_given(self, kind: str, place: int | None, item_id: Any, text: str) -> None:
        """All that a call is made with."""
        found = self._open(place, {"id": item_id, "type": kind})
        if found is not None and text:
            found.given, found.is_given = text, True

    def finish(self, place: int | None, item: Json) -> None:
        """An item is whole, which may be said more than once."""
        said = content_of(item)
        again = any(arrival.was(place, item, said) for arrival in self._all)
        if not again or self._is_begun_anew(item):
            (self._open(place, item) or self.begin(place, item)).finish(item, said)

    def so_far(self, *, ended: bool) -> list[Json]:
        """What there is of each item, in their order."""
        return self._told(ended, lambda arrival: True)

    def done(self) -> list[Json]:
        """The items that are whole, in their order.

        A call that nobody said is done is among them if it can be told from those that are listed at the end.
        """
        return self._told(True, lambda arrival: arrival.done or arrival.begun.get("call_id"))

    def half_calls(self) -> set[str]:
        """The kinds of calls that began, and of which nothing came that can be run."""
        calls = [arrival for arrival in self._all if arrival.is_call]
        done = {_called(arrival.done) for arrival in calls if arrival.done is not None}
        return {
            kind_of(call.begun)
            for call in calls
            if call.so_far(ended=True) is None and _called(call.begun) not in done
        }

    def _told(self, ended: bool, takes: Callable[[Arrival], Any]) -> list[Json]:
        # A call that is done may have been begun under other names: it is made once.
        said = {_made(arrival.done) for arrival in self._all if arrival.done is not None and arrival.is_call}
        found: list[Json] = []
        for arrival in self._placed():
            item = arrival.so_far(ended=ended)
            again = arrival.done is None and arrival.is_call and item is not None and _made(item) in said
            if item is not None and takes(arrival) and not again:
                found.append(item)
        return found

    def _placed(self) -> list[Arrival]:
        return in_their_places([(arrival.place, arrival) for arrival in self._all])

    def _is_begun_anew(self, item: Json) -> bool:
        """Whether another item of the same name waits to be done; a call is made once however it is told."""
        return item.get("call_id") is None and any(
            arrival.done is None
            and kind_of(arrival.begun) == kind_of(item)
            and arrival.begun.get("id") == item.get("id")
            for arrival in self._all
        )

    def _open(self, place: int | None, item: Json) -> Arrival | None:
        """The item that an event is about, among those of its kind that are not done: the likeliest."""
        kind = item.get("type", _MESSAGE)
        waiting = [
            arrival
            for arrival in reversed(self._all)
            if arrival.done is None and arrival.begun.get("type", _MESSAGE) == kind
        ]
        likely = max(waiting, key=lambda arrival: _likeness(arrival, place, item), default=None)
        return likely if likely is None or _likeness(likely, place, item) >= 0 else None


def _made(call: Json) -> str:
    """What a call is of and is made with, whatever it is named by."""
    return content_of({**call, "call_id": "any"})


def _called(item: Json) -> tuple[str, str]:
    return kind_of(item), words_in(item.get("name"))


def _likeness(arrival: Arrival, place: int | None, item: Json) -> int:
    """How much speaks for an item; less than nothing where its call or its place is another.

    Another id alone says little: some services make one up for each event.
    """
    told = [
        (4, arrival.begun.get("call_id"), item.get("call_id")),
        (2, arrival.begun.get("id"), item.get("id")),
        (1, arrival.place, place),
    ]
    known = [(weight, one == other) for weight, one, other in told if one is not None and other is not None]
    alike = sum(weight for weight, same in known if same)
    return alike or -sum(weight != 2 for weight, _ in known)
