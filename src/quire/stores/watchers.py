"""Watchers: callbacks that run when a conversation changes, and the thread that polls for changes."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from threading import Event, Lock, Thread, current_thread
from typing import Generic, TypeVar

from quire.errors import StoreError, StoreFailed

Key = TypeVar("Key")

_GATHER_SECONDS = 0.005
"""Seconds to wait after a new watcher, so that many that begin together cost one poll."""

_LINGER_SECONDS = 5.0
"""Seconds that the thread stays without watchers, and that `close` waits for it."""

_SLEEP_FACTOR = 10
"""The thread sleeps at least `_SLEEP_FACTOR` times the last poll's duration."""

_log = logging.getLogger("quire.stores")


class Watchers(Generic[Key]):
    """Calls functions when the count of their key, such as its version, has changed.

    A thread polls the counts of all watched keys. It pauses `min_pause` seconds after a change, and longer
    after each poll without one, up to `max_pause` seconds.
    """

    def __init__(
        self, counts: Callable[[list[Key]], Mapping[Key, int]], min_pause: float, max_pause: float
    ) -> None:
        self._counts, self._min_pause, self._max_pause = counts, min_pause, max_pause
        self._guard = Lock()
        self._watchers: dict[Key, dict[object, Callable[[], object]]] = {}
        self._new: list[tuple[Key, Callable[[], object]]] = []
        self._known: dict[Key, int] = {}
        self._thread: Thread | None = None
        self._woken = Event()
        self._is_closed = False

    def add(self, key: Key, changed: Callable[[], object]) -> Callable[[], None]:
        """Call a function soon, and after each change; return a function that stops this."""
        token = object()
        with self._guard:
            if self._is_closed:
                raise StoreFailed("the store is closed")
            self._watchers.setdefault(key, {})[token] = changed
            self._new.append((key, changed))
            if self._thread is None:
                self._thread = Thread(target=self._poll_on, name="quire-watchers", daemon=True)
                self._thread.start()
        self._woken.set()
        return partial(self._remove, key, token)

    def notify(self, key: Key, count: int) -> None:
        """Call the watchers of a key whose new count is known without polling."""
        if key in self._watchers:
            self._known[key] = count
            self._call_watchers([key])

    def count(self, key: Key) -> int | None:
        """The last known count of a watched key."""
        return self._known.get(key)

    def close(self) -> None:
        """Call all watchers for the last time, and end the thread."""
        with self._guard:
            thread, self._is_closed = self._thread, True
        self._call_watchers(list(self._watchers))
        self._woken.set()
        if thread is not None and thread is not current_thread():
            thread.join(_LINGER_SECONDS)

    def sleep(self, seconds: float) -> None:
        """Sleep until the time is over or the thread is woken."""
        self._woken.wait(seconds)

    def detach(self) -> None:
        """Forget the thread, which ends: the next watcher starts another."""
        self._thread = None

    def _remove(self, key: Key, token: object) -> None:
        with self._guard:
            callbacks = self._watchers.get(key, {})
            callbacks.pop(token, None)
            if not callbacks:
                self._watchers.pop(key, None)

    def _call_watchers(self, keys: Iterable[Key]) -> None:
        with self._guard:
            callbacks = [changed for key in keys for changed in self._watchers.get(key, {}).values()]
        _call(callbacks)

    def _poll_on(self) -> None:
        """Poll and sleep, until the store is closed or has had no watcher for a while."""
        due, pause, needed_until = 0.0, self._min_pause, time.monotonic() + _LINGER_SECONDS
        try:
            while True:
                self._woken.clear()
                now = time.monotonic()
                with self._guard:
                    new, self._new = self._new, []
                    keys = list(self._watchers)
                    needed_until = now + _LINGER_SECONDS if keys else needed_until
                    if self._is_closed or now > needed_until:
                        self.detach()
                        return
                is_due = now >= due
                has_changed = self._poll(keys if is_due else [key for key, _ in new])
                _call([changed for _, changed in new])
                pause = self._min_pause if has_changed or new else min(2 * pause, self._max_pause)
                spent = time.monotonic() - now
                if is_due:
                    self._known = {key: self._known[key] for key in keys if key in self._known}
                    due = now + spent + max(pause, _SLEEP_FACTOR * spent)
                elif new:  # only the new keys were polled: poll all of them soon
                    due = min(due, now + spent + pause)
                self.sleep(max(due - time.monotonic(), 0.0))
                time.sleep(_GATHER_SECONDS if self._woken.is_set() else 0.0)
        except BaseException:
            with self._guard:
                self.detach()
            raise

    def _poll(self, keys: list[Key]) -> bool:
        """Compare counts, call the watchers of changed keys, and return whether there are any."""
        if not keys:
            return False
        try:
            counts = self._counts(keys)
        except StoreError:
            return False  # the watcher's own read raises it; the next poll may succeed
        changed = [key for key, count in counts.items() if self._known.get(key, count) != count]
        self._known.update(counts)
        self._call_watchers(changed)
        return bool(changed)


def _call(functions: Iterable[Callable[[], object]]) -> None:
    """Call functions; one that fails is logged, and the rest are called."""
    for function in functions:
        try:
            function()
        except Exception:
            _log.exception("a function that watches a conversation failed")
