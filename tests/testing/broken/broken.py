"""Implementations that each break one promise. Pytest is run on this file, and has to find them all."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quire.compactors import Plan, Room
from quire.items import Hide, Message, Note, Span, ToolCall
from quire.providers import PROVIDERS, Rendered
from quire.sections import Ask, Content, Settings
from quire.state import View, truncate
from quire.stores import Entry, MemoryStore, Opening, Place, Store, Stored
from quire.testing import CompactorLaws, ProviderLaws, SectionLaws, StoreLaws
from quire.testing.answers import answer


class LosesAppends(MemoryStore):
    """Takes an append that comes too late for one that was made."""

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        if expected < self.version(place):
            return self.version(place)
        return super().append(place, entries, expected=expected)


class IgnoresCase(MemoryStore):
    """Reads a scope whatever its case."""

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        return super().read(place, after=after) or super().read(
            Place(place.scope.lower(), place.conversation), after=after
        )


class KeepsWhatWasReplaced(MemoryStore):
    """Writes everything to a file and never removes anything from it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        version = super().append(place, entries, expected=expected)
        with self._path.open("ab") as file:
            file.writelines(body for _, body in entries)
        return version


class ReplacesHalf(MemoryStore):
    """Replaces bodies one by one, until one of them fails."""

    def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
        for version, body in bodies.items():
            super().replace(place, {version: body})


class KeepsStaleCheckpoints(MemoryStore):
    """Opens a checkpoint that was written before its conversation was changed."""

    has_checkpoints = True

    def __init__(self) -> None:
        super().__init__()
        self._heads: dict[Place, tuple[int, bytes]] = {}

    def write_checkpoint(
        self, place: Place, version: int, head: bytes, needs: Sequence[int], parts: Mapping[int, bytes]
    ) -> bool:
        self._heads[place] = (version, head)
        return version <= self.version(place)

    def open_checkpoint(self, place: Place) -> Opening | None:
        version, head = self._heads.get(place, (0, b""))
        return Opening(version, head, self.read(place, after=version - 1)) if version else None


class HalfOfAPair:
    """Hides the calls, and leaves their results."""

    name = "half of a pair"

    def plan(self, view: View, room: Room) -> Plan | None:
        before = view.tokens(room.counter)
        calls = [item for item in view if isinstance(item, ToolCall)]
        if before <= room.tokens or not calls:
            return None
        edits = (Hide((Span(calls[0].id, calls[0].id),)),)
        return Plan(self.name, "too long", before, before - room.counter.count(calls[0]), edits)


class HidesQuestions:
    """Hides user messages, the one to be answered too, one in each turn."""

    name = "hides questions"

    def plan(self, view: View, room: Room) -> Plan | None:
        before = view.tokens(room.counter)
        users = [item for item in view if isinstance(item, Message) and item.role == "user"]
        if before <= room.tokens or not users:
            return None
        edits = (Hide((Span(users[-1].id, users[-1].id),)),)
        return Plan(self.name, "too long", before, before - room.counter.count(users[-1]), edits)


class PromisesTooMuch:
    """Hides the oldest turn, and says that this saves half of the view."""

    name = "promises too much"

    def plan(self, view: View, room: Room) -> Plan | None:
        edit = truncate(view, tokens=room.tokens, counter=room.counter)
        before = view.tokens(room.counter)
        return None if edit is None else Plan(self.name, "too long", before, before // 2, (edit,))


class DoesNothing:
    """Never has a plan, so that no law would test it."""

    name = "does nothing"

    def plan(self, view: View, room: Room) -> Plan | None:
        return None


class NewIds:
    """Gives its text a new id with each ask."""

    name = "new ids"

    async def items(self, ask: Ask) -> Content:
        return [Message("system", "Prices are in EUR.")]


class EmptiesThePool:
    """Takes what it shows out of the pool."""

    name = "empties the pool"

    async def items(self, ask: Ask) -> Content:
        for note in list(ask.pool):
            ask.pool.remove(note.key or "")
        return [{"role": "system", "content": "Noted."}]


class StaticClock(Settings):
    """Says that it never changes, and tells the time."""

    def __init__(self) -> None:
        super().__init__("clock", stability="static")

    async def items(self, ask: Ask) -> Content:
        return [{"role": "system", "content": f"It is {ask.now}."}]


class LastItem:
    """Shows the last item of the conversation, whatever it belongs to."""

    name = "last item"

    async def items(self, ask: Ask) -> Content:
        return ask.view()[-1:]


class Drops:
    """Drops notes without saying so."""

    name = "drops"
    parse, stream = PROVIDERS["openai"].parse, PROVIDERS["openai"].stream
    read_history, check = PROVIDERS["openai"].read_history, PROVIDERS["openai"].check

    def render(self, items: Sequence[Any], **options: Any) -> Rendered:
        kept = [item for item in items if not isinstance(item, Note) and not getattr(item, "is_error", False)]
        return PROVIDERS["openai"].render(kept, **options)


class Numbers(Drops):
    """Numbers its requests, so that no two are the same."""

    name = "numbers"
    made = 0

    def render(self, items: Sequence[Any], **options: Any) -> Rendered:
        rendered = PROVIDERS["openai"].render(items, **options)
        self.made += 1
        return replace(rendered, shared={**rendered.shared, "user": str(self.made)})


class InMemory(StoreLaws):
    is_lasting = False
    kind: type[MemoryStore]

    def open(self, folder: Path) -> Store:
        return self.kind()


class TestLosesAppends(InMemory):
    kind = LosesAppends


class TestSwallowsConflicts(InMemory):
    kind = LosesAppends


class TestIgnoresCase(InMemory):
    kind = IgnoresCase


class TestReplacesHalf(InMemory):
    kind = ReplacesHalf


class TestKeepsStaleCheckpoints(InMemory):
    kind = KeepsStaleCheckpoints


class TestKeepsWhatWasReplaced(InMemory):
    def open(self, folder: Path) -> Store:
        return KeepsWhatWasReplaced(folder / "log")


class TestForgetsAtRestart(StoreLaws):
    def open(self, folder: Path) -> Store:
        return MemoryStore()


class TestHalfOfAPair(CompactorLaws):
    compactors = (HalfOfAPair(),)


class TestHidesQuestions(CompactorLaws):
    compactors = (HidesQuestions(),)


class TestPromisesTooMuch(CompactorLaws):
    compactors = (PromisesTooMuch(),)


class TestDoesNothing(CompactorLaws):
    compactors = (DoesNothing(),)


class TestNewIds(SectionLaws):
    sections = (NewIds(),)


class TestEmptiesThePool(SectionLaws):
    sections = (EmptiesThePool(),)


class TestStaticClock(SectionLaws):
    sections = (StaticClock(),)


class TestLastItem(SectionLaws):
    sections = (LastItem(),)


class TestDrops(ProviderLaws):
    provider = Drops()
    replies = (answer("openai", "gpt-5.6", 1, 1, 4, 1),)


class TestNumbers(ProviderLaws):
    provider = Numbers()
    replies = (answer("openai", "gpt-5.6", 1, 1, 4, 1),)
