"""A draft of one payload: its messages, wire ids and names, downgrades, and the digest of its prefix.

The writer of every wire writes into a `Draft`. A payload is finished on a branch, so that the draft itself
can take more items later.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from quire.items import Content, Item, Message, Note, Opaque, Reasoning, Summary, ToolCall
from quire.providers.media import split_media
from quire.providers.names import Alphabet, WireIds, WireNames
from quire.providers.rules import TOOL_NAMES
from quire.providers.state import ANTHROPIC, ANY_MODEL, GEMINI, is_unchanged, is_valid, same_model, unpack
from quire.providers.types import Change, Downgrade
from quire.providers.values import Json, entries_in
from quire.state import MASKED
from quire.tokens import described, note_frame, quoted_content, summary_frame

_MERGING_WIRES = (ANTHROPIC, GEMINI)
"""The wires that merge two consecutive replies of the model into one message."""

_encode = msgspec.json.Encoder(order="sorted").encode


class Digest:
    """A running digest of messages. `advance` adds messages for good, so that they are hashed only once."""

    __slots__ = ("_count", "_hash", "is_wanted")

    def __init__(self, before: Any = None) -> None:
        """`before` is hashed ahead of all messages: for example instructions in a field of their own."""
        self._hash = blake2b(b"" if before is None else _encode(before), digest_size=16)
        self._count = 0
        self.is_wanted = False  # whether `Rendered.prefix` of an earlier payload was read

    def branch(self) -> "Digest":
        """An independent copy."""
        twin = Digest.__new__(Digest)
        twin._hash, twin._count, twin.is_wanted = self._hash.copy(), self._count, False
        return twin

    def advance(self, messages: Sequence[Json], count: int) -> None:
        """Add the first `count` messages for good; they must not change afterwards."""
        if count > self._count:
            _update(self._hash, messages[self._count : count])
            self._count = count

    def of(self, messages: Sequence[Json], count: int, more: Sequence[Json] = ()) -> str:
        """The digest of the first `count` messages, followed by `more`.

        `more` begins with message number `count`; those of it that were added for good are not added again.
        """
        twin, hashed = self._hash.copy(), self._count
        _update(twin, messages[hashed:count])
        _update(twin, more[max(hashed - count, 0) :])
        return twin.hexdigest()


def _update(digest: blake2b, messages: Sequence[Json]) -> None:
    for message in messages:
        digest.update(_encode(message))
        digest.update(b"\n")


class Draft:
    """The messages of one payload, with ids, names, downgrades and a digest."""

    def __init__(self, wire: str, model: str | None, ids: Alphabet) -> None:
        self.wire = wire
        self.model = model
        self.messages: list[Json] = []
        self.first_mutable = 0  # from this index on, no other draft or payload shares the messages
        self.downgrades: list[Downgrade] = []
        self.ids = WireIds(ids)
        self.names = WireNames(TOOL_NAMES[wire])
        self.parameters: dict[str, Mapping[str, str]] = {}  # by tool: wire names of parameters by own name
        self.digest = Digest()
        self.has_edits = False  # whether the transcript has any edit
        self.is_masked = False  # whether an item of the reply being written was masked
        self.stable_count = 0  # in a branch: the number of messages before the volatile items
        self.stable_last: Json | None = None  # in a branch: the last of those messages

    def branch(self) -> "Draft":
        """A copy to finish a payload from. From now on neither draft changes the messages written so far."""
        twin = Draft.__new__(Draft)
        twin.__dict__ |= self.__dict__
        self.first_mutable = twin.first_mutable = len(self.messages)
        twin.messages, twin.downgrades = self.messages.copy(), self.downgrades.copy()
        twin.ids, twin.names, twin.digest = self.ids.branch(), self.names.branch(), self.digest.branch()
        return twin

    # --- downgrades --------------------------------------------------------------------------------------

    def report(self, item: Item | None, change: Change, reason: str) -> None:
        """Add a downgrade: what was changed or left out, and why."""
        self.downgrades.append(Downgrade(item.id if item else None, change, reason))

    def report_empty(self, item: Item) -> None:
        """Report that an item, or one of its parts, was left out because it has no content."""
        self.report(item, "empty_left_out", "it has no content, or a part that has none")

    def report_thoughts(self, item: Reasoning, reason: str) -> None:
        """Report that thoughts are not sent. Thoughts of the same model without data are no loss."""
        state = item.state
        is_own = state is not None and not state.data and state.provider == self.wire
        if is_own and state and self.model is not None:
            is_own = same_model(state.model, self.model)
        self.report(item, "thoughts_left_out" if is_own else "reasoning_left_out", reason)

    # --- ids, names and texts ----------------------------------------------------------------------------

    def call_id(self, call: ToolCall) -> str:
        """The wire id of a call."""
        wire_id = self.ids.next_id(call.call_id)
        if wire_id != call.call_id:
            self.report(call, "id_renamed", f"the call's id is {wire_id!r} here")
        return wire_id

    def instructions(self, item: Message) -> str:
        """The text of instructions; a description replaces each image or file in them."""
        if type(item.content) is str:
            return item.content
        text, media = split_media(item.parts)
        if media:
            self.report(item, "media_as_text", "only turns of the user carry media here")
            text = "\n".join(filter(None, (text, *map(described, media))))
        return text

    # --- opaque state ------------------------------------------------------------------------------------

    def usable_blocks(self, item: Message | Reasoning | ToolCall, *, is_bound: bool = True) -> list[Json]:
        """The raw blocks of an item's state if they may be sent back; else none, with a downgrade.

        With `is_bound=False` they may be sent back even if the messages before them have changed.
        """
        state = item.state
        if state is None or not state.data:
            return []
        blocks = unpack(state)
        fault = self._state_fault(item, state, blocks, is_bound)
        if fault is None:
            return blocks
        self.report(item, *fault)
        return []

    def _state_fault(
        self, item: Message | Reasoning | ToolCall, state: Opaque, blocks: list[Json], is_bound: bool
    ) -> tuple[Change, str] | None:
        """Why the state of an item may not be sent to the model: a change and a reason; None if it may."""
        if state.provider != self.wire:
            is_thought = isinstance(item, Reasoning)
            return "state_foreign" if is_thought else "fields_left_out", f"made by {state.provider}"
        if state.model != ANY_MODEL:
            if not same_model(state.model, self.model or ""):
                maker, target = (name or "a model that is not named" for name in (state.model, self.model))
                return "state_foreign", f"made by {maker}, and this is for {target}"
            if self.is_masked or state.prefix == MASKED:
                return "state_stale", "something in its own reply was masked"
            if state.prefix is None and self.has_edits:
                return "state_stale", "the history was edited, and the messages before it are not known"
            if state.prefix is not None and is_bound and not self.prefix_matches(state.prefix):
                return "state_stale", "what came before it has changed since"
        # From the block of a call, the writer takes single fields and checks each.
        is_readable = isinstance(item, ToolCall) or all(is_valid(self.wire, block) for block in blocks)
        if not blocks or not is_readable:
            return "reasoning_left_out", "its state cannot be read"
        return None if is_unchanged(self.wire, item, blocks) else ("state_stale", "it was changed since")

    def prefix_matches(self, prefix: str) -> bool:
        """Whether `prefix` is the digest of the messages before the reply that is written next.

        The reply may continue an assistant turn, so the messages before that turn are tried first. Unless the
        wire merges assistant messages, all messages are tried next.

        A reply at the start of the history answered a user turn that the writer had inserted. Only Gemini's
        writer inserts the same turn in every request, so on other wires such a reply never matches.
        """
        messages, count, start = self.messages, len(self.messages), self.turn_start()
        if not start and self.wire != GEMINI:
            return False
        self.digest.advance(messages, min(start, count - 1))
        if prefix == self.digest.of(messages, start):
            return True
        return start < count and self.wire not in _MERGING_WIRES and prefix == self.digest.of(messages, count)

    def turn_start(self) -> int:
        """The index where the model's turn at the end begins; the number of messages if there is none."""
        start = len(self.messages)
        while start and self.messages[start - 1].get("role") in ("assistant", "model"):
            start -= 1
        return start

    # --- messages ----------------------------------------------------------------------------------------

    def open_message(self) -> Json:
        """The last message, which the caller may extend; a message that another payload shares is copied."""
        if len(self.messages) <= self.first_mutable:
            last = self.messages[-1]
            lists = {key: entries_in(value).copy() for key, value in last.items() if isinstance(value, list)}
            self.messages[-1] = last | lists
            self.first_mutable = len(self.messages) - 1
        return self.messages[-1]

    def mark_stable(self) -> None:
        """Record where the stable messages end: items added after this call are volatile."""
        self.first_mutable = self.stable_count = len(self.messages)
        self.stable_last = self.messages[-1] if self.messages else None


def content_for_model(item: Message | Note | Summary) -> Content:
    """The content that the model sees: notes, summaries and untrusted messages in their frames."""
    if isinstance(item, Message):
        return item.content if item.origin is None and item.address is None else quoted_content(item)
    return summary_frame(item.text) if isinstance(item, Summary) else note_frame(item)
