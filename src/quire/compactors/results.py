"""Tool results: clearing old ones, moving bulky ones to the pool, and reading these back."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

import msgspec

from quire.compactors.plan import Plan, Room
from quire.compactors.truncate import Size, checked_size, tokens_of
from quire.errors import InvalidLimit, InvalidValue, cut
from quire.items import Item, Mask, Note, ToolResult
from quire.state import Pool, Run, View, checked_view, one_per_group, protected_positions
from quire.tokens import Counter, Definition, note_text, whole

CLEARED = "[cleared: call the tool again if this is needed]"

HANDLE = "output-"
"""The beginning of the key of a note that holds a long output."""

HANDLE_DIGITS = 10  # short enough for a model to copy, long enough for one pool


class ClearToolResults(msgspec.Struct, frozen=True, kw_only=True):
    """Replaces every result but the newest `keep` by a stub, once the view is above the ceiling.

    It clears all at once, and only if that saves `at_least` so many tokens: each batch makes a provider read
    the conversation again from the first result that changed.
    """

    name = "clear-tool-results"

    keep: int = 3
    at_least: Size = 0.1
    stub: str = CLEARED
    ceiling: Size = 1.0

    def __post_init__(self) -> None:
        whole(self.keep, "keep", least=0)
        checked_size(self.at_least, "at_least")
        checked_size(self.ceiling, "the ceiling")
        if not self.stub.strip():
            raise InvalidValue("the stub is empty")

    def plan(self, view: View, room: Room) -> Plan | None:
        """Return a `Mask` for each old result, or None if that saves too little."""
        held, counter = checked_view(view).tokens(room.counter), room.counter
        is_due = room.early or held > min(tokens_of(self.ceiling, room), room.tokens)
        if not is_due or view.counted(_Results(counter)) <= self.keep:
            return None
        masks = [Mask(result.id, self.stub) for result in _clearable(view, self.keep)]
        gains = [(mask, gain) for mask in masks if (gain := _saved(view, mask, counter)) > 0]
        saved = sum(gain for _, gain in gains)
        if not gains or saved < tokens_of(self.at_least, room):
            return None
        reason = f"{held:,} tokens are shown, and {len(gains)} old results take {saved:,} of them"
        after = counter.total(view.counted(counter) - saved)
        return Plan(self.name, reason, held, after, tuple(mask for mask, _ in gains))


class Offload(msgspec.Struct, frozen=True, kw_only=True):
    """Moves results `larger_than` so many tokens to the pool, except those among the newest `keep` results.

    A newest result moves too if there is no room for it, alone or with all else that must stay. It acts once
    the view is above the ceiling; with a ceiling of 0, at once. The stub names the handle that `read_back`
    takes. A result with media stays, because a note is text.
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
        """Return a `Mask` and a note for each bulky result, or None if there is none."""
        held, counter = checked_view(view).tokens(room.counter), room.counter
        is_due = room.early or held > min(tokens_of(self.ceiling, room), room.tokens)
        bulky = _Results(counter, self.larger_than)
        if not is_due or not view.counted(bulky):
            return None
        newest = [result for result in _newest_results(view, self.keep) if bulky.count(result)]
        moved: list[_Moved] = []
        if view.counted(bulky) > len(newest):
            old = (self._moved(view, result, counter) for result in _clearable(view, self.keep))
            moved += [one for one in old if one is not None]
        moved += self._too_large(view, newest, moved, room)
        if not moved:
            return None
        masks, notes, gains = zip(*moved, strict=True)
        reason = f"{held:,} tokens are shown, and {len(masks)} results have more than {self.larger_than:,}"
        after = counter.total(view.counted(counter) - sum(gains))
        return Plan(self.name, reason, held, after, tuple(masks), tuple(notes))

    def _moved(self, view: View, result: ToolResult, counter: Counter) -> "_Moved | None":
        """Return how to move a result, or None if it is small, has media, or its stub would be no shorter."""
        size = shown_tokens(view, result, counter)
        if size <= self.larger_than or not all(isinstance(part, str) for part in result.parts):
            return None
        outcome = "failed output" if result.is_error else "output"
        about = f"{outcome} of {cut(result.name)}, {size:,} tokens"
        note = Note(result.text, key=handle_for(result.id), description=about, agent_id=result.agent_id)
        mask = Mask(result.id, f"[{about}: kept as {note.key}, read_back brings it back]")
        gain = _saved(view, mask, counter)
        return _Moved(mask, note, gain) if gain > 0 else None

    def _too_large(
        self, view: View, newest: list[ToolResult], moved_already: Sequence["_Moved"], room: Room
    ) -> Iterator["_Moved"]:
        """Yield the newest results for which there is no room: alone, or with all else that must stay."""
        if not newest:
            return
        shown = ((position, view.run_at(position)) for position in protected_positions(view))
        stays = {position: run.stand_in or view.log.item(position) for position, run in shown if run}
        needed = sum(map(room.counter.count, stays.values()))
        needed -= sum(m.gain for m in moved_already if view.position(m.mask.target) in stays)
        for result in newest:
            position = view.position(result.id)
            is_alone = room.counter.total(shown_tokens(view, result, room.counter)) > room.tokens
            is_beside = room.counter.total(needed) > room.tokens and position in stays
            moved = self._moved(view, result, room.counter) if is_alone or is_beside else None
            if moved is not None and _is_clearable(view, result):
                needed -= moved.gain if position in stays else 0
                yield moved


class _Moved(NamedTuple):
    mask: Mask
    note: Note
    gain: int


def handle_for(result_id: str) -> str:
    """Return the key under which a result is kept in the pool."""
    return HANDLE + sha256(result_id.encode("utf-8", "surrogatepass")).hexdigest()[:HANDLE_DIGITS]


class _Results:
    """Counts tool results; with `larger_than` only those of more tokens."""

    def __init__(self, counter: Counter, larger_than: int = -1) -> None:
        self._counter = counter
        self._larger_than = larger_than
        self.key = f"quire.results>{larger_than}/{counter.key}" if larger_than >= 0 else "quire.results"

    def count(self, item: Item) -> int:
        if not isinstance(item, ToolResult):
            return 0
        return int(self._larger_than < 0 or self._counter.count(item) > self._larger_than)

    def total(self, counted: int) -> int:
        return counted


def _newest_results(view: View, limit: int) -> list[ToolResult]:
    return list(islice((item for item in reversed(view) if isinstance(item, ToolResult)), limit))


def _clearable(view: View, keep: int) -> list[ToolResult]:
    """Return all results but the newest `keep` that a stub may replace, oldest first."""
    results = [item for item in view if isinstance(item, ToolResult)]
    pending = _beside_pending_calls(view)
    return [result for result in results[: len(results) - keep] if _is_clearable(view, result, pending)]


def _is_clearable(view: View, result: ToolResult, pending: set[str] | None = None) -> bool:
    """Whether a result is neither masked nor pinned nor in the group of a pending call."""
    position = view.position(result.id)
    if view.log.item(position) is not result or view.log.head(position) in view.shape.pins:
        return False
    return result.id not in (_beside_pending_calls(view) if pending is None else pending)


def _beside_pending_calls(view: View) -> set[str]:
    heads = one_per_group(view.log, (view.position(call.id) for call in view.pending()))
    return {view.log.item(position).id for head in heads for position in view.log.group(head, view.end)}


def _saved(view: View, mask: Mask, counter: Counter) -> int:
    """Return the tokens that a mask saves; negative if the stub is longer than the result."""
    result = view.get(mask.target)
    assert isinstance(result, ToolResult)
    stub = msgspec.structs.replace(result, content=mask.stub)
    return shown_tokens(view, result, counter) - counter.count(stub)


def shown_tokens(view: View, item: Item, counter: Counter) -> int:
    """Return the tokens of an item that is shown. They are known already, unless a stub replaces it."""
    position = view.log.find(item.id, view.end)
    if position is None or view.log.item(position) is not item:
        return counter.count(item)
    return view.run_tokens(Run(position, position + 1), counter)


READ_BACK: Definition = {
    "name": "read_back",
    "description": (
        "Read a long output that was moved out of the conversation. What took its place names its handle. "
        "Of an output that is too long a piece is given, with the place where to go on."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "handle": {"type": "string", "description": "The handle, such as output-0123456789."},
            "start": {
                "type": "integer",
                "minimum": 0,
                "description": "The character from which to read; 0, the beginning, if left out.",
            },
        },
        "required": ["handle"],
    },
}
"""The tool that lets a model read what `Offload` moved; `read_back` implements it."""

_FIRST_PIECE = 512  # characters that are tried first


def read_back(pool: Pool, handle: str, counter: Counter, tokens: int, start: int = 0) -> str:
    """Return a piece of a note that fits a tool result of so many tokens, and where to go on.

    A wrong handle or start is a mistake of the model, and is answered in words.
    """
    whole(tokens, "tokens", least=1)
    if not isinstance(handle, str) or handle not in pool:  # pyright: ignore[reportUnnecessaryIsInstance]
        named = repr(cut(handle) if isinstance(handle, str) else handle)  # pyright: ignore
        return f"Nothing is kept under the handle {cut(named)}, or no longer."
    if not isinstance(start, int) or isinstance(start, bool) or start < 0:  # pyright: ignore
        return f"start is the number of a character, 0 or more, and not {cut(repr(start))}."
    text = note_text(pool.get(handle).content)
    if start >= len(text):
        return f"There are {len(text)} characters: none from {start} on."
    return _piece(text, start, lambda piece: counter.count(ToolResult("c", "read_back", piece)) <= tokens)


def _piece(text: str, start: int, fits: Callable[[str], bool]) -> str:
    def beginning(length: int) -> str:
        stop = start + length
        if stop == len(text):
            return text[start:]
        return f"{text[start:stop]}\n[characters {start} to {stop} of {len(text)}; go on with start={stop}]"

    rest = len(text) - start
    reach = min(_FIRST_PIECE, rest)
    while reach < rest and fits(beginning(reach)):
        reach = min(2 * reach, rest)
    if fits(beginning(reach)):
        return beginning(reach)
    # Tokens nearly always grow with the text. The length that is found does fit, even if a longer one would.
    length = bisect_left(range(reach), True, key=lambda length: not fits(beginning(length))) - 1
    if length < 1:
        raise InvalidLimit("there are too few tokens to read anything")
    return beginning(length)
