"""How compaction has fared, and how long it rests before it tries again."""

import msgspec

from quire.items import now

_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 600.0


class Metrics(msgspec.Struct):
    """What the compaction of a session has done.

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
