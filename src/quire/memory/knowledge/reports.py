"""What is told of sources: those that are there, and what became of those that were added."""

from typing import NamedTuple

import msgspec


class Source(msgspec.Struct, frozen=True, gc=False):
    """One document that is kept: its name, its title, how large it is, and since when it is there."""

    name: str
    title: str
    chunks: int
    tokens: int
    added_at: float
    updated_at: float


class Remark(NamedTuple):
    """Something there is to say of a source."""

    source: str
    text: str


class Report(msgspec.Struct, frozen=True, gc=False):
    """What became of what was added, source by source; `notes` are of those that were read, with a doubt."""

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    failed: tuple[Remark, ...] = ()
    notes: tuple[Remark, ...] = ()

    def __str__(self) -> str:
        counts = ((len(getattr(self, name)), name) for name in self.__struct_fields__ if name != "notes")
        return ", ".join(f"{count:,} {name}" for count, name in counts if count) or "nothing to add"


class Tally:
    """A report that is being made."""

    def __init__(self) -> None:
        self.sources: dict[str, list[str]] = {
            name: [] for name in ("added", "updated", "unchanged", "removed")
        }
        self.failed: list[Remark] = []
        self.notes: list[Remark] = []

    def report(self) -> Report:
        """What is known so far."""
        done = {name: tuple(sources) for name, sources in self.sources.items()}
        return Report(**done, failed=tuple(self.failed), notes=tuple(self.notes))
