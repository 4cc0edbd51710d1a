"""A draft of one payload: its messages, the ids and names given, the downgrades, and the digest of a prefix.

Every wire writes into a `Draft`. A branch shares what was written and goes on by itself, so the same draft
can be finished into one payload and later go on with more items.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from quire.items import Content, Item, Message, Note, Opaque, Reasoning, Summary, ToolCall
from quire.providers.media import split
from quire.providers.names import Alphabet, Ids, Names
from quire.providers.rules import TOOL_NAMES
from quire.providers.state import ANTHROPIC, ANY_MODEL, GEMINI, is_whole, same_model, still_said, unpack
from quire.providers.types import Change, Downgrade
from quire.providers.values import Json, entries_in
from quire.state import MASKED
from quire.tokens import described, note_frame, quoted_content, summary_frame

_MERGING = (ANTHROPIC, GEMINI)
"""The wires where two replies of the model in a row are one message."""

_encode = msgspec.json.Encoder(order="sorted").encode


class Digest:
    """A running digest of messages. Messages that were counted once are not read again."""

    __slots__ = ("_count", "_hash", "is_wanted")

    def __init__(self, before: Any = None) -> None:
        """`before` is what precedes all messages, such as instructions that the wire keeps apart."""
        self._hash = blake2b(b"" if before is None else _encode(before), digest_size=16)
        self._count = 0
        self.is_wanted = False  # whether the digest of a branch was asked for

    def branch(self) -> "Digest":
        """A copy that goes on by itself."""
        twin = Digest.__new__(Digest)
        twin._hash, twin._count, twin.is_wanted = self._hash.copy(), self._count, False
        return twin

    def advance(self, messages: Sequence[Json], count: int) -> None:
        """Count the first `count` messages for good; they must not change any more."""
        if count > self._count:
            _update(self._hash, messages[self._count : count])
            self._count = count

    def of(self, messages: Sequence[Json], count: int, more: Sequence[Json] = ()) -> str:
        """The digest of the first `count` messages and some more, at least those counted for good."""
        twin, known = self._hash.copy(), self._count
        _update(twin, messages[known:count])
        _update(twin, more[max(known - count, 0) :])
        return twin.hexdigest()


def _update(digest: blake2b, messages: Sequence[Json]) -> None:
    for message in messages:
        digest.update(_encode(message))
        digest.update(b"\n")


class Draft:
    """Messages of one payload, and what goes with them."""

    def __init__(self, wire: str, model: str | None, ids: Alphabet) -> None:
        self.wire = wire
        self.model = model
        self.messages: list[Json] = []
        self.first_mutable = 0  # messages from here on are in no other draft or payload, and may be changed
        self.downgrades: list[Downgrade] = []
        self.ids = Ids(ids)
        self.names = Names(TOOL_NAMES[wire])
        self.parameters: dict[str, Mapping[str, str]] = {}  # by tool: wire names of parameters, by their own
        self.digest = Digest()
        self.edited = False  # whether the transcript was edited at all
        self.masked = False  # whether an item of the reply at hand was masked
        self.stable_count = 0  # of a branch: how many messages come before the volatile items
        self.stable_last: Json | None = None  # of a branch: the last of them

    def branch(self) -> "Draft":
        """A copy to be finished; what was written so far is changed by neither from now on."""
        twin = Draft.__new__(Draft)
        twin.__dict__ |= self.__dict__
        self.first_mutable = twin.first_mutable = len(self.messages)
        twin.messages, twin.downgrades = self.messages.copy(), self.downgrades.copy()
        twin.ids, twin.names, twin.digest = self.ids.branch(), self.names.branch(), self.digest.branch()
        return twin

    # --- downgrades --------------------------------------------------------------------------------------

    def note(self, item: Item | None, change: Change, reason: str) -> None:
        """Note what was changed or left out."""
        self.downgrades.append(Downgrade(item.id if item else None, change, reason))

    def note_empty(self, item: Item) -> None:
        """Note that an item, or a part of it, has no content."""
        self.note(item, "empty_left_out", "it has no content, or a part that has none")

    def note_thoughts(self, item: Reasoning, reason: str) -> None:
        """Note that thoughts are not sent; the model's own that came without state are no loss."""
        state = item.state
        is_own = state is not None and not state.data and state.provider == self.wire
        if is_own and state and self.model is not None:
            is_own = same_model(state.model, self.model)
        self.note(item, "thoughts_left_out" if is_own else "reasoning_left_out", reason)

    # --- ids, names and texts ----------------------------------------------------------------------------

    def call_id(self, call: ToolCall) -> str:
        """The wire's id for a call."""
        given = self.ids.give(call.call_id)
        if given != call.call_id:
            self.note(call, "id_renamed", f"the call's id is {given!r} here")
        return given

    def instructions(self, item: Message) -> str:
        """The text of instructions; media in them are described."""
        if type(item.content) is str:
            return item.content
        text, media = split(item.parts)
        if media:
            self.note(item, "media_as_text", "only turns of the user carry media here")
            text = "\n".join(filter(None, (text, *map(described, media))))
        return text

    # --- opaque state ------------------------------------------------------------------------------------

    def usable_blocks(self, item: Message | Reasoning | ToolCall, *, is_bound: bool = True) -> list[Json]:
        """The raw blocks of an item's state, if they may go back; why not is note_frame.

        State that is not `is_bound` goes back whatever precedes it.
        """
        state = item.state
        if state is None or not state.data:
            return []
        blocks = unpack(state)
        fault = self._state_fault(item, state, blocks, is_bound)
        if fault is None:
            return blocks
        self.note(item, *fault)
        return []

    def _state_fault(
        self, item: Message | Reasoning | ToolCall, state: Opaque, blocks: list[Json], is_bound: bool
    ) -> tuple[Change, str] | None:
        """Why the state of an item may not be sent to the model now; None if it may."""
        if state.provider != self.wire:
            is_thought = isinstance(item, Reasoning)
            return "state_foreign" if is_thought else "fields_left_out", f"made by {state.provider}"
        if state.model != ANY_MODEL:
            if not same_model(state.model, self.model or ""):
                maker, asked = (name or "a model that is not named" for name in (state.model, self.model))
                return "state_foreign", f"made by {maker}, and this is for {asked}"
            if self.masked or state.prefix == MASKED:
                return "state_stale", "something in its own reply was masked"
            if state.prefix is None and self.edited:
                return "state_stale", "there were edits, and what it was made after is not known"
            if state.prefix is not None and is_bound and not self.prefix_matches(state.prefix):
                return "state_stale", "what came before it has changed since"
        # Of a call's block the writer takes single fields, and looks at each.
        is_readable = isinstance(item, ToolCall) or all(is_whole(self.wire, block) for block in blocks)
        if not blocks or not is_readable:
            return "reasoning_left_out", "its state cannot be read"
        return None if still_said(self.wire, item, blocks) else ("state_stale", "it was changed since")

    def prefix_matches(self, prefix: str) -> bool:
        """Whether `prefix` is the digest of the messages before the reply about to be written.

        A reply may continue an assistant turn, so the digest before that turn is tried first, then (unless
        the wire merges assistant messages) the digest of all messages. On a wire that merges, a reply to an
        inserted turn never matches, because that turn is not sent again. Neither does a reply to an inserted
        opening turn, but on Gemini's wire, where the next request has the same one.
        """
        messages, count, start = self.messages, len(self.messages), self.turn_start()
        if not start and self.wire != GEMINI:
            return False
        self.digest.advance(messages, min(start, count - 1))
        if prefix == self.digest.of(messages, start):
            return True
        return start < count and self.wire not in _MERGING and prefix == self.digest.of(messages, count)

    def turn_start(self) -> int:
        """Where the model's turn at the end begins; the end itself where another spoke last."""
        start = len(self.messages)
        while start and self.messages[start - 1].get("role") in ("assistant", "model"):
            start -= 1
        return start

    # --- messages ----------------------------------------------------------------------------------------

    def open_message(self) -> Json:
        """The last message, to be extended; a copy of it where it was handed out before."""
        if len(self.messages) <= self.first_mutable:
            last = self.messages[-1]
            lists = {key: entries_in(value).copy() for key, value in last.items() if isinstance(value, list)}
            self.messages[-1] = last | lists
            self.first_mutable = len(self.messages) - 1
        return self.messages[-1]

    def mark_stable(self) -> None:
        """Record the end of the stable messages: the items that follow are volatile."""
        self.first_mutable = self.stable_count = len(self.messages)
        self.stable_last = self.messages[-1] if self.messages else None


def content_for_model(item: Message | Note | Summary) -> Content:
    """The content of an item that is addressed to the model."""
    if isinstance(item, Message):
        return item.content if item.origin is None and item.address is None else quoted_content(item)
    return summary_frame(item.text) if isinstance(item, Summary) else note_frame(item)
