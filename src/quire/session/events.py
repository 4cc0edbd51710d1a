"""What is about to happen, and what has happened. The first may be refused, the second is a fact."""

from typing import Any, NamedTuple

from quire.compactors import Outcome, Plan
from quire.context import Context, Template
from quire.items import Item, Note
from quire.stores import Place


class Adding(NamedTuple):
    """Items are about to be recorded in a stream: a transcript by its name, or the pool."""

    place: Place
    stream: str
    items: tuple[Item, ...]


class Added(NamedTuple):
    """Items were recorded."""

    place: Place
    stream: str
    items: tuple[Item, ...]


class Removing(NamedTuple):
    """A note is about to be taken out of the pool."""

    place: Place
    note: Note


class Removed(NamedTuple):
    """A note was taken out of the pool."""

    place: Place
    note: Note


class Clearing(NamedTuple):
    """All notes are about to be taken out of the pool."""

    place: Place
    notes: tuple[Note, ...]


class Cleared(NamedTuple):
    """All notes were taken out of the pool."""

    place: Place
    notes: tuple[Note, ...]


class Evicting(NamedTuple):
    """A note is about to give way to another, because the pool is full."""

    place: Place
    note: Note
    by: Note


class Evicted(NamedTuple):
    """A note gave way to another."""

    place: Place
    note: Note
    by: Note


class Compacting(NamedTuple):
    """A plan to make a transcript smaller is about to be carried out."""

    place: Place
    stream: str
    plan: Plan


class Compacted(NamedTuple):
    """A plan was carried out, or given up: the outcome says which."""

    place: Place
    stream: str
    plan: Plan
    outcome: Outcome


class Building(NamedTuple):
    """A context is about to be built."""

    place: Place
    template: Template


class Built(NamedTuple):
    """A context was built."""

    place: Place
    context: Context


class Calling(NamedTuple):
    """A tool is about to be called. Of a model that writes summaries, `Compacting` tells."""

    place: Place
    name: str
    arguments: Any


class Called(NamedTuple):
    """A tool was called; `fault` names the error where it failed."""

    place: Place
    name: str
    arguments: Any
    result: Any
    fault: str | None = None


BEFORE = (Adding, Removing, Clearing, Evicting, Compacting, Building, Calling)
AFTER = (Added, Removed, Cleared, Evicted, Compacted, Built, Called)
PAIRS = tuple(zip(BEFORE, AFTER, strict=True))
"""Each event with the one that says that it has happened."""

EVENTS = (*BEFORE, *AFTER)

Event = (
    Adding
    | Added
    | Removing
    | Removed
    | Clearing
    | Cleared
    | Evicting
    | Evicted
    | Compacting
    | Compacted
    | Building
    | Built
    | Calling
    | Called
)
