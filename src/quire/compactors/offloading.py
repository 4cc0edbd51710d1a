"""Bulky results kept in the pool, a stub with a handle in their place."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

import msgspec

from quire.compactors.foreseeing import shown_tokens
from quire.compactors.limits import Size, checked_room, checked_size, tokens_of
from quire.compactors.plan import Plan, Room
from quire.compactors.results import Results, clearable, is_clearable, newest_results, saving
from quire.errors import cut
from quire.items import Mask, Note, ToolResult
from quire.state import View, checked_view, protected_positions
from quire.tokens import Counter, whole

HANDLE = "output-"
"""What the key of a note begins with that holds a long output."""

HANDLE_DIGITS = 10  # short enough for a model to copy, long enough for one pool


class Offload(msgspec.Struct, frozen=True, kw_only=True):
    """Moves results `larger_than` so many tokens to the pool, all but those among the newest `keep` results.

    Of these too it moves what there is no room for, alone or with all else that must stay: a model can go on
    from a stub with a handle. It does so once the view is above the ceiling; with a ceiling of 0, at once.
    The stub names the handle that `read_back` takes. A result with media stays as it is: a note is text.
    """

    name = "offload"

    larger_than: int = 1_000
    keep: int = 1
    ceiling: Size = 1.0

    def __post_init__(self) -> None:
        whole(self.larger_than, "larger_than", least=0)
        whole(self.keep, "keep", least=0)
        checked_size(self.ceiling, "the ceiling")

    def plan(self, view: View, room: Room) -> Plan | None:
        """A `Mask` and a note for each bulky result, or none where there is none."""
        held, counter = checked_view(view).tokens(checked_room(room).counter), room.counter
        is_due = room.early or held > min(tokens_of(self.ceiling, room), room.tokens)
        bulky = Results(counter, self.larger_than)
        if not is_due or not view.counted(bulky):
            return None
        newest = [result for result in newest_results(view, self.keep) if bulky.count(result)]
        moved: list[_Moved] = []
        if view.counted(bulky) > len(newest):
            key = ("quire.offload", self.larger_than, counter.key)
            old = clearable(view, self.keep, lambda result: self._moved(view, result, counter) is None, key)
            moved += filter(None, (self._moved(view, result, counter) for result in old))
        moved += self._too_large(view, newest, moved, room)
        if not moved:
            return None
        masks, notes, gains = zip(*moved, strict=True)
        reason = f"{held:,} tokens are shown, and {len(masks)} results have more than {self.larger_than:,}"
        after = counter.total(view.counted(counter) - sum(gains))
        return Plan(self.name, reason, held, after, tuple(masks), tuple(notes))

    def _moved(self, view: View, result: ToolResult, counter: Counter) -> "_Moved | None":
        """What moving a result takes; none where it is small, has media, or its stub would be no shorter."""
        size = shown_tokens(view, result, counter)
        if size <= self.larger_than or not _is_text(result):
            return None
        note = _noted(result, size)
        mask = Mask(result.id, f"[{note.description}: kept as {note.key}, read_back brings it back]")
        gain = saving(view, result, mask, counter)
        return _Moved(mask, note, gain) if gain > 0 else None

    def _too_large(
        self, view: View, newest: list[ToolResult], moved_already: Sequence["_Moved"], room: Room
    ) -> Iterator["_Moved"]:
        """Of the newest results those that there is no room for: alone, or with all else that must stay."""
        if not newest:
            return
        stays = {
            position: run
            for position in protected_positions(view)
            if (run := view.run_at(position)) is not None
        }
        shown = (run.stand_in or view.log.item(position) for position, run in stays.items())
        needed = sum(map(room.counter.count, shown))
        needed -= sum(m.gain for m in moved_already if view.position(m.mask.target) in stays)
        for result in newest:
            alone = room.counter.total(shown_tokens(view, result, room.counter)) > room.tokens
            jams = room.counter.total(needed) > room.tokens and view.position(result.id) in stays
            moved = self._moved(view, result, room.counter) if alone or jams else None
            if moved is not None and is_clearable(view, result):
                needed -= moved.gain if view.position(result.id) in stays else 0
                yield moved


class _Moved(NamedTuple):
    mask: Mask
    note: Note
    gain: int


def handle_for(result_id: str) -> str:
    """The key under which a result is kept in the pool: the same for the same result."""
    return HANDLE + sha256(result_id.encode("utf-8", "surrogatepass")).hexdigest()[:HANDLE_DIGITS]


def _noted(result: ToolResult, size: int) -> Note:
    outcome = "failed output" if result.is_error else "output"
    about = f"{outcome} of {cut(result.name)}, {size:,} tokens"
    return Note(result.text, key=handle_for(result.id), description=about, agent_id=result.agent_id)


def _is_text(result: ToolResult) -> bool:
    return all(isinstance(part, str) for part in result.parts)
