"""Handles of long outputs: by which of them a model may still ask for what is kept in the pool.

It may as long as something shown names the handle. What was looked at once is not looked at again: a state of
what was found grows with what is new, and is never changed in place, so that any thread may read it and a
draft begins with it.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from quire.compactors import HANDLE, HANDLE_DIGITS
from quire.items import Item, Mask, Note, ToolResult
from quire.state import Transcript, View

PLAIN_HANDLE = re.compile(rf"\b{HANDLE}[0-9a-f]{{{HANDLE_DIGITS}}}(?!\w|-(?!\d))")
"""Of an output that is in several notes, the handle of the first, with which the keys of all begin."""

_KEY = re.compile(rf"({PLAIN_HANDLE.pattern})(?:-\d+)?")

OUTPUTS = "quire.outputs"
"""The key of `extras` of a result, for the handles of what its tool gave and was kept in notes."""

Naming = tuple[str, str]
"""A transcript, and the id of the result that names a handle in it, or in whose place something does."""


class _Found(NamedTuple):
    """Who names each handle, and how many items of each transcript were looked at for it."""

    naming: Mapping[str, tuple[Naming, ...]]
    looked_at: Mapping[str, int]


class Handles:
    """The handles that the items of a conversation name, and those that are yet to be named."""

    def __init__(self, other: "Handles | None" = None) -> None:
        self._found: _Found = _Found({}, {}) if other is None else other._found
        # The calls that waited when an output came: the result of one of them will name it.
        self._expected: dict[str, frozenset[str]] = {} if other is None else dict(other._expected)

    def expect(self, note: Note, waiting: Callable[[], frozenset[str]]) -> None:
        """Take in that a note comes while some calls wait for their results."""
        handle = handle_of(note)
        if handle is not None and (calls := waiting()):
            still = {one: known for one, known in self._expected.items() if known & calls}
            self._expected = {**still, handle: calls}

    def staying(
        self, handles: Iterable[str], transcripts: Mapping[str, Transcript], waiting: Collection[str]
    ) -> set[str]:
        """Those of some handles that something shown names, or that a call that waits will name."""
        naming = self._naming(transcripts)
        return {
            handle
            for handle in handles
            if not self._expected.get(handle, frozenset()).isdisjoint(waiting)
            or any(
                _names(transcripts[name].view, item_id, handle) for name, item_id in naming.get(handle, ())
            )
        }

    def _naming(self, transcripts: Mapping[str, Transcript]) -> Mapping[str, tuple[Naming, ...]]:
        """Who names each handle, once what is new was looked at."""
        naming, looked_at = self._found
        new: dict[str, int] = {}
        for name, transcript in transcripts.items():
            since = looked_at.get(name, 0)
            if len(transcript) > since:
                items = transcript.recorded(since)
                new[name] = since + len(items)
                naming = _with(naming, name, items)
        if new:
            self._found = _Found(naming, {**looked_at, **new})
        return naming


def handle_of(note: Note) -> str | None:
    """The handle of a note that holds a long output, or a part of one."""
    found = _KEY.fullmatch(note.key or "")
    return None if found is None else found[1]


def outputs_of(item: Item) -> Sequence[str]:
    """The handles of what was kept of the output that a result shows."""
    return item.extras.get(OUTPUTS, ()) if isinstance(item, ToolResult) else ()


def named_in(items: Iterable[Item]) -> set[str]:
    """The handles that results, and what stands in their place, name."""
    return {handle for item in items for handle in _named_by(item)}


def _named_by(item: Item) -> Set[str]:
    if not isinstance(item, Mask | ToolResult):
        return frozenset()
    return set(PLAIN_HANDLE.findall(item.stub if isinstance(item, Mask) else item.text))


def _with(
    naming: Mapping[str, tuple[Naming, ...]], name: str, items: Iterable[Item]
) -> Mapping[str, tuple[Naming, ...]]:
    new: dict[str, tuple[Naming, ...]] = {}
    for item in items:
        for handle in _named_by(item):
            at = (name, item.target if isinstance(item, Mask) else item.id)
            new[handle] = (*new.get(handle, naming.get(handle, ())), at)
    return {**naming, **new} if new else naming


def _names(view: View, item_id: str, handle: str) -> bool:
    """Whether a result, or what is shown in its place, names a handle where it is shown."""
    position = view.position(item_id)
    run = view.run_at(position)
    if run is None:
        return False
    return handle in _named_by(view.log.item(position) if run.stand_in is None else run.stand_in)
