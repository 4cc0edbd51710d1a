"""OpenAI Responses: the items of a stream as they come, told apart by whatever its events say of them.

An event names its item by a place, by an id or by both. Services that only speak the wire leave either out,
give each item the first place or count from one, so that where an item begins and ends says most.
"""

from typing import Any

from quire.providers.openai_responses.ending import content_of, kind_of
from quire.providers.provider import in_their_places
from quire.providers.sheet import Json

_MESSAGE = "message"


class Arrival:
    """An item that has begun, and what it is when it is done; of a message its words until then."""

    __slots__ = ("_said", "begun", "done", "place", "words")

    def __init__(self, place: int | None, begun: Json) -> None:
        self.place = place
        self.begun = begun
        self.words: list[str] = []
        self.done: Json | None = None
        self._said = ""

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

    def so_far(self) -> Json | None:
        """The item when it is done; before that a message with the words that came, or nothing."""
        if not any(self.words) or (self.done is not None and self.done.get("content")):
            return self.done
        text = {"type": "output_text", "text": "".join(self.words)}
        told = {"type": _MESSAGE, "phase": self.begun.get("phase")} if self.done is None else self.done
        return {**told, "content": [text]}


class Arrivals:
    """All items of one answer."""

    __slots__ = ("_all",)

    def __init__(self) -> None:
        self._all: list[Arrival] = []

    def begin(self, place: int | None, item: Json) -> Arrival:
        """An item begins."""
        self._all.append(Arrival(place, item))
        return self._all[-1]

    def say(self, place: int | None, item_id: Any, words: str) -> None:
        """Words of a message."""
        named: Json = {"id": item_id, "type": _MESSAGE}
        (self._open(place, named) or self.begin(place, named)).words.append(words)

    def finish(self, place: int | None, item: Json) -> None:
        """An item is whole, which may be said more than once."""
        said = content_of(item)
        again = any(arrival.was(place, item, said) for arrival in self._all)
        if not again or self._is_begun_anew(item):
            (self._open(place, item) or self.begin(place, item)).finish(item, said)

    def so_far(self) -> list[Json]:
        """What there is of each item, in their order."""
        return [item for arrival in self._placed() if (item := arrival.so_far()) is not None]

    def done(self) -> list[Json]:
        """The items that are whole, in their order."""
        whole = (arrival.so_far() for arrival in self._placed() if arrival.done is not None)
        return [item for item in whole if item is not None]

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
