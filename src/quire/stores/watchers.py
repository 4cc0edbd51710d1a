"""Watchers: who is to be told when a conversation changes, and the one thread of a store that finds out."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from threading import Event, Lock, Thread, current_thread
from typing import Generic, TypeVar

from quire.errors import StoreError, StoreFailed

Key = TypeVar("Key")

_GATHERING = 0.005
"""Seconds that pass after somebody begins to watch, so that many who begin together cost one look."""

_LINGERING = 5.0
"""Seconds that the thread stays when nobody watches any more, and that closing waits for it."""

_SHARE = 10
"""The thread sleeps at least so many times the duration of the last poll."""

_log = logging.getLogger("quire.stores")


class Watching(Generic[Key]):
    """Calls functions when the count of what they watch has changed.

    A thread compares the counts of all that is watched. Between two looks it rests from the `shortest` pause,
    after a change, to the `longest`.
    """

    def __init__(
        self, counts: Callable[[list[Key]], Mapping[Key, int]], shortest: float, longest: float
    ) -> None:
        self._counts, self._shortest, self._longest = counts, shortest, longest
        self._guard = Lock()
        self._watchers: dict[Key, dict[object, Callable[[], object]]] = {}
        self._fresh: list[tuple[Key, Callable[[], object]]] = []
        self._known: dict[Key, int] = {}
        self._thread: Thread | None = None
        self._woken = Event()
        self._is_closed = False

    def add(self, key: Key, changed: Callable[[], object]) -> Callable[[], None]:
        """Call a function after each change, and once soon after this; returns what ends it."""
        token = object()
        with self._guard:
            if self._is_closed:
                raise StoreFailed("the store is closed")
            self._watchers.setdefault(key, {})[token] = changed
            self._fresh.append((key, changed))
            if self._thread is None:
                self._thread = Thread(target=self._look_on, name="quire-watching", daemon=True)
                self._thread.start()
        self._woken.set()
        return partial(self._remove, key, token)

    def hear(self, key: Key, count: int) -> None:
        """Call those who watch something whose new count is known without looking."""
        if key in self._watchers:
            self._known[key] = count
            self._tell([key])

    def count(self, key: Key) -> int | None:
        """The count of what somebody watches, as it was last found or heard."""
        return self._known.get(key)

    def close(self) -> None:
        """Call all for the last time, and end the thread."""
        with self._guard:
            thread, self._is_closed = self._thread, True
        self._tell(list(self._watchers))
        self._woken.set()
        if thread is not None and thread is not current_thread():
            thread.join(_LINGERING)

    def rest(self, seconds: float) -> None:
        """Let some time pass, or less where the thread is woken."""
        self._woken.wait(seconds)

    def leave(self) -> None:
        """End the thread: the next who watches begins another."""
        self._thread = None

    def _remove(self, key: Key, token: object) -> None:
        with self._guard:
            of_key = self._watchers.get(key, {})
            of_key.pop(token, None)
            if not of_key:
                self._watchers.pop(key, None)

    def _tell(self, keys: Iterable[Key]) -> None:
        with self._guard:
            told = [changed for key in keys for changed in self._watchers.get(key, {}).values()]
        _call(told)

    def _look_on(self) -> None:
        """Look and rest, until the store is closed or nobody has watched for a while."""
        due, pause, needed_until = 0.0, self._shortest, time.monotonic() + _LINGERING
        try:
            while True:
                self._woken.clear()
                now = time.monotonic()
                with self._guard:
                    fresh, self._fresh = self._fresh, []
                    keys = list(self._watchers)
                    needed_until = now + _LINGERING if keys else needed_until
                    if self._is_closed or now > needed_until:
                        self.leave()
                        return
                is_due = now >= due
                has_changed = self._look(keys if is_due else [key for key, _ in fresh])
                _call([changed for _, changed in fresh])
                pause = self._shortest if has_changed or fresh else min(2 * pause, self._longest)
                spent = time.monotonic() - now
                if is_due:
                    self._known = {key: self._known[key] for key in keys if key in self._known}
                    due = now + spent + max(pause, _SHARE * spent)
                elif fresh:
                    due = min(due, now + spent + pause)
                self.rest(max(due - time.monotonic(), 0.0))
                time.sleep(_GATHERING if self._woken.is_set() else 0.0)
        except BaseException:
            with self._guard:
                self.leave()
            raise

    def _look(self, keys: list[Key]) -> bool:
        """Compare counts, tell those who watch what changed, and return whether something did."""
        if not keys:
            return False
        try:
            found = self._counts(keys)
        except StoreError:
            return False  # whoever reads is told why; the next look may succeed
        changed = [key for key, count in found.items() if self._known.get(key, count) != count]
        self._known.update(found)
        self._tell(changed)
        return bool(changed)


def _call(functions: Iterable[Callable[[], object]]) -> None:
    """Call functions of others; one that fails is logged, and the others are called."""
    for changed in functions:
        try:
            changed()
        except Exception:
            _log.exception("a function that watches a conversation failed")
