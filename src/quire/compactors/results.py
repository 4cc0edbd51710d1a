"""Tool results: clear old ones, move large ones to the pool, and read them back."""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from quire.compactors.ledger import only_reads
from quire.compactors.plan import Plan, Room
from quire.compactors.truncate import Size, checked_size, tokens_of
from quire.errors import InvalidLimit, InvalidValue, Irreducible, cut
from quire.items import Item, Mask, Note, OptionsMeta, ToolCall, ToolResult, own_origin
from quire.state import Pool, View, truncate, view_after, view_of_list
from quire.tokens import Counter, Definition, Tally, note_text, whole

CLEARED = "[cleared: call the tool again if this is needed]"
"""The stub that replaces the result of a tool that only reads."""

_DONE = "[cleared: this was done; to call the tool again is to do it again]"
_FAILED = "[cleared: the call failed]"

HANDLE = "output-"
"""The prefix of the keys of notes that hold moved outputs."""

HANDLE_DIGITS = 10  # short enough for a model to copy, long enough for one pool

_NUMBER = re.compile(r"#?(\d{1,9})")


class ClearToolResults(msgspec.Struct, metaclass=OptionsMeta, frozen=True, kw_only=True):
    """Replaces every result but the newest `keep` by a stub, once the view is above the ceiling.

    It clears in batches that save `at_least` this many tokens, because after each batch the provider reads
    the conversation again from the first changed result. The default stub invites another call only if the
    tool only reads.
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
            raise InvalidValue("the stub must not be empty")

    def plan(self, view: View, room: Room) -> Plan | None:
        """Return a `Mask` for each old result, or None if that saves too little."""
        size, counter = view.tokens(room.counter), room.counter
        if not _is_due(size, self.ceiling, room):
            return None
        savings = _savings(f"quire.cleared {self.stub}", counter, self._stub)
        old = [result for result in _replaceable(view, savings) if result.number >= self.keep]
        saved = sum(result.saved for result in old)
        if not old or saved < tokens_of(self.at_least, room):
            return None
        reason = f"{size:,} tokens are shown, and {len(old)} old results take {saved:,} of them"
        after = counter.total(view.counted(counter) - saved)
        masks = tuple(Mask(result.item.id, self._stub(result.item)) for result in old)
        return Plan(self.name, reason, size, after, masks)

    def _stub(self, result: ToolResult) -> str:
        """Return the stub of a result; it suggests another call only for a tool that only reads."""
        if self.stub != CLEARED or (only_reads(result.name) and not result.is_error):
            return self.stub
        return _FAILED if result.is_error else _DONE


class Offload(msgspec.Struct, metaclass=OptionsMeta, frozen=True, kw_only=True):
    """Moves results `larger_than` this many tokens to the pool, except the newest `keep` results.

    One of the newest moves too if there is no room for it, alone or with all else that must stay. The
    compactor acts once the view is above the ceiling, and always with a ceiling of 0. The stub names the
    handle for `read_back`. A result with media stays, because a note is text.
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
        """Return a `Mask` and a note for each large result, or None if there is none."""
        size, counter = view.tokens(room.counter), room.counter
        if not _is_due(size, self.ceiling, room):
            return None
        savings = _savings(f"quire.moved {self.larger_than}", counter, partial(self._stub, counter))
        large = _replaceable(view, savings)
        chosen = [result for result in large if result.number >= self.keep]
        moves = [self._moved(counter, result.item) for result in chosen]
        for result in reversed(large[len(chosen) :]):
            if self._is_too_large(view, [mask for mask, _ in moves], result.item, room):
                chosen.append(result)
                moves.append(self._moved(counter, result.item))
        if not chosen:
            return None
        masks, notes = zip(*moves, strict=True)
        reason = f"{size:,} tokens are shown, and {len(masks)} results have more than {self.larger_than:,}"
        after = counter.total(view.counted(counter) - sum(result.saved for result in chosen))
        return Plan(self.name, reason, size, after, masks, notes)

    def _is_too_large(self, view: View, masks: Sequence[Mask], result: ToolResult, room: Room) -> bool:
        """Whether there is no room for a result: alone, or with all else that must stay."""
        if room.counter.total(shown_tokens(view, result, room.counter)) > room.tokens:
            return True
        try:
            truncate(view_after(view, masks), tokens=room.tokens, counter=room.counter)
        except Irreducible as error:
            return result.id in error.parts
        return False

    def _stub(self, counter: Counter, result: ToolResult) -> str | None:
        """Return the stub of a result, or None if it is small or has media."""
        if counter.count(result) <= self.larger_than or any(not isinstance(p, str) for p in result.parts):
            return None
        return self._moved(counter, result)[0].stub

    def _moved(self, counter: Counter, result: ToolResult) -> tuple[Mask, Note]:
        """Return the mask of a result, and the note that keeps it."""
        outcome = "failed output" if result.is_error else "output"
        about = f"{outcome} of {cut(result.name)}, {counter.count(result):,} tokens"
        key, origin = handle_for(result.id), own_origin(result)
        note = Note(result.text, key=key, description=about, agent_id=result.agent_id, origin=origin)
        return Mask(result.id, f"[{about}: kept as {note.key}, read_back brings it back]"), note


def handle_for(result_id: str) -> str:
    """Return the key under which a result is kept in the pool."""
    return HANDLE + sha256(result_id.encode("utf-8", "surrogatepass")).hexdigest()[:HANDLE_DIGITS]


def number_handle(view: View, item_id: str) -> str:
    """Return the handle of an item that is in no pool: its number in the log."""
    position = view.log.find(item_id, view.end)
    return "" if position is None else f"#{position}"


def _is_due(size: int, ceiling: Size, room: Room) -> bool:
    return room.early or size > min(tokens_of(ceiling, room), room.tokens)


def _savings(key: str, counter: Counter, stub_for: Callable[[ToolResult], str | None]) -> Tally:
    """Return a counter of the tokens that stubs save; 0 for an item without a shorter stub."""

    def saved(item: Item) -> int:
        stub = stub_for(item) if isinstance(item, ToolResult) else None
        return 0 if stub is None else max(counter.count(item) - counter.count(replace(item, content=stub)), 0)

    return Tally(f"{key}/{counter.key}", saved)


class _Replaceable(NamedTuple):
    """A result that a stub can replace: its number, counted from the newest, and the tokens saved."""

    number: int
    item: ToolResult
    saved: int


def _replaceable(view: View, savings: Tally) -> list[_Replaceable]:
    """Return the results that stubs can replace, oldest first.

    Masked and pinned results stay, and those in the group of a pending call.
    """
    replaceable: list[_Replaceable] = []
    unread_savings, number, log = view.counted(savings), 0, view.log
    stays = view.held_groups()
    results = (item for item in reversed(view) if isinstance(item, ToolResult))
    while unread_savings > 0:  # older results have no shorter stub
        result = next(results)
        saved, position = shown_tokens(view, result, savings), view.position(result.id)
        if saved and log.item(position) is result and log.head(position) not in stays:
            replaceable.append(_Replaceable(number, result, saved))
        unread_savings, number = unread_savings - saved, number + 1
    return replaceable[::-1]


def shown_tokens(view: View, item: Item, counter: Counter) -> int:
    """Return the tokens of an item that is shown; only those of a stub are counted again."""
    position = view.log.find(item.id, view.end)
    if position is None or view.log.item(position) is not item:
        return counter.count(item)
    return view.log.tokens(position, position + 1, counter)


READ_BACK: Definition = {
    "name": "read_back",
    "description": (
        "Read an output that was shortened, left out or moved out of the conversation. What took its place "
        "names its handle. Of an output that is too long a piece is given, with the place where to go on."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "handle": {"type": "string", "description": "The handle, such as #12 or output-0123456789."},
            "start": {
                "type": "integer",
                "minimum": 0,
                "description": "The character from which to read; 0, the beginning, if left out.",
            },
        },
        "required": ["handle"],
    },
}
"""The tool with which a model reads what is shortened or left out; `read_back` implements it."""


_LONGEST_TOKEN = 16  # characters of one token, at most, in nearly all texts


def kept_under(handle: str, pool: Pool, view: View) -> Note | ToolCall | ToolResult | None:
    """Return the note of a pool that a handle names, or the call or result of a view that is not hidden."""
    if handle in pool:
        return pool.get(handle)
    number = _NUMBER.fullmatch(handle.strip())
    position = view.end if number is None else int(number[1])
    if position >= view.end or view.fate_at(position).state in ("hidden", "edit"):
        return None
    item = view.log.item(position)
    return item if isinstance(item, ToolCall | ToolResult) else None


def read_back(
    pool: Pool, handle: str, counter: Counter, tokens: int, start: int = 0, view: View | None = None
) -> str:
    """Return what a handle names as a result of at most `tokens` tokens; its end says where to continue.

    A number, such as `#12`, names an item of the `view`. A wrong handle or start is a mistake of the model,
    so the answer explains it in words.
    """
    whole(tokens, "tokens", least=1)
    kept = kept_under(handle, pool, view_of_list(()) if view is None else view)
    if kept is None:
        return f"Nothing is kept under the handle {cut(handle)!r}, or no longer."
    if isinstance(kept, Note):
        text = note_text(kept.content)
    else:
        text = kept.arguments if isinstance(kept, ToolCall) else kept.text
    if not 0 <= start < len(text):
        return f"There are {len(text)} characters: none from {start} on."

    def piece(length: int) -> str:
        stop = start + length
        if stop == len(text):
            return text[start:]
        return f"{text[start:stop]}\n[characters {start} to {stop} of {len(text)}; go on with start={stop}]"

    def is_too_long(length: int) -> bool:
        return counter.count(ToolResult("c", "read_back", piece(length))) > tokens

    # Tokens nearly always grow with the text, so bisection finds a length that fits, if not the longest.
    longest = min(len(text) - start, _LONGEST_TOKEN * tokens)
    if not is_too_long(longest):
        return piece(longest)
    length = bisect_left(range(1, longest + 1), True, key=is_too_long)
    if length < 1:
        raise InvalidLimit("there are too few tokens to read anything")
    return piece(length)
