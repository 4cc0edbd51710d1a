"""What holds between the items of the input: calls and outputs, ids, reasoning and what it led to."""

import re

from quire.providers.checking.faults import Findings
from quire.providers.checking.reading import Fields, short

PREFIXES = {"message": "msg", "function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs"}
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Calls:
    """Calls and their outputs, which are matched by call_id wherever they stand, an output after its call."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._calls: dict[str, str] = {}
        self._open: dict[str, int] = {}
        self._answered: set[str] = set()
        self._bound: set[str] = set()
        self._early: dict[str, str] = {}
        self._kinds: dict[str, str] = {}

    def call(self, name: str, place: str, kind: str, bound: bool) -> None:
        """A call, of which kind it is, and whether it is bound to have an output."""
        self._kinds[name] = kind
        if name in self._calls:
            text = f"{short(name)} is also the call_id at {self._calls[name]}"
            self._findings.add(place, "duplicate_call_id", text)
        else:
            self._calls[name] = place
        self._open[name] = self._open.get(name, 0) + 1
        if bound:
            self._bound.add(name)

    def output(self, name: str, place: str, kind: str) -> None:
        """The output of a call, and for which kind of call it is."""
        called = self._kinds.get(name, kind)
        if called in PREFIXES and called != kind:
            self._findings.add(place, "output_kind", f"the call {short(name)} is a {called}")
        if self._open.get(name, 0):
            self._open[name] -= 1
            self._answered.add(name)
        elif name in self._answered or name in self._early:
            self._findings.add(place, "duplicate_output", f"{short(name)} has an output already")
        else:
            self._early[name] = place

    def end(self, more_before: bool, more_within: bool) -> None:
        """Say what is missing, unless it may be in items that the input only refers to."""
        for name, place in self._early.items():
            if not more_before:
                self._findings.add(place, "orphan_output", f"no call before it has the call_id {short(name)}")
        for name, place in self._calls.items():
            answered = name in self._answered or name in self._early
            if name in self._bound and not answered and not more_within:
                self._findings.add(place, "unanswered_call", f"no output has the call_id {short(name)}")


class Ids:
    """The ids of items, each there once."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}

    def check(self, item: Fields, kind: str) -> None:
        """The id of an item, if it has one."""
        name = item.text("id") if kind == "item_reference" else item.optional_text("id")
        if name is None:
            return
        if not _ID.fullmatch(name):
            text = f"{short(name)} has {len(name)} characters or others than letters, digits, _ and -"
            item.add("id", "item_id", text)
        elif not name.startswith(PREFIXES.get(kind, "")):
            item.add("id", "item_id_prefix", f"{short(name)} is the id of an item of type {kind}")
        elif name in self._first:
            item.add("id", "duplicate_item_id", f"{short(name)} is also the id at {self._first[name]}")
        else:
            self._first[name] = item.at("id")


class Trains:
    """Reasoning and what it led to, which comes right after it."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._waiting: str | None = None

    def reasoning(self, item: Fields) -> None:
        """Reasoning, which waits for what it led to if the server can know it by its id."""
        if item.get("id") is not None:
            self._waiting = item.place

    def came(self) -> None:
        """Something that a model says or does."""
        self._waiting = None

    def stopped(self) -> None:
        """Something that is not the model's, or the end."""
        if self._waiting is not None:
            text = "is not followed by a message of the assistant or a call"
            self._findings.add(self._waiting, "reasoning_alone", text)
        self._waiting = None
