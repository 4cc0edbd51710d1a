"""OpenAI Responses: the items of a stream as they come, told apart by whatever its events say of them.

An event names its item by a place, by an id or by both. Services that only speak the wire leave either out,
give each item the first place or count from one, so that where an item begins and ends says most.
"""

from typing import Any

from quire.providers.provider import in_their_places
from quire.providers.sheet import Json

_MESSAGE = "message"
_ITS_OWN = ("id", "status")  # of an item, which may change when it is said again


class Arrival:
    """An item that has begun, and what it is when it is done; of a message its words until then."""

    __slots__ = ("begun", "done", "place", "words")

    def __init__(self, place: int | None, begun: Json) -> None:
        self.place = place
        self.begun = begun
        self.words: list[str] = []
        self.done: Json | None = None

    def so_far(self) -> Json | None:
        """The item when it is done; before that a message with the words that came, or nothing."""
        if self.done is not None or not any(self.words):
            return self.done
        text = {"type": "output_text", "text": "".join(self.words)}
        return {"type": _MESSAGE, "phase": self.begun.get("phase"), "content": [text]}


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
        if not any(_is_same_call(arrival.done, item) for arrival in self._all):
            (self._open(place, item) or self.begin(place, item)).done = item

    def so_far(self) -> list[Json]:
        """What there is of each item, in their order."""
        placed = in_their_places([(arrival.place, arrival) for arrival in self._all])
        return [item for arrival in placed if (item := arrival.so_far()) is not None]

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


def _is_same_call(done: Json | None, item: Json) -> bool:
    if done is None or item.get("call_id") is None:
        return False
    return _without_own(done) == _without_own(item)


def _without_own(item: Json) -> Json:
    return {name: value for name, value in item.items() if name not in _ITS_OWN}
