"""Bulky results kept in the pool, a stub with a handle in their place."""

from hashlib import sha256

import msgspec

from quire.compactors.foreseeing import shown_tokens
from quire.compactors.limits import Size, checked_size, tokens_of
from quire.compactors.plan import Plan, Room
from quire.compactors.results import Results, clearable, newest_results, saving
from quire.errors import cut
from quire.items import Mask, Note, ToolResult
from quire.state import View
from quire.state.view import checked_view
from quire.tokens import Counter
from quire.tokens.numbers import whole

_DIGITS = 10  # of a handle: short enough for a model to copy, long enough for one pool


class Offload(msgspec.Struct, frozen=True, kw_only=True):
    """Moves results `larger_than` so many tokens to the pool, all but those among the newest `keep` results.

    It does so once the view is above the ceiling; with a ceiling of 0, at once. The stub names the handle
    that `read_back` takes. A result with media stays as it is: a note in the pool is text.
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
        held = checked_view(view).tokens(room.counter)
        is_due = room.early or held > min(tokens_of(self.ceiling, room), room.tokens)
        if not is_due or not self._has_old_bulk(view, room.counter):
            return None
        masks: list[Mask] = []
        notes: list[Note] = []
        saved = 0
        for result in clearable(view, self.keep):
            size = shown_tokens(view, result, room.counter)
            if size <= self.larger_than or not _is_text(result):
                continue
            note = _noted(result, size)
            mask = Mask(result.id, f"[{note.description}: kept as {note.key}, read_back brings it back]")
            gain = saving(view, result, mask, room.counter)
            if gain > 0:
                masks.append(mask)
                notes.append(note)
                saved += gain
        reason = f"{held:,} tokens are shown, and {len(masks)} results have more than {self.larger_than:,}"
        after = room.counter.total(view.counted(room.counter) - saved)
        return Plan(self.name, reason, held, after, tuple(masks), tuple(notes)) if masks else None

    def _has_old_bulk(self, view: View, counter: Counter) -> bool:
        """Whether there can be anything to move, found out without going through all that is shown."""
        bulky = Results(counter, self.larger_than)
        found = view.counted(bulky)
        return found > 0 and found > sum(map(bulky.count, newest_results(view, self.keep)))


def handle_of(result: ToolResult) -> str:
    """The key under which a result is kept in the pool: the same for the same result."""
    return f"output-{sha256(result.id.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGITS]}"


def _noted(result: ToolResult, size: int) -> Note:
    outcome = "failed output" if result.is_error else "output"
    about = f"{outcome} of {cut(result.name)}, {size:,} tokens"
    return Note(result.text, key=handle_of(result), description=about, agent_id=result.agent_id)


def _is_text(result: ToolResult) -> bool:
    return all(isinstance(part, str) for part in result.parts)
