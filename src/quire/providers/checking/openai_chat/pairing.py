"""Calls and their results: each call answered once, at once, and nothing else answered."""

from collections.abc import Sequence

from quire.providers.checking.faults import Findings
from quire.providers.checking.reading import short


class Pairing:
    """Which calls of the newest assistant message are open, and which were left open before it.

    When something could not be read that may have been a call or a result, nothing is said about the
    others of its round: it has its own fault already.
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._open: dict[str, str] = {}
        self._answered: dict[str, str] = {}
        self._twice: set[str] = set()
        self._left_open: dict[str, list[str]] = {}
        self._unclear = False

    def call(self, calls: Sequence[tuple[str, str]], unclear: bool) -> None:
        """The assistant calls tools: the id and the place of each."""
        self.other()
        self._unclear = unclear
        for name, place in calls:
            if name in self._open:
                self._twice.add(name)
                text = f"{short(name)} is also the id at {self._open[name]}"
                self._findings.add(place, "duplicate_call_id", text)
            else:
                self._open[name] = place

    def answer(self, name: str, place: str) -> None:
        """A tool message responds to a call."""
        if name in self._open:
            del self._open[name]
            self._answered[name] = place
        elif name in self._answered:
            if name not in self._twice:
                text = f"{short(name)} is already answered at {self._answered[name]}"
                self._findings.add(place, "duplicate_tool_message", text)
        elif name in self._left_open:
            self._answer_late(name, place)
        elif not self._unclear:
            self._findings.add(place, "orphan_tool_message", f"no call before it has the id {short(name)}")

    def _answer_late(self, name: str, place: str) -> None:
        calls = self._left_open[name]
        text = f"other messages stand between it and its call at {calls.pop()}"
        self._findings.add(place, "late_tool_message", text)
        if not calls:
            del self._left_open[name]

    def other(self) -> None:
        """A message that is no result."""
        if not self._unclear:
            for name, place in self._open.items():
                self._left_open.setdefault(name, []).append(place)
        self._open, self._answered, self._twice, self._unclear = {}, {}, set(), False

    def unreadable(self) -> None:
        """A message that may have been anything."""
        self._open, self._unclear = {}, True

    def end(self) -> None:
        """There are no more messages."""
        self.other()
        for name, places in self._left_open.items():
            for place in places:
                self._findings.add(place, "unanswered_tool_call", f"no tool message answers {short(name)}")
