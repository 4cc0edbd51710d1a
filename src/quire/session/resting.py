"""How the compaction of a conversation has fared in this process, and how long it rests before it goes on.

That is known of the conversation, and not of one session of it: a server opens one for each request, and a
model that is down is not to be asked in each.
"""

from collections import defaultdict
from typing import Any
from weakref import ref

import msgspec

from quire.compactors import Compactor
from quire.items import now
from quire.models import AnyModel, Model

_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 600.0

_MOST_COURSES = 4
"""How many compactors and models of one conversation are known, the latest used."""


Key = tuple[str, type, str, object]
"""A transcript, a compactor by its kind and what it says of itself, and a model."""


class Metrics(msgspec.Struct):
    """What the compaction of a conversation has done in this process.

    `hits` are turns whose history was small enough as it was, `misses` those that had to be cut because no
    compaction had come in time.
    """

    hits: int = 0
    misses: int = 0
    started: int = 0
    completed: int = 0
    discarded: int = 0
    failed: int = 0
    pending: int = 0
    fault: str | None = None


class Rests:
    """Pauses, in seconds, each twice as long as the one before it."""

    def __init__(self) -> None:
        self._until = 0.0
        self._next = _FIRST_PAUSE

    @property
    def is_resting(self) -> bool:
        """Whether a pause is not over yet."""
        return now() < self._until

    def begin(self) -> float:
        """Begin a pause, and give its length."""
        pause, self._next = self._next, min(2 * self._next, _LONGEST_PAUSE)
        self._until = now() + pause
        return pause

    def end(self) -> None:
        """End the pause, and forget those before it."""
        self._until, self._next = 0.0, _FIRST_PAUSE


class Course:
    """How one compactor has fared with one model that writes for it."""

    def __init__(self, key: Key) -> None:
        self.key = key
        """What tells these from others."""
        self.rests = Rests()
        """Of whoever writes."""
        self.pauses = Rests()
        """Of all of it, after what nobody foresaw."""
        self.reads: int | None = None
        """Tokens that the model was found to read at once, where it said that it was told too much."""


class Fared:
    """How the compaction of one conversation has fared."""

    def __init__(self) -> None:
        self.metrics: defaultdict[str, Metrics] = defaultdict(Metrics)
        """The figures, by transcript."""
        self._courses: list[Course] = []

    def course(self, name: str, compactor: Compactor, model: AnyModel | None) -> Course:
        """How these have fared; what was not used before begins anew."""
        key: Key = (name, type(compactor), repr(compactor), _known_as(model))
        course = next((one for one in self._courses if one.key == key), None) or Course(key)
        others = [one for one in self._courses if one is not course]
        self._courses = [*others, course][-_MOST_COURSES:]
        return course


def _known_as(model: AnyModel | None) -> object:
    """What tells a model from others: of those by name, which are made anew at will, their name."""
    if model is None or isinstance(model, Model):
        return repr(model)
    try:
        return ref[Any](model)  # for as long as it is there, and no longer
    except TypeError:
        return model
